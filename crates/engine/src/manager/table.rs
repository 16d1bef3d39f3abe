//! What is registered: by source and name, in the order of registration.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use toolcrib_core::{Source, Tool, ToolId};

use crate::{backend::Backend, hub::Fed};

/// All registrations.
#[derive(Default)]
pub(super) struct Table {
    sources: BTreeMap<Source, BTreeMap<String, Registered>>,
    /// Sources that changed since they were collected.
    dirty: BTreeSet<Source>,
    next: u64,
    closed: bool,
}

pub(super) struct Registered {
    /// With the labels it was registered with.
    pub(super) tool: Arc<Tool>,
    pub(super) backend: Arc<dyn Backend>,
    /// Grows with every registration.
    pub(super) order: u64,
}

impl Table {
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Ends its use.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.dirty.clear();
        self.sources.clear();
    }

    pub(super) fn registered(&self, id: &ToolId) -> Option<&Registered> {
        self.sources.get(&id.source)?.get(&id.name)
    }

    pub(super) fn get(&self, id: &ToolId) -> Option<&Arc<Tool>> {
        self.registered(id).map(|registered| &registered.tool)
    }

    pub(super) fn owns(&self, source: &Source) -> bool {
        self.sources.contains_key(source)
    }

    pub(super) fn len_of(&self, source: &Source) -> usize {
        self.sources.get(source).map_or(0, BTreeMap::len)
    }

    pub(super) fn len(&self) -> usize {
        self.sources.values().map(BTreeMap::len).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Registered> {
        self.sources.values().flat_map(BTreeMap::values)
    }

    /// Puts a tool in; one of its identity gives up its place in the order to it.
    pub(super) fn put(&mut self, tool: Arc<Tool>, backend: Arc<dyn Backend>) {
        let id = tool.id();
        let tools = self.sources.entry(id.source.clone()).or_default();
        self.dirty.insert(id.source.clone());
        let order = tools.get(&id.name).map_or(self.next, |old| old.order);
        self.next += 1;
        let name = id.name.clone();
        tools.insert(name, Registered { tool, backend, order });
    }

    pub(super) fn remove(&mut self, id: &ToolId) -> bool {
        let Some(tools) = self.sources.get_mut(&id.source) else { return false };
        let removed = tools.remove(&id.name).is_some();
        if removed {
            self.dirty.insert(id.source.clone());
        }
        removed
    }

    /// Takes everything out; how much that was.
    pub(super) fn clear(&mut self) -> usize {
        let removed = self.len();
        for (source, tools) in &mut self.sources {
            if !tools.is_empty() {
                tools.clear();
                self.dirty.insert(source.clone());
            }
        }
        removed
    }

    /// What changed since the last time and those of `also` that are here, each source whole.
    pub(super) fn collect(&mut self, also: &BTreeSet<Source>) -> Vec<Fed> {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.extend(also.iter().filter(|source| self.owns(source)).cloned());
        let fed = |source: Source| {
            let tools = self.sources.get(&source).into_iter().flat_map(BTreeMap::values);
            Fed { tools: tools.map(|registered| registered.tool.clone()).collect(), source }
        };
        dirty.into_iter().map(fed).collect()
    }
}
