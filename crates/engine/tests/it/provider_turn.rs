//! Turns of models, from the provider's response to its answers.

use serde_json::{Value, json};
use toolcrib_core::{
    Scope,
    provider::{ReadOptions, WriteOptions, calls_from, results_into},
    render::{Target, render},
};
use toolcrib_engine::{CallRequest, Door, EngineSettings, turn_results};

use crate::script::World;

/// Every call is answered, in order, whatever became of it; arguments are held to the original schema.
#[tokio::test]
async fn a_turn_is_answered_whole() {
    let world = World::new(EngineSettings::default());
    let scope = Scope::default();
    let view = world.engine.view(&scope).unwrap();
    for target in [Target::Anthropic, Target::OpenAiChat, Target::OpenAiResponses, Target::Mistral] {
        let way = render(target, view.set.definitions.iter().map(|definition| &**definition)).way_back();
        let calls = [
            ("s__echo", json!({"n": 1})),
            ("s__echo", json!({"n": "no number"})),
            ("s__fail", json!({})),
            ("s__nothing", json!({})),
            ("tool_call", json!({"name": "s__echo", "arguments": {"n": 2}})),
        ];
        let response: Value = match target {
            Target::Anthropic => json!({"content": calls.iter().enumerate().map(|(n, (name, input))| {
                json!({"type": "tool_use", "id": format!("t{n}"), "name": name, "input": input})
            }).collect::<Vec<_>>()}),
            Target::OpenAiResponses => json!({"output": calls.iter().enumerate().map(|(n, (name, input))| {
                json!({"type": "function_call", "call_id": format!("t{n}"), "name": name, "arguments": input.to_string()})
            }).collect::<Vec<_>>()}),
            _ => json!({"choices": [{"message": {"tool_calls": calls.iter().enumerate().map(|(n, (name, input))| {
                json!({"id": format!("t{n}"), "type": "function", "function": {"name": name, "arguments": input.to_string()}})
            }).collect::<Vec<_>>()}}]}),
        };
        let turn = calls_from(&way, &response, &ReadOptions::default()).unwrap();
        let reports = world
            .engine
            .run_turn(&scope, &turn, |call| {
                CallRequest::new(&call.name, Some(call.arguments.clone()), scope.clone(), Door::Library)
            })
            .await;
        let words: Vec<&str> = reports.iter().map(|report| report.outcome.word()).collect();
        assert_eq!(words, ["ok", "invalid", "tool_error", "invalid", "ok"], "{target}");
        let answers = results_into(&way, &turn, &turn_results(reports), &WriteOptions::default());
        let text = Value::from(answers).to_string();
        let places: Vec<Option<usize>> =
            ["{\\\"n\\\":1}", "additionalProperties", "disk on fire", "s__nothing", "{\\\"n\\\":2}"]
                .iter()
                .map(|said| text.find(said))
                .collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{target}: {places:?} in {text}");
    }
}
