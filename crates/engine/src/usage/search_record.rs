//! A search in the journal: its queries, masked and shortened, and the first tools that each found.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use toolcrib_core::usage::{Asked, Event, SearchMade};

use crate::{
    event::Outcome,
    journal::{JournalRecord, Kind},
};

/// Most characters of a query in a record.
const QUERY_CHARS: usize = 200;
/// Most bytes of the whole, as the journal holds them.
const MAX_BYTES: usize = 2_000;

#[derive(Serialize, Deserialize)]
struct Detail {
    queries: Vec<Query>,
}

#[derive(Serialize, Deserialize)]
struct Query {
    q: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    found: Vec<String>,
}

/// The record's detail. What does not fit is left out: found tools first, those of the last ranks before others.
pub(super) fn detail(queries: &[Asked]) -> String {
    let mut detail = Detail {
        queries: queries
            .iter()
            .map(|asked| Query { q: asked.text.chars().take(QUERY_CHARS).collect(), found: asked.found.clone() })
            .collect(),
    };
    loop {
        let text = serde_json::to_string(&detail).unwrap_or_default();
        if text.len() <= MAX_BYTES {
            return text;
        }
        let deepest = detail.queries.iter().map(|query| query.found.len()).max().unwrap_or(0);
        if deepest > 0 {
            detail.queries.iter_mut().for_each(|query| query.found.truncate(deepest - 1));
        } else if detail.queries.len() > 1 {
            detail.queries.pop();
        } else {
            detail.queries.iter_mut().for_each(|query| query.q = query.q.chars().take(QUERY_CHARS / 4).collect());
        }
    }
}

/// The searches and successful calls among journal records, in their order, each with what tells its conversation from
/// others: for [`toolcrib_core::usage::label`]. Records of other kinds are passed over.
pub fn searches<'a>(records: impl IntoIterator<Item = &'a JournalRecord>) -> Vec<(String, Event)> {
    let mut numbers: HashMap<(&crate::Principal, &str), usize> = HashMap::new();
    let mut events = Vec::new();
    for record in records {
        let event = match (record.kind, &record.tool, record.outcome) {
            (Kind::Search, _, _) => record
                .detail
                .as_deref()
                .and_then(read)
                .map(|queries| Event::Search(SearchMade { queries, at_ms: record.at_ms })),
            (Kind::Outcome, Some(tool), Some(Outcome::Ok)) => {
                Some(Event::Call { tool: tool.clone(), at_ms: record.at_ms })
            }
            _ => None,
        };
        let Some(event) = event else { continue };
        // Without a session, one run of one caller is the best that is known.
        let run = if record.principal.session.is_some() { "" } else { record.run.as_str() };
        let next = numbers.len();
        let number = *numbers.entry((&record.principal, run)).or_insert(next);
        events.push((number.to_string(), event));
    }
    events
}

fn read(detail: &str) -> Option<Vec<Asked>> {
    let detail: Detail = serde_json::from_str(detail).ok()?;
    Some(detail.queries.into_iter().map(|query| Asked { text: query.q, found: query.found }).collect())
}

#[cfg(test)]
mod tests;
