//! Saying something of tools by hand: switching, labelling, taking it back.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use toolcrib_core::{Labels, ToolId, permission::Action};

use super::{Adjustment, Event, MAX_ADJUSTED, Manager, ManagerError, event::namespace_of, table::Table};
use crate::clock::now_ms;

/// What became of a change to many tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Tools that changed.
    pub changed: Vec<ToolId>,
    /// Tools that were so already.
    pub unchanged: Vec<ToolId>,
    /// There are no such tools.
    pub unknown: Vec<ToolId>,
}

/// A change to one tool, with what is said of it apart from that.
pub(super) struct Undecided {
    pub(super) id: ToolId,
    /// None of a tool that is not there.
    pub(super) base: Option<Arc<Labels>>,
    pub(super) wanted: Adjustment,
}

impl Manager {
    /// Whether a tool is switched on; `None` if there is no such tool (case 3).
    pub fn is_enabled(&self, id: &ToolId) -> Option<bool> {
        let base = self.base(id)?;
        Some(self.labels_over(id, &base).enabled)
    }

    /// Switches a tool on or off; whether that changed anything.
    ///
    /// # Errors
    /// If there is no such tool (case 5).
    pub fn set_enabled(&self, id: &ToolId, enabled: bool) -> Result<bool, ManagerError> {
        self.update(id, |adjustment| adjustment.enabled = Some(enabled))
    }

    /// The same for many tools; those that there are not are told, the others are switched.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn set_enabled_many<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a ToolId>,
        enabled: bool,
    ) -> Result<Outcomes, ManagerError> {
        self.update_many(ids, |adjustment| adjustment.enabled = Some(enabled))
    }

    /// Switches a tool on if it is off and off if it is on; its new state, `None` if there is no such tool.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn toggle(&self, id: &ToolId) -> Result<Option<bool>, ManagerError> {
        let Some(base) = self.base(id) else { return Ok(None) };
        let table = self.open()?;
        let Some(base) = still(&table, id, base) else { return Ok(None) };
        // Under the lock: of two toggles at a time each counts.
        let enabled = !self.labels_over(id, &base).enabled;
        let mut wanted = self.said(id);
        wanted.enabled = Some(enabled);
        self.settle(vec![Undecided { id: id.clone(), base: Some(base), wanted }])?;
        drop(table);
        Ok(Some(enabled))
    }

    /// Changes what is said of a tool by hand; whether that changed anything.
    ///
    /// # Errors
    /// If there is no such tool, or a label cannot be used.
    pub fn update(&self, id: &ToolId, change: impl FnOnce(&mut Adjustment)) -> Result<bool, ManagerError> {
        let base = self.base(id).ok_or_else(|| ManagerError::NotFound(id.to_string()))?;
        let table = self.open()?;
        let base = still(&table, id, base).ok_or_else(|| ManagerError::NotFound(id.to_string()))?;
        let mut wanted = self.said(id);
        change(&mut wanted);
        let changed = self.settle(vec![Undecided { id: id.clone(), base: Some(base), wanted }])?;
        drop(table);
        Ok(!changed.is_empty())
    }

    /// The same change for many tools.
    ///
    /// # Errors
    /// If the manager was shut down, or a label cannot be used: then nothing was changed.
    pub fn update_many<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a ToolId>,
        change: impl Fn(&mut Adjustment),
    ) -> Result<Outcomes, ManagerError> {
        let mut outcomes = Outcomes::default();
        let mut known: BTreeMap<&ToolId, Arc<Labels>> = BTreeMap::new();
        for id in ids {
            match self.base(id) {
                Some(base) => {
                    known.insert(id, base);
                }
                None => outcomes.unknown.push(id.clone()),
            }
        }
        let table = self.open()?;
        let mut changes = Vec::with_capacity(known.len());
        for (id, base) in known {
            let Some(base) = still(&table, id, base) else {
                outcomes.unknown.push(id.clone());
                continue;
            };
            let mut wanted = self.said(id);
            change(&mut wanted);
            changes.push(Undecided { id: id.clone(), base: Some(base), wanted });
        }
        let all: Vec<ToolId> = changes.iter().map(|change| change.id.clone()).collect();
        outcomes.changed = self.settle(changes)?;
        drop(table);
        // Both are in the order of identities.
        let mut changed = outcomes.changed.iter().peekable();
        for id in all {
            if changed.next_if(|other| **other == id).is_none() {
                outcomes.unchanged.push(id);
            }
        }
        Ok(outcomes)
    }

    /// Takes back everything that was said of a tool by hand; whether anything was.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn reset(&self, id: &ToolId) -> Result<bool, ManagerError> {
        let base = self.base(id);
        let table = self.open()?;
        let changed = self.settle(vec![Undecided { id: id.clone(), base, wanted: Adjustment::default() }])?;
        drop(table);
        Ok(!changed.is_empty())
    }

    /// What is said of a tool by hand, if anything is.
    pub fn adjustment(&self, id: &ToolId) -> Option<Adjustment> {
        self.inner.hub.adjustment(id)
    }

    /// Everything that is said by hand, of tools that are not there at the moment too.
    pub fn adjustments(&self) -> BTreeMap<ToolId, Adjustment> {
        self.inner.hub.adjustments()
    }

    /// What is said of a tool, by hand too.
    pub fn labels(&self, id: &ToolId) -> Option<Arc<Labels>> {
        let base = self.base(id)?;
        Some(self.labels_over(id, &base))
    }

    /// What is said of it by hand, to be changed and signed anew.
    pub(super) fn said(&self, id: &ToolId) -> Adjustment {
        Adjustment { by: None, at_ms: 0, ..self.inner.hub.adjustment(id).unwrap_or_default() }
    }

    fn labels_over(&self, id: &ToolId, base: &Arc<Labels>) -> Arc<Labels> {
        self.inner.hub.adjustment(id).map_or_else(|| base.clone(), |said| said.over(base))
    }

    /// Says by hand exactly this, and nothing of other tools; which tools changed.
    pub(super) fn say(&self, said: BTreeMap<ToolId, Adjustment>) -> Result<Vec<ToolId>, ManagerError> {
        let mut said = said;
        let gone: Vec<ToolId> = self.adjustments().into_keys().filter(|id| !said.contains_key(id)).collect();
        said.extend(gone.into_iter().map(|id| (id, Adjustment::default())));
        let changes = said.into_iter().map(|(id, wanted)| Undecided { base: self.base(&id), id, wanted });
        let changes: Vec<Undecided> = changes.collect();
        let table = self.open()?;
        // To the letter: what is kept and what is in force are one.
        let changed = self.put_in_force(changes)?;
        drop(table);
        Ok(changed)
    }

    /// Puts changes in force, all or none, and tells of those that are some; which ones, in the order given. The caller
    /// holds the table's lock, so that events come in the order of the changes.
    pub(super) fn settle(&self, changes: Vec<Undecided>) -> Result<Vec<ToolId>, ManagerError> {
        // What is kept was checked when it was said; by the rules of then it stays in force.
        changes.iter().try_for_each(|change| change.wanted.check())?;
        let plain = changes.into_iter().map(|change| match &change.base {
            Some(base) => Undecided { wanted: without_echo(change.wanted, base), ..change },
            None => change,
        });
        self.put_in_force(plain.collect())
    }

    fn put_in_force(&self, changes: Vec<Undecided>) -> Result<Vec<ToolId>, ManagerError> {
        let mut real = Vec::with_capacity(changes.len());
        for Undecided { id, base, wanted } in changes {
            let old = self.inner.hub.adjustment(&id).unwrap_or_default();
            if !wanted.says_as(&old) {
                real.push((id, base, old, wanted));
            }
        }
        if self.inner.hub.adjusted() + real.iter().filter(|(_, _, old, _)| old.is_empty()).count() > MAX_ADJUSTED {
            return Err(ManagerError::TooManyAdjusted(MAX_ADJUSTED));
        }
        let now = now_ms();
        let mut put = Vec::with_capacity(real.len());
        let mut changed = Vec::with_capacity(real.len());
        let mut events = Vec::with_capacity(real.len());
        for (id, base, old, wanted) in real {
            let wanted = match &wanted.by {
                // Said elsewhere, by whoever it was.
                Some(_) => wanted,
                None => wanted.signed(&self.by, now),
            };
            let labels = base.map(|base| (old.over(&base), wanted.over(&base)));
            if let Some((before, after)) = &labels
                && before.enabled != after.enabled
            {
                let id = id.clone();
                events.push(if after.enabled { Event::Enabled { id } } else { Event::Disabled { id } });
            }
            // What is not there has no switch.
            if labels.is_none_or(|(before, after)| !alike_but_for_the_switch(&before, &after)) {
                let adjustment = wanted.clone();
                events.push(Event::Adjusted { id: id.clone(), adjustment });
            }
            changed.push(id.clone());
            put.push((id, wanted));
        }
        self.inner.hub.adjust(put);
        for event in events {
            self.send(event);
        }
        Ok(changed)
    }
}

