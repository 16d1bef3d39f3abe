//! Who publishes what, and what is said of tools by hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
};

use toolcrib_core::{Labels, Source, ToolId};

use super::{SourceOptions, feed::Feed, scoped::Scoped};
use crate::{backend::Backend, manager::Adjustment};

/// What is said by hand of the tools of one source, by the source's own names.
pub(super) type Said = Arc<BTreeMap<String, Adjustment>>;

#[derive(Default)]
pub(super) struct Registry {
    pub(super) sources: BTreeMap<Source, Registered>,
    said: BTreeMap<Source, Said>,
    /// How many tools something is said of.
    adjusted: usize,
    /// Sources whose tools have to be labelled anew.
    pub(super) dirty: BTreeSet<Source>,
    feeds: Vec<(u64, Weak<dyn Feed>)>,
    next_feed: u64,
}

pub(super) struct Registered {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) options: Arc<SourceOptions>,
    /// Distinguishes a source from its successor of the same name, so that a late publisher changes nothing.
    pub(super) epoch: u64,
    /// Who brings its tools when somebody looks, if it is not published.
    pub(super) feed: Option<u64>,
    /// The same as the backend, where the tools are made for whoever asks.
    pub(super) scoped: Option<Arc<Scoped>>,
}

impl Registry {
    pub(super) fn said(&self, source: &Source) -> Option<Said> {
        self.said.get(source).cloned()
    }

    pub(super) fn adjustment(&self, id: &ToolId) -> Option<&Adjustment> {
        self.said.get(&id.source)?.get(&id.name)
    }

    pub(super) fn adjustments(&self) -> BTreeMap<ToolId, Adjustment> {
        let all = self.said.iter().flat_map(|(source, said)| said.iter().map(move |one| (source, one)));
        all.map(|(source, (name, said))| (ToolId::new(source.clone(), name.as_str()), said.clone())).collect()
    }

    pub(super) fn adjusted(&self) -> usize {
        self.adjusted
    }

    /// Puts what is said of a tool in place of what was said; nothing takes it back.
    pub(super) fn say(&mut self, id: ToolId, adjustment: Adjustment) {
        let ToolId { source, name } = id;
        self.dirty.insert(source.clone());
        let said = self.said.entry(source.clone()).or_default();
        let list = Arc::make_mut(said);
        let had = if adjustment.is_empty() {
            list.remove(&name).is_some()
        } else {
            let had = list.insert(name, adjustment).is_some();
            self.adjusted += 1;
            had
        };
        self.adjusted -= usize::from(had);
        if list.is_empty() {
            self.said.remove(&source);
        }
    }

    pub(super) fn attach(&mut self, feed: Weak<dyn Feed>) -> u64 {
        self.next_feed += 1;
        self.feeds.retain(|(_, feed)| feed.strong_count() > 0);
        self.feeds.push((self.next_feed, feed));
        self.next_feed
    }

    pub(super) fn detach(&mut self, id: u64) {
        self.feeds.retain(|(other, _)| *other != id);
    }

    pub(super) fn feeds(&self) -> Vec<(u64, Arc<dyn Feed>)> {
        self.feeds.iter().filter_map(|(id, feed)| Some((*id, feed.upgrade()?))).collect()
    }
}

impl SourceOptions {
    /// What is said of a tool of the source.
    pub(super) fn labels_of(&self, name: &str) -> &Arc<Labels> {
        self.tools.get(name).unwrap_or(&self.labels)
    }
}
