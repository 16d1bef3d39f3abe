//! What stands beside a tool's schema: loading by search, callers, hints, marks, and servers that the provider calls.

use std::collections::BTreeSet;

use super::*;
use crate::render::hosted::{HostedError, HostedServer, hosted};

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn tool(name: &str) -> Value {
    json!({
        "name": name, "description": "Does it.", "inputSchema": {"type": "object", "properties": {"a b": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    })
}

fn search() -> Value {
    json!({"name": "tool_search", "description": "Finds.", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}})
}

/// Two tools at once, three by search, of two groups.
fn deferred(target: Target, by: SearchBy) -> Rendered {
    let tools: Vec<Value> = ["one", "two", "red.a", "red.b", "blue"].iter().map(|name| tool(name)).collect();
    let items = tools.iter().enumerate().map(|(index, definition)| Item {
        definition,
        group: if index == 4 { "blue sea" } else { "red" },
        summary: if index == 4 { "All that is blue." } else { "" },
        deferred: index > 1,
    });
    let options = RenderOptions { search: Some(by), cache: Some(CacheLife::Long), ..RenderOptions::default() };
    render_set(target, items, &options)
}

fn named(list: &[Value]) -> Vec<&str> {
    list.iter().map(|tool| tool["name"].as_str().unwrap_or_default()).collect()
}

/// §4.2: all definitions are sent, the search tool is never deferred, and no deferred tool has a cache mark.
#[test]
fn anthropic_loads_by_reference() {
    let rendered = deferred(Target::Anthropic, SearchBy::Client(search()));
    assert_eq!(named(&rendered.tools), ["one", "two", "tool_search", "red_a", "red_b", "blue"]);
    let flags: Vec<bool> = rendered.tools.iter().map(|tool| tool["defer_loading"] == true).collect();
    assert_eq!(flags, [false, false, false, true, true, true]);
    let marks: Vec<usize> = (0..6).filter(|index| rendered.tools[*index].get("cache_control").is_some()).collect();
    assert_eq!(marks, [2]);
    assert_eq!(rendered.tools[2]["cache_control"], json!({"type": "ephemeral", "ttl": "1h"}));
    assert_eq!((rendered.deferred, rendered.too_many), (3, None));
    // Names and keys of deferred tools come back like those of others.
    let way = rendered.way_back();
    let call = json!({"content": [{"type": "tool_use", "id": "t", "name": "red_a", "input": {"a_b": 1}}]});
    let turn = crate::provider::calls_from(&way, &call, &crate::provider::ReadOptions::default()).unwrap();
    assert_eq!((turn.calls[0].name.as_str(), turn.calls[0].arguments.get()), ("red.a", r#"{"a b":1}"#));

    let rendered = deferred(Target::Anthropic, SearchBy::Provider);
    assert_eq!(named(&rendered.tools), ["one", "two", "tool_search_tool_bm25", "red_a", "red_b", "blue"]);
    assert_eq!(rendered.tools[2]["type"], "tool_search_tool_bm25_20251119");
}

/// §4.3: namespaces for the provider's search; for ours, definitions only in its answers.
#[test]
fn openai_loads_by_its_search_item() {
    let rendered = deferred(Target::OpenAiResponses, SearchBy::Client(search()));
    assert_eq!(rendered.tools.len(), 3);
    assert_eq!(
        rendered.tools[2],
        json!({"type": "tool_search", "execution": "client", "description": "Finds.", "parameters": search()["inputSchema"]})
    );
    let way = rendered.way_back();
    let call =
        json!([{"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "red"}}]);
    let turn = crate::provider::calls_from(&way, &call, &crate::provider::ReadOptions::default()).unwrap();
    let reply = json!({"results": [{"matches": [{"name": "red.b"}, {"name": "one"}]}]});
    let results = [Some(crate::ToolResult::text(reply.to_string()))];
    let answer = crate::provider::results_into(&way, &turn, &results, &crate::provider::WriteOptions::default());
    let loaded = answer[0]["tools"].as_array().unwrap();
    assert_eq!(named(loaded), ["red_b"]);
    assert_eq!((&loaded[0]["type"], &loaded[0]["defer_loading"]), (&json!("function"), &json!(true)));

    let rendered = deferred(Target::OpenAiResponses, SearchBy::Provider);
    assert_eq!(named(&rendered.tools), ["one", "two", "", "red", "blue_sea"]);
    assert_eq!(rendered.tools[2], json!({"type": "tool_search"}));
    assert_eq!(named(rendered.tools[3]["tools"].as_array().unwrap()), ["red_a", "red_b"]);
    assert_eq!(rendered.tools[4]["description"], "All that is blue.");
    assert_eq!(rendered.tools[3]["description"], "Tools of red.");
}

/// Nothing is lost where a target cannot load by search: the tools are in the list.
#[test]
fn other_targets_have_everything_at_once() {
    for target in lowering().filter(|target| !target.loads_by_search()) {
        let rendered = deferred(target, SearchBy::Client(search()));
        assert_eq!((rendered.listed.len(), rendered.deferred), (5, 0), "{target}");
        assert!(!Value::from(rendered.tools.clone()).to_string().contains("defer_loading"), "{target}");
    }
}

#[test]
fn callers_hints_and_schemas_of_results() {
    let one = tool("one");
    let options = RenderOptions {
        programmatic: names(&["one"]),
        eager_streaming: names(&["one"]),
        asynchronous: names(&["one"]),
        output_schemas: true,
        cache: Some(CacheLife::Short),
        ..RenderOptions::default()
    };
    let get = |target: Target| render_set(target, [Item::direct(&one)], &options).tools;
    let output = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = &get(Target::Anthropic)[0];
    assert_eq!(tool["allowed_callers"], json!(["direct", "code_execution_20260120"]));
    assert_eq!(tool["eager_input_streaming"], true);
    assert_eq!(tool["cache_control"], json!({"type": "ephemeral", "ttl": "5m"}));
    let tool = &get(Target::OpenAiResponses)[0];
    assert_eq!(tool["allowed_callers"], json!(["direct", "programmatic"]));
    assert_eq!((&tool["async"], &tool["output_schema"]), (&json!(true), &output));
    let declaration = &get(Target::Gemini)[0]["functionDeclarations"][0];
    assert_eq!((&declaration["responseJsonSchema"], &declaration["behavior"]), (&output, &json!("NON_BLOCKING")));
    assert_eq!(get(Target::GeminiParameters)[0]["functionDeclarations"][0]["response"], output);
    assert_eq!(get(Target::Bedrock)[1], json!({"cachePoint": {"type": "default"}}));
    for target in [Target::OpenAiChat, Target::Mistral, Target::Ollama, Target::Xai, Target::Groq, Target::DeepSeek] {
        assert_eq!(get(target), render(target, [&one]).tools, "{target} has no place for any of it");
    }
    let odd = json!({"name": "odd", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": {"a b": {}}}});
    let rendered = render_set(Target::OpenAiResponses, [Item::direct(&odd)], &options);
    assert!(rendered.tools[0].get("output_schema").is_none());
    assert!(rendered.losses.iter().any(|loss| loss.construct == Construct::OutputSchema));
}

/// Another provider's model behind a compatible endpoint: this one's shape, that one's rules.
#[test]
fn lowering_by_the_rules_of_another_target() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "string", "minLength": 1}}});
    let definition = definition(&schema);
    let options = RenderOptions { lower_as: Some(Target::Xai), ..RenderOptions::default() };
    let rendered = render_set(Target::OpenAiResponses, [Item::direct(&definition)], &options);
    assert_eq!(rendered.tools[0]["type"], "function");
    assert_eq!(rendered.tools[0]["parameters"], lowered(Target::Xai, &schema));
    let many: Vec<Value> =
        (0..150).map(|n| json!({"name": format!("t{n}"), "inputSchema": {"type": "object"}})).collect();
    let count =
        |options: &RenderOptions| render_set(Target::OpenAiChat, many.iter().map(Item::direct), options).too_many;
    assert!(count(&RenderOptions::default()).is_some() && count(&options).is_none(), "128 of OpenAI, 200 of xAI");
}

fn server<'a>(url: &'a str, unasked: &[&'a str]) -> HostedServer<'a> {
    HostedServer {
        name: "git hub",
        url,
        description: Some("Code."),
        tools: vec!["get", "put"],
        unasked: unasked.to_vec(),
        deferred: true,
    }
}

/// §4.2, §4.3, §4.6: allowed tools always, approvals where the provider has them.
#[test]
fn servers_that_the_provider_calls() {
    let url = "https://mcp.example.com/v1";
    let entry = hosted(Target::Anthropic, &server(url, &["get"])).unwrap();
    assert_eq!(
        entry.tool,
        json!({
            "type": "mcp_toolset", "mcp_server_name": "git hub", "default_config": {"enabled": false, "defer_loading": true},
            "configs": {"get": {"enabled": true}},
        })
    );
    assert_eq!(entry.server, Some(json!({"type": "url", "name": "git hub", "url": url})));
    assert_eq!(entry.left_out, ["put"], "Anthropic asks nobody");
    let approval = |unasked: &[&str]| {
        let entry = hosted(Target::OpenAiResponses, &server(url, unasked)).unwrap();
        assert_eq!(
            (&entry.tool["server_label"], &entry.tool["allowed_tools"]),
            (&json!("git_hub"), &json!(["get", "put"]))
        );
        entry.tool["require_approval"].clone()
    };
    assert_eq!(approval(&[]), "always");
    assert_eq!(approval(&["get", "put"]), "never");
    assert_eq!(approval(&["get"]), json!({"always": {"tool_names": ["put"]}, "never": {"tool_names": ["get"]}}));
    let entry = hosted(Target::Xai, &server(url, &["get"])).unwrap();
    assert_eq!((&entry.tool["allowed_tools"], entry.tool.get("require_approval")), (&json!(["get"]), None));
}

#[test]
fn servers_that_no_provider_may_be_sent_to() {
    let refused = |target: Target, url: &str, unasked: &[&str]| hosted(target, &server(url, unasked)).unwrap_err();
    for url in ["http://mcp.example.com", "", "https://", "https://user:secret@mcp.example.com", "file:///etc"] {
        let error = refused(Target::OpenAiResponses, url, &[]);
        assert!(matches!(error, HostedError::Address(..)), "{url}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert!(matches!(refused(Target::Anthropic, "https://m.example.com", &[]), HostedError::Nothing(..)));
    for target in [Target::Gemini, Target::Bedrock, Target::OpenAiChat, Target::Mistral, Target::Mcp] {
        assert!(matches!(refused(target, "https://m.example.com", &["get"]), HostedError::NotOffered(..)), "{target}");
    }
}

/// Entries, checked in: the end-to-end tests give them to the official SDKs. `UPDATE_GENERATED=1` writes them.
#[test]
fn servers_for_the_sdks() {
    let url = "https://mcp.example.com/v1";
    let all: serde_json::Map<String, Value> = [Target::Anthropic, Target::OpenAiResponses, Target::Xai]
        .into_iter()
        .map(|target| {
            let entry = hosted(target, &server(url, &["get"])).unwrap();
            let servers: Vec<Value> = entry.server.into_iter().collect();
            (target.name().to_owned(), json!({"tools": [entry.tool], "mcp_servers": servers}))
        })
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/e2e/fixtures/hosted.json");
    let want = format!("{:#}\n", Value::Object(all));
    if std::env::var("UPDATE_GENERATED").is_ok() {
        fs::write(&path, &want).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == want, "{} is out of date; run this test with UPDATE_GENERATED=1", path.display());
}
