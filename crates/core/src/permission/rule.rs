//! Rules, and which of several counts.

use std::{cell::OnceCell, cmp::Reverse, collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    Action, Assessment, CommandRule, Condition, Match, Parsed, PathArguments, Place, RealPaths, Side, ToolPattern,
    UrlArguments, collect_paths, collect_urls, command, commands_of, normalise,
};
use crate::{Scope, Tool, selector::Groups};

/// One rule: what to do with some calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which calls.
    pub tool: ToolPattern,
    /// What to do with them.
    pub action: Action,
    /// Only where all of these hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// Whether the rule beats every rule that is not unconditional, however specific (case 97). Its own conditions
    /// still have to hold. Default false.
    #[serde(default)]
    pub unconditional: bool,
    /// Only for calls of this user; `None` for everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether the rule is in force (case 100). Default true.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// From when on it no longer is, in milliseconds since the Unix epoch (case 100).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// When it was last changed, in milliseconds since the Unix epoch; of equally specific rules the newest counts
    /// (case 99). Default 0.
    #[serde(default)]
    pub updated_at_ms: u64,
    /// Where it was written (a key, a command, an approval). Told to models with the reason: no paths.
    #[serde(default)]
    pub origin: String,
    /// What its author wrote about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

fn enabled() -> bool {
    true
}

impl Rule {
    /// A rule for everybody, without conditions and end.
    pub fn new(tool: ToolPattern, action: Action, origin: impl Into<String>) -> Self {
        Self {
            tool,
            action,
            when: Vec::new(),
            unconditional: false,
            user: None,
            enabled: true,
            expires_at_ms: None,
            updated_at_ms: 0,
            origin: origin.into(),
            note: None,
        }
    }

    fn in_force(&self, scope: &Scope, now_ms: u64) -> bool {
        self.enabled
            && self.expires_at_ms.is_none_or(|end| now_ms < end)
            && self.user.as_ref().is_none_or(|user| scope.user.as_ref() == Some(user))
    }

    /// Conditions, counting a content of the pattern as one.
    fn specificity(&self) -> usize {
        self.when.len() + usize::from(!self.tool.whole_tool())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.action, self.tool)?;
        for (index, condition) in self.when.iter().enumerate() {
            write!(f, " {} {condition}", if index == 0 { "when" } else { "and" })?;
        }
        Ok(())
    }
}

/// A call under judgement.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The name it has for the caller.
    pub exposed: &'a str,
    /// The arguments as they will be sent: repaired and unwrapped.
    pub arguments: &'a Value,
    /// The same as JSON text, where it is at hand: with all digits of its numbers.
    pub raw: Option<&'a RawValue>,
    /// Who calls.
    pub scope: &'a Scope,
    /// Groups that patterns may name.
    pub groups: &'a Groups,
    /// What is held of the tool.
    pub assessment: &'a Assessment,
    /// The tool's category, if it has one.
    pub category: Option<&'a str>,
    /// The tool's namespace, if it has one.
    pub namespace: Option<&'a str>,
    /// What relative paths start from.
    pub place: Place<'a>,
    /// Where the paths that [`RuleSet::to_resolve`] names lead on the disk. `None`: nobody looked, and rules go by the
    /// text of paths alone.
    pub real: Option<&'a RealPaths>,
}

/// What is read out of the arguments at most once a judgement.
pub(super) struct Facts<'s> {
    pub(super) subject: &'s Subject<'s>,
    command: OnceCell<Option<Parsed>>,
    paths: OnceCell<PathArguments>,
    urls: OnceCell<UrlArguments>,
}

impl<'s> Facts<'s> {
    pub(super) fn new(subject: &'s Subject<'s>) -> Self {
        Self { subject, command: OnceCell::new(), paths: OnceCell::new(), urls: OnceCell::new() }
    }

    pub(super) fn command(&self) -> Option<&Parsed> {
        self.command.get_or_init(|| commands_of(self.subject.tool, self.subject.arguments)).as_ref()
    }

    pub(super) fn paths(&self) -> &PathArguments {
        self.paths.get_or_init(|| collect_paths(self.subject.arguments))
    }

    pub(super) fn urls(&self) -> &UrlArguments {
        self.urls.get_or_init(|| collect_urls(self.subject.arguments))
    }
}

/// The rule that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleMatch<'r> {
    /// The rule.
    pub rule: &'r Rule,
    /// What to do. The rule's own action, except that a rule that denies asks where it cannot be told whether it means
    /// the call.
    pub action: Action,
    /// Whether the rule certainly means the call.
    pub certain: bool,
}

impl RuleMatch<'_> {
    /// One line on why, for whoever is asked or refused, models too.
    pub fn reason(&self) -> String {
        let origin = crate::select::place(&self.rule.origin);
        let doubt = if self.certain { "" } else { ", which may mean this call: its arguments cannot be told apart" };
        format!("rule \"{}\"{origin}{doubt}", self.rule)
    }
}

/// What a set of rules can say of the calls of one tool, before there is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bearing {
    /// No rule names the tool: none ever counts for a call of it.
    None,
    /// All rules that name it mean every call of it, by anybody and at any time: the same counts for all of them.
    Tool,
    /// It depends on the call.
    Call,
}

/// Most paths of a call that are looked up; where further ones lead counts as unknown.
const MOST_PATHS: usize = 1_000;

/// A set of rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

impl From<Vec<Rule>> for RuleSet {
    fn from(rules: Vec<Rule>) -> Self {
        Self { rules }
    }
}

