//! What a policy comes to for one scope: gates, each ready to be held against every tool.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use super::{
    Allow, Candidate, DeniedTools, Lists, Named, Removal, Scope, Stage,
    heritage::Heritage,
    stage::{ServerFilter, denied, not_allowed},
};
use crate::{
    Source, Tool, ToolId,
    selector::{
        Groups, Selector,
        matcher::{Matcher, Side, Subject, Within},
    },
};

/// One stage as it applies to a scope.
pub(crate) struct Gate {
    pub(crate) stage: Cow<'static, str>,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    /// What is said of single tools.
    Off,
    Servers(BTreeMap<Source, ServerFilter>),
    /// Names of built-in tools, in lower case.
    PluginIds(HashSet<String>),
    Denied(Vec<DeniedTools>),
    Conditional {
        named: Named,
        matcher: Matcher,
        condition: Condition,
    },
    /// What tools say they need of clients, against what this one has.
    Needs(BTreeSet<String>),
    Optional {
        named: Named,
        matcher: Matcher,
        allowed: Matcher,
        grants: BTreeSet<ToolId>,
    },
    Lists(Box<ReadyLists>),
    Parent(Box<Heritage>),
    Custom(Arc<dyn Stage>),
}

/// What a scope lacks for some tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Owner,
    Capability(String),
}

pub(crate) struct ReadyLists {
    pub(crate) lists: Lists,
    allow: Matcher,
    deny: Matcher,
    unless: Matcher,
}

impl ReadyLists {
    pub(crate) fn new(lists: Lists, groups: &Groups) -> Self {
        let all: Vec<Selector> = lists.allow.selectors().iter().chain(&lists.also_allow).cloned().collect();
        Self {
            allow: Matcher::new(&all, groups, Side::Grant),
            deny: Matcher::new(&lists.deny, groups, Side::Restrict),
            unless: Matcher::new(&lists.unless_allowed, groups, Side::Restrict),
            lists,
        }
    }
}

/// Why a gate removed a tool, in a form that costs nothing to keep for ten thousand of them.
#[derive(Clone, Debug)]
pub(crate) enum Why {
    Off,
    Excluded,
    NotIncluded,
    PluginId,
    /// By the entry at this position.
    Denied(u32),
    UnlessAllowed(u32),
    NotAllowed,
    Conditional(u32),
    /// Of what it needs, this.
    Needs(u32),
    /// By the entry at this position; by its label if there is none.
    Optional(Option<u32>),
    Parent,
    Custom(Box<Removal>),
}

