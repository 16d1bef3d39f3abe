//! What a scope sees is what it can call: agents and their sub-agents, and tools that stand for several.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{
    Scope, Source, SourceState, ToolResult,
    name::MergeRule,
    select::{Allow, Layer, Lists, Role},
};
use toolcrib_engine::{
    Backend, BoxFuture, Engine, EngineSettings, Hub, HubLimits, Invocation, InvokeError, Outcome, SourceOptions,
};

use crate::library::{call, text};

/// Says who it is and what it got.
struct Which(&'static str);

impl Backend for Which {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        let text = format!("{} {}", self.0, invocation.arguments.get());
        Box::pin(async move { Ok(ToolResult::text(text)) })
    }
}

fn engine(settings: EngineSettings) -> Engine {
    let hub = Hub::new(HubLimits::default());
    for server in ["work", "home"] {
        let publisher = hub.register(Source::Mcp(server.into()), SourceOptions::default(), Arc::new(Which(server)));
        let tool = json!({"name": "find", "annotations": {"readOnlyHint": true}, "inputSchema": {
            "type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false,
        }});
        publisher.tools(SourceState::Ready, vec![tool], None, false);
    }
    Engine::new(hub, settings, None, vec![])
}

#[tokio::test]
async fn a_sub_agent_calls_no_more_than_its_parent_could() {
    let mut settings = EngineSettings::default();
    let lists = Lists { deny: vec!["mcp:home".parse().unwrap()], origins: "test".into(), ..Lists::default() };
    settings.assemble.policy.agents.insert("small".into(), Layer { lists, ..Layer::default() });
    settings.assemble.policy.agents.insert("big".into(), Layer::default());
    let engine = engine(settings);
    let agent = |name: &str| Scope { agent: Some(name.into()), ..Scope::default() };
    let small = Arc::new(agent("small"));
    let child = Scope { owner: true, profile: Some("full".into()), ..small.child(Some("big".into())) };
    let coordinator = Scope { role: Some(Role::Coordinator), ..agent("big") };
    let worker = Arc::new(coordinator.clone()).child(Some("big".into()));
    for (scope, work, home) in [
        (agent("big"), true, true),
        (agent("small"), true, false),
        (child, true, false),
        (coordinator, false, false),
        (worker, true, true),
    ] {
        for (server, runs) in [("work", work), ("home", home)] {
            let name = format!("{server}__find");
            let bridged = json!({"name": name, "arguments": {"n": 1}});
            for report in
                [call(&engine, &scope, &name, json!({"n": 1})).await, call(&engine, &scope, "tool_call", bridged).await]
            {
                assert_eq!(report.outcome == Outcome::Ok, runs, "{name}: {}", text(&report));
            }
            // What can be called is what is listed.
            assert_eq!(engine.view(&scope).unwrap().set.tool(&name).is_some(), runs);
        }
    }
}

#[tokio::test]
async fn a_tool_that_stands_for_several_reaches_the_one_that_is_named() {
    let mut settings = EngineSettings::default();
    let servers = vec!["work".to_owned(), "home".to_owned()];
    settings.assemble.merge.push(MergeRule { label: "hub".into(), servers, argument: "account".into() });
    let engine = engine(settings);
    let scope = Scope::default();
    let report = call(&engine, &scope, "hub__find", json!({"account": "home", "n": 1})).await;
    assert_eq!((report.outcome, text(&report)), (Outcome::Ok, "home {\"n\":1}".to_owned()));
    assert_eq!(report.tool.as_ref().map(ToString::to_string).as_deref(), Some("mcp:home/find"));
    let bridged = json!({"name": "hub__find", "arguments": {"n": 2, "account": "work"}});
    assert_eq!(text(&call(&engine, &scope, "tool_call", bridged).await), "work {\"n\":2}");
    let report = call(&engine, &scope, "hub__find", json!({"n": 1})).await;
    assert_eq!(report.outcome, Outcome::Invalid);
    assert!(text(&report).contains("'account' has to be one of home, work"), "{}", text(&report));
    let report = call(&engine, &scope, "hub__find", json!({"account": "home", "n": "x"})).await;
    assert_eq!(report.outcome, Outcome::Invalid, "held against the tool's own schema");
    assert_eq!(call(&engine, &scope, "work__find", json!({"n": 1})).await.outcome, Outcome::Invalid);
    let told = engine.explain(&scope, "mcp:work/find").unwrap();
    assert_eq!(told[0].sentence(), "mcp:work/find is reachable as hub__find with account = \"work\".");
    let told = engine.explain(&scope, "hub__find").unwrap();
    assert!(told[0].sentence().starts_with("mcp:hub/find is "), "{}", told[0].sentence());
}

