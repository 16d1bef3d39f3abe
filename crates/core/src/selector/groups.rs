//! Named sets of selectors.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Form, Selector};
use crate::{
    Tool, ToolId,
    categories::{CategoryId, of_itself},
    labels::word::{folded, same},
    permission::RiskRule,
};

/// Named sets of selectors (`group:NAME`): those that toolcrib defines, and those of the configuration. With them, other
/// names of single tools.
#[derive(Clone, Debug)]
pub struct Groups {
    // By the name in lower case, as aliases are.
    members: BTreeMap<String, Vec<Selector>>,
    aliases: BTreeMap<String, ToolId>,
    risks: Option<Arc<Risks>>,
    categories: BTreeMap<CategoryId, Vec<Selector>>,
}

/// What local rules say of the risk of tools, for `risk:LEVEL`. The groups that these rules refer to know none, so that
/// a rule about risk cannot depend on itself.
#[derive(Debug)]
pub(crate) struct Risks {
    pub(crate) rules: Vec<RiskRule>,
    pub(crate) groups: Groups,
}

/// The groups that always exist. Members of `agents` and `agent-control` are names that agent hosts give to tools that
/// start, steer and watch other agents (openclaw §1.4, §1.7, §2.1); no tool of ours is among them.
const DEFINED: &[(&str, &[&str])] = &[
    (
        "fs",
        &[
            "builtin/read_file",
            "builtin/write_file",
            "builtin/edit_file",
            "builtin/list_directory",
            "builtin/find_files",
            "builtin/search_text",
        ],
    ),
    ("runtime", &["builtin/run_command"]),
    ("web", &["builtin/fetch_url"]),
    ("memory", &["builtin/kv_*", "builtin/store_*"]),
    ("builtin", &["builtin/*"]),
    ("mcp", &["mcp:*"]),
    ("plugins", &["plugin:*"]),
    ("connectors", &["connector:*"]),
    (
        "agents",
        &[
            "Agent",
            "spawn_agent",
            "spawn_subagent",
            "subagents",
            "sessions_spawn",
            "sessions_list",
            "sessions_history",
            "TaskStop",
            "SendMessage",
        ],
    ),
    ("agent-control", &["agents_list", "sessions_send", "session_status", "cron", "automations"]),
    (
        "coordinator",
        &["Agent", "TaskStop", "SendMessage", "SyntheticOutput", "*subscribe_pr_activity", "*unsubscribe_pr_activity"],
    ),
];

impl Default for Groups {
    fn default() -> Self {
        let parse = |texts: &[&str]| texts.iter().filter_map(|text| text.parse().ok()).collect();
        let members = DEFINED.iter().map(|(name, texts)| ((*name).to_owned(), parse(texts))).collect();
        Self { members, aliases: BTreeMap::new(), risks: None, categories: BTreeMap::new() }
    }
}

/// Groups that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// There is no such group.
    #[error("'group:{name}' names no group; known groups: {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A group is, in the end, one of its own members.
    #[error("groups go in a circle: {}; take one of them out of the other", .path.join(" names "))]
    Cycle {
        /// The names along the way; the first is the last.
        path: Vec<String>,
    },
    /// Groups within groups, too many of them.
    #[error("groups are nested more than {MAX_DEPTH} deep below '{name}'; name their members directly")]
    Deep {
        /// The outermost.
        name: String,
    },
}

/// How deep groups may name other groups.
pub(super) const MAX_DEPTH: usize = 8;

impl Groups {
    /// Local statements that `risk:LEVEL` goes by, beside hints and the list of built-in tools.
    #[must_use]
    pub fn with_risks(mut self, rules: Vec<RiskRule>) -> Self {
        self.risks = None;
        if !rules.is_empty() {
            let groups = self.clone();
            self.risks = Some(Arc::new(Risks { rules, groups }));
        }
        self
    }

    /// Tools that are in a category beside those that are labelled so.
    pub fn insert_category(&mut self, id: CategoryId, tools: Vec<Selector>) {
        self.categories.insert(id, tools);
    }

    pub(crate) fn category(&self, id: &CategoryId) -> &[Selector] {
        self.categories.get(id).map_or(&[], Vec::as_slice)
    }

    /// Every category that a tool is in: those whose selectors name it, that of its label, its connector's. Selectors, lists
    /// of tools and the loading of categories all go by this. Selectors are read as in lists that let through: a server cannot
    /// put its tools where they were not put.
    pub fn categories_of(&self, tool: &Tool, exposed: &str) -> BTreeSet<CategoryId> {
        let named = |tools: &[Selector]| tools.iter().any(|selector| selector.grants(tool, exposed, self));
        let mut all: BTreeSet<CategoryId> =
            self.categories.iter().filter(|(_, tools)| named(tools)).map(|(id, _)| id.clone()).collect();
        all.extend(of_itself(tool));
        all
    }

    /// Whether any tool can be in a category that it says nothing of itself.
    pub(crate) fn categorize(&self) -> bool {
        !self.categories.is_empty()
    }

    pub(crate) fn risks(&self) -> Option<&Arc<Risks>> {
        self.risks.as_ref()
    }

    /// Adds or replaces a group.
    pub fn insert(&mut self, name: &str, members: Vec<Selector>) {
        self.members.insert(folded(name), members);
    }

    /// Adds another name for a tool, under which selectors and calls may speak of it.
    pub fn alias(&mut self, name: &str, tool: ToolId) {
        self.aliases.insert(name.to_ascii_lowercase(), tool);
    }

    /// The tool that has this other name.
    pub fn aliased(&self, name: &str) -> Option<&ToolId> {
        if self.aliases.is_empty() { None } else { self.aliases.get(&*super::pattern::lower(name)) }
    }

    /// All other names, in lower case, with their tools.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &ToolId)> {
        self.aliases.iter().map(|(name, id)| (name.as_str(), id))
    }

    /// Whether a group of that name exists.
    pub fn contains(&self, name: &str) -> bool {
        self.members(name).is_some()
    }

    /// The members of a group.
    pub fn members(&self, name: &str) -> Option<&[Selector]> {
        self.members.get(name).or_else(|| self.members.get(&folded(name))).map(Vec::as_slice)
    }

    /// The names of all groups, in lower case.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Whether every group that the selector leads to exists, none leads to itself, and none lies too deep. What a group
    /// that cannot be used would have named is not known, so whoever names it is refused.
    pub fn check(&self, selector: &Selector) -> Result<(), GroupError> {
        self.walk(selector, &mut Vec::new())
    }

    fn walk(&self, selector: &Selector, path: &mut Vec<String>) -> Result<(), GroupError> {
        let Form::Group(name) = &selector.form else { return Ok(()) };
        if let Some(at) = path.iter().position(|outer| same(outer, name)) {
            let circle = path[at..].iter().chain([name]).cloned().collect();
            return Err(GroupError::Cycle { path: circle });
        }
        let Some(members) = self.members(name) else {
            return Err(GroupError::Unknown { name: name.clone(), known: self.names().map(str::to_owned).collect() });
        };
        if path.len() >= MAX_DEPTH {
            return Err(GroupError::Deep { name: path[0].clone() });
        }
        path.push(name.clone());
        let walked = members.iter().try_for_each(|member| self.walk(member, path));
        path.pop();
        walked
    }
}
