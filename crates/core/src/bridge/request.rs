//! Reads the arguments of `tool_search` and `tool_describe`; those of `tool_call` are read by [`crate::args::bridge`].
//! Lenient: what a weak model meant is taken, and a note says what was changed.

use serde_json::Value;

use super::BridgeError;
use crate::{
    ContentHash,
    disclosure::{Settings, clean, clip, whole_number},
    find::{Filter, MAX_HITS, selection},
};

/// Most queries of one search.
const MAX_QUERIES: usize = 7;
/// Most names of one description.
const MAX_NAMES: usize = 10;
/// Most matches of all queries of one search together: each gets the same share (openclaw case 100 refuses such a search).
const MAX_TOGETHER: usize = 50;
/// Longest word of a filter or server in characters.
const WORD_CHARS: usize = 128;
/// Longest query in characters; the rest says nothing that the start did not.
const QUERY_CHARS: usize = 500;
/// The same of a list of names.
const SELECT_CHARS: usize = 4_000;

/// A search as understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// One to seven queries, trimmed, without repeats.
    pub queries: Vec<String>,
    /// The server to stay in, or words about it.
    pub server: Option<String>,
    /// What tools must be like.
    pub filter: Filter,
    /// Matches per query, within the settings.
    pub limit: usize,
    /// Matches of each query to pass over.
    pub offset: usize,
    /// Whether to say why each tool was found.
    pub explain: bool,
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

impl SearchRequest {
    /// Where the next page begins, as an argument of the same search.
    pub fn next_cursor(&self) -> String {
        format!("{}-{}", self.offset.saturating_add(self.limit), self.mark())
    }

    /// Tells this search from others, so that a cursor of another one is not taken for its own.
    fn mark(&self) -> String {
        let mut text = self.queries.join("\n");
        for part in [&self.server, &self.filter.source, &self.filter.category] {
            text.push('\0');
            text.push_str(part.as_deref().unwrap_or_default());
        }
        text.push_str(if self.filter.readonly { "r" } else { "" });
        ContentHash::of_bytes(text.as_bytes()).base32(6)
    }
}

/// Reads `{queries: [text, …] | query: text, server?, source?, category?, readonly?, limit?, offset? | cursor?,
/// explain?}`; either key of the queries takes a text or a list.
pub fn read_search(args: &Value, settings: &Settings) -> Result<SearchRequest, BridgeError> {
    let mut notes = Vec::new();
    let mut queries = Vec::new();
    for item in ["queries", "query", "q"].iter().flat_map(|key| items(&args[*key])) {
        match item {
            Value::String(text) => push_once(&mut queries, clip(text.trim(), most_chars(text))),
            Value::Null => {}
            other => notes.push(format!("ignored the query {}, which is not text", clip(&other.to_string(), 40))),
        }
    }
    if queries.is_empty() {
        return Err(BridgeError::MissingQuery);
    }
    cut(&mut queries, MAX_QUERIES, "queries", &mut notes);
    let word = |key: &str| {
        let text = args[key].as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(|text| clip(&clean(text), WORD_CHARS))
    };
    let readonly = match &args["readonly"] {
        Value::Null => false,
        Value::Bool(on) => *on,
        Value::String(text) if ["true", "false"].contains(&text.trim()) => text.trim() == "true",
        other => {
            // What was to be kept safe is kept safe.
            notes.push(format!("readonly {} is neither true nor false; used true", clip(&other.to_string(), 40)));
            true
        }
    };
    let mut limit = read_limit(&args["limit"], settings, &mut notes);
    let share = (MAX_TOGETHER / queries.len()).max(1);
    if limit > share {
        notes.push(format!("{share} matches for each of {} queries; use cursor for more", queries.len()));
        limit = share;
    }
    let filter = Filter { source: word("source"), category: word("category"), readonly };
    let explain = args["explain"] == true;
    let mut request = SearchRequest { queries, server: word("server"), filter, limit, offset: 0, explain, notes };
    request.offset = read_offset(args, &request.mark(), &mut request.notes);
    Ok(request)
}

/// Where to go on: after a cursor of the same search, else after `offset` matches.
fn read_offset(args: &Value, mark: &str, notes: &mut Vec<String>) -> usize {
    let bounded = |number: i64| usize::try_from(number.max(0)).unwrap_or(MAX_HITS).min(MAX_HITS);
    if let Some(cursor) = args["cursor"].as_str().map(str::trim).filter(|cursor| !cursor.is_empty()) {
        let parts = cursor.split_once('-').and_then(|(at, of)| Some((at.parse::<i64>().ok()?, of)));
        match parts {
            Some((at, of)) if of == mark => return bounded(at),
            _ => notes.push("the cursor is not of this search; started from the beginning".to_owned()),
        }
        return 0;
    }
    match &args["offset"] {
        Value::Null => 0,
        raw => whole_number(raw).map_or_else(
            || {
                notes.push(format!("offset {} is not a number; used 0", clip(&raw.to_string(), 40)));
                0
            },
            bounded,
        ),
    }
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

/// A list of names loses nothing; words beyond the bound say nothing that the first ones did not.
fn most_chars(query: &str) -> usize {
    if selection(query).is_some() { SELECT_CHARS } else { QUERY_CHARS }
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
