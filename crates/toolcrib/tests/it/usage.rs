//! From a search and a call over HTTP to labelled queries and to what is learnt of them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::api::{ANN, Api, BOB};

fn search(api: &Api, key: &str, session: &str, queries: &[&str]) -> Value {
    let answer =
        api.of(key, "POST", "/v1/search", &json!({"query": queries, "session": session, "explain": true}).to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn first(reply: &Value) -> &str {
    reply["results"][0]["matches"][0]["name"].as_str().unwrap_or_default()
}

#[test]
fn use_is_measured_and_learnt_from() {
    let api = Api::start("[search]\nlearn = true\n[permissions]\ntrust = 'all'\n");
    // All tools of the scene say the same, so the order is that of their names until one is called.
    let before = search(&api, ANN, "s1", &["writes a line", "token=hunter2-0123456789abcdef"]);
    let matches = before["results"][0]["matches"].as_array().unwrap();
    let mut names = matches.iter().map(|hit| hit["name"].as_str().unwrap());
    let last = names.rfind(|name| name.contains("echo") || name.contains("look")).unwrap().to_owned();
    assert_ne!(first(&before), last);
    let body = json!({"name": last, "arguments": {"key": "secret-argument"}, "session": "s1"}).to_string();
    assert_eq!(api.of(ANN, "POST", "/v1/calls", &body).status, 200);
    // A search upon which nothing is called, by somebody else.
    search(&api, BOB, "s2", &["lines"]);
    let records = api.records("?limit=1000", |records| {
        records.iter().filter(|record| record["kind"] == "search").count() == 2
            && records.iter().any(|record| record["outcome"] == "ok" && record["kind"] == "outcome")
    });
    let searched = records.iter().find(|record| record["kind"] == "search").unwrap();
    assert_eq!((&searched["name"], &searched["principal"]["session"]), (&json!("tool_search"), &json!("s1")));
    let detail = searched["detail"].as_str().unwrap();
    assert!(detail.contains("writes a line") && detail.contains("mcp:up/") && !detail.contains("hunter2"), "{detail}");

    let folder = api.scene.fill("{folder}/sets/mine");
    let measured = api.scene.documents(&["eval", "--from-traffic", "--json", "--write", &folder]);
    assert_eq!((measured[0]["queries"].as_u64(), measured[0]["tools"].as_u64() > Some(3)), (Some(1), true));
    assert_eq!(measured[0]["styles"]["shown"]["queries"], 1);
    let written = std::fs::read_to_string(format!("{folder}/queries.jsonl")).unwrap();
    assert!(written.contains("writes a line") && !written.contains("hunter2") && !written.contains("secret-argument"));
    let none = api.scene.run(&["eval", "--from-traffic", "--tenant", "nobody"], false);
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("nothing to measure"), "{none:?}");

    // What was called upon these words comes first now, also for others of the tenant, and the answer says why.
    let until = Instant::now() + Duration::from_secs(20);
    let after = loop {
        let after = search(&api, ANN, "s3", &["write line"]);
        if first(&after) == last {
            break after;
        }
        assert!(Instant::now() < until, "{after:#}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(after["results"][0]["matches"][0]["why"]["learned"].as_f64() > Some(0.0), "{after:#}");
    let learned = api.scene.documents(&["learned", "--json"]);
    let list = learned[0]["list"].as_array().unwrap();
    assert!(list.iter().any(|pair| pair["word"] == "line"), "{learned:?}");
    assert!(!learned[0].to_string().contains("hunter2"), "{learned:?}");
    assert_eq!(api.scene.documents(&["learned", "--forget", "--json"])[0]["forgotten"], list.len());
    assert_eq!(api.scene.documents(&["learned", "--json"])[0]["list"], json!([]));
}

#[test]
fn searches_are_recorded_and_learnt_from_only_where_that_is_wanted() {
    let api = Api::start("[audit]\nsearches = false\n[permissions]\ntrust = 'all'\n");
    let found = search(&api, ANN, "s1", &["writes a line"]);
    let body = json!({"name": first(&found), "arguments": {"key": "k"}, "session": "s1"}).to_string();
    assert_eq!(api.of(ANN, "POST", "/v1/calls", &body).status, 200);
    let records = api.records("?limit=1000", |records| records.iter().any(|record| record["outcome"] == "ok"));
    assert!(records.iter().all(|record| record["kind"] != "search"), "{records:#?}");
    assert_eq!(api.scene.documents(&["learned", "--json"])[0]["pairs"], 0);
    let none = api.scene.run(&["eval", "--from-traffic"], false);
    assert!(String::from_utf8_lossy(&none.stderr).contains("audit.searches is off"), "{none:?}");
}
