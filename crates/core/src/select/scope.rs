//! Who is asking.

use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

use serde::Serialize;

use super::Allow;
use crate::{ToolId, categories::Loaded, selector::Selector};

/// Who is asking. A child's scope can only shrink its parent's ([`Scope::child`]).
///
/// Built by whoever knows the caller: a key, a flag, an embedding program. Nothing in it is taken from a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The tenant; empty on a single-user machine.
    pub tenant: String,
    /// The authenticated principal, if any.
    pub user: Option<String>,
    /// The profile to apply; `None` = the agent's, else the default one.
    pub profile: Option<String>,
    /// The model's context length in tokens, if known.
    pub context_length: Option<u64>,
    /// The agent, by the name under which it is configured.
    pub agent: Option<String>,
    /// The model that will see the tools.
    pub model: Option<Model>,
    /// The channel or group that the conversation takes place in, such as `slack:C042`.
    pub channel: Option<String>,
    /// Who wrote, where the conversation takes place in a channel. In a channel, `None` is somebody unknown.
    pub sender: Option<Sender>,
    /// Whether it is the owner who asks. Whoever is not known is not the owner (openclaw §1.6, case 34).
    pub owner: bool,
    /// Whether the agent runs in a sandbox, which tools that act on this machine would lead out of.
    pub sandbox: bool,
    /// What part the agent plays among others, where it is not told by the agent's configuration.
    pub role: Option<Role>,
    /// What the client says it can do (openclaw case 17).
    pub capabilities: BTreeSet<String>,
    /// Lists for this run alone. All of them hold: two lists of globs cannot be made into one (openclaw §1.5).
    pub caps: Vec<Cap>,
    /// Optional tools granted for this run, each by its identity: a grant is no glob, means no tool of the same name
    /// elsewhere, and loses to every denial (openclaw §1.2, cases 6 and 7).
    pub grants: BTreeSet<ToolId>,
    /// Tools that this run cannot do without.
    pub required: Vec<Selector>,
    /// What the conversation has loaded of the categories of tools; `None` = what every conversation begins with. Counts only
    /// where categories are configured.
    pub loaded: Option<Arc<Loaded>>,
    /// The scope of the agent that started this one.
    pub parent: Option<Arc<Scope>>,
}

/// What part an agent plays among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It starts workers and works through them: it has only the tools for that. Its workers have theirs.
    Coordinator,
    /// A sub-agent that may start others.
    Orchestrator,
    /// A sub-agent that may not.
    Leaf,
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "coordinator" => Ok(Self::Coordinator),
            "orchestrator" => Ok(Self::Orchestrator),
            "leaf" => Ok(Self::Leaf),
            _ => Err(format!("'{text}' is not a role: use coordinator, orchestrator or leaf")),
        }
    }
}

/// Lists for one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cap {
    /// What may pass. An empty list lets nothing pass (openclaw case 22).
    pub allow: Allow,
    /// What may not.
    pub deny: Vec<Selector>,
    /// Where the lists come from, for explanations.
    pub origin: String,
}

/// A model, written `PROVIDER/MODEL`. Compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Model(String);

impl Model {
    /// From its text.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_lowercase())
    }

    /// What rules may call it, from the most to the least particular: the whole, then each beginning that ends before a
    /// slash (openclaw §1.6, case 32).
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.rmatch_indices('/').map(|(at, _)| at);
        std::iter::once(self.0.len()).chain(ends).map(|end| &self.0[..end])
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who wrote in a channel, as far as the channel says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sender {
    /// The channel's own id for the person.
    pub id: Option<String>,
    /// Telephone number.
    pub phone: Option<String>,
    /// The name the person goes by in the channel, without an @. Often theirs to choose.
    pub username: Option<String>,
    /// Display name. Theirs to choose.
    pub name: Option<String>,
}

impl Sender {
    /// Adds what `KIND:VALUE` says: `id`, `phone`, `username` or `name`; without a known kind the text is the id.
    pub fn tell(&mut self, text: &str) {
        let (place, value) = match text.split_once(':') {
            Some(("id", value)) => (&mut self.id, value),
            Some(("phone", value)) => (&mut self.phone, value),
            Some(("username", value)) => (&mut self.username, value),
            Some(("name", value)) => (&mut self.name, value),
            _ => (&mut self.id, text),
        };
        *place = Some(value.to_owned());
    }

    /// What rules may call the sender, in the order in which they are looked for: id, phone, username, name
    /// (openclaw §1.6).
    pub fn keys(&self) -> impl Iterator<Item = String> {
        let parts = [("id", &self.id), ("phone", &self.phone), ("username", &self.username), ("name", &self.name)];
        parts.into_iter().filter_map(|(kind, value)| Some(sender_key(&format!("{kind}:{}", value.as_ref()?))))
    }
}

/// A sender's key as it is compared: telephone numbers by their digits, usernames without an @ and in lower case.
pub fn sender_key(text: &str) -> String {
    match text.split_once(':') {
        Some(("phone", number)) => format!("phone:{}", number.replace(|c: char| !c.is_ascii_digit(), "")),
        Some(("username", name)) => format!("username:{}", name.trim_start_matches('@').to_lowercase()),
        Some(("id" | "name" | "channel", _)) => text.to_owned(),
        _ if text == "*" => text.to_owned(),
        _ => format!("id:{text}"),
    }
}

/// What rules may call a channel, from the most to the least particular: `slack:C042`, `slack`.
pub(crate) fn channel_keys(channel: &str) -> impl Iterator<Item = &str> {
    let ends = channel.rmatch_indices(':').map(|(at, _)| at);
    std::iter::once(channel.len()).chain(ends).map(|end| &channel[..end])
}

/// Most generations of agents that start agents.
pub const MAX_DEPTH: usize = 8;

impl Scope {
    /// The scope of an agent that this one starts. It sees at most what its parent could hand on, whatever else it says:
    /// fields may be set freely.
    #[must_use]
    pub fn child(self: &Arc<Self>, agent: Option<String>) -> Self {
        Self {
            tenant: self.tenant.clone(),
            user: self.user.clone(),
            context_length: self.context_length,
            agent,
            model: self.model.clone(),
            channel: self.channel.clone(),
            sender: self.sender.clone(),
            owner: self.owner,
            sandbox: self.sandbox,
            capabilities: self.capabilities.clone(),
            grants: self.grants.clone(),
            loaded: self.loaded.clone(),
            parent: Some(self.clone()),
            profile: None,
            role: None,
            caps: Vec::new(),
            required: Vec::new(),
        }
    }

    /// How many agents are above this one.
    pub fn depth(&self) -> usize {
        std::iter::successors(self.parent.as_deref(), |scope| scope.parent.as_deref()).count()
    }
}
