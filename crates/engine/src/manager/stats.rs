//! How many tools there are of what, and which are used most. Use is counted by [`crate::stats::Statistics`] alone.

use std::collections::BTreeMap;

use serde::Serialize;
use toolcrib_core::{Labels, ToolId, labels::word::Word};

use super::{Manager, ManagerError, event::namespace_of};

/// How many tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// All of them.
    pub total: usize,
    /// Those that are switched on.
    pub enabled: usize,
}

impl Count {
    pub(super) fn add(&mut self, labels: &Labels) {
        self.total += 1;
        self.enabled += usize::from(labels.enabled);
    }
}

/// How often a tool was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Used {
    /// The tool.
    pub id: ToolId,
    /// Calls that ended, however.
    pub calls: u64,
}

/// Figures of a manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ManagerStats {
    /// All tools.
    pub tools: Count,
    /// By namespace.
    pub namespaces: BTreeMap<Word, Count>,
    /// By the category of the label; tools without one are left out.
    pub categories: BTreeMap<Word, Count>,
    /// By kind of source.
    pub kinds: BTreeMap<&'static str, Count>,
    /// Tools that something is said of by hand, those that are not there at the moment too.
    pub adjusted: usize,
    /// Calls that ended, however; 0 without statistics.
    pub calls: u64,
    /// The ten tools called most.
    pub top: Vec<Used>,
}

impl Manager {
    /// Figures as they stand.
    ///
    /// # Errors
    /// If the manager was shut down.
    pub fn stats(&self) -> Result<ManagerStats, ManagerError> {
        let mut stats = ManagerStats { adjusted: self.inner.hub.adjusted(), ..ManagerStats::default() };
        for entry in self.entries()?.iter() {
            let labels = entry.labels();
            stats.tools.add(labels);
            stats.namespaces.entry(namespace_of(labels).into()).or_default().add(labels);
            if let Some(category) = &labels.category {
                stats.categories.entry(category.clone().into()).or_default().add(labels);
            }
            stats.kinds.entry(entry.tool.source().kind()).or_default().add(labels);
        }
        if let Some(statistics) = &self.inner.statistics {
            let snapshot = statistics.snapshot();
            stats.calls = snapshot.totals.calls;
            let used = snapshot.tools.into_iter().take(10).filter(|named| named.stats.calls > 0);
            stats.top = used.map(|named| Used { id: named.tool, calls: named.stats.calls }).collect();
        }
        Ok(stats)
    }
}
