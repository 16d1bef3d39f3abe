//! Turns: calls out of a provider's response, results back into it.

use serde_json::Value;
use toolcrib_core::{
    ToolResult,
    provider::{ReadOptions, WriteOptions, calls_from, results_into},
};
use toolcrib_gateway::api::{
    ApiCaller, AskedCalls, Code, Problem,
    wire::{Call, Ended, Number, Text, Turn, TurnCall, TurnDone},
};

use super::{
    Api,
    conversation::in_conversation,
    scope::{Asking, unassembled},
};
use crate::commands::assemble::prepared;

/// Longest name of a call that is looked up, characters; no tool has one as long.
const MAX_NAME: usize = 512;

pub(super) async fn read(api: &Api, caller: &ApiCaller, turn: Turn) -> Result<AskedCalls, Problem> {
    let asking = Asking::of(api, caller.principal.as_deref(), &turn.scope)?;
    let request = turn.conversation.map(|conversation| in_conversation(conversation.0)).transpose()?;
    let prepared = prepared(&api.world, asking.scope, turn.target.0, request.as_ref()).await.map_err(unassembled)?;
    let way = prepared.payload.rendered.way_back();
    let options = ReadOptions { printed: turn.printed, turn: turn.number.map_or(0, Number::get) };
    let read = calls_from(&way, &turn.response, &options)
        .map_err(|error| Problem::new(Code::BadResponse, error.to_string()).at("/response", error.to_string()))?;
    let mut calls = Vec::with_capacity(read.calls.len());
    for call in &read.calls {
        let name: String = call.name.chars().take(MAX_NAME).collect();
        let name = Text::new(name)
            .map_err(|why| Problem::new(Code::BadResponse, format!("the name of a call cannot be used: {why}")))?;
        let asked = Call {
            name,
            arguments: Some(call.arguments.clone()),
            session: turn.session.clone(),
            idempotency_key: None,
            timeout_ms: turn.timeout_ms,
            scope: turn.scope.clone(),
        };
        calls.push((call.id.clone(), asked));
    }
    let groups = prepared.view.turn_groups(&read.calls);
    let images = turn.images.unwrap_or_else(|| prepared.model.as_ref().is_some_and(|model| model.images));
    let write = WriteOptions { images };
    let answer = Box::new(move |ended: Vec<Ended>| {
        let results: Vec<Option<ToolResult>> =
            ended.iter().map(|ended| ToolResult::from_raw(ended.call.result.clone()).ok()).collect();
        let answers: Vec<Value> = results_into(&way, &read, &results, &write);
        let calls: Vec<TurnCall> = read
            .calls
            .iter()
            .zip(ended)
            .map(|(call, ended)| TurnCall { id: call.id.clone(), name: call.name.clone(), ended })
            .collect();
        let done = calls.is_empty();
        let messages = read.messages.into_iter().chain(answers).collect();
        TurnDone { messages, text: read.text, done, calls }
    });
    Ok(AskedCalls { calls, groups, answer })
}
