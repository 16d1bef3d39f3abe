use serde_json::{Value, json};

use super::*;
use crate::{
    SourceState,
    disclosure::{Form, Listing, Settings, resolve},
    estimate::TokenCounter,
    find::Searcher,
    search::{Explanation, Hit, Options},
};

mod bm25;

const DISPATCH: &str = include_str!("../../tests/data/hermes/dispatch.json");
const CATALOGS: &str = include_str!("../../tests/data/hermes/catalogs.json");

/// A catalog of the vectors with definitions in MCP shape.
struct Shelf(Vec<(String, String, Value)>);

impl Shelf {
    fn of_vectors(catalog: &str) -> Self {
        let catalogs: Value = serde_json::from_str(CATALOGS).unwrap();
        let tools = catalogs[catalog].as_array().unwrap().iter().map(|tool| {
            let params = tool["params"].as_array().unwrap();
            let properties: serde_json::Map<_, _> =
                params.iter().map(|param| (param.as_str().unwrap().to_owned(), json!({"type": "string"}))).collect();
            let toolset = tool["toolset"].as_str().unwrap();
            let definition = json!({"name": tool["name"], "description": tool["description"], "inputSchema": {
                "type": "object", "properties": properties, "required": tool["required"]}});
            let server = toolset.strip_prefix("mcp-").unwrap_or(toolset);
            (tool["name"].as_str().unwrap().to_owned(), server.to_owned(), definition)
        });
        Self(tools.collect())
    }

    fn cards(&self) -> Vec<Card<'_>> {
        self.0.iter().map(|(name, server, definition)| Card { name, server, definition, tool: None }).collect()
    }
}

fn search(shelf: &Shelf, args: &Value, settings: &Settings) -> Result<Value, BridgeError> {
    let cards = shelf.cards();
    search_reply(&read_search(args, settings)?, cards.as_slice(), &Plain(&cards), &[], None).map(|reply| reply.value)
}

/// The reference ranking.
struct Plain<'a>(&'a [Card<'a>]);

impl Searcher for Plain<'_> {
    fn hits(&self, text: &str, options: &Options<'_>) -> Vec<Hit> {
        let hits = bm25::search(self.0, text, self.0.len()).into_iter();
        let kept = hits.filter(|(index, _)| options.keep.is_none_or(|keep| keep(*index)));
        kept.take(options.limit).map(|(index, score)| Hit { index, score }).collect()
    }

    fn explain(&self, _: &str, _: usize) -> Option<Explanation> {
        None
    }
}

fn names(reply: &Value, query: usize) -> Vec<&str> {
    let matches = reply["results"][query]["matches"].as_array().unwrap();
    matches.iter().map(|found| found["name"].as_str().unwrap()).collect()
}

#[test]
fn searches_follow_the_vectors() {
    let file: Value = serde_json::from_str(DISPATCH).unwrap();
    let cases = file["search"].as_array().unwrap();
    assert_eq!(cases.len(), 38);
    for case in cases {
        let (id, want) = (case["id"].as_str().unwrap(), &case["want"]);
        let settings = resolve(&case["config"]).0;
        let shelf = Shelf::of_vectors(case["catalog"].as_str().unwrap());
        let got = search(&shelf, &case["args"], &settings);
        // A number is no query (ds-022); a list is several queries (ds-023).
        if want["ok"] == false || id == "ds-022" {
            assert_eq!(got.unwrap_err().code(), "missing_query", "{id}");
            continue;
        }
        let got = got.unwrap();
        assert_eq!(json!(names(&got, 0)), want["names"], "{id}");
        if id != "ds-023" {
            assert_eq!(got["results"][0]["query"], want["query"], "{id}");
        }
        assert_eq!(got["total_available"], want["total_available"], "{id}");
        assert_eq!(json!(got.get("hint").is_some()), want["has_hint"], "{id}");
        let sources = got.get("servers").map(|servers| {
            let servers = servers.as_array().unwrap().iter();
            servers.map(|server| json!({"name": server["name"], "tool_count": server["tools"]})).collect::<Vec<_>>()
        });
        assert_eq!(json!(sources), want["available_sources"], "{id}");
        // Ours says when a limit was not usable (ds-015, ds-019).
        if ["ds-015", "ds-019"].contains(&id) {
            assert!(got["notes"][0].as_str().unwrap().contains("is not a number from 1 to 20; used 5"), "{id}");
        }
    }
}

