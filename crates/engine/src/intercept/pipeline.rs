//! An immutable set of interceptors in order, and the steps a call takes through it.

use std::{sync::Arc, time::Duration};

use toolcrib_core::{Tool, ToolResult};

use super::{
    After, Attached, Before, Failure, Intercepted, Interceptor, OnError, Stage,
    guarded::{Fault, caught, guarded},
};
use crate::event::Outcome;

/// One attached interceptor with what it said of itself when it was attached.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    stage: Stage,
    priority: i32,
    sequence: u64,
    limit: Duration,
    pub(super) hook: Arc<dyn Interceptor>,
}

impl Entry {
    pub(super) fn new(sequence: u64, hook: Arc<dyn Interceptor>) -> Self {
        Self {
            name: hook.name().to_owned(),
            stage: hook.stage(),
            priority: hook.priority(),
            sequence,
            limit: hook.time_limit(),
            hook,
        }
    }

    fn applies(&self, tool: &Tool) -> Result<bool, Fault> {
        caught(|| self.hook.applies(tool))
    }

    async fn before(&self, call: &Intercepted<'_>) -> Result<Before, Fault> {
        if !self.applies(call.tool)? {
            return Ok(Before::Continue);
        }
        guarded(self.limit, async { self.hook.before(call).await }).await
    }

    async fn after(&self, call: &Intercepted<'_>, result: &ToolResult) -> Result<After, Fault> {
        if !self.applies(call.tool)? {
            return Ok(After::Keep);
        }
        guarded(self.limit, async { self.hook.after(call, result).await }).await
    }

    async fn on_error(&self, call: &Intercepted<'_>, failure: &Failure) -> Result<OnError, Fault> {
        if !self.applies(call.tool)? {
            return Ok(OnError::Pass);
        }
        guarded(self.limit, async { self.hook.on_error(call, failure).await }).await
    }

    /// Reports a fault that does not end the call.
    fn report(&self, call: &Intercepted<'_>, when: &'static str, fault: &Fault) {
        tracing::warn!(hook = self.name, when, call_id = call.call_id, tool = %call.tool.id(), "the interceptor {fault}");
    }
}

/// A call that a hook did not let through. Nothing ran, and no hook hears of it any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// Who denied.
    pub hook: String,
    /// Why.
    pub reason: String,
    /// True when the hook did not decide so but could not do its work, which counts as a denial.
    pub fault: bool,
}

/// A transform that failed before the tool ran; the tool must not run then (oneringai case 31).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the interceptor {hook} {problem}, so nothing was run")]
pub struct HookFailure {
    /// Which one.
    pub hook: String,
    /// What happened.
    pub problem: String,
}

impl HookFailure {
    /// The failure to give to [`Pipeline::on_error`].
    pub fn failure(&self, outcome: Outcome) -> Failure {
        Failure::new(outcome, self.to_string()).caused_by(self.clone())
    }
}

/// What transforms made of a call.
#[derive(Clone, Debug)]
pub enum Transformed {
    /// The arguments are as before.
    Unchanged,
    /// The arguments changed: they must be validated and authorised again before the tool runs.
    Changed,
    /// The tool must not run: this is its result, still to go through [`Pipeline::after`].
    ShortCircuit(ToolResult),
    /// A transform denied the call.
    Denied(Denied),
}

/// What became of a failure. For the breaker, figures and the record the call is a failure in every case.
#[derive(Clone, Debug)]
pub enum Recovery {
    /// It stands.
    None(Failure),
    /// The caller gets a result all the same.
    Recovered {
        /// The result, normalised.
        result: ToolResult,
        /// The hook that gave it.
        hook: String,
        /// What it recovered from.
        failure: Failure,
    },
    /// The model is told something else; the original is the source.
    Replaced(Failure),
}

/// Interceptors in order. An empty one does nothing: no allocation, no waiting.
#[derive(Default)]
pub struct Pipeline {
    // By stage, then priority, then registration.
    entries: Box<[Entry]>,
    // Where each stage ends.
    ends: [usize; 4],
}

impl Pipeline {
    pub(super) fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_by_key(|entry| (entry.stage, entry.priority, entry.sequence));
        let ends = [Stage::Guard, Stage::Transform, Stage::Observe, Stage::Normalise]
            .map(|stage| entries.partition_point(|entry| entry.stage <= stage));
        Self { entries: entries.into(), ends }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether nothing is attached.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is attached, in the order before a tool.
    pub fn list(&self) -> Vec<Attached> {
        let of = |entry: &Entry| Attached { name: entry.name.clone(), stage: entry.stage, priority: entry.priority };
        self.entries.iter().map(of).collect()
    }

    fn stage(&self, stage: Stage) -> &[Entry] {
        let [guards, transforms, observers, normalisers] = self.ends;
        let range = match stage {
            Stage::Guard => 0..guards,
            Stage::Transform => guards..transforms,
            Stage::Observe => transforms..observers,
            Stage::Normalise => observers..normalisers,
        };
        &self.entries[range]
    }

