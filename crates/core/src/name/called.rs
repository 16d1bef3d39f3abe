//! What tools may be called by, whoever speaks of one: its exposed name, its identity (`mcp:SERVER/tool`), another name that
//! the configuration gives it, or its source's own name for it.

use crate::{ToolId, assemble::ToolSet, selector::Groups};

/// A name by which somebody asks for tools.
#[derive(Clone, Debug)]
pub struct Called<'n> {
    name: &'n str,
    identity: Option<ToolId>,
}

impl<'n> Called<'n> {
    /// Blanks around it do not count.
    pub fn new(name: &'n str, groups: &Groups) -> Self {
        let name = name.trim();
        Self { name, identity: name.parse().ok().or_else(|| groups.aliased(name).cloned()) }
    }

    /// Whether it may mean this tool.
    pub fn means(&self, id: &ToolId, exposed: &str) -> bool {
        self.name == exposed || self.name == id.name || self.identity.as_ref() == Some(id)
    }
}

impl ToolSet {
    /// Positions of the tools that a name means: the one that is exposed under it or has this identity or other name; where
    /// there is none, all those that their sources call so.
    pub fn called(&self, name: &str, groups: &Groups) -> Vec<usize> {
        if let Some(position) = self.resolve(name.trim()).and_then(|name| self.name_map().position(name)) {
            return vec![position];
        }
        let called = Called::new(name, groups);
        let members = |exposed: &str| self.merged(exposed).into_iter().flat_map(|merged| merged.members.values());
        let ids = |position: usize, exposed: &str, fits: &dyn Fn(&ToolId) -> bool| {
            fits(self.tools()[position].id()) || members(exposed).any(|tool| fits(tool.id()))
        };
        let all = |fits: &dyn Fn(&ToolId) -> bool| -> Vec<usize> {
            let named = self.names().enumerate().filter(|(position, exposed)| ids(*position, exposed, fits));
            named.map(|(position, _)| position).collect()
        };
        if let Some(identity) = &called.identity {
            return all(&|id| id == identity);
        }
        all(&|id| id.name == called.name)
    }
}
