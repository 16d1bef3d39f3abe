//! Namespaces: sets of tools that are switched together. One without tools is none.

use std::{collections::BTreeMap, sync::Arc};

use toolcrib_core::{
    Labels, ToolId,
    labels::word::{Word, same},
};

use super::{
    Count, Entry, Event, Filter, Manager, ManagerError, OnConflict, Registration,
    event::namespace_of,
    switch::{Undecided, still},
};

/// The tools of one namespace. Holds nothing: it is what the tools say.
pub struct Namespace<'m> {
    manager: &'m Manager,
    name: &'m str,
}

impl Manager {
    /// The tools of a namespace, which may have none.
    pub fn namespace<'m>(&'m self, name: &'m str) -> Namespace<'m> {
        Namespace { manager: self, name }
    }

    /// All namespaces with at least one tool, by name.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn namespaces(&self) -> Result<BTreeMap<Word, Count>, ManagerError> {
        let mut found: BTreeMap<Word, Count> = BTreeMap::new();
        for entry in self.entries()?.iter() {
            found.entry(namespace_of(entry.labels()).into()).or_default().add(entry.labels());
        }
        Ok(found)
    }
}

impl Namespace<'_> {
    /// Its tools, those switched off too, in the order of [`Manager::query`].
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn entries(&self) -> Result<Vec<Entry>, ManagerError> {
        self.manager.query(&Filter { namespace: Some(self.name.to_owned()), ..Filter::default() })
    }

    /// Switches all its tools; how many that changed. Nothing happens where there are none.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn set_enabled(&self, enabled: bool) -> Result<usize, ManagerError> {
        let manager = self.manager;
        let named = |labels: &Labels| same(labels.namespace(), self.name);
        // What is there now; what comes in meanwhile is as it was registered.
        let ids: Vec<ToolId> = self.entries()?.iter().map(|entry| entry.id().clone()).collect();
        let known: Vec<(ToolId, Arc<Labels>)> =
            ids.into_iter().filter_map(|id| manager.base(&id).map(|base| (id, base))).collect();
        let table = manager.open()?;
        let changes = known.into_iter().filter_map(|(id, base)| {
            let base = still(&table, &id, base)?;
            let mut wanted = manager.said(&id);
            // One that went to another namespace meanwhile is left alone.
            if !named(&wanted.over(&base)) {
                return None;
            }
            wanted.enabled = Some(enabled);
            Some(Undecided { id, base: Some(base), wanted })
        });
        let changes: Vec<Undecided> = changes.collect();
        let changed = manager.settle(changes)?.len();
        if changed > 0 {
            let namespace = self.name.into();
            manager.send(if enabled {
                Event::NamespaceEnabled { namespace, changed }
            } else {
                Event::NamespaceDisabled { namespace, changed }
            });
        }
        drop(table);
        Ok(changed)
    }

    /// Registers tools in this namespace: all or none. How many replaced another.
    ///
    /// # Errors
    /// As [`Manager::extend`].
    pub fn extend(
        &self,
        registrations: impl IntoIterator<Item = Registration>,
        on: OnConflict,
    ) -> Result<usize, ManagerError> {
        self.manager.extend(registrations.into_iter().map(|one| one.namespace(self.name)), on)
    }
}
