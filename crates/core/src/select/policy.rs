//! The policy: everything that is said about who sees what, and which of it applies to a scope.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
    sync::Arc,
};

use super::{
    Allow, DeniedTools, Layer, Lists, MAX_DEPTH, Named, Role, Scope, SelectError, ServerFilter, Stage, SubAgents,
    gate::{Condition, Gate, Kind, ReadyLists},
    lists::{coordinator_default, sandbox_default},
    profiles::built_in,
    scope::channel_keys,
};
use crate::{
    Catalog, Source, Tool,
    categories::{self, Book, CategoryId},
    selector::{
        Groups, Selector,
        matcher::{Matcher, Side},
    },
};

/// A stage and the lists that apply there.
type StageLists<'a> = (Cow<'static, str>, Cow<'a, Lists>);

/// Most lists for one run.
const MAX_CAPS: usize = 32;

/// Everything that is said about who sees what. The stages have one order, [`STAGES`], and each only removes.
#[derive(Clone)]
pub struct Policy {
    /// Groups and other names that selectors may refer to.
    pub groups: Groups,
    /// What is offered of servers.
    pub servers: BTreeMap<Source, ServerFilter>,
    /// Tools that permissions deny whole.
    pub denied: Vec<DeniedTools>,
    /// Tools for the owner only.
    pub owner_only: Named,
    /// Tools that need a client capability, by capability.
    pub capabilities: BTreeMap<String, Named>,
    /// Tools that are hidden unless an allow list or a grant names them, beside those that are labelled so.
    pub optional: Named,
    /// Profiles by name.
    pub profiles: BTreeMap<String, Lists>,
    /// What holds for everybody.
    pub everyone: Layer,
    /// What holds for agents by name; `*` = those without an entry, and whoever names none.
    pub agents: BTreeMap<String, Layer>,
    /// Categories of tools that are loaded when they are needed; `None` = there are none, and categories are only labels.
    pub categories: Option<Arc<Book>>,
    stages: Vec<Arc<dyn Stage>>,
}

/// The stages in their order. Stages of the embedding program come last.
pub const STAGES: [&str; 20] = [
    "tool",
    "server",
    "plugin",
    "permissions",
    "owner",
    "capability",
    "optional",
    "profile",
    "provider profile",
    "global",
    "model",
    "agent",
    "agent model",
    "channel",
    "sender",
    "sandbox",
    "sub-agent",
    "coordinator",
    "run",
    categories::STAGE,
];

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: Vec<&str> = self.stages.iter().map(|stage| stage.name()).collect();
        f.debug_struct("Policy")
            .field("owner_only", &self.owner_only)
            .field("capabilities", &self.capabilities)
            .field("optional", &self.optional)
            .field("profiles", &self.profiles)
            .field("everyone", &self.everyone)
            .field("agents", &self.agents)
            .field("stages", &stages)
            .finish_non_exhaustive()
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(Groups::default())
    }
}

impl Policy {
    /// A policy that lets everything pass and knows the built-in profiles.
    pub fn new(groups: Groups) -> Self {
        Self {
            groups,
            servers: BTreeMap::new(),
            denied: Vec::new(),
            owner_only: Named::default(),
            capabilities: BTreeMap::new(),
            optional: Named::default(),
            profiles: built_in(),
            everyone: Layer::default(),
            agents: BTreeMap::new(),
            categories: None,
            stages: Vec::new(),
        }
    }

    /// Every category that a tool is in, whether categories are loaded when they are needed or not.
    pub fn categories_of(&self, tool: &Tool, exposed: &str) -> BTreeSet<CategoryId> {
        match &self.categories {
            Some(book) => book.owners(tool, exposed, &self.groups),
            None => self.groups.categories_of(tool, exposed),
        }
    }

    /// Whether tools are in others than they say of themselves.
    pub(crate) fn categorizes(&self) -> bool {
        self.categories.is_some() || self.groups.categorize()
    }

    /// Adds a stage of the embedding program at the end.
    pub fn push(&mut self, stage: impl Stage + 'static) {
        self.stages.push(Arc::new(stage));
    }

