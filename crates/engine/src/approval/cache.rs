//! Grants in memory, read again whenever the store says that something changed.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::request::Grant;

/// Most grants held in memory. One more is asked of the store, which tells whether that is all of them; stores give so
/// many, those that forbid first. What does not fit is looked up in the store by what it covers, call by call: a bound
/// costs time, never a refusal.
pub const MOST_GRANTS: usize = 10_000;

/// The grants of a moment.
#[derive(Default)]
pub(super) struct Grants {
    /// The store's version they were read at; `None` = never read.
    pub(super) version: Option<u64>,
    /// There are more than are held here.
    pub(super) partial: bool,
    /// Whether any of them forbids.
    pub(super) denials: bool,
    /// There may be more that forbid than are held here.
    pub(super) more_denials: bool,
    by_tool: HashMap<String, Vec<Grant>>,
    ids: HashSet<String>,
}

impl Grants {
    pub(super) fn new(version: Option<u64>, grants: Vec<Grant>) -> Arc<Self> {
        let partial = grants.len() > MOST_GRANTS;
        let denials = grants.iter().any(|grant| !grant.allow);
        // Those that forbid come first, so the first that allows has all of them before it.
        let more_denials = partial && grants.iter().take(MOST_GRANTS).all(|grant| !grant.allow);
        let ids = grants.iter().map(|grant| grant.id.clone()).collect();
        let mut by_tool: HashMap<String, Vec<Grant>> = HashMap::new();
        for grant in grants.into_iter().take(MOST_GRANTS) {
            by_tool.entry(grant.tool.clone()).or_default().push(grant);
        }
        Arc::new(Self { version, partial, denials, more_denials, by_tool, ids })
    }

    /// Whether a grant was in force when these were read.
    pub(super) fn holds(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    pub(super) fn of_tool(&self, tool: &str) -> &[Grant] {
        self.by_tool.get(tool).map_or(&[], Vec::as_slice)
    }
}
