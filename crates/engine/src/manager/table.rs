//! What is registered: by source and name, in the order of registration. What is taken out is handed out: a program's own
//! code may run when it is dropped, which must not happen under the table's lock.

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

    /// Ends its use; gives what was registered.
    #[must_use = "is dropped without the lock"]
    pub(super) fn close(&mut self) -> impl Sized + use<> {
        self.closed = true;
        self.dirty.clear();
        std::mem::take(&mut self.sources)
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
    #[must_use = "is dropped without the lock"]
    pub(super) fn put(&mut self, tool: Arc<Tool>, backend: Arc<dyn Backend>) -> Option<Registered> {
        let id = tool.id();
        let tools = self.sources.entry(id.source.clone()).or_default();
        self.dirty.insert(id.source.clone());
        let order = tools.get(&id.name).map_or(self.next, |old| old.order);
        self.next += 1;
        let name = id.name.clone();
        tools.insert(name, Registered { tool, backend, order })
    }

    #[must_use = "is dropped without the lock"]
    pub(super) fn remove(&mut self, id: &ToolId) -> Option<Registered> {
        let removed = self.sources.get_mut(&id.source)?.remove(&id.name)?;
        self.dirty.insert(id.source.clone());
        Some(removed)
    }

    /// Takes everything out. The sources stay its own.
    #[must_use = "is dropped without the lock"]
    pub(super) fn clear(&mut self) -> Vec<Registered> {
        let mut all = Vec::with_capacity(self.len());
        for (source, tools) in &mut self.sources {
            if !tools.is_empty() {
                all.extend(std::mem::take(tools).into_values());
                self.dirty.insert(source.clone());
            }
        }
        all
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
