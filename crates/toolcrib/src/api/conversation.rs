//! From the wire's conversation to what the core assembles a turn of.

use serde_json::json;
use toolcrib_core::conversation::TurnRequest;
use toolcrib_gateway::api::{
    Problem,
    wire::{Conversation, Number},
};

use super::as_wire;

/// The request for the next turn.
pub(super) fn in_conversation(conversation: Conversation) -> Result<TurnRequest, Problem> {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(TurnRequest {
        transcript: conversation.transcript,
        previous: conversation.previous.map(|turn| as_wire(&json!(turn))).transpose()?,
        task: conversation.task.map(toolcrib_gateway::api::wire::Text::into_inner),
        most: conversation.most.map(Number::get).map(number),
        budget: conversation.budget.map(Number::get).map(number),
    })
}