/// What is said of a tool apart from adjustments, now that nothing can be registered or taken back; `before` is what was
/// said of it before that.
pub(super) fn still(table: &Table, id: &ToolId, before: Arc<Labels>) -> Option<Arc<Labels>> {
    if table.owns(&id.source) { table.get(id).map(|tool| tool.labels().clone()) } else { Some(before) }
}

fn alike_but_for_the_switch(a: &Labels, b: &Labels) -> bool {
    let bare = |labels: &Labels| Labels { enabled: true, origin: "".into(), ..labels.clone() };
    bare(a) == bare(b)
}

/// Without what only repeats what is said anyway: taking such words for an operator's would keep them when the source
/// says something else. Whoever signed it signs again.
pub(super) fn without_echo(mut wanted: Adjustment, base: &Labels) -> Adjustment {
    fn drop_if<T>(field: &mut Option<T>, echo: impl FnOnce(&T) -> bool) {
        if field.as_ref().is_some_and(echo) {
            *field = None;
        }
    }
    // What takes a tool away or asks about it stays said, though its source says so today: the source may think again.
    drop_if(&mut wanted.enabled, |enabled| *enabled && base.enabled);
    drop_if(&mut wanted.namespace, |name| *name == *namespace_of(base));
    drop_if(&mut wanted.category, |category| *category == base.category.as_deref().unwrap_or_default());
    drop_if(&mut wanted.tags, |tags| **tags == *base.tags);
    drop_if(&mut wanted.priority, |priority| *priority == base.priority);
    drop_if(&mut wanted.conditions, |list| list.is_empty() && base.conditions.is_empty());
    drop_if(&mut wanted.permission, |permission| {
        *permission == Action::Allow && base.permission == Some(Action::Allow)
    });
    wanted
}