impl RuleSet {
    /// A set of these rules. Their order does not matter, except between rules that are equal in everything else,
    /// where the first counts.
    pub fn new(rules: Vec<Rule>) -> Self {
        rules.into()
    }

    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Adds a rule.
    pub fn push(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Which rule counts for a call, as people's own rules are weighed (oneringai.md §2.7): unconditional rules beat
    /// all others, then the one with most conditions counts (a pattern's content is one), then the newest, then deny
    /// before ask before allow. `None` when no rule means the call.
    pub fn decide(&self, subject: &Subject<'_>, now_ms: u64) -> Option<RuleMatch<'_>> {
        self.matching(subject, now_ms).into_iter().next()
    }

    /// Which rule counts when the strictest does, as permission lists are weighed (openclaw-openclaude.md §2.2): any
    /// deny, then any ask, then any allow; among equals as in [`RuleSet::decide`].
    pub fn strictest(&self, subject: &Subject<'_>, now_ms: u64) -> Option<RuleMatch<'_>> {
        // The first of those with the highest action.
        self.matching(subject, now_ms).into_iter().min_by_key(|found| Reverse(found.action))
    }

    /// What the rules can say of the calls of a tool, whatever is in them.
    pub fn bearing(&self, tool: &Tool, exposed: &str, groups: &Groups) -> Bearing {
        let names = |rule: &&Rule| {
            rule.enabled && (rule.tool.names(tool, exposed, groups) || rule.tool.names_to_grant(tool, exposed, groups))
        };
        let bearing = |rule: &Rule| {
            let always = rule.specificity() == 0 && rule.user.is_none() && rule.expires_at_ms.is_none();
            if always { Bearing::Tool } else { Bearing::Call }
        };
        self.rules.iter().filter(names).map(bearing).max().unwrap_or(Bearing::None)
    }

    /// The absolute paths whose real place matters to the rules that may mean the call: those in its arguments and the
    /// folders that the rules speak of. Usually none, and then the disk need not be looked at.
    pub fn to_resolve(&self, subject: &Subject<'_>, now_ms: u64) -> BTreeSet<String> {
        let mut wanted = BTreeSet::new();
        let facts = Facts::new(subject);
        let mut concerned = false;
        for rule in self.rules.iter().filter(|rule| rule.in_force(subject.scope, now_ms)) {
            if !rule.tool.names(subject.tool, subject.exposed, subject.groups) {
                continue;
            }
            let content = rule.tool.looks_at_paths(&facts);
            if content.is_none() && !rule.when.iter().any(Condition::may_be_about_paths) {
                continue;
            }
            concerned = true;
            wanted.extend(content.into_iter().flatten());
            wanted.extend(rule.when.iter().filter_map(Condition::folder));
        }
        if concerned {
            let folders = [subject.place.cwd, subject.place.home];
            wanted.extend(folders.into_iter().flatten().map(|folder| normalise(folder, None)));
            wanted.extend(facts.paths().paths.iter().take(MOST_PATHS).flat_map(|path| subject.place.spellings(path)));
        }
        wanted
    }

    /// All rules that mean a call, the one that counts first. Rules that allow parts of a command line and only
    /// together all of it are there as one: the weakest of them that is needed.
    pub fn matching(&self, subject: &Subject<'_>, now_ms: u64) -> Vec<RuleMatch<'_>> {
        let facts = Facts::new(subject);
        let mut found = Vec::new();
        let mut partial = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            if !rule.in_force(subject.scope, now_ms) {
                continue;
            }
            let side = if rule.action == Action::Allow { Side::Grant } else { Side::Restrict };
            let hit = rule.tool.check(&facts, side);
            let counts = match side {
                Side::Grant => hit == Match::Yes,
                Side::Restrict => hit != Match::No,
            };
            let part = side == Side::Grant && !counts && rule.tool.command().is_some();
            if !(counts || part) {
                continue;
            }
            let when = rule.when.iter().map(|condition| condition.holds(subject, side)).min().unwrap_or(Match::Yes);
            if when == Match::No || side == Side::Grant && when != Match::Yes {
                continue;
            }
            if part {
                if rule.tool.names_to_grant(subject.tool, subject.exposed, subject.groups) {
                    partial.push((index, rule));
                }
                continue;
            }
            let certain = hit.min(when) == Match::Yes;
            let action = if !certain && rule.action == Action::Deny { Action::Ask } else { rule.action };
            found.push((index, RuleMatch { rule, action, certain }));
        }
        found.extend(together(partial, &facts));
        found.sort_by_key(|(index, found)| rank(*index, found.rule, found.action));
        found.into_iter().map(|(_, found)| found).collect()
    }
}

/// Less is what counts first.
fn rank(index: usize, rule: &Rule, action: Action) -> impl Ord + use<> {
    (Reverse(rule.unconditional), Reverse(rule.specificity()), Reverse(rule.updated_at_ms), Reverse(action), index)
}

/// Rules of which none allows the whole command line, but some do together: the weakest that is needed stands for them.
fn together<'r>(mut partial: Vec<(usize, &'r Rule)>, facts: &Facts<'_>) -> Option<(usize, RuleMatch<'r>)> {
    if partial.len() < 2 {
        return None;
    }
    let parsed = facts.command()?;
    partial.sort_by_key(|(index, rule)| rank(*index, rule, rule.action));
    let commands: Vec<&CommandRule> = partial.iter().filter_map(|(_, rule)| rule.tool.command()).collect();
    let all = |count: usize| command::allows(&commands[..count], parsed) == Match::Yes;
    if !all(commands.len()) {
        return None;
    }
    let needed = (2..commands.len()).find(|&count| all(count)).unwrap_or(commands.len());
    let (index, rule) = partial[needed - 1];
    Some((index, RuleMatch { rule, action: Action::Allow, certain: true }))
}

#[cfg(test)]
mod tests;
