//! Reads the arguments of `tool_search` and `tool_describe`; those of `tool_call` are read by [`crate::args::bridge`].
//! Lenient: what a weak model meant is taken, and a note says what was changed.

use serde_json::Value;

use super::BridgeError;
use crate::disclosure::{Settings, clean, clip, whole_number};

/// Most queries of one search.
const MAX_QUERIES: usize = 7;
/// Most names of one description.
const MAX_NAMES: usize = 10;
/// Longest query in characters; the rest says nothing that the start did not.
const QUERY_CHARS: usize = 500;

/// A search as understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// One to seven queries, trimmed, without repeats.
    pub queries: Vec<String>,
    /// Only tools of this server, if any.
    pub server: Option<String>,
    /// Matches per query, within the settings.
    pub limit: usize,
    /// What was not taken as written.
    pub notes: Vec<String>,
}

/// A description as understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribeRequest {
    /// One to ten names, trimmed, without repeats.
    pub names: Vec<String>,
    /// What was not taken as written.
    pub notes: Vec<String>,
}

/// Reads `{queries: [text, …] | query: text, server?, limit?}`; either key takes a text or a list.
pub fn read_search(args: &Value, settings: &Settings) -> Result<SearchRequest, BridgeError> {
    let mut notes = Vec::new();
    let mut queries = Vec::new();
    for item in ["queries", "query", "q"].iter().flat_map(|key| items(&args[*key])) {
        match item {
            Value::String(text) => push_once(&mut queries, clip(text.trim(), QUERY_CHARS)),
            Value::Null => {}
            other => notes.push(format!("ignored the query {}, which is not text", clip(&other.to_string(), 40))),
        }
    }
    if queries.is_empty() {
        return Err(BridgeError::MissingQuery);
    }
    cut(&mut queries, MAX_QUERIES, "queries", &mut notes);
    let server = args["server"].as_str().map(str::trim).filter(|server| !server.is_empty());
    let limit = read_limit(&args["limit"], settings, &mut notes);
    Ok(SearchRequest { queries, server: server.map(|server| clip(&clean(server), 128)), limit, notes })
}

/// Absent means the default; numbers, integer text and booleans (as 1 and 0) are brought within 1 and the maximum
/// (hermes §1.7; cases ds-009 to ds-019).
fn read_limit(raw: &Value, settings: &Settings, notes: &mut Vec<String>) -> usize {
    let max = settings.max_search_limit;
    let number = match raw {
        Value::Null => return settings.search_default_limit,
        Value::Bool(on) => Some(i64::from(*on)),
        other => whole_number(other),
    };
    let Some(number) = number else {
        let used = settings.search_default_limit;
        notes.push(format!("limit {} is not a number from 1 to {max}; used {used}", clip(&raw.to_string(), 40)));
        return used;
    };
    let used = usize::try_from(number.max(1)).unwrap_or(max).min(max);
    if i64::try_from(used) != Ok(number) {
        notes.push(format!("limit must be from 1 to {max}; used {used}"));
    }
    used
}

/// Reads `{names: [text, …]}` or `{name: text}`; either key takes a text or a list.
pub fn read_describe(args: &Value) -> Result<DescribeRequest, BridgeError> {
    let mut notes = Vec::new();
    let mut names = Vec::new();
    for item in ["names", "name"].iter().flat_map(|key| items(&args[*key])) {
        match item {
            Value::String(text) => push_once(&mut names, text.trim().to_owned()),
            Value::Number(number) => push_once(&mut names, number.to_string()),
            Value::Null => {}
            other => notes.push(format!("ignored the name {}, which is not text", clip(&other.to_string(), 40))),
        }
    }
    if names.is_empty() {
        return Err(BridgeError::MissingName);
    }
    cut(&mut names, MAX_NAMES, "names", &mut notes);
    Ok(DescribeRequest { names, notes })
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    }
}

fn push_once(list: &mut Vec<String>, text: String) {
    // One over the maximum is kept so that the cut is noticed; more would be held for nothing.
    if !text.is_empty() && !list.contains(&text) && list.len() <= MAX_QUERIES.max(MAX_NAMES) {
        list.push(text);
    }
}

fn cut(list: &mut Vec<String>, max: usize, what: &str, notes: &mut Vec<String>) {
    if list.len() > max {
        list.truncate(max);
        notes.push(format!("only the first {max} {what} were used; send the others in another call"));
    }
    // Notes are about single items, of which there may be any number.
    notes.truncate(3);
}