/// A gate within one source.
pub(crate) enum Entered<'g> {
    /// Nothing to ask here.
    Open,
    Off,
    Filter(&'g ServerFilter),
    Needs(&'g BTreeSet<String>),
    /// Every tool of this source is removed.
    Closed(Why),
    Denied(&'g [DeniedTools]),
    Named(Within<'g>, fn(u32) -> Why),
    Optional(Within<'g>, Within<'g>, &'g BTreeSet<ToolId>),
    Lists {
        allow: Option<Within<'g>>,
        kind: &'g Allow,
        deny: Option<Within<'g>>,
        unless: Option<Within<'g>>,
    },
    Parent(&'g Heritage),
    Custom(&'g dyn Stage),
}

impl Gate {
    /// What its lists let through.
    pub(super) fn selectors(&self) -> impl Iterator<Item = &Selector> {
        let lists = match &self.kind {
            Kind::Lists(ready) => Some(&ready.lists),
            _ => None,
        };
        lists.into_iter().flat_map(|lists| lists.allow.selectors().iter().chain(&lists.also_allow))
    }

    pub(crate) fn enter(&self, source: &Source) -> Entered<'_> {
        match &self.kind {
            Kind::Off => Entered::Off,
            Kind::Servers(filters) => filters.get(source).map_or(Entered::Open, Entered::Filter),
            Kind::PluginIds(names) => match source {
                Source::Plugin(id) if names.contains(&id.to_lowercase()) => Entered::Closed(Why::PluginId),
                _ => Entered::Open,
            },
            Kind::Denied(rules) => Entered::Denied(rules),
            Kind::Conditional { matcher, .. } => Entered::Named(matcher.enter(source), Why::Conditional),
            Kind::Needs(has) => Entered::Needs(has),
            Kind::Optional { matcher, allowed, grants, .. } => {
                Entered::Optional(matcher.enter(source), allowed.enter(source), grants)
            }
            Kind::Lists(ready) => {
                let enter = |matcher: &'_ Matcher| (!matcher.is_empty()).then_some(());
                Entered::Lists {
                    allow: enter(&ready.allow).map(|()| ready.allow.enter(source)),
                    kind: &ready.lists.allow,
                    deny: enter(&ready.deny).map(|()| ready.deny.enter(source)),
                    unless: enter(&ready.unless).map(|()| ready.unless.enter(source)),
                }
            }
            Kind::Parent(heritage) => Entered::Parent(heritage),
            Kind::Custom(stage) => Entered::Custom(&**stage),
        }
    }

    /// What is told of a removal.
    pub(crate) fn removal(&self, tool: &Tool, position: usize, why: &Why) -> Removal {
        match (&self.kind, why) {
            (_, Why::Custom(removal)) => Removal::clone(removal),
            (Kind::Off, _) => off(tool),
            (Kind::Servers(filters), why) => match filters.get(tool.source()) {
                Some(filter) => filter.removal(tool, matches!(why, Why::Excluded)),
                None => unexplained(),
            },
            (Kind::PluginIds(_), _) => Removal {
                rule: format!(
                    "its plugin's id '{}' is the name of a built-in tool, so that rules could not tell them apart",
                    tool.source().group()
                ),
                origin: "names of plugins".to_owned(),
                fix: "give the plugin another id".to_owned(),
            },
            (Kind::Denied(rules), Why::Denied(index)) => match rules.get(*index as usize) {
                Some(DeniedTools { pattern, origin }) => Removal {
                    rule: format!("permissions deny \"{pattern}\", so no call of it could run"),
                    origin: origin.clone(),
                    fix: format!("remove \"{pattern}\" there"),
                },
                None => unexplained(),
            },
            (Kind::Conditional { named, condition, .. }, Why::Conditional(index)) => {
                let selector = text(&named.selectors, *index);
                let (rule, fix) = match condition {
                    Condition::Owner => (
                        format!("\"{selector}\" is for the owner only"),
                        format!("ask as the owner (policy.owners, --owner), or remove \"{selector}\" from that list"),
                    ),
                    Condition::Capability(name) => (
                        format!("\"{selector}\" needs the client capability '{name}'"),
                        format!(
                            "use a client that has '{name}' (--capability {name}), or remove \"{selector}\" from that list"
                        ),
                    ),
                };
                Removal { rule, origin: named.origin.clone(), fix }
            }
            (Kind::Needs(_), Why::Needs(index)) => {
                let needs = &tool.labels().capabilities;
                let name = needs.get(*index as usize).map_or("", String::as_str);
                Removal {
                    rule: format!("it needs the client capability '{name}'"),
                    origin: origin(tool),
                    fix: format!("use a client that has '{name}' (--capability {name})"),
                }
            }
            (Kind::Optional { named, .. }, Why::Optional(index)) => Removal {
                rule: match index {
                    Some(index) => {
                        format!("\"{}\" is optional and no allow list names it", text(&named.selectors, *index))
                    }
                    None => "it is optional and no allow list names it".to_owned(),
                },
                origin: index.map_or_else(|| origin(tool), |_| named.origin.clone()),
                fix: format!("add \"{}\" to policy.also_allow", tool.id()),
            },
            (Kind::Lists(ready), why) => {
                let ReadyLists { lists, .. } = &**ready;
                match why {
                    Why::Denied(index) => match lists.deny.get(*index as usize) {
                        Some(rule) => denied(rule, &lists.origins.deny),
                        None => unexplained(),
                    },
                    Why::UnlessAllowed(index) => Removal {
                        rule: format!("\"{}\" is left out here by default", text(&lists.unless_allowed, *index)),
                        origin: "default".to_owned(),
                        fix: format!("add \"{}\" to {}.also_allow", tool.id(), lists.origins.home),
                    },
                    _ => not_allowed(tool, &lists.allow, &lists.origins),
                }
            }
            (Kind::Parent(heritage), _) => heritage.removal(position).unwrap_or_else(unexplained),
            _ => unexplained(),
        }
    }
}

/// Where the labels of a tool were written.
fn origin(tool: &Tool) -> String {
    match &*tool.labels().origin {
        "" => "the program that registered it".to_owned(),
        origin => origin.to_owned(),
    }
}

fn off(tool: &Tool) -> Removal {
    let id = tool.id();
    if let Some(unavailable) = &tool.labels().unavailable
        && tool.labels().enabled
    {
        return Removal::clone(unavailable);
    }
    let (rule, fix) = if tool.labels().enabled {
        ("its permission is deny", format!("give it another one: toolcrib tools set \"{id}\" --permission ask"))
    } else {
        ("it is switched off", format!("switch it on: toolcrib tools enable \"{id}\""))
    };
    Removal { rule: rule.to_owned(), origin: origin(tool), fix }
}

fn text(list: &[Selector], index: u32) -> &str {
    list.get(index as usize).map_or("", Selector::as_str)
}

/// Cannot happen: gates and reasons are made together.
fn unexplained() -> Removal {
    Removal { rule: "a rule that is gone".to_owned(), origin: "unknown".to_owned(), fix: "assemble again".to_owned() }
}

impl Entered<'_> {
    /// Whether no tool of the source has to be asked.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Open | Self::Lists { kind: Allow::All, deny: None, unless: None, .. } => true,
            Self::Denied(rules) => rules.is_empty(),
            _ => false,
        }
    }

    pub(crate) fn judge(&self, subject: &Subject<'_>, position: usize, groups: &Groups, scope: &Scope) -> Option<Why> {
        let tool = subject.tool;
        match self {
            Self::Open => None,
            Self::Off => tool.labels().is_off().then_some(Why::Off),
            Self::Closed(why) => Some(why.clone()),
            Self::Filter(filter) => {
                let excluded = filter.judge(tool, subject.exposed)?;
                Some(if excluded { Why::Excluded } else { Why::NotIncluded })
            }
            Self::Denied(rules) => {
                let names = |rule: &DeniedTools| rule.pattern.names(tool, subject.exposed, groups);
                (0..).zip(*rules).find(|(_, rule)| names(rule)).map(|(index, _)| Why::Denied(index))
            }
            Self::Needs(has) => {
                let mut needs = (0..).zip(tool.labels().capabilities.iter());
                needs.find(|(_, need)| !has.contains(*need)).map(|(index, _)| Why::Needs(index))
            }
            Self::Named(within, why) => within.first(subject).map(why),
            Self::Optional(within, allowed, grants) => {
                let index = within.first(subject);
                if index.is_none() && !tool.labels().optional {
                    return None;
                }
                let named = allowed.first(subject).is_some() || grants.contains(tool.id());
                (!named).then_some(Why::Optional(index))
            }
            Self::Lists { allow, kind, deny, unless } => {
                if let Some(index) = deny.as_ref().and_then(|deny| deny.first(subject)) {
                    return Some(Why::Denied(index));
                }
                if unless.is_none() && **kind == Allow::All {
                    return None;
                }
                if allow.as_ref().is_some_and(|allow| allow.first(subject).is_some()) {
                    return None;
                }
                if let Some(index) = unless.as_ref().and_then(|unless| unless.first(subject)) {
                    return Some(Why::UnlessAllowed(index));
                }
                (**kind != Allow::All).then_some(Why::NotAllowed)
            }
            Self::Parent(heritage) => (!heritage.has(position)).then_some(Why::Parent),
            Self::Custom(stage) => {
                let candidate = Candidate { tool, exposed: subject.exposed, groups };
                stage.judge(candidate, scope).map(|removal| Why::Custom(Box::new(removal)))
            }
        }
    }
}
