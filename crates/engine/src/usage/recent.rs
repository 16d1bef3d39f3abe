//! The last search of each conversation.

use parking_lot::Mutex;
use toolcrib_core::{
    rate::{Idle, Keyed},
    usage::{Asked, SearchMade, WINDOW_MS, attribute},
};

use crate::identity::Principal;

/// Most conversations that are remembered; one whose search is long ago makes room, else the one whose search is oldest.
const MOST: usize = 4_096;

struct Last {
    search: SearchMade,
    /// By query: the tools that it was credited with already.
    credited: Vec<Vec<String>>,
}

impl Idle for Last {
    fn is_idle(&self, now_ms: u64) -> bool {
        now_ms > self.search.at_ms.saturating_add(WINDOW_MS)
    }
}

/// The last search of each conversation, in memory only.
pub(crate) struct Recent(Mutex<Keyed<Principal, Last>>);

impl Default for Recent {
    fn default() -> Self {
        Self(Mutex::new(Keyed::new(MOST)))
    }
}

impl Recent {
    pub(crate) fn searched(&self, principal: &Principal, search: SearchMade) {
        let mut searches = self.0.lock();
        let credited = vec![Vec::new(); search.queries.len()];
        searches.remove(principal);
        searches.entry(principal, search.at_ms, || Last { search, credited });
    }

    /// The queries that a call is to be credited to, each tool once per query.
    pub(super) fn called(&self, principal: &Principal, tool: &str, at_ms: u64) -> Vec<String> {
        let mut searches = self.0.lock();
        let Some(last) = searches.get_mut(principal) else { return Vec::new() };
        if last.is_idle(at_ms) {
            searches.remove(principal);
            return Vec::new();
        }
        let mut queries = Vec::new();
        for at in attribute(&last.search, tool) {
            let (asked, credited) = (&last.search.queries[at], &mut last.credited[at]);
            if Asked::says_what_is_wanted(asked) && !credited.iter().any(|known| known == tool) {
                credited.push(tool.to_owned());
                queries.push(asked.text.clone());
            }
        }
        queries
    }
}
