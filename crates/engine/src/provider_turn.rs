//! A model's whole turn through the call path: every call in it, in order where order may matter.

use futures_util::{StreamExt, stream};
use toolcrib_core::{
    Scope, ToolResult,
    provider::{ProviderCall, Turn},
};

use crate::{CallReport, CallRequest, Engine, View};

/// Most calls of one turn that run at the same time (OpenClaude reference §2.5).
const AT_ONCE: usize = 10;

impl View {
    /// How many calls of a turn may run together, group after group: calls one after the other that are known to only read
    /// are one group; any other is a group of its own, after those before it. Adds up to the number of calls.
    pub fn turn_groups(&self, calls: &[ProviderCall]) -> Vec<usize> {
        let reads = |call: &ProviderCall| {
            let tool = self.set.tool(&call.name);
            tool.is_some_and(|tool| tool.hints_trusted() && tool.annotations().read_only_hint == Some(true))
        };
        let (mut groups, mut rest) = (Vec::new(), calls);
        while !rest.is_empty() {
            let together = rest.iter().take_while(|call| reads(call)).count().max(1);
            groups.push(together);
            rest = &rest[together..];
        }
        groups
    }
}

impl Engine {
    /// Runs the calls of a turn; the reports are in the order of the calls.
    ///
    /// What may run together does ([`View::turn_groups`]). `request` makes the request of a call: who asks, through which door, how long it may take. Failures are reports
    /// like any other, so that every call can be answered.
    pub async fn run_turn(
        &self,
        scope: &Scope,
        turn: &Turn,
        request: impl Fn(&ProviderCall) -> CallRequest,
    ) -> Vec<CallReport> {
        let groups = self.view(scope).map_or_else(|_| vec![1; turn.calls.len()], |view| view.turn_groups(&turn.calls));
        let mut reports = Vec::with_capacity(turn.calls.len());
        let mut rest = turn.calls.as_slice();
        for together in groups {
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
