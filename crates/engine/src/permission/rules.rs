//! People's own rules.

use std::sync::Arc;

use toolcrib_core::permission::RuleSet;

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

    /// The verdict, and whether it comes from an unconditional rule.
    pub(super) async fn judge(&self, question: &Question<'_>) -> (Verdict, bool) {
        let real = match self.surroundings.look(question, [&self.rules]) {
            Some(looking) => Some(looking.await),
            None => None,
        };
        let subject = self.surroundings.subject(question, real.as_ref());
        match self.rules.decide(&subject, question.now_ms) {
            Some(found) => (verdict(&found), found.rule.unconditional),
            None => (Verdict::Abstain, false),
        }
    }
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
