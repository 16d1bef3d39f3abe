//! Deferred tools called by a caller that was never shown their definition: what is wrong with the call comes back with the
//! definition, and the next try works. Checks are no weaker for it, and nothing has to be asked for first.

use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{Scope, Source, SourceState, assemble::Standing};
use toolcrib_engine::{CallReply, CallRequest, Door, EngineSettings, Outcome, SourceOptions};

use crate::script::World;

/// Tools that answer with their own name, by what their schema lets through.
fn world() -> World {
    let world = World::new(EngineSettings::default());
    let publisher =
        world.engine.hub().register(Source::Mcp("o".into()), SourceOptions::default(), world.script.clone());
    let tool = |name: &str, schema: Value| json!({"name": name, "description": format!("The tool\u{200b} {name}."), "inputSchema": schema});
    let repo = json!({"repo": {"type": "string"}});
    publisher.tools(
        SourceState::Ready,
        vec![
            tool("lax", json!({"type": "object", "properties": repo})),
            tool("map", json!({"type": "object", "properties": repo, "additionalProperties": {"type": "integer"}})),
            tool("either", json!({"type": "object", "properties": repo, "anyOf": [{"properties": {"path": {}}}]})),
            tool("bare", json!({"type": "object"})),
        ],
        None,
        false,
    );
    world
}

/// The same through every door.
#[track_caller]
fn check(name: &str, written: &str, want: Outcome, want_runs: usize, want_texts: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for (door, bridged) in
            [(Door::Direct, false), (Door::Direct, true), (Door::Http, false), (Door::Library, false)]
        {
            let world = world();
            let view = world.engine.view(&Scope::default()).unwrap();
            let position = view.set.name_map().position(name).unwrap();
            assert_eq!(view.set.standing(position), Standing::Deferred, "{name} must be one that is not shown");
            let (called, raw) = if bridged {
                ("tool_call", format!("{{\"name\":\"{name}\",\"arguments\":{written}}}"))
            } else {
                (name, written.to_owned())
            };
            let arguments = RawValue::from_string(raw).unwrap();
            let report =
                world.engine.call_report(CallRequest::new(called, Some(arguments), Scope::default(), door)).await;
            let CallReply::Result(result) = &report.reply else { panic!("{:?}", report.reply) };
            let text = result.to_text();
            assert_eq!((report.outcome, world.runs()), (want, want_runs), "{name} {written} {door:?}: {text}");
            for want in want_texts {
                assert!(text.contains(want), "{name} {written} {door:?}: {text}");
            }
        }
    });
}

#[test]
fn a_wrong_first_try_brings_the_definition_and_the_next_one_works() {
    // openclaw case 90
    let schema = "\"n\":{\"type\":\"integer\"}";
    check("s__echo", "{\"number\":1}", Outcome::Invalid, 0, &["not in your tools list", "Says it back.", schema]);
    check("s__echo", "{}", Outcome::Invalid, 0, &["not in your tools list", schema]);
    check("s__echo", "{\"n\":1}", Outcome::Ok, 1, &["{\"n\":1}"]);
}

#[test]
fn arguments_of_which_the_tool_has_none_were_guessed() {
    // hermes §6 case 16: such a call would run as if without arguments
    check(
        "o__lax",
        "{\"repository\":\"x\",\"q\":1}",
        Outcome::Invalid,
        0,
        &["o__lax has no argument 'repository', 'q', so nothing was run", "What it does: The tool lax.", "\"repo\""],
    );
    check("o__lax", "{\"repo\":\"x\"}", Outcome::Ok, 1, &["lax"]);
    check("o__lax", "{}", Outcome::Ok, 1, &["lax"]);
    // One that is right says that the definition is known.
    check("o__lax", "{\"repo\":\"x\",\"depth\":1}", Outcome::Ok, 1, &["lax"]);
    // Schemas that take more than they list are taken at their word.
    check("o__map", "{\"depth\":1}", Outcome::Ok, 1, &["map"]);
    check("o__either", "{\"path\":\"x\"}", Outcome::Ok, 1, &["either"]);
    check("o__bare", "{\"anything\":1}", Outcome::Ok, 1, &["bare"]);
}

#[tokio::test]
async fn arguments_that_cannot_be_read_bring_the_definition_too() {
    let report = world().call_raw("s__echo", r#""{\"n\":""#).await;
    let CallReply::Result(result) = report.reply else { panic!() };
    for want in ["cannot be read", "Says it back.", "\"n\":{\"type\":\"integer\"}"] {
        assert!(result.to_text().contains(want), "{}", result.to_text());
    }
}

#[tokio::test]
async fn a_tool_that_is_shown_is_not_second_guessed() {
    let mut settings = EngineSettings::default();
    settings.assemble.always = vec!["o__lax".parse().unwrap()];
    let world = world();
    world.engine.replace_settings(settings);
    let report = world.call("o__lax", json!({"repository": "x"})).await;
    assert_eq!(report.outcome, Outcome::Ok);
    let report = world.call("o__lax", json!({"repo": 1.5})).await;
    let CallReply::Result(result) = report.reply else { panic!() };
    assert!(!result.to_text().contains("not in your tools list"), "{}", result.to_text());
}
