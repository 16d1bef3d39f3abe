//! People's own rules.

use std::sync::Arc;

use toolcrib_core::{
    Scope, Tool,
    permission::{Assessment, Bearing, RuleMatch, RuleSet},
};

use super::{
    policy::{Evaluation, Policy, Question, Verdict},
    subject::{Surroundings, verdict},
};

/// Rules with conditions, users and ends, the most specific of which counts (oneringai cases 96 to 101).
pub struct UserRules {
    rules: RuleSet,
    surroundings: Arc<Surroundings>,
}

impl UserRules {
    /// From a set of rules.
    pub fn new(rules: RuleSet, surroundings: Arc<Surroundings>) -> Self {
        Self { rules, surroundings }
    }

    /// What the rules say of every call of a tool, and whether by an unconditional one; `None` where that depends on the
    /// call.
    pub(super) fn of_tool(&self, tool: &Tool, exposed: &str, assessment: &Assessment) -> Option<(Verdict, bool)> {
        match self.rules.bearing(tool, exposed, &self.surroundings.groups) {
            Bearing::None => Some((Verdict::Abstain, false)),
            Bearing::Tool => {
                let scope = Scope::default();
                let subject = self.surroundings.any_call(tool, exposed, assessment, &scope);
                Some(said(self.rules.decide(&subject, 0).as_ref()))
            }
            Bearing::Call => None,
        }
    }

    /// The verdict, and whether it comes from an unconditional rule.
    pub(super) async fn judge(&self, question: &Question<'_>) -> (Verdict, bool) {
        let real = match self.surroundings.look(question, [&self.rules]) {
            Some(looking) => Some(looking.await),
            None => None,
        };
        let subject = self.surroundings.subject(question, real.as_ref());
        said(self.rules.decide(&subject, question.now_ms).as_ref())
    }
}

fn said(found: Option<&RuleMatch<'_>>) -> (Verdict, bool) {
    found.map_or((Verdict::Abstain, false), |found| (verdict(found), found.rule.unconditional))
}

impl Policy for UserRules {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn priority(&self) -> i32 {
        super::chain::RULES
    }

    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        Evaluation::Waiting(Box::pin(async move { self.judge(question).await.0 }))
    }
}
