//! What is asked of people must not be answered by whoever waits for the answer.

use toolcrib_core::permission::{COMMAND_ARGUMENTS, CommandRule, Match, commands_of};

use super::policy::{Evaluation, Policy, Question, Verdict};

/// The program that answers for people, and its command for that.
const PROGRAM: &str = "toolcrib";
const COMMAND: &str = "approvals";

/// Denies commands that would answer approvals in a person's stead (`toolcrib approvals approve …`), through whatever
/// shell or wrapper they go; where that cannot be told, if they name both. A script that does the same out of sight is a
/// program like any other: what may run programs unasked can do whatever its user can.
pub(super) struct OwnDoor(CommandRule);

impl OwnDoor {
    /// The only one there is.
    pub(super) fn new() -> Self {
        Self(CommandRule::parse(&format!("{PROGRAM} {COMMAND}:*")))
    }

    /// Whether the call could run anything; most do not.
    pub(super) fn is_near(question: &Question<'_>) -> bool {
        COMMAND_ARGUMENTS.iter().any(|name| question.arguments.get(name).is_some())
    }

    fn answers(&self, question: &Question<'_>) -> bool {
        let Some(parsed) = commands_of(question.tool, question.arguments) else { return false };
        match self.0.match_any(&parsed) {
            Match::Yes => true,
            Match::No => false,
            Match::Uncertain => {
                let text = question.raw.get();
                text.contains(PROGRAM) && text.contains(COMMAND)
            }
        }
    }
}

impl Policy for OwnDoor {
    fn name(&self) -> &'static str {
        "own door"
    }

    fn priority(&self) -> i32 {
        5
    }

    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        Evaluation::Ready(if Self::is_near(question) && self.answers(question) {
            Verdict::Deny {
                hard: true,
                rule: "approvals are answered by people".into(),
                reason: "it would answer what a person is asked".into(),
            }
        } else {
            Verdict::Abstain
        })
    }
}
