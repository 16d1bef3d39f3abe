//! The lists that whoever runs the gateway wrote: what never runs, what is asked about, what runs.

use std::sync::Arc;

use toolcrib_core::{
    Scope, Tool,
    permission::{Action, Assessment, Bearing, RealPaths, RuleSet, ToolPattern},
};

use super::{
    policy::{Evaluation, Policy, Question, Verdict},
    subject::{Surroundings, list, verdict},
};

/// One list. Made by [`PatternList::block`], [`PatternList::ask`] and [`PatternList::allow`].
pub struct PatternList {
    name: &'static str,
    priority: i32,
    rules: RuleSet,
    surroundings: Arc<Surroundings>,
}

impl PatternList {
    /// Calls that never run, also where a rule of a user's allows them (oneringai case 112, **ours**). Where it cannot
    /// be told whether a call is meant, a person may approve it.
    pub fn block(patterns: Vec<ToolPattern>, surroundings: Arc<Surroundings>) -> Self {
        let rules = list(patterns, Action::Deny, "permissions.deny");
        Self { name: "block list", priority: 5, rules, surroundings }
    }

    /// Calls that are always asked about. Comes before the allow list (openclaw §2.2).
    pub fn ask(patterns: Vec<ToolPattern>, surroundings: Arc<Surroundings>) -> Self {
        let rules = list(patterns, Action::Ask, "permissions.ask");
        Self { name: "ask list", priority: 9, rules, surroundings }
    }

    /// Calls that run without asking.
    pub fn allow(patterns: Vec<ToolPattern>, surroundings: Arc<Surroundings>) -> Self {
        let rules = list(patterns, Action::Allow, "permissions.allow");
        Self { name: "allow list", priority: 10, rules, surroundings }
    }
}

impl PatternList {
    /// What the list says of every call of a tool; `None` where that depends on the call.
    pub(super) fn of_tool(&self, tool: &Tool, exposed: &str, assessment: &Assessment) -> Option<Verdict> {
        match self.rules.bearing(tool, exposed, &self.surroundings.groups) {
            Bearing::None => Some(Verdict::Abstain),
            Bearing::Tool => {
                let scope = Scope::default();
                let subject = self.surroundings.any_call(tool, exposed, assessment, &scope);
                Some(self.rules.strictest(&subject, 0).map_or(Verdict::Abstain, |found| verdict(&found)))
            }
            Bearing::Call => None,
        }
    }
}

impl Policy for PatternList {
    fn name(&self) -> &str {
        self.name
    }

    fn priority(&self) -> i32 {
        self.priority
    }

    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        let judge = |real: Option<&RealPaths>| {
            let subject = self.surroundings.subject(question, real);
            let found = self.rules.strictest(&subject, question.now_ms);
            found.map_or(Verdict::Abstain, |found| verdict(&found))
        };
        match self.surroundings.look(question, [&self.rules]) {
            None => Evaluation::Ready(judge(None)),
            Some(looking) => Evaluation::Waiting(Box::pin(async move { judge(Some(&looking.await)) })),
        }
    }
}
