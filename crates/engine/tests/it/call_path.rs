//! One call path for every door.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib_core::Scope;
use toolcrib_core::permission::{Risk, RiskRule};
use toolcrib_engine::{CallReply, CallRequest, Door, EngineSettings, Outcome, PermissionSettings, Trust};

use crate::{library::text, script::World};

fn bridged(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// The same call directly and through the bridge ends alike.
#[track_caller]
fn check(name: &str, arguments: Value, want: Outcome, want_runs: usize, want_text: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        for bridge in [false, true] {
            let world = World::new(EngineSettings::default());
            let report = if bridge {
                world.call("tool_call", bridged(name, &arguments)).await
            } else {
                world.call(name, arguments.clone()).await
            };
            assert_eq!(report.outcome, want, "{name} bridge={bridge}: {}", text(&report));
            assert_eq!(world.runs(), want_runs, "{name} bridge={bridge}");
            let text = text(&report);
            assert!(text.contains(want_text), "{name} bridge={bridge}: {text}");
            let events = world.events.0.lock();
            assert_eq!(events.len(), 1, "one event a call");
            assert_eq!(events[0].outcome, want);
            assert_eq!(events[0].door, if bridge { Door::Bridge } else { Door::Direct });
        }
    });
}

#[test]
fn a_call_ends_in_exactly_one_outcome_through_every_door() {
    check("s__echo", json!({"n": 1}), Outcome::Ok, 1, "{\"n\":1}");
    check("s__fail", json!({}), Outcome::ToolError, 1, "disk on fire");
    check("s__panic", json!({}), Outcome::Unknown, 1, "may or may not have taken effect");
    check("s__panic_early", json!({}), Outcome::Unknown, 0, "may or may not have taken effect");
    check("s__hang", json!({}), Outcome::TimedOut, 1, "did not answer within 60000 ms");
    check("s__down", json!({}), Outcome::Unavailable, 1, "nothing was run: connection refused");
    check("s__lost", json!({}), Outcome::Unknown, 1, "broken pipe");
    check("s__refused", json!({}), Outcome::ToolError, 1, "-32000 no");
    check("s__echo", json!({"n": "x"}), Outcome::Invalid, 0, "\"additionalProperties\":false");
    check("s__echo", json!({}), Outcome::Invalid, 0, "n");
    check("s__echo", json!({"n": 1, "extra": 2}), Outcome::Invalid, 0, "extra");
    check("s__ecko", json!({"n": 1}), Outcome::Invalid, 0, "s__echo");
    check("nothing_like_it", json!({}), Outcome::Invalid, 0, "tool_search");
}

#[tokio::test]
async fn repaired_arguments_reach_the_tool_and_are_reported() {
    let world = World::new(EngineSettings::default());
    let report = world.call("s__echo", json!({"n": "7"})).await;
    assert_eq!(report.outcome, Outcome::Ok, "{}", text(&report));
    assert_eq!(*world.script.last_arguments.lock(), r#"{"n":7}"#);
    assert_eq!(report.repairs.len(), 1);
}

#[tokio::test]
async fn untouched_arguments_reach_the_tool_byte_for_byte() {
    let world = World::new(EngineSettings::default());
    let arguments = r#"{ "n":123456789012345678901234567890, "t":"\u00e9" }"#;
    world.call_raw("s__echo", arguments).await;
    assert_eq!(*world.script.last_arguments.lock(), arguments);
}

#[tokio::test]
async fn arguments_that_mean_two_things_never_run() {
    for arguments in [r#"{"n":1,"n":2}"#, r#"{"n":1,"\u006e":2}"#, r#""{\"n\":1""#] {
        let world = World::new(EngineSettings::default());
        let report = world.call_raw("s__echo", arguments).await;
        assert_eq!(report.outcome, Outcome::Invalid, "{arguments}");
        assert_eq!(world.runs(), 0);
    }
}

#[tokio::test]
async fn the_bridge_does_not_call_the_bridge() {
    for name in ["tool_search", "tool_describe", "tool_call"] {
        let world = World::new(EngineSettings::default());
        let report = world.call("tool_call", bridged(name, &json!({"query": "echo"}))).await;
        assert_eq!(report.outcome, Outcome::Invalid);
        assert!(text(&report).contains(name));
    }
}

#[tokio::test]
async fn hidden_and_unknown_answer_alike_and_the_record_tells_them_apart() {
    let mut settings = EngineSettings::default();
    settings.assemble.policy.push(toolcrib_core::select::ListStage {
        name: "global".into(),
        lists: toolcrib_core::select::Lists {
            allow: toolcrib_core::select::Allow::All,
            deny: vec!["mcp:s/echo".parse().unwrap()],
            origins: "test".into(),
            ..toolcrib_core::select::Lists::default()
        },
    });
    let world = World::new(settings);
    for bridge in [false, true] {
        let call = |name: &'static str| {
            let world = &world;
            async move {
                let report = if bridge {
                    world.call("tool_call", bridged(name, &json!({"n": 1}))).await
                } else {
                    world.call(name, json!({"n": 1})).await
                };
                text(&report).replace(name, "NAME")
            }
        };
        assert_eq!(call("s__echo").await, call("s__ekko").await);
    }
    assert_eq!(world.runs(), 0);
    let events = world.events.0.lock().clone();
    assert!(events[0].reason.as_deref().unwrap().contains("hidden by the global stage"));
    assert_eq!(events[1].reason, None);
    let found = text(&world.call("tool_search", json!({"query": "echo"})).await);
    assert!(!found.contains("s__echo"), "{found}");
    let shown = world.call("tool_describe", json!({"name": "s__echo"})).await;
    assert!(text(&shown).contains("not_found"));
}

