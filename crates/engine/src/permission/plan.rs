//! Plan mode: looking is allowed, nothing else.

use toolcrib_core::permission::Effect;

use super::policy::{Evaluation, Policy, Question, Verdict};

/// Denies every tool that is not known to change nothing (openclaw cases 47 and 48). What a tool says of itself counts
/// only where its hints are trusted.
pub struct PlanMode;

impl Policy for PlanMode {
    fn name(&self) -> &'static str {
        "plan mode"
    }

    fn priority(&self) -> i32 {
        6
    }

    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        Evaluation::Ready(match question.assessment.effect {
            Effect::ReadOnly => Verdict::Abstain,
            Effect::Mutating | Effect::Destructive => Verdict::Deny {
                hard: true,
                rule: "permissions.plan".into(),
                reason: "in plan mode only tools that are known to change nothing run".into(),
            },
        })
    }
}