#[test]
fn descriptions_follow_the_vectors() {
    let file: Value = serde_json::from_str(DISPATCH).unwrap();
    let cases = file["describe"].as_array().unwrap();
    assert_eq!(cases.len(), 14);
    for case in cases {
        let (id, want) = (case["id"].as_str().unwrap(), &case["want"]);
        let shelf = Shelf::of_vectors("small");
        let cards = shelf.cards();
        let request = read_describe(&case["args"]);
        if want["error"] == "missing_name" {
            assert_eq!(request.unwrap_err().code(), "missing_name", "{id}");
            continue;
        }
        let reply = describe_reply(&request.unwrap(), cards.as_slice());
        assert_eq!(json!(!reply.nothing_found), want["ok"], "{id}");
        if want["ok"] == true {
            let found = &reply.value["found"][0];
            assert_eq!(found["name"], want["name"], "{id}");
            assert_eq!(found["description"], want["description"], "{id}");
            assert_eq!(found["inputSchema"], want["parameters"], "{id}");
        }
    }
}

fn small_shelf() -> Shelf {
    let tool = |name: &str, server: &str, description: &str, schema: Value| {
        let definition = json!({"name": name, "description": description, "inputSchema": schema,
            "annotations": {"readOnlyHint": true}, "outputSchema": {"type": "object"}, "x-unknown": 1});
        (name.to_owned(), server.to_owned(), definition)
    };
    let schema = json!({"type": "object", "properties": {"owner": {"type": "string"}, "title": {"type": "string"}}, "required": ["title"]});
    Shelf(vec![
        tool("github__create_issue", "github", &"Open a ticket. ".repeat(60), schema.clone()),
        tool("github__list_issues", "github", "List\n\ntickets\u{202e} now", json!({"type": "object"})),
        tool("jira__create_issue", "jira", "File a work item", schema),
    ])
}

