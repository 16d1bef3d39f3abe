//! A model's whole turn through the call path: every call in it, in order where order may matter.

use futures_util::{StreamExt, stream};
use toolcrib_core::{
    Scope, ToolResult,
    provider::{ProviderCall, Turn},
};

use crate::{CallReport, CallRequest, Engine};

/// Most calls of one turn that run at the same time (OpenClaude reference §2.5).
const AT_ONCE: usize = 10;

impl Engine {
    /// Runs the calls of a turn; the reports are in the order of the calls.
    ///
    /// Calls one after the other that are known to only read run together; any other runs alone, after those before it.
    /// `request` makes the request of a call: who asks, through which door, how long it may take. Failures are reports
    /// like any other, so that every call can be answered.
    pub async fn run_turn(
        &self,
        scope: &Scope,
        turn: &Turn,
        request: impl Fn(&ProviderCall) -> CallRequest,
    ) -> Vec<CallReport> {
        let view = self.view(scope).ok();
        let reads = |call: &ProviderCall| {
            view.as_ref()
                .and_then(|view| view.set.tool(&call.name))
                .is_some_and(|tool| tool.hints_trusted() && tool.annotations().read_only_hint == Some(true))
        };
        let mut reports = Vec::with_capacity(turn.calls.len());
        let mut rest = turn.calls.as_slice();
        while !rest.is_empty() {
            let together = rest.iter().take_while(|call| reads(call)).count().max(1);
            let (batch, after) = rest.split_at(together);
            let requests: Vec<CallRequest> = batch.iter().map(&request).collect();
            let running = stream::iter(requests).map(|request| self.call_report(request)).buffered(AT_ONCE);
            reports.extend(running.collect::<Vec<_>>().await);
            rest = after;
        }
        reports
    }
}

/// What the reports of a turn say, for [`toolcrib_core::provider::results_into`].
pub fn turn_results(reports: Vec<CallReport>) -> Vec<Option<ToolResult>> {
    reports.into_iter().map(|report| Some(report.reply.into())).collect()
}
