//! The last search of each conversation.

use std::collections::HashMap;

use parking_lot::Mutex;
use toolcrib_core::usage::{Asked, SearchMade, WINDOW_MS, attribute};

use crate::identity::Principal;

/// Most conversations that are remembered; the one whose search is oldest makes room.
const MOST: usize = 4_096;

struct Last {
    search: SearchMade,
    /// By query: the tools that it was credited with already.
    credited: Vec<Vec<String>>,
}

/// The last search of each conversation, in memory only.
#[derive(Default)]
pub(crate) struct Recent(Mutex<HashMap<Principal, Last>>);

impl Recent {
    pub(crate) fn searched(&self, principal: &Principal, search: SearchMade) {
        let mut searches = self.0.lock();
        if searches.len() >= MOST && !searches.contains_key(principal) {
            let oldest = searches.iter().min_by_key(|(_, last)| last.search.at_ms).map(|(name, _)| name.clone());
            oldest.and_then(|name| searches.remove(&name));
        }
        let credited = vec![Vec::new(); search.queries.len()];
        searches.insert(principal.clone(), Last { search, credited });
    }

    /// The queries that a call is to be credited to, each tool once per query.
    pub(super) fn called(&self, principal: &Principal, tool: &str, at_ms: u64) -> Vec<String> {
        let mut searches = self.0.lock();
        let Some(last) = searches.get_mut(principal) else { return Vec::new() };
        if at_ms > last.search.at_ms.saturating_add(WINDOW_MS) {
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
