//! Registering, replacing and taking back.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use toolcrib_core::{Labels, Source, Tool, ToolId};

use super::{
    Adjustment, Event, Manager, ManagerError, OnConflict, Registration, Replaced, When,
    dispatch::Dispatch,
    event::namespace_of,
    registration::succeed,
    table::{Registered, Table},
};
use crate::backend::Backend;

/// A registration whose definition was taken in.
struct Ready {
    tool: Tool,
    labels: Labels,
    backend: Arc<dyn Backend>,
}

/// What came of putting a registration in its place; dropped without the lock.
struct Put {
    replaced: Option<Replaced>,
    event: Option<Event>,
    old: Option<Registered>,
}

impl Manager {
    /// Registers a tool. `Some` if one of the same identity was replaced.
    ///
    /// # Errors
    /// If its place is taken and `on` is [`OnConflict::Error`], if its definition or a label cannot be used, if the source
    /// is somebody else's or full.
    pub fn insert(&self, registration: Registration, on: OnConflict) -> Result<Option<Replaced>, ManagerError> {
        let ready = self.prepare(registration)?;
        let mut table = self.open()?;
        self.fits(&table, ready.tool.id(), on, 0)?;
        let Put { replaced, event, old } = self.put(&mut table, ready, on);
        self.tell(event);
        drop(table);
        drop(old);
        Ok(replaced)
    }

    /// Registers many tools: all of them or, on any error, none. Readers see all or none too. How many replaced another.
    ///
    /// # Errors
    /// As [`Manager::insert`]; two of one identity among them are a conflict like any other.
    pub fn extend(
        &self,
        registrations: impl IntoIterator<Item = Registration>,
        on: OnConflict,
    ) -> Result<usize, ManagerError> {
        let ready: Vec<Ready> =
            registrations.into_iter().map(|registration| self.prepare(registration)).collect::<Result<_, _>>()?;
        let mut table = self.open()?;
        let mut seen: BTreeSet<&ToolId> = BTreeSet::new();
        // What takes the place of another needs none of its own.
        let mut new: BTreeMap<&Source, usize> = BTreeMap::new();
        for one in &ready {
            let id = one.tool.id();
            if !seen.insert(id) {
                if on == OnConflict::Error {
                    return Err(ManagerError::Taken(id.clone()));
                }
                continue;
            }
            let more = new.entry(&id.source).or_default();
            self.fits(&table, id, on, *more)?;
            *more += usize::from(table.get(id).is_none());
        }
        let mut put: Vec<Put> = ready.into_iter().map(|one| self.put(&mut table, one, on)).collect();
        self.tell(put.iter_mut().filter_map(|put| put.event.take()));
        drop(table);
        Ok(put.into_iter().filter(|put| put.replaced.is_some()).count())
    }

    /// Takes a registration back; false if there is none (case 4). What an operator said of the tool stays, for when it
    /// comes again.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn remove(&self, id: &ToolId) -> Result<bool, ManagerError> {
        let mut table = self.open()?;
        let Some(removed) = table.remove(id) else { return Ok(false) };
        self.tell([Event::Unregistered { id: id.clone() }]);
        drop(table);
        drop(removed);
        Ok(true)
    }

    /// Takes all registrations back; how many there were. Tools of other sources are not touched.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn clear(&self) -> Result<usize, ManagerError> {
        let mut table = self.open()?;
        let all = table.clear();
        let removed = all.len();
        self.tell((removed > 0).then_some(Event::Cleared { removed }));
        drop(table);
        drop(all);
        Ok(removed)
    }

    /// Says that there is something new, then what: whoever hears of it and looks finds it. The caller holds the table's lock,
    /// so that events come in the order of the changes.
    fn tell(&self, events: impl IntoIterator<Item = Event>) {
        self.inner.hub.stir();
        for event in events {
            self.send(event);
        }
    }

    /// Takes a definition in, once, before any lock is held.
    fn prepare(&self, registration: Registration) -> Result<Ready, ManagerError> {
        let Registration { source, definition, backend, labels, trust_hints } = registration;
        if matches!(source, Source::Static(_)) {
            // Those are definitions without anything that runs them.
            return Err(ManagerError::ForeignSource(source));
        }
        as_said(&labels).check()?;
        let tool = self
            .inner
            .hub
            .take_in(&source, definition)
            .map_err(|refused| ManagerError::Definition { name: refused.name, reason: refused.reason })?;
        Ok(Ready { tool: tool.with_trusted_hints(trust_hints), labels, backend })
    }

    /// Whether there is a place for it; `more` of its source come before it.
    fn fits(&self, table: &Table, id: &ToolId, on: OnConflict, more: usize) -> Result<(), ManagerError> {
        let dispatch = || -> Arc<dyn Backend> { Arc::new(Dispatch { manager: Arc::downgrade(&self.inner) }) };
        if !self.inner.hub.reserve(&id.source, self.inner.feed, dispatch) {
            return Err(ManagerError::ForeignSource(id.source.clone()));
        }
        if table.get(id).is_some() {
            return if on == OnConflict::Error { Err(ManagerError::Taken(id.clone())) } else { Ok(()) };
        }
        let limit = self.inner.hub.limits().tools_per_source;
        if table.len_of(&id.source) + more >= limit {
            return Err(ManagerError::Full { source_name: id.source.clone(), limit });
        }
        Ok(())
    }

    fn put(&self, table: &mut Table, ready: Ready, on: OnConflict) -> Put {
        let Ready { tool, labels, backend } = ready;
        let id = tool.id().clone();
        let old = table.get(&id).cloned();
        let labels = match &old {
            Some(old) => succeed(old.labels(), labels, on),
            None => labels,
        };
        let labels = if labels == Labels::default() { Labels::nothing() } else { Arc::new(labels) };
        let shown = self.inner.hub.adjustment(&id).map_or_else(|| labels.clone(), |said| said.over(&labels));
        let tool = Arc::new(tool.with_labels(labels));
        let (namespace, enabled) = (namespace_of(&shown), shown.enabled);
        let out = table.put(tool.clone(), backend);
        match old {
            None => Put { replaced: None, event: Some(Event::Registered { id, namespace, enabled }), old: out },
            Some(old) => {
                let changed = old.hash() != tool.hash();
                let differs = changed || old.labels() != tool.labels();
                let event = differs.then_some(Event::Replaced { id, namespace, enabled });
                Put { replaced: Some(Replaced { tool: old, changed }), event, old: out }
            }
        }
    }
}

/// Labels as if they were said by hand, to be checked alike.
fn as_said(labels: &Labels) -> Adjustment {
    Adjustment {
        namespace: labels.namespace.as_deref().map(str::to_owned),
        category: labels.category.as_deref().map(str::to_owned),
        tags: Some(labels.tags.to_vec()),
        conditions: Some(labels.conditions.iter().filter_map(When::of).collect()),
        ..Adjustment::default()
    }
}
