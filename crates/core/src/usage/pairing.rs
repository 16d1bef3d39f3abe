//! Which calls came of which searches.

use std::collections::HashMap;

use crate::find::selection;

/// How long after a search a call may still come of it: ten minutes.
pub const WINDOW_MS: u64 = 10 * 60 * 1_000;
/// Most sessions looked at side by side; the one longest silent makes room.
const MAX_SESSIONS: usize = 10_000;
/// Most tools that one query is credited with.
const MAX_GOLD: usize = 20;

/// One query of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Its text.
    pub text: String,
    /// Identities of the first tools that it found.
    pub found: Vec<String>,
}

/// A search as it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchMade {
    /// Its queries.
    pub queries: Vec<Asked>,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Tools were searched for.
    Search(SearchMade),
    /// A tool ran and succeeded.
    Call {
        /// Its identity.
        tool: String,
        /// When, in milliseconds since the Unix epoch.
        at_ms: u64,
    },
}

/// A query and the tools that were called upon it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// The query.
    pub query: String,
    /// Identities of the tools, in the order of their first calls.
    pub gold: Vec<String>,
    /// Whether the search had shown all of them.
    pub shown: bool,
}

/// The queries of a search that a call came of: those that had found the tool; the only query, if none had.
pub fn attribute(search: &SearchMade, tool: &str) -> Vec<usize> {
    let found = |asked: &Asked| asked.found.iter().any(|id| id == tool);
    let by_find: Vec<usize> =
        search.queries.iter().enumerate().filter(|(_, asked)| found(asked)).map(|(at, _)| at).collect();
    match (by_find.is_empty(), search.queries.len()) {
        (true, 1) => vec![0],
        _ => by_find,
    }
}

/// Pairs searches with the calls that came of them. `events` are in the order in which they happened, each with what
/// tells its session from others. Queries that name tools instead of saying what is wanted tell nothing and are left out;
/// so is a pair that is there already.
pub fn label(events: impl IntoIterator<Item = (String, Event)>) -> Vec<Labelled> {
    let mut labelled = Vec::new();
    let mut open: HashMap<String, Open> = HashMap::new();
    for (session, event) in events {
        match event {
            Event::Search(search) => {
                if open.len() >= MAX_SESSIONS && !open.contains_key(&session) {
                    let silent = open.iter().min_by_key(|(_, open)| open.search.at_ms).map(|(name, _)| name.clone());
                    if let Some(ended) = silent.and_then(|name| open.remove(&name)) {
                        ended.close(&mut labelled);
                    }
                }
                let gold = vec![Vec::new(); search.queries.len()];
                if let Some(ended) = open.insert(session, Open { search, gold }) {
                    ended.close(&mut labelled);
                }
            }
            Event::Call { tool, at_ms } => {
                let Some(open) = open.get_mut(&session) else { continue };
                if at_ms > open.search.at_ms.saturating_add(WINDOW_MS) {
                    continue;
                }
                for at in attribute(&open.search, &tool) {
                    let gold = &mut open.gold[at];
                    if gold.len() < MAX_GOLD && !gold.contains(&tool) {
                        gold.push(tool.clone());
                    }
                }
            }
        }
    }
    let mut left: Vec<Open> = open.into_values().collect();
    let first = |open: &Open| open.search.queries.first().map(|asked| asked.text.clone());
    left.sort_by_cached_key(|open| (open.search.at_ms, first(open)));
    for open in left {
        open.close(&mut labelled);
    }
    let mut seen = std::collections::HashSet::new();
    labelled.retain(|one: &Labelled| seen.insert((one.query.clone(), one.gold.clone())));
    labelled
}

/// A search that calls may still come of.
struct Open {
    search: SearchMade,
    /// By query.
    gold: Vec<Vec<String>>,
}

impl Open {
    fn close(self, labelled: &mut Vec<Labelled>) {
        for (asked, gold) in self.search.queries.into_iter().zip(self.gold) {
            if gold.is_empty() || !asked.says_what_is_wanted() {
                continue;
            }
            let shown = gold.iter().all(|tool| asked.found.contains(tool));
            labelled.push(Labelled { query: asked.text, gold, shown });
        }
    }
}

impl Asked {
    /// Whether the query is in words: one piece with separators is a name, and `select:` lists names.
    pub fn says_what_is_wanted(&self) -> bool {
        let text = self.text.trim();
        !(selection(text).is_some()
            || text.is_empty()
            || (!text.contains(char::is_whitespace) && text.contains(['_', '/', '*'])))
    }
}
