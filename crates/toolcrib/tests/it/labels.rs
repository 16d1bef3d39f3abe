//! What operators say of tools: on the command line, over HTTP, over restarts, and to a gateway that is running.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    api::{ANN, Api, OPERATOR, error_code},
    http::Served,
    scene::Scene,
};

/// A tool of the server that changes nothing.
const LOOK: &str = "mcp:up/look_cli";

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn run(scene: &Scene, words: &[&str]) -> Ran {
    let ran = scene.run(words, false);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: ran.status.code().unwrap(), out: text(ran.stdout), err: text(ran.stderr) }
}

#[track_caller]
fn check(scene: &Scene, words: &[&str], code: i32, out: &str, err: &str) {
    let ran = run(scene, words);
    assert_eq!(ran.code, code, "{words:?}\n{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains(out), "{words:?}: {}", ran.out);
    assert!(ran.err.contains(err), "{words:?}: {}", ran.err);
}

/// Identities that `tools` lists.
fn listed(scene: &Scene) -> Vec<String> {
    let document = scene.documents(&["tools", "--json"]).remove(0);
    document["tools"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_tool_is_switched_off_and_on_for_every_command() {
    let scene = Scene::new("");
    assert!(listed(&scene).contains(&LOOK.to_owned()));
    check(&scene, &["tools", "disable", LOOK], 0, "changed: mcp:up/look_cli", "");
    check(&scene, &["tools", "disable", LOOK], 0, "as it was: mcp:up/look_cli", "");
    assert!(!listed(&scene).contains(&LOOK.to_owned()));
    // Neither called nor told apart from one that never was.
    check(&scene, &["call", "up__look_cli", r#"{"key":"k"}"#], 1, "", "there is no tool");
    assert_eq!(scene.executions("k"), 0);
    check(&scene, &["explain", LOOK], 0, "it is switched off, by terminal on 20", "");
    check(&scene, &["explain", LOOK], 0, "toolcrib tools enable \"mcp:up/look_cli\"", "");
    check(&scene, &["tools", "enable", LOOK], 0, "changed: mcp:up/look_cli", "");
    check(&scene, &["call", "up__look_cli", r#"{"key":"k"}"#], 0, "", "");
    assert_eq!(scene.executions("k"), 1);
    // All of it is on record.
    let records = scene.documents(&["audit", "--json", "--tool", LOOK]);
    let adjusted: Vec<&Value> = records.iter().filter(|record| record["kind"] == "adjusted").collect();
    let told: Vec<_> = adjusted.iter().map(|record| (&record["detail"], &record["authority"])).collect();
    assert_eq!(told.len(), 2, "{records:#?}");
    assert_eq!(told[0], (&json!("enabled=false"), &json!("terminal")));
    assert_eq!(told[1], (&json!("as its source says"), &json!("terminal")));
}

#[test]
fn selectors_name_many_and_what_names_none_changes_nothing() {
    let scene = Scene::new("");
    let all = listed(&scene).iter().filter(|id| id.starts_with("mcp:up/")).count();
    let changed = |words: &[&str]| scene.documents(words)[0]["changed"].as_array().unwrap().len();
    assert_eq!(changed(&["tools", "disable", "mcp:up", "--json"]), all);
    assert!(!listed(&scene).iter().any(|id| id.starts_with("mcp:up/")));
    assert_eq!(changed(&["tools", "enable", "up__look_*", "--json"]), 8);
    assert_eq!(listed(&scene).iter().filter(|id| id.starts_with("mcp:up/")).count(), 8);
    check(&scene, &["tools", "enable", "mcp:up", "up__nothing"], 1, "", "'up__nothing' names no tool");
    assert_eq!(listed(&scene).iter().filter(|id| id.starts_with("mcp:up/")).count(), 8);
    check(&scene, &["tools", "enable", "up__loook_cli"], 1, "", "up__look_cli");
    check(&scene, &["tools", "disable", "["], 2, "", "'['");
    check(&scene, &["tools", "disable"], 2, "", "SEL");
    // What a server says of its tools switches nothing on: by own name they are not found.
    check(&scene, &["tools", "enable", "wipe_cli"], 1, "", "names no tool");
}

#[test]
fn labels_are_set_grouped_and_taken_back() {
    let scene = Scene::new("");
    check(&scene, &["tools", "set", LOOK], 2, "", "--priority");
    check(&scene, &["tools", "set", LOOK, "--namespace", "a,b"], 2, "", "namespace");
    check(&scene, &["tools", "set", LOOK, "--permission", "perhaps"], 2, "", "perhaps");
    let set = [
        "tools",
        "set",
        LOOK,
        "--namespace",
        "work",
        "--category",
        "files",
        "--tag",
        "x",
        "--tag",
        "y",
        "--priority",
        "-3",
    ];
    check(&scene, &set, 0, "changed", "");
    check(&scene, &["tools", "disable", "builtin/current_time"], 0, "changed", "");
    // Selectors find them by it.
    for selector in ["namespace:work", "category:files", "tag:x"] {
        let document = scene.documents(&["tools", "--json", "--allow", selector]).remove(0);
        assert_eq!(document["tools"].as_array().unwrap().len(), 1, "{selector}");
    }
    let groups = |by: &str| {
        let document = scene.documents(&["tools", "--group-by", by, "--json"]).remove(0);
        let groups = document["groups"].as_array().unwrap().clone();
        groups.into_iter().map(|group| (group["group"].as_str().unwrap().to_owned(), group)).collect::<Vec<_>>()
    };
    let named = |groups: &[(String, Value)]| groups.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(named(&groups("source")), ["builtin", "mcp:up"]);
    assert_eq!(named(&groups("category")), ["files", ""]);
    let spaces = groups("namespace");
    assert_eq!(named(&spaces), ["default", "work"]);
    assert_eq!((&spaces[0].1["off"], &spaces[1].1["tools"][0]["id"]), (&json!(1), &json!(LOOK)));
    check(&scene, &["tools", "--group-by", "namespace"], 0, "work: 1 tools", "");
    check(&scene, &["tools", "--group-by", "category"], 0, "without a category", "");
    // A permission is asked for where the policy says nothing.
    check(&scene, &["tools", "set", LOOK, "--permission", "ask"], 0, "changed", "");
    check(&scene, &["call", "up__look_cli", r#"{"key":"k"}"#], 3, "", "");
    check(&scene, &["tools", "set", LOOK, "--permission", "deny"], 0, "changed", "");
    check(&scene, &["explain", LOOK], 0, "its permission is deny", "");
    check(&scene, &["tools", "set", LOOK, "--reset"], 0, "changed", "");
    check(&scene, &["call", "up__look_cli", r#"{"key":"k"}"#], 0, "", "");
    assert_eq!(named(&groups("namespace")), ["default"]);
    assert_eq!(named(&groups("category")), [""]);
}

#[test]
fn what_policy_forbids_stays_forbidden() {
    let scene = Scene::new("policy.deny = ['mcp:up/look_cli']\npermissions.deny = ['mcp:up/note_cli']");
    check(&scene, &["tools", "enable", LOOK], 0, "as it was", "");
    check(&scene, &["tools", "set", LOOK, "mcp:up/note_cli", "--permission", "allow"], 0, "changed", "");
    check(&scene, &["call", "up__look_cli", r#"{"key":"k"}"#], 1, "", "there is no tool");
    let denied = run(&scene, &["call", "up__note_cli", r#"{"key":"k","n":1}"#]);
    assert_ne!(denied.code, 0, "{}", denied.out);
    assert_eq!(scene.executions("k"), 0);
}

#[test]
fn without_a_store_nothing_is_said() {
    let scene = Scene::new("");
    let mut command = scene.command(&["tools", "disable", LOOK], false);
    let ran = command.env("TOOLCRIB_STORE", ":memory:").output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("nothing would be kept"));
}

#[test]
fn a_running_gateway_follows() {
    let scene = Scene::new("");
    let served = Served::start(&scene, None);
    let there = || {
        let tools = served.get("/v1/tools").json();
        tools["tools"].as_array().unwrap().iter().any(|row| row["id"] == LOOK)
    };
    let until = |wanted: bool| {
        let end = Instant::now() + Duration::from_secs(20);
        while there() != wanted {
            assert!(Instant::now() < end, "the gateway does not follow");
            std::thread::sleep(Duration::from_millis(30));
        }
    };
    assert!(there());
    check(&scene, &["tools", "disable", LOOK], 0, "changed", "");
    until(false);
    check(&scene, &["tools", "enable", LOOK], 0, "changed", "");
    until(true);
    check(&scene, &["tools", "disable", LOOK], 0, "changed", "");
    until(false);
    drop(served);
    // And comes up again as it was left.
    let served = Served::start(&scene, None);
    let tools = served.get("/v1/tools").json();
    assert!(!tools["tools"].as_array().unwrap().iter().any(|row| row["id"] == LOOK));
}

/// A server that offers one tool whose schema cannot be read.
const MISMADE: &str = r#"
[servers.odd]
command = "/bin/sh"
era = "legacy"
args = ["-c", '''
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"bad","inputSchema":{"type":5}}]}' ;;
    *) result='{}' ;;
    esac
    [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
''']
"#;
const BAD: &str = "mcp:odd/bad";

/// What was refused is listed, so it can be switched like the rest.
#[test]
fn a_definition_that_was_refused_is_switched_off_by_its_identity() {
    let scene = Scene::new(MISMADE);
    check(&scene, &["tools", "disable", BAD], 0, "changed: mcp:odd/bad", "");
    check(&scene, &["tools", "disable", BAD], 0, "as it was: mcp:odd/bad", "");
    check(&scene, &["tools", "disable", "mcp:odd/none"], 1, "", "names no tool");
    let api = Api::start(MISMADE);
    let entry = |query: &str| {
        let page = api.operator("GET", &format!("/v1/catalog?source=mcp:odd{query}"), "").json();
        page["entries"][0].clone()
    };
    let until = Instant::now() + Duration::from_secs(20);
    while entry("").is_null() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((&entry("")["disclosure"], &entry("")["enabled"]), (&json!("quarantined"), &json!(true)));
    let answer = api.operator("PATCH", &encoded(BAD), r#"{"enabled":false}"#);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!((&answer["changed"], &answer["entry"]["enabled"]), (&json!(true), &json!(false)));
    assert_eq!(entry("&enabled=false")["id"], BAD);
    assert_eq!(api.operator("PATCH", &encoded("mcp:odd/none"), "{}").status, 404);
}

/// An identity as it stands in a path.
fn encoded(id: &str) -> String {
    format!("/v1/catalog/{}", id.replace(':', "%3A").replace('/', "%2F"))
}

#[test]
fn the_catalog_over_http_is_filtered_and_paged() {
    let api = Api::start("policy.deny = ['builtin/current_time']");
    let get = |key: &str, query: &str| {
        let answer = api.of(key, "GET", &format!("/v1/catalog{query}"), "");
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        answer.json()
    };
    let ids = |page: &Value| {
        page["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all = get(OPERATOR, "?limit=1000");
    let total = all["total"].as_u64().unwrap();
    assert_eq!(ids(&all).len() as u64, total);
    // To a caller what it cannot call is not there.
    assert_eq!(get(ANN, "?limit=1000")["total"].as_u64().unwrap(), total - 1);
    let hidden = get(OPERATOR, "?text=current_time");
    let entry = &hidden["entries"][0];
    assert_eq!((&entry["disclosure"], &entry["kind"]), (&json!("hidden"), &json!("builtin")));
    assert!(entry["why"].as_str().unwrap().contains("policy.deny"), "{entry}");
    assert_eq!(get(ANN, "?text=current_time")["total"], 0);
    let up = get(ANN, "?kind=mcp&limit=1000");
    assert!(ids(&up).iter().all(|id| id.starts_with("mcp:up/")) && up["total"].as_u64().unwrap() > 20);
    assert_eq!(get(ANN, "?service=up&limit=1")["total"], up["total"]);
    assert_eq!(get(ANN, "?source=mcp:up&enabled=true&namespace=default&limit=1")["total"], up["total"]);
    assert_eq!(get(ANN, "?enabled=false")["total"], 0);
    let look = &get(ANN, "?text=look_cli")["entries"][0];
    assert_eq!((&look["id"], &look["name"], &look["service"]), (&json!(LOOK), &json!("up__look_cli"), &json!("up")));
    assert_eq!((&look["state"], &look["enabled"]), (&json!("ready"), &json!(true)));
    let (mut after, mut paged) = (String::new(), Vec::new());
    loop {
        let page = get(OPERATOR, &format!("?limit=7{after}"));
        paged.extend(ids(&page));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(paged, ids(&all));
    for query in ["?limit=0", "?limit=1001", "?enabled=perhaps", "?kind=", "?unknown=1"] {
        let answer = api.operator("GET", &format!("/v1/catalog{query}"), "");
        assert_eq!((answer.status, error_code(&answer).as_str()), (400, "not_read"), "{query}: {answer:?}");
    }
    for query in ["?source=x", "?after=x"] {
        let answer = api.operator("GET", &format!("/v1/catalog{query}"), "");
        assert_eq!((answer.status, error_code(&answer).as_str()), (422, "not_usable"), "{query}: {answer:?}");
    }
}

#[test]
fn tools_are_switched_and_labelled_over_http_by_operators_only() {
    let api = Api::start("");
    let patch = |key: &str, id: &str, body: &str| api.of(key, "PATCH", &encoded(id), body);
    let refused = patch(ANN, LOOK, r#"{"enabled":false}"#);
    assert_eq!((refused.status, error_code(&refused).as_str()), (403, "scope_needed"));
    let call =
        || api.served.send("POST", "/v1/calls", &[], r#"{"name":"up__look_cli","arguments":{"key":"k"}}"#).status;
    assert_eq!(call(), 200);
    let done = patch(OPERATOR, LOOK, r#"{"enabled":false}"#);
    assert_eq!(done.status, 200, "{done:?}");
    let done = done.json();
    assert_eq!(
        (&done["changed"], &done["entry"]["enabled"], &done["entry"]["disclosure"]),
        (&json!(true), &json!(false), &json!("hidden"))
    );
    assert_eq!(call(), 404);
    assert_eq!(patch(OPERATOR, LOOK, r#"{"enabled":false}"#).json()["changed"], false);
    let off = api.operator("GET", "/v1/catalog?enabled=false", "").json();
    let adjusted = &off["entries"][0]["adjusted"];
    assert_eq!((&off["total"], &adjusted["says"]), (&json!(1), &json!("enabled=false")));
    assert!(adjusted["by"].as_str().unwrap().starts_with("http:"), "{adjusted}");
    let body = r#"{"reset":true,"namespace":"work","category":"files","tags":["x"],"priority":-4,"permission":"ask"}"#;
    let entry = patch(OPERATOR, LOOK, body).json()["entry"].clone();
    assert_eq!(
        (&entry["namespace"], &entry["category"], &entry["tags"]),
        (&json!("work"), &json!("files"), &json!(["x"]))
    );
    assert_eq!(
        (&entry["priority"], &entry["permission"], &entry["enabled"]),
        (&json!(-4), &json!("ask"), &json!(true))
    );
    assert_eq!(call(), 403);
    // Who said so is not for callers.
    assert!(entry["adjusted"]["by"].is_string());
    let seen = api.of(ANN, "GET", "/v1/catalog?category=files", "").json()["entries"][0].clone();
    assert_eq!((&seen["id"], seen.get("adjusted")), (&json!(LOOK), None));
    assert_eq!(patch(OPERATOR, LOOK, r#"{"category":"","tags":[]}"#).json()["entry"].get("category"), None);
    assert_eq!(patch(OPERATOR, LOOK, r#"{"reset":true}"#).json()["entry"]["namespace"], "default");
    assert_eq!(call(), 200);
    let told = api.records("?tool=mcp:up/look_cli", |found| {
        found.iter().filter(|record| record["kind"] == "adjusted").count() == 4
    });
    let told: Vec<&Value> =
        told.iter().filter(|record| record["kind"] == "adjusted").map(|record| &record["detail"]).collect();
    assert_eq!(told[1], "namespace=work category=files tags=x priority=-4 permission=ask");
    for id in ["mcp:up/no_such", "nonsense", "mcp:nobody/x"] {
        let answer = patch(OPERATOR, id, r#"{"enabled":false}"#);
        assert_eq!((answer.status, error_code(&answer).as_str()), (404, "unknown"), "{id}");
    }
    for body in [
        "[]",
        r#"{"enabled":"no"}"#,
        r#"{"unknown":1}"#,
        r#"{"namespace":""}"#,
        r#"{"namespace":"a,b"}"#,
        r#"{"category":" x"}"#,
        r#"{"tags":["a\nb"]}"#,
        r#"{"permission":"perhaps"}"#,
        r#"{"priority":9999999999}"#,
        r#"{"priority":1.5}"#,
    ] {
        let answer = patch(OPERATOR, LOOK, body);
        assert_eq!((answer.status, error_code(&answer).as_str()), (400, "not_read"), "{body}: {answer:?}");
    }
    assert_eq!(api.operator("POST", &encoded(LOOK), "{}").status, 405);
}