    /// Whether two scopes see the same, because nothing in which they differ is looked at: whoever serves a thousand users
    /// keeps one view for all of them.
    pub fn alike(&self, a: &Scope, b: &Scope) -> bool {
        if !self.stages.is_empty() {
            return a == b;
        }
        let Scope {
            tenant: _,
            user: _,
            profile,
            context_length,
            agent,
            model,
            channel,
            sender,
            owner,
            sandbox,
            role,
            capabilities,
            caps,
            grants,
            required,
            loaded,
            parent,
        } = a;
        let parents = match (parent, &b.parent) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || self.alike(a, b),
            (None, None) => true,
            _ => false,
        };
        parents
            && (self.categories.is_none() || *loaded == b.loaded)
            && (profile, context_length, agent, model) == (&b.profile, &b.context_length, &b.agent, &b.model)
            && (channel, sender, owner, sandbox, role) == (&b.channel, &b.sender, &b.owner, &b.sandbox, &b.role)
            && (capabilities, caps, grants, required) == (&b.capabilities, &b.caps, &b.grants, &b.required)
    }

    /// The profile that holds for a scope.
    pub fn profile_of<'a>(&'a self, scope: &'a Scope) -> Option<&'a str> {
        let agent = self.agent(scope).ok().flatten();
        let chosen = scope.profile.as_ref().or(agent.and_then(|(_, layer)| layer.profile.as_ref()));
        chosen.or(self.everyone.profile.as_ref()).map(String::as_str)
    }

    /// Whether the scope can be judged: its profile and agent exist, and so does every group that a rule names.
    pub fn check(&self, scope: &Scope) -> Result<(), SelectError> {
        let depth = scope.depth();
        if depth > MAX_DEPTH {
            return Err(SelectError::TooDeep { depth });
        }
        for scope in std::iter::successors(Some(scope), |scope| scope.parent.as_deref()) {
            if scope.caps.len() > MAX_CAPS {
                return Err(SelectError::TooManyCaps { count: scope.caps.len() });
            }
            for list in self.lists(scope)? {
                for (selector, origin) in list.1.selectors().chain(list.1.unless_allowed.iter().map(|s| (s, "default")))
                {
                    self.known(selector, &list.0, origin)?;
                }
            }
            let capabilities = self.capabilities.values().map(|named| ("capability", named));
            let others = [("owner", &self.owner_only), ("optional", &self.optional)];
            for (stage, named) in others.into_iter().chain(capabilities) {
                named.selectors.iter().try_for_each(|selector| self.known(selector, stage, &named.origin))?;
            }
            for (selector, origin) in self.required(scope) {
                self.known(selector, "required", origin)?;
            }
            for stage in &self.stages {
                stage.check(scope)?;
                for selector in stage.selectors(scope) {
                    self.known(selector, stage.name(), "")?;
                }
            }
        }
        Ok(())
    }

    fn known(&self, selector: &Selector, stage: &str, origin: &str) -> Result<(), SelectError> {
        self.groups.check(selector).map_err(|problem| SelectError::Group {
            stage: stage.to_owned(),
            selector: selector.to_string(),
            origin: origin.to_owned(),
            problem,
        })
    }

    /// The layer of the scope's agent. Where agents are configured, one that is not is refused: its name may be misspelt.
    fn agent<'a>(&'a self, scope: &'a Scope) -> Result<Option<(&'a str, &'a Layer)>, SelectError> {
        let named = scope.agent.as_deref().and_then(|name| Some((name, self.agents.get(name)?)));
        match named.or_else(|| self.agents.get("*").map(|layer| ("*", layer))) {
            None if !self.agents.is_empty() => match &scope.agent {
                Some(name) => {
                    Err(SelectError::UnknownAgent { name: name.clone(), known: self.agents.keys().cloned().collect() })
                }
                None => Ok(None),
            },
            found => Ok(found),
        }
    }

    fn profile(&self, name: &str) -> Result<&Lists, SelectError> {
        self.profiles.get(name).ok_or_else(|| SelectError::UnknownProfile {
            name: name.to_owned(),
            known: self.profiles.keys().cloned().collect(),
        })
    }

    /// The lists that apply to a scope, each with its stage, in order.
    pub(crate) fn lists<'a>(&'a self, scope: &'a Scope) -> Result<Vec<StageLists<'a>>, SelectError> {
        let mut all: Vec<StageLists<'a>> = Vec::new();
        let mut push = |stage: &'static str, lists: Cow<'a, Lists>| all.push((stage.into(), lists));
        let agent = self.agent(scope)?.map(|(_, layer)| layer);
        let everyone = &self.everyone;
        let layers = || agent.into_iter().chain([everyone]);

        // What is allowed beside the choice of a profile widens that profile, and no other: not one that a key or a flag
        // has chosen.
        if let Some(name) = &scope.profile {
            push("profile", Cow::Borrowed(self.profile(name)?));
        } else if let Some(name) = layers().find_map(|layer| layer.profile.as_ref()) {
            let chooser = agent.filter(|agent| agent.profile.is_some());
            let beside = agent.into_iter().chain(chooser.is_none().then_some(everyone));
            push("profile", widened(self.profile(name)?, beside.map(|layer| &layer.lists)));
        }
        let model_rule = |layer: &'a Layer| {
            let model = scope.model.as_ref()?;
            model.keys().find_map(|key| layer.models.get(key))
        };
        let by_profile = |rule: &'_ &super::ModelRule| rule.profile.is_some();
        if let Some(rule) = layers().filter_map(model_rule).find(by_profile)
            && let Some(name) = &rule.profile
        {
            push("provider profile", widened(self.profile(name)?, [&rule.lists].into_iter()));
        }
        push("global", Cow::Borrowed(&everyone.lists));
        if let Some(rule) = model_rule(everyone) {
            push("model", Cow::Borrowed(&rule.lists));
        }
        if let Some(agent) = agent {
            push("agent", Cow::Borrowed(&agent.lists));
            if let Some(rule) = model_rule(agent) {
                push("agent model", Cow::Borrowed(&rule.lists));
            }
        }
        if let Some(channel) = &scope.channel {
            let entry = |layer: &'a Layer| channel_keys(channel).chain(["*"]).find_map(|key| layer.channels.get(key));
            if let Some(lists) = layers().find_map(entry) {
                push("channel", Cow::Borrowed(lists));
            }
        }
        if scope.channel.is_some() || scope.sender.is_some() {
            let by_channel = scope.channel.iter().flat_map(|channel| channel_keys(channel));
            let mut keys: Vec<String> = by_channel.map(|key| format!("channel:{key}")).collect();
            keys.extend(scope.sender.iter().flat_map(super::Sender::keys));
            keys.push("*".to_owned());
            let entry = |layer: &'a Layer| keys.iter().find_map(|key| layer.senders.get(key));
            if let Some(lists) = layers().find_map(entry) {
                push("sender", Cow::Borrowed(lists));
            }
        }
        if scope.sandbox || layers().any(|layer| layer.sandboxed) {
            let lists = layers().find_map(|layer| layer.sandbox.as_ref());
            push("sandbox", lists.map_or_else(|| Cow::Owned(sandbox_default()), Cow::Borrowed));
        }
        let role = self.role(scope);
        if scope.parent.is_some() || role == Some(Role::Leaf) {
            let default = SubAgents::default();
            let rules = layers().find_map(|layer| layer.sub_agents.as_ref()).unwrap_or(&default);
            let mut lists = rules.lists.clone();
            if lists.origins.home.is_empty() {
                "policy.subagents".clone_into(&mut lists.origins.home);
            }
            if rules.is_leaf(scope, role) {
                lists.unless_allowed.extend(rules.leaf.iter().cloned());
            }
            push("sub-agent", Cow::Owned(lists));
        }
        if role == Some(Role::Coordinator) {
            let lists = layers().find_map(|layer| layer.coordinator.as_ref());
            push("coordinator", lists.map_or_else(|| Cow::Owned(coordinator_default()), Cow::Borrowed));
        }
        for cap in &scope.caps {
            let lists = Lists {
                allow: cap.allow.clone(),
                deny: cap.deny.clone(),
                origins: cap.origin.as_str().into(),
                ..Lists::default()
            };
            push("run", Cow::Owned(lists));
        }
        Ok(all)
    }

    fn role(&self, scope: &Scope) -> Option<Role> {
        let agent = self.agent(scope).ok().flatten();
        scope.role.or_else(|| agent.and_then(|(_, layer)| layer.role))
    }

    /// What must not be missing for a scope, each with where that was written.
    pub(crate) fn required<'a>(&'a self, scope: &'a Scope) -> Vec<(&'a Selector, &'a str)> {
        let agent = self.agent(scope).ok().flatten().map(|(_, layer)| &layer.required);
        let written = agent.into_iter().chain([&self.everyone.required]);
        let written = written.flat_map(|named| named.selectors.iter().map(|selector| (selector, &*named.origin)));
        written.chain(scope.required.iter().map(|selector| (selector, "this run"))).collect()
    }

    /// The stages that apply to a scope, ready. Without the coordinator's where the question is what it can hand on.
    pub(crate) fn gates(&self, catalog: &Catalog, scope: &Scope, hands_on: bool) -> Result<Vec<Gate>, SelectError> {
        let groups = &self.groups;
        let mut gates = Vec::new();
        let mut push = |stage: Cow<'static, str>, kind: Kind| gates.push(Gate { stage, kind });
        if catalog.sources().values().any(|entry| entry.has_off()) {
            push("tool".into(), Kind::Off);
        }
        if !self.servers.is_empty() {
            push("server".into(), Kind::Servers(self.servers.clone()));
        }
        if let Some(builtin) = catalog.sources().get(&Source::Builtin)
            && catalog.sources().keys().any(|source| matches!(source, Source::Plugin(_)))
        {
            let names: HashSet<String> = builtin.tools.iter().map(|tool| tool.name().to_lowercase()).collect();
            push("plugin".into(), Kind::PluginIds(names));
        }
        let whole = |denied: &&DeniedTools| denied.pattern.whole_tool();
        let denied: Vec<DeniedTools> = self.denied.iter().filter(whole).cloned().collect();
        if !denied.is_empty() {
            push("permissions".into(), Kind::Denied(denied));
        }
        let restrict = |named: &Named| Matcher::new(&named.selectors, groups, Side::Restrict);
        if !scope.owner && !self.owner_only.selectors.is_empty() {
            let (named, matcher) = (self.owner_only.clone(), restrict(&self.owner_only));
            push("owner".into(), Kind::Conditional { named, matcher, condition: Condition::Owner });
        }
        for (name, named) in self.capabilities.iter().filter(|(name, _)| !scope.capabilities.contains(*name)) {
            let condition = Condition::Capability(name.clone());
            push("capability".into(), Kind::Conditional { named: named.clone(), matcher: restrict(named), condition });
        }
        if catalog.sources().values().any(|entry| entry.has_capabilities()) {
            push("capability".into(), Kind::Needs(scope.capabilities.clone()));
        }
        let lists = self.lists(scope)?;
        if !self.optional.selectors.is_empty() || catalog.sources().values().any(|entry| entry.has_optional()) {
            let allowing = lists.iter().flat_map(|(_, lists)| lists.allow.selectors().iter().chain(&lists.also_allow));
            let allowing: Vec<Selector> = allowing.cloned().collect();
            push(
                "optional".into(),
                Kind::Optional {
                    named: self.optional.clone(),
                    matcher: restrict(&self.optional),
                    allowed: Matcher::new(&allowing, groups, Side::Grant),
                    grants: scope.grants.clone(),
                },
            );
        }
        for (stage, lists) in lists {
            if !(lists.pass_all() || hands_on && stage == "coordinator") {
                push(stage, Kind::Lists(Box::new(ReadyLists::new(lists.into_owned(), groups))));
            }
        }
        if let Some(book) = &self.categories {
            push(categories::STAGE.into(), Kind::Custom(book.clone()));
        }
        for stage in &self.stages {
            push(Cow::Owned(stage.name().to_owned()), Kind::Custom(stage.clone()));
        }
        Ok(gates)
    }
}

/// A profile with what is allowed beside it.
fn widened<'a>(profile: &'a Lists, beside: impl Iterator<Item = &'a Lists>) -> Cow<'a, Lists> {
    let more: Vec<Selector> = beside.flat_map(|lists| lists.also_allow.iter().cloned()).collect();
    if more.is_empty() || profile.allow == Allow::All {
        return Cow::Borrowed(profile);
    }
    let mut lists = profile.clone();
    lists.also_allow.extend(more);
    Cow::Owned(lists)
}