    /// First step: may the call run? The first denial ends it. Anything but an answer that a guard may give denies.
    pub async fn guards(&self, call: &Intercepted<'_>) -> Result<(), Denied> {
        for entry in self.stage(Stage::Guard) {
            let fault = match entry.before(call).await {
                Ok(Before::Continue) => continue,
                Ok(Before::Deny(reason)) => return Err(Denied { hook: entry.name.clone(), reason, fault: false }),
                Ok(Before::Replace(_) | Before::ShortCircuit(_)) => {
                    Fault::Misbehaved("gave an answer that a guard may not give")
                }
                Err(fault) => fault,
            };
            entry.report(call, "before", &fault);
            let reason = format!("the guard {} {fault}, and a guard that does not answer denies", entry.name);
            return Err(Denied { hook: entry.name.clone(), reason, fault: true });
        }
        Ok(())
    }

    /// Second step: transforms, each with the arguments the one before left.
    pub async fn transforms(&self, call: &mut Intercepted<'_>) -> Result<Transformed, HookFailure> {
        let mut transformed = Transformed::Unchanged;
        for entry in self.stage(Stage::Transform) {
            let fault = match entry.before(call).await {
                Ok(Before::Continue) => continue,
                Ok(Before::Replace(arguments)) if arguments.get().trim_start().starts_with('{') => {
                    call.arguments = std::borrow::Cow::Owned(arguments);
                    transformed = Transformed::Changed;
                    continue;
                }
                Ok(Before::Replace(_)) => Fault::Misbehaved("gave arguments that are not a JSON object"),
                Ok(Before::ShortCircuit(result)) => {
                    call.short_circuited_by = Some(entry.name.clone());
                    return Ok(Transformed::ShortCircuit(result));
                }
                Ok(Before::Deny(reason)) => {
                    let denied = Denied { hook: entry.name.clone(), reason, fault: false };
                    return Ok(Transformed::Denied(denied));
                }
                Err(fault) => fault,
            };
            entry.report(call, "before", &fault);
            return Err(HookFailure { hook: entry.name.clone(), problem: fault.to_string() });
        }
        Ok(transformed)
    }

    /// Third step, when the tool is about to run: observers see the final arguments. Not for a short-circuited call.
    pub async fn observe_before(&self, call: &Intercepted<'_>) {
        for entry in self.stage(Stage::Observe) {
            match entry.before(call).await {
                Ok(Before::Continue) => {}
                Ok(_) => entry.report(call, "before", &IGNORED),
                Err(fault) => entry.report(call, "before", &fault),
            }
        }
    }

    /// Last step with a result: transforms and normalisers may change it, observers see what came out, each stage in
    /// reverse order. A transform or normaliser that fails withholds the result: it may be there to take something out.
    ///
    /// A short-circuited call skips the transforms and still goes through normalisers and observers (**ours**; theirs
    /// skips everything), so that no result is shown that nobody normalised or saw.
    pub async fn after(&self, call: &Intercepted<'_>, result: ToolResult) -> ToolResult {
        if self.is_empty() {
            return result;
        }
        let mut result = result;
        if call.short_circuited_by.is_none() {
            result = self.reshape(Stage::Transform, call, result).await;
        }
        result = self.reshape(Stage::Normalise, call, result).await;
        for entry in self.stage(Stage::Observe).iter().rev() {
            match entry.after(call, &result).await {
                Ok(After::Keep) => {}
                Ok(After::Replace(_)) => entry.report(call, "after", &IGNORED),
                Err(fault) => entry.report(call, "after", &fault),
            }
        }
        result
    }

    async fn reshape(&self, stage: Stage, call: &Intercepted<'_>, mut result: ToolResult) -> ToolResult {
        for entry in self.stage(stage).iter().rev() {
            match entry.after(call, &result).await {
                Ok(After::Keep) => {}
                Ok(After::Replace(other)) => result = other,
                Err(fault) => {
                    entry.report(call, "after", &fault);
                    result = ToolResult::error(format!(
                        "The result of {} cannot be shown: the interceptor {} {fault}. The call may have taken effect: check before repeating it.",
                        call.exposed, entry.name
                    ));
                }
            }
        }
        result
    }

    /// Last step without a result. Every observer hears of the failure as it was; then the first hook that recovers or
    /// rewords it wins (cases 29 and 30). A hook that itself fails here is reported and passed over. A denial is neither
    /// told nor recovered from.
    ///
    /// A recovered call stays a failure for the breaker, the figures and the record: whoever calls this sees to that.
    pub async fn on_error(&self, call: &Intercepted<'_>, failure: Failure) -> Recovery {
        if self.is_empty() || failure.outcome == Outcome::Denied {
            return Recovery::None(failure);
        }
        for entry in self.stage(Stage::Observe) {
            match entry.on_error(call, &failure).await {
                Ok(OnError::Pass) => {}
                Ok(_) => entry.report(call, "on_error", &IGNORED),
                Err(fault) => entry.report(call, "on_error", &fault),
            }
        }
        for entry in self.stage(Stage::Transform).iter().chain(self.stage(Stage::Normalise)) {
            match entry.on_error(call, &failure).await {
                Ok(OnError::Pass) => {}
                Ok(OnError::Recover(result)) => {
                    let result = self.reshape(Stage::Normalise, call, result).await;
                    return Recovery::Recovered { result, hook: entry.name.clone(), failure };
                }
                Ok(OnError::Replace(text)) => return Recovery::Replaced(failure.reworded(text)),
                Err(fault) => entry.report(call, "on_error", &fault),
            }
        }
        Recovery::None(failure)
    }
}

const IGNORED: Fault = Fault::Misbehaved("tried to change a call that it may only observe; that is ignored");
