//! A question as the rule language sees it.

use std::collections::BTreeSet;

use serde_json::Value;
use toolcrib_core::{
    Scope, Source, Tool,
    permission::{Action, Assessment, Place, RealPaths, Rule, RuleMatch, RuleSet, Subject, ToolPattern},
    selector::Groups,
};

use super::{
    places::Places,
    policy::{Question, Verdict},
    real_path::{real, text},
};
use crate::backend::BoxFuture;

/// What rules need to know beside the call.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Groups that patterns may name.
    pub groups: Groups,
    /// What relative paths start from.
    pub places: Places,
    /// What `~` is, if known; absolute.
    pub home: Option<String>,
}

impl Surroundings {
    pub(super) fn place(&self, source: &Source) -> Place<'_> {
        Place { cwd: self.places.of(source), home: self.home.as_deref() }
    }

    /// Where the paths lead that matter to the rules. `None` where none does: the usual call looks at no disk.
    pub(super) fn look<'r>(
        &self,
        question: &Question<'_>,
        rules: impl IntoIterator<Item = &'r RuleSet>,
    ) -> Option<BoxFuture<'static, RealPaths>> {
        let subject = self.subject(question, None);
        let wanted: BTreeSet<String> =
            rules.into_iter().flat_map(|rules| rules.to_resolve(&subject, question.now_ms)).collect();
        (!wanted.is_empty()).then(|| -> BoxFuture<'static, RealPaths> {
            Box::pin(async move {
                let names = wanted.clone();
                let found = tokio::task::spawn_blocking(move || {
                    let look = |path: String| {
                        let there = real(&path).and_then(text);
                        (path, there)
                    };
                    names.into_iter().map(look).collect()
                });
                found.await.unwrap_or_else(|_| wanted.into_iter().map(|path| (path, None)).collect())
            })
        })
    }

    /// What any call of a tool is, for rules that look at nothing else ([`RuleSet::bearing`]).
    pub(super) fn any_call<'a>(
        &'a self,
        tool: &'a Tool,
        exposed: &'a str,
        assessment: &'a Assessment,
        scope: &'a Scope,
    ) -> Subject<'a> {
        Subject {
            tool,
            exposed,
            arguments: &Value::Null,
            raw: None,
            scope,
            groups: &self.groups,
            assessment,
            category: None,
            namespace: Some(tool.source().group()),
            place: self.place(tool.source()),
            real: None,
        }
    }

    /// The question with what [`Self::look`] found.
    pub(super) fn subject<'a>(&'a self, question: &Question<'a>, real: Option<&'a RealPaths>) -> Subject<'a> {
        Subject {
            tool: question.tool,
            exposed: question.exposed,
            arguments: question.arguments,
            raw: Some(question.raw),
            scope: question.scope,
            groups: &self.groups,
            assessment: question.assessment,
            category: None,
            namespace: Some(question.tool.source().group()),
            place: self.place(question.tool.source()),
            real,
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
