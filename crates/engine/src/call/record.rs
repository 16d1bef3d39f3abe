//! Record: one event per call to every observer. Nothing of arguments or results goes in.

use super::Progressing;
use crate::{
    engine::Engine,
    event::{CallEvent, Outcome},
};

pub(super) fn record(engine: &Engine, state: &Progressing, outcome: Outcome, reason: Option<String>) {
    let event = CallEvent {
        call_id: state.call_id,
        door: state.door,
        tool: state.tool.as_ref().map(|tool| tool.id().clone()),
        name: state.name.clone(),
        outcome,
        reason,
        repairs: state.repairs.len(),
        result_bytes: state.result_bytes,
        backend_time: state.backend_time,
        total_time: state.started.elapsed(),
    };
    for sink in engine.sinks() {
        sink.record(&event);
    }
}