#[test]
fn several_queries_share_one_record_per_tool() {
    let shelf = small_shelf();
    let reply =
        search(&shelf, &json!({"queries": ["create issue", "tickets", "create issue"]}), &Settings::default()).unwrap();
    assert_eq!(reply["results"].as_array().unwrap().len(), 2);
    assert_eq!(names(&reply, 1), ["github__list_issues"]);
    assert_eq!(reply["tools"].as_object().unwrap().len(), 3);
    let record = &reply["tools"]["github__create_issue"];
    assert_eq!(record["required"], json!(["title"]));
    assert_eq!(record["parameters"], json!(["owner", "title"]));
    let description = record["description"].as_str().unwrap();
    assert!(description.ends_with('…') && description.chars().count() <= 501, "{description}");
    assert_eq!(reply["tools"]["github__list_issues"]["description"], "List tickets now");
    assert!(reply["next"].as_str().unwrap().contains("tool_call"));
    assert!(reply["results"][0]["matches"][0]["score"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_server_narrows_a_search_and_an_unknown_one_does_not() {
    #[track_caller]
    fn check(server: &str, want: &[&str], note: &str) {
        let args = json!({"query": "create issue", "server": server, "limit": 2});
        let reply = search(&small_shelf(), &args, &Settings::default()).unwrap();
        assert_eq!(names(&reply, 0), want);
        assert_eq!(reply["notes"][0].as_str().unwrap_or_default(), note);
    }
    check("jira", &["jira__create_issue"], "");
    check(" Jira ", &["jira__create_issue"], "");
    check(
        "githb",
        &["jira__create_issue", "github__create_issue"],
        "there is no server 'githb' (near: github); searched all servers",
    );
    check("x\ny", &["jira__create_issue", "github__create_issue"], "there is no server 'x y'; searched all servers");
}

#[test]
fn servers_that_are_not_ready_are_told_of() {
    let shelf = small_shelf();
    let cards = shelf.cards();
    let down = SourceState::Down { reason: "exited with\ncode 1".to_owned() };
    let statuses = [
        ServerStatus { label: "slack", state: &SourceState::Starting },
        ServerStatus { label: "github", state: &SourceState::Ready },
        ServerStatus { label: "git", state: &down },
        ServerStatus { label: "off", state: &SourceState::Disabled },
    ];
    let request = read_search(&json!({"query": "zzz"}), &Settings::default()).unwrap();
    let reply = search_reply(&request, cards.as_slice(), &Plain(&[]), &statuses, None).unwrap().value;
    assert_eq!(reply["servers"], json!([{"name": "github", "tools": 2}, {"name": "jira", "tools": 1}]));
    let not_ready = reply["not_ready"].as_array().unwrap();
    assert_eq!(not_ready.len(), 2);
    assert_eq!(not_ready[0]["server"], "git");
    assert_eq!(not_ready[0]["reason"], "exited with code 1");
    assert_eq!(not_ready[1]["state"], "starting");
    assert!(not_ready.iter().all(|entry| entry["retry"].is_string()));
}

#[test]
fn names_that_were_not_found_are_told() {
    let reply = search(
        &small_shelf(),
        &json!({"query": "select:jira__create_issue,github__list_isues,create_issue,zzz"}),
        &Settings::default(),
    )
    .unwrap();
    assert_eq!(names(&reply, 0), ["jira__create_issue"]); // openclaw case 79b
    let missing = &reply["results"][0]["not_found"];
    assert_eq!(
        missing[0],
        json!({"name": "github__list_isues", "suggestions": ["github__list_issues", "github__create_issue"]})
    );
    // openclaw case 94
    assert_eq!(
        missing[1],
        json!({"name": "create_issue", "means_one_of": ["github__create_issue", "jira__create_issue"]})
    );
    assert_eq!(missing[2], json!({"name": "zzz"}));
    let nothing = search(&small_shelf(), &json!({"query": "select:zzz"}), &Settings::default()).unwrap();
    assert!(nothing["servers"].is_array() && nothing["hint"].is_string(), "{nothing}");
}

#[test]
fn pages_follow_each_other() {
    let shelf = Shelf::of_vectors("large");
    let all = search(&shelf, &json!({"query": "create issue", "limit": 20}), &Settings::default()).unwrap();
    let mut args = json!({"query": "create issue", "limit": 4});
    let mut paged = Vec::new();
    for _ in 0..5 {
        let reply = search(&shelf, &args, &Settings::default()).unwrap();
        paged.extend(names(&reply, 0).into_iter().map(str::to_owned));
        args["cursor"] = reply["next_cursor"].clone();
    }
    assert_eq!(paged, names(&all, 0));
    // Of another search.
    args["query"] = "list pods".into();
    let reply = search(&shelf, &args, &Settings::default()).unwrap();
    assert!(reply["notes"][0].as_str().unwrap().contains("not of this search"), "{}", reply["notes"]);
    assert!(!names(&reply, 0).is_empty());
    // No further page, no cursor; nothing beyond the end, and no hint that nothing matches.
    let last = search(&small_shelf(), &json!({"query": "tickets", "offset": 1}), &Settings::default()).unwrap();
    assert_eq!((names(&last, 0).len(), last.get("next_cursor"), last.get("hint")), (0, None, None));
}

#[test]
fn several_queries_have_the_same_share_and_come_in_turn() {
    let shelf = Shelf::of_vectors("large");
    let settings = resolve(&json!({"max_search_limit": 50})).0;
    let args = json!({"queries": ["create issue", "list", "pods"], "limit": 40});
    let reply = search(&shelf, &args, &settings).unwrap();
    assert!(reply["notes"][0].as_str().unwrap().contains("16 matches for each of 3 queries"));
    assert!((0..3).all(|query| names(&reply, query).len() <= 16));
    let order: Vec<&str> = reply["tools"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut want: Vec<&str> = Vec::new();
    for rank in 0..16 {
        for query in 0..3 {
            if let Some(name) = names(&reply, query).get(rank)
                && !want.contains(name)
            {
                want.push(name);
            }
        }
    }
    assert_eq!(order, want);
}

#[test]
fn a_server_without_a_fitting_tool_gives_way() {
    let args = json!({"query": "File a work item", "server": "github"});
    let reply = search(&small_shelf(), &args, &Settings::default()).unwrap();
    assert_eq!(names(&reply, 0)[0], "github__create_issue", "'a' is a word to the reference ranker");
    let args = json!({"query": "work", "server": "github"});
    let reply = search(&small_shelf(), &args, &Settings::default()).unwrap();
    assert_eq!(names(&reply, 0), ["jira__create_issue"]);
    let note = "nothing in server 'github' fits 'work'; these are from other servers";
    assert_eq!(reply["notes"][0], note);
    // The same asked for in the query itself.
    let reply = search(&small_shelf(), &json!({"query": "github: work"}), &Settings::default()).unwrap();
    assert_eq!((names(&reply, 0)[0], &reply["notes"][0]), ("jira__create_issue", &json!(note)));
    let reply = search(&small_shelf(), &json!({"query": "github: tickets"}), &Settings::default()).unwrap();
    assert_eq!((names(&reply, 0)[0], reply.get("notes")), ("github__list_issues", None));
    // What the server's own label brings is neither an answer nor from elsewhere.
    let reply = search(&small_shelf(), &json!({"query": "refund", "server": "github"}), &Settings::default()).unwrap();
    assert_eq!((names(&reply, 0), reply.get("notes")), (vec![], None));
}

#[test]
fn what_a_filter_keeps_out_is_told() {
    let mut shelf = small_shelf();
    shelf.0[2].2["annotations"] = json!({});
    let args = json!({"query": "create issue", "readonly": true});
    let reply = search(&shelf, &args, &Settings::default()).unwrap();
    assert!(!names(&reply, 0).contains(&"jira__create_issue"));
    // peers case 71
    assert_eq!(
        reply["results"][0]["left_out"],
        json!([{"name": "jira__create_issue", "why": "it does not say whether it changes anything"}])
    );
    let odd = search(&shelf, &json!({"query": "work", "readonly": "yes"}), &Settings::default()).unwrap();
    assert_eq!(names(&odd, 0), [""; 0]);
    assert!(odd["notes"][0].as_str().unwrap().contains("used true"));
    assert!(odd["hint"].as_str().unwrap().contains("filter"), "{odd}");
}

#[test]
fn search_arguments_are_read_as_meant() {
    #[track_caller]
    fn check(args: &Value, queries: &[&str], limit: usize, notes: usize) {
        let got = read_search(args, &Settings::default()).unwrap();
        assert_eq!(got.queries, queries);
        assert_eq!((got.limit, got.notes.len()), (limit, notes), "{:?}", got.notes);
    }
    check(&json!({"queries": "one"}), &["one"], 5, 0);
    check(&json!({"query": ["a", " b ", "", "a"]}), &["a", "b"], 5, 0);
    check(&json!({"queries": ["a", 4, null], "limit": 3}), &["a"], 3, 1);
    check(&json!({"queries": ["1", "2", "3", "4", "5", "6", "7", "8"]}), &["1", "2", "3", "4", "5", "6", "7"], 5, 1);
    check(&json!({"query": "a", "limit": 99}), &["a"], 20, 1);
    check(&json!({"query": "a", "limit": "7"}), &["a"], 7, 0);
    check(&json!({"query": "a", "limit": {}}), &["a"], 5, 1);
    for args in
        [json!({}), json!(null), json!([]), json!("text"), json!({"queries": [[], {}, 7]}), json!({"query": " "})]
    {
        assert_eq!(read_search(&args, &Settings::default()), Err(BridgeError::MissingQuery), "{args}");
    }
    let long = read_search(&json!({"query": "x ".repeat(5000)}), &Settings::default()).unwrap();
    assert!(long.queries[0].chars().count() <= 501);
}

#[test]
fn names_are_described_one_by_one() {
    let shelf = small_shelf();
    let request =
        read_describe(&json!({"names": ["jira__create_issue", "list_issues", "tool_call", "x\u{202e}y"], "name": "jira__create_issue"}))
            .unwrap();
    let reply = describe_reply(&request, shelf.cards().as_slice());
    assert!(!reply.nothing_found);
    let found = reply.value["found"].as_array().unwrap();
    assert_eq!(found.len(), 1);
    let keys: Vec<_> = found[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "server", "description", "inputSchema", "outputSchema", "annotations"]);
    let not_found = &reply.value["not_found"];
    assert_eq!(not_found[0]["suggestions"], json!(["github__list_issues"]));
    assert_eq!(not_found[1]["name"], "xy");
    assert_eq!(
        reply.value["errors"],
        json!([{"name": "tool_call", "error": "tool_call is in your tools list; call it directly"}])
    );
}

#[test]
fn errors_say_what_to_do_next() {
    #[track_caller]
    fn check(error: &BridgeError, want: &str) {
        assert_eq!(error.to_string(), want);
        assert_eq!(error.to_value()["message"], want);
        assert_eq!(error.to_value()["error"], error.code());
    }
    check(
        &BridgeError::MissingQuery,
        r#"tool_search needs a query in words; call it again with {"queries": ["what you want to do"]}"#,
    );
    check(
        &BridgeError::MissingName,
        "tool_describe needs names of tools; take them from the listing or from tool_search and call it again",
    );
    check(
        &BridgeError::unknown_tool("no\npe", vec![]),
        "there is no tool 'no pe'; use tool_search to find the right name",
    );
    check(
        &BridgeError::unknown_tool("x", vec!["a".to_owned()]),
        "there is no tool 'x'; did you mean 'a'? If so call it by exactly that name, else use tool_search",
    );
    check(
        &BridgeError::unknown_tool("x", vec!["a".to_owned(), "b".to_owned()]),
        "there is no tool 'x'; did you mean one of 'a', 'b'? If so use exactly that name, else use tool_search",
    );
}

#[test]
fn suggestions_are_the_nearest_names() {
    const NAMES: [&str; 6] = [
        "github__create_issue",
        "github__list_issues",
        "jira__create_issue",
        "weather-forecast",
        "getConfluencePage",
        "alpha_get",
    ];
    #[track_caller]
    fn check(name: &str, want: &[&str]) {
        assert_eq!(suggest(name, NAMES), want, "{name}");
        let mut turned = NAMES;
        turned.reverse();
        assert_eq!(suggest(name, turned), want, "{name} in another order");
    }
    check("Alpha-Get", &["alpha_get"]);
    check("get_confluence_page", &["getConfluencePage"]);
    check("weather_forecast", &["weather-forecast"]);
    check("create_issue", &["jira__create_issue", "github__create_issue"]);
    check("mcp__jira__create_issue", &["jira__create_issue"]);
    check("github__create_isue", &["github__create_issue", "github__list_issues"]);
    check("zzz", &[]);
    check("", &[]);
    check("日本語", &[]);
    assert_eq!(suggest("a", (0..1000).map(|_| "A")), ["A"]);
}

fn listing(form: Form, text: &str) -> Listing {
    Listing { form, text: text.to_owned(), groups: Vec::new() }
}

#[test]
fn the_bridge_is_small_and_framed_by_what_is_listed() {
    for form in [Form::Full, Form::Names, Form::Mixed, Form::Groups, Form::None] {
        let tools = definitions(&listing(form, ""), &Settings::default());
        let tokens: usize = tools.iter().map(|tool| TokenCounter::Chars4.json(tool)).sum();
        assert!(tokens <= 550, "{form:?}: {tokens}");
        let description = tools[0]["description"].as_str().unwrap();
        let must_search = matches!(form, Form::Groups | Form::None);
        assert_eq!(description.contains("You must search"), must_search, "{form:?}");
        assert!(description.contains("Always search before saying that you cannot"), "{form:?}");
    }
}

#[test]
fn definitions_are_complete_and_in_order() {
    let settings = resolve(&json!({"max_search_limit": 30, "search_default_limit": 8})).0;
    let tools = definitions(&listing(Form::Full, "Tools by server:\nx: y\n"), &settings);
    for (tool, name) in tools.iter().zip(BRIDGE_NAMES) {
        assert_eq!(tool["name"], name);
        let keys: Vec<_> = tool.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["name", "title", "description", "inputSchema", "annotations"]);
        assert_eq!(tool["inputSchema"]["type"], "object");
    }
    assert!(tools[0]["description"].as_str().unwrap().ends_with(".\n\nTools by server:\nx: y"));
    let limit = &tools[0]["inputSchema"]["properties"]["limit"];
    assert_eq!((&limit["maximum"], &limit["description"]), (&json!(30), &json!("Results per query (default 8).")));
    assert_eq!(tools[2]["inputSchema"]["properties"]["arguments"]["additionalProperties"], true);
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[2]["annotations"]["readOnlyHint"], false);
}
