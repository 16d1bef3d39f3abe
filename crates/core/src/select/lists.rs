//! Allow and deny lists, and the layers they are written in.

use std::collections::BTreeMap;

use super::{Role, Scope};
use crate::selector::Selector;

/// What an allow list lets through. Three cases, so that "empty" never means "everything".
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Allow {
    /// No list was given.
    #[default]
    All,
    /// A list was given and is empty.
    None,
    /// What the selectors name.
    Only(Vec<Selector>),
}

impl Allow {
    /// From an optional list: absent is [`Allow::All`], empty is [`Allow::None`].
    pub fn from_list(list: Option<Vec<Selector>>) -> Self {
        match list {
            None => Self::All,
            Some(list) if list.is_empty() => Self::None,
            Some(list) => Self::Only(list),
        }
    }

    /// The selectors, if there is a list.
    pub fn selectors(&self) -> &[Selector] {
        match self {
            Self::Only(list) => list,
            Self::All | Self::None => &[],
        }
    }
}

/// Where a pair of lists was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Key path of the place, such as `policy` or `agents.lead`; empty where it has none.
    pub home: String,
    /// Where the allow list was written (file and key, flag, …).
    pub allow: String,
    /// Where the additions to it were written.
    pub also_allow: String,
    /// Where the deny list was written.
    pub deny: String,
}

impl From<&str> for Origins {
    /// All lists in one place that has no key path.
    fn from(place: &str) -> Self {
        let text = || place.to_owned();
        Self { home: String::new(), allow: text(), also_allow: text(), deny: text() }
    }
}

/// Allow and deny lists: a tool must be allowed and not denied; deny wins.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// What may pass.
    pub allow: Allow,
    /// What may pass as well. Never makes `allow` narrower: beside [`Allow::All`] it only names optional tools
    /// (openclaw case 29).
    pub also_allow: Vec<Selector>,
    /// What may not, whatever is allowed.
    pub deny: Vec<Selector>,
    /// What may not unless `allow` or `also_allow` names it: where caution is the default and can be lifted.
    pub unless_allowed: Vec<Selector>,
    /// Where the lists were written.
    pub origins: Origins,
}

impl Lists {
    /// Whether they remove nothing.
    pub(crate) fn pass_all(&self) -> bool {
        self.allow == Allow::All && self.deny.is_empty() && self.unless_allowed.is_empty()
    }

    /// Every selector in them, with where its list was written.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = (&Selector, &str)> {
        let allow = self.allow.selectors().iter().map(|selector| (selector, &*self.origins.allow));
        let also = self.also_allow.iter().map(|selector| (selector, &*self.origins.also_allow));
        let deny = self.deny.iter().map(|selector| (selector, &*self.origins.deny));
        allow.chain(also).chain(deny)
    }
}

/// Tools that a condition applies to.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Which.
    pub selectors: Vec<Selector>,
    /// Where that was written.
    pub origin: String,
}

/// What is said of a provider or a model.
#[derive(Clone, Debug, Default)]
pub struct ModelRule {
    /// A profile that holds beside the one that is chosen elsewhere.
    pub profile: Option<String>,
    /// Lists.
    pub lists: Lists,
}

/// What is said of sub-agents.
#[derive(Clone, Debug)]
pub struct SubAgents {
    /// From this many agents above it on, a sub-agent is a leaf. Default 1.
    pub max_depth: usize,
    /// Lists that hold for all of them. [`Lists::unless_allowed`] is what sub-agents do without by default.
    pub lists: Lists,
    /// What leaves do without on top of that, unless allowed.
    pub leaf: Vec<Selector>,
}

impl Default for SubAgents {
    /// Sub-agents do without `group:agent-control`, leaves without `group:agents` too (openclaw §1.7).
    fn default() -> Self {
        let group = |name: &str| name.parse().into_iter().collect();
        let lists = Lists { unless_allowed: group("group:agent-control"), ..Lists::default() };
        Self { max_depth: 1, lists, leaf: group("group:agents") }
    }
}

impl SubAgents {
    /// Whether a scope is that of a leaf. A role that says so is believed whatever the depth (openclaw §1.7).
    pub(crate) fn is_leaf(&self, scope: &Scope, role: Option<Role>) -> bool {
        role == Some(Role::Leaf) || scope.depth() >= self.max_depth
    }
}

/// What can be said for everybody, and again for one agent.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// The profile of scopes that name none.
    pub profile: Option<String>,
    /// The part its agents play, where the scope names none.
    pub role: Option<Role>,
    /// Whether its agents run in a sandbox.
    pub sandboxed: bool,
    /// The lists.
    pub lists: Lists,
    /// By `provider/model` or `provider`, in lower case.
    pub models: BTreeMap<String, ModelRule>,
    /// By channel; `*` = all others. An agent's entry replaces everybody's.
    pub channels: BTreeMap<String, Lists>,
    /// By [`super::sender_key`]; `*` = all others, also unknown ones. An agent's entry replaces everybody's, even an
    /// empty one (openclaw case 33).
    pub senders: BTreeMap<String, Lists>,
    /// For scopes in a sandbox.
    pub sandbox: Option<Lists>,
    /// For scopes with a parent.
    pub sub_agents: Option<SubAgents>,
    /// What coordinators have.
    pub coordinator: Option<Lists>,
    /// Tools that cannot be done without.
    pub required: Named,
}

/// In a sandbox nothing is run or written on this machine, unless allowed (openclaw §1.5: an explicit entry lifts the
/// default denial).
pub(crate) fn sandbox_default() -> Lists {
    let groups = ["group:fs", "group:runtime"];
    let unless_allowed = groups.iter().filter_map(|group| group.parse().ok()).collect();
    let home = "policy.sandbox".to_owned();
    Lists { unless_allowed, origins: Origins { home, ..Origins::from("default") }, ..Lists::default() }
}

/// The tools that start, steer and end workers (openclaw §2.1, case 73).
pub(crate) fn coordinator_default() -> Lists {
    let allow = Allow::from_list(Some("group:coordinator".parse().into_iter().collect()));
    let home = "policy.coordinator".to_owned();
    Lists { allow, origins: Origins { home, ..Origins::from("default") }, ..Lists::default() }
}