#[tokio::test]
async fn nothing_is_told_of_a_server_that_policy_shuts_out() {
    let allow = |list: &[&str]| Lists {
        allow: Allow::Only(list.iter().map(|text| text.parse().unwrap()).collect()),
        origins: "test".into(),
        ..Lists::default()
    };
    let deny = |list: &[&str]| Lists {
        deny: list.iter().map(|text| text.parse().unwrap()).collect(),
        origins: "test".into(),
        ..Lists::default()
    };
    for (lists, told) in [
        (Lists::default(), true),
        (deny(&["mcp:dead"]), false),
        (deny(&["group:mcp"]), false),
        (deny(&["mcp:dead/wipe"]), true),
        (allow(&["mcp:work"]), false),
        (allow(&["find", "work__*"]), false),
        (allow(&["mcp:*"]), true),
        (allow(&["mcp:dead/find"]), true),
        (allow(&["dead__f*"]), true),
        (Lists { allow: Allow::None, ..Lists::default() }, false),
    ] {
        let mut settings = EngineSettings::default();
        settings.assemble.policy.everyone.lists = lists.clone();
        let engine = engine(settings);
        let dead = engine.hub().register(Source::Mcp("dead".into()), SourceOptions::default(), Arc::new(Which("dead")));
        dead.tools(SourceState::Down { reason: "/opt/x is not there".into() }, vec![], None, false);
        let found = engine.search(&Scope::default(), &json!({"query": "nothing like it"})).await.unwrap().unwrap();
        assert_eq!(found.to_string().contains("dead"), told, "{lists:?}: {found}");
    }
}

#[tokio::test]
async fn without_what_it_needs_a_scope_is_served_nothing() {
    let mut settings = EngineSettings::default();
    settings.assemble.policy.everyone.lists =
        Lists { deny: vec!["mcp:home".parse().unwrap()], origins: "secret.toml:1".into(), ..Lists::default() };
    let engine = engine(settings);
    let needs = |tool: &str| Scope { required: vec![tool.parse().unwrap()], ..Scope::default() };
    for (tool, stage) in [("mcp:work/find", None), ("mcp:home/find", Some("global")), ("mcp:gone/find", Some("source"))]
    {
        let scope = needs(tool);
        let served = engine.view(&scope).map(|_| ()).map_err(|error| error.to_string());
        let told = stage.map(|stage| format!("{tool} ({stage})"));
        assert_eq!(served.is_ok(), told.is_none(), "{served:?}");
        let searched = engine.search(&scope, &json!({"query": "find"})).await.is_ok();
        assert_eq!(searched, told.is_none());
        // Looking into it stays possible.
        assert!(engine.inspect(&scope).is_ok() && engine.explain(&scope, "*").is_ok());
        let bridged = json!({"name": "work__find", "arguments": {"n": 1}});
        for report in [
            call(&engine, &scope, "work__find", json!({"n": 1})).await,
            call(&engine, &scope, "tool_call", bridged).await,
            call(&engine, &scope, "tool_search", json!({"query": "find"})).await,
        ] {
            match &told {
                None => assert_eq!(report.outcome, Outcome::Ok, "{}", text(&report)),
                Some(told) => {
                    let said = text(&report);
                    assert_eq!(report.outcome, Outcome::Denied, "{said}");
                    assert!(said.contains(told) && !said.contains("secret.toml"), "{said}");
                }
            }
        }
    }
}
