//! The reply of `tool_search`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{BridgeError, Card, Directory, SearchRequest, TOOL_CALL, TOOL_DESCRIBE, suggest};
use crate::{
    SourceState,
    disclosure::{clean, clip},
};

/// Characters of a description in a search reply; a cut is marked (hermes §1.8).
const DESCRIPTION_CHARS: usize = 500;
/// Most servers named in one reply.
const MAX_SERVERS: usize = 100;
/// Most parameter names of one tool in a reply.
const MAX_PARAMETERS: usize = 40;

/// A server the caller may know of, and how it is doing.
#[derive(Clone, Copy, Debug)]
pub struct ServerStatus<'a> {
    /// The label under which its tools are listed.
    pub label: &'a str,
    /// How it is doing.
    pub state: &'a SourceState,
}

/// Answers a search: matches per query with scores, one record per tool, and, where a query found nothing, the servers
/// that are there. Servers that are starting or down are always told of, since their tools may be missing.
///
/// `search` ranks the directory for one query: at most `limit` indices with scores, best first. `statuses` may hold any
/// servers; those that are ready add nothing.
pub fn search_reply<D: Directory + ?Sized>(
    request: &SearchRequest,
    directory: &D,
    search: impl Fn(&str, usize) -> Vec<(usize, f64)>,
    statuses: &[ServerStatus<'_>],
) -> Result<Value, BridgeError> {
    if request.queries.is_empty() {
        return Err(BridgeError::MissingQuery);
    }
    let mut notes = request.notes.clone();
    let server = wanted_server(request, directory, &mut notes);
    let mut tools = Map::new();
    let mut some_found_nothing = false;
    let mut results = Vec::new();
    for query in &request.queries {
        // Within one server the best of it may rank behind any number of others.
        let limit = if server.is_some() { directory.len() } else { request.limit };
        let hits = search(query, limit);
        let hits = hits.into_iter().filter(|(index, _)| *index < directory.len());
        let matches: Vec<_> = hits
            .map(|(index, score)| (directory.card(index), score))
            .filter(|(card, _)| server.as_deref().is_none_or(|server| card.server == server))
            .take(request.limit)
            .map(|(card, score)| {
                tools.entry(card.name).or_insert_with(|| record(&card));
                json!({"name": card.name, "score": round(score)})
            })
            .collect();
        some_found_nothing |= matches.is_empty();
        results.push(json!({"query": query, "matches": matches}));
    }
    let mut reply = Map::new();
    reply.insert("results".to_owned(), results.into());
    if !tools.is_empty() {
        reply.insert("tools".to_owned(), tools.into());
        let next = format!(
            "Run one with {TOOL_CALL} {{\"name\": \"…\", \"arguments\": {{…}}}}; {TOOL_DESCRIBE} shows the full schema."
        );
        reply.insert("next".to_owned(), next.into());
    }
    reply.insert("total_available".to_owned(), directory.len().into());
    if some_found_nothing && !directory.is_empty() {
        reply.insert("servers".to_owned(), servers(directory));
        let hint = "Nothing matched. Try other words, the name of a thing rather than an action, or a server from this list. \
             If none of the servers fits, the tool is not there.";
        reply.insert("hint".to_owned(), hint.into());
    }
    let not_ready = not_ready(statuses);
    if !not_ready.is_empty() {
        reply.insert("not_ready".to_owned(), not_ready.into());
    }
    if !notes.is_empty() {
        reply.insert("notes".to_owned(), json!(notes));
    }
    Ok(Value::Object(reply))
}

/// The label of the server asked for. One that is not there does not hide everything: all are searched, with a note.
fn wanted_server<D: Directory + ?Sized>(
    request: &SearchRequest,
    directory: &D,
    notes: &mut Vec<String>,
) -> Option<String> {
    let wanted = request.server.as_deref()?;
    let counts = tool_counts(directory);
    if counts.contains_key(wanted) {
        return Some(wanted.to_owned());
    }
    if let Some((label, _)) = counts.iter().find(|(label, _)| label.eq_ignore_ascii_case(wanted)) {
        return Some((*label).to_owned());
    }
    let near = suggest(wanted, counts.keys().copied());
    let near = if near.is_empty() { String::new() } else { format!(" (near: {})", near.join(", ")) };
    notes.push(format!("there is no server '{wanted}'{near}; searched all servers"));
    None
}

fn tool_counts<D: Directory + ?Sized>(directory: &D) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for index in 0..directory.len() {
        *counts.entry(directory.card(index).server).or_default() += 1;
    }
    counts
}

fn servers<D: Directory + ?Sized>(directory: &D) -> Value {
    let counts = tool_counts(directory);
    let mut list: Vec<Value> =
        counts.iter().take(MAX_SERVERS).map(|(label, tools)| json!({"name": clean(label), "tools": tools})).collect();
    if counts.len() > MAX_SERVERS {
        list.push(json!({"more_servers": counts.len() - MAX_SERVERS}));
    }
    list.into()
}

fn not_ready(statuses: &[ServerStatus<'_>]) -> Vec<Value> {
    let mut list: Vec<_> = statuses
        .iter()
        .filter_map(|status| {
            let (reason, retry) = match status.state {
                SourceState::Ready | SourceState::Disabled => return None,
                SourceState::Starting => (None, "it is starting; search again in a few seconds"),
                SourceState::Down { reason } => (
                    Some(clip(&clean(reason), 200)),
                    "it is being reconnected; try again later, or tell the user the reason",
                ),
            };
            Some((status.label, status.state.word(), reason, retry))
        })
        .collect();
    list.sort_unstable();
    list.truncate(MAX_SERVERS);
    list.into_iter()
        .map(|(label, state, reason, retry)| {
            let mut entry = json!({"server": clean(label), "state": state});
            if let Some(reason) = reason {
                entry["reason"] = reason.into();
            }
            entry["retry"] = retry.into();
            entry
        })
        .collect()
}

fn record(card: &Card<'_>) -> Value {
    let schema = &card.definition["inputSchema"];
    let texts = |value: &Value| -> Vec<String> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_str).take(MAX_PARAMETERS).map(shorten).collect()
    };
    let names = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    let parameters: Vec<String> = names.take(MAX_PARAMETERS).map(|name| shorten(name)).collect();
    let description = clean(card.definition["description"].as_str().unwrap_or_default());
    json!({
        "server": clean(card.server),
        "description": clip(&description, DESCRIPTION_CHARS),
        "required": texts(&schema["required"]),
        "parameters": parameters,
    })
}

/// A parameter's name as a reply shows it; names come from the server and may be anything.
fn shorten(name: &str) -> String {
    clip(&clean(name), 64)
}

/// Scores tell more or less; four digits are noise enough.
fn round(score: f64) -> f64 {
    (score * 1000.0).round() / 1000.0
}
