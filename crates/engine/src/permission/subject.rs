//! A question as the rule language sees it.

use toolcrib_core::{
    permission::{Action, Place, Rule, RuleMatch, RuleSet, Subject, ToolPattern},
    selector::Groups,
};

use super::policy::{Question, Verdict};

/// What rules need to know beside the call.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Groups that patterns may name.
    pub groups: Groups,
    /// What relative paths start from, if known; absolute.
    pub cwd: Option<String>,
    /// What `~` is, if known; absolute.
    pub home: Option<String>,
}

impl Surroundings {
    pub(super) fn place(&self) -> Place<'_> {
        Place { cwd: self.cwd.as_deref(), home: self.home.as_deref() }
    }

    pub(super) fn subject<'a>(&'a self, question: &Question<'a>) -> Subject<'a> {
        Subject {
            tool: question.tool,
            exposed: question.exposed,
            arguments: question.arguments,
            scope: question.scope,
            groups: &self.groups,
            assessment: question.assessment,
            category: None,
            namespace: None,
            place: self.place(),
        }
    }
}

/// A list of patterns as rules.
pub(super) fn list(patterns: Vec<ToolPattern>, action: Action, origin: &str) -> RuleSet {
    patterns.into_iter().map(|pattern| Rule::new(pattern, action, origin)).collect::<Vec<_>>().into()
}

/// What a rule that counts says. A denial that may not mean the call leaves room for an approval; it is no mere
/// question, because trusting everything does not answer it.
pub(super) fn verdict(found: &RuleMatch<'_>) -> Verdict {
    let rule = found.rule.to_string();
    let reason = || match &found.rule.note {
        Some(note) => format!("{}: {note}", found.reason()),
        None => found.reason(),
    };
    match (found.rule.action, found.action) {
        (Action::Deny, _) => Verdict::Deny { hard: found.certain, rule, reason: reason() },
        (Action::Allow | Action::Ask, Action::Allow) => Verdict::Allow { rule },
        (Action::Allow | Action::Ask, Action::Ask | Action::Deny) => Verdict::Ask { rule, reason: reason() },
    }
}