#[tokio::test]
async fn search_and_describe_lead_to_a_call() {
    let world = World::new(EngineSettings::default());
    let found = text(&world.call("tool_search", json!({"queries": ["say it back"]})).await);
    assert!(found.contains("s__echo"), "{found}");
    let shown: Value =
        serde_json::from_str(&text(&world.call("tool_describe", json!({"names": ["s__echo"]})).await)).unwrap();
    assert_eq!(shown["found"][0]["inputSchema"]["required"], json!(["n"]));
}

#[tokio::test]
async fn at_trust_none_only_named_tools_run() {
    let permissions = PermissionSettings {
        trust: Trust::None,
        allow: vec!["mcp:s/fail".parse().unwrap()],
        ..PermissionSettings::default()
    };
    let world = World::new(EngineSettings { permissions, ..EngineSettings::default() });
    let report = world.call("s__echo", json!({"n": 1})).await;
    assert_eq!((report.outcome, world.runs()), (Outcome::Denied, 0));
    assert!(text(&report).contains("permissions.allow"));
    assert_eq!(world.call("s__fail", json!({})).await.outcome, Outcome::ToolError);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_call_even_if_the_tool_does_not_listen() {
    let world = World::new(EngineSettings::default());
    let cancel = CancellationToken::new();
    let mut request = CallRequest::new("s__hang", None, Scope::default(), Door::Library);
    request.cancel = cancel.clone();
    let (report, ()) = tokio::join!(world.engine.call_report(request), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert_eq!(report.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_result_over_budget_is_cut_with_a_notice() {
    let world = World::new(EngineSettings::default());
    let report = world.call("s__huge", json!({})).await;
    let text = text(&report);
    assert_eq!(report.outcome, Outcome::Ok);
    assert!(text.len() < 10_000, "{} bytes", text.len());
    assert!(
        text.contains("500000") || text.contains("500,000"),
        "the notice names the size: {}",
        &text[text.len() - 400..]
    );
}

#[tokio::test]
async fn an_upstreams_error_has_bounds_too() {
    let world = World::new(EngineSettings::default());
    let CallReply::Protocol { message, data, .. } = world.call("s__refused_at_length", json!({})).await.reply else {
        panic!("the upstream's error stays an error")
    };
    assert!(message.ends_with("[cut from 3000000 characters]"), "{}", message.len());
    assert_eq!(data, Some(json!("[3000002 bytes left out]")));
    assert!(world.events.0.lock()[0].reason.as_ref().unwrap().len() < 2_000);
}

/// A blank around a name leads to the tool, and to every rule about it.
#[tokio::test]
async fn another_spelling_of_a_name_is_no_way_around_rules_about_it() {
    let critical = RiskRule { selector: "s__echo".parse().unwrap(), risk: Some(Risk::Critical), effect: None };
    let permissions = PermissionSettings { risks: vec![critical], ..PermissionSettings::default() };
    let world = World::new(EngineSettings { permissions, ..EngineSettings::default() });
    for name in ["s__echo", " s__echo", "s__echo ", "\ts__echo\n"] {
        let direct = world.call(name, json!({"n": 1})).await;
        let bridged = world.call("tool_call", bridged(name, &json!({"n": 1}))).await;
        for report in [direct, bridged] {
            assert_eq!((report.outcome, world.runs()), (Outcome::Denied, 0), "{name:?}: {}", text(&report));
        }
    }
    assert_eq!(world.call(" s__fail ", json!({})).await.outcome, Outcome::ToolError);
}
