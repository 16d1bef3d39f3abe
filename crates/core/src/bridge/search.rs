//! The reply of `tool_search`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{BridgeError, Card, Directory, SearchRequest, TOOL_CALL, TOOL_DESCRIBE, suggest};
use crate::{
    SourceState,
    disclosure::{clean, clip},
    find::{Answer, Ask, Filter, Searcher, Via, fairly, find, why},
    usage::Prior,
};

/// Characters of a description in a search reply; a cut is marked (hermes §1.8).
const DESCRIPTION_CHARS: usize = 500;
/// Most servers named in one reply.
const MAX_SERVERS: usize = 100;
/// Most parameter names of one tool in a reply.
const MAX_PARAMETERS: usize = 40;

/// The names in a reply, query after query, each best first; also in one of an earlier form with a single list.
pub(crate) fn names_in_reply(reply: &Value) -> impl Iterator<Item = &str> {
    let results = reply["results"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let matches = results.iter().chain([reply]).filter_map(|result| result["matches"].as_array()).flatten();
    matches.filter_map(|found| found["name"].as_str())
}

/// A server the caller may know of, and how it is doing.
#[derive(Clone, Copy, Debug)]
pub struct ServerStatus<'a> {
    /// The label under which its tools are listed.
    pub label: &'a str,
    /// How it is doing.
    pub state: &'a SourceState,
}

/// The answer to a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchReply {
    /// The JSON to send.
    pub value: Value,
    /// What each query found: indices in the directory, best first.
    pub found: Vec<Vec<usize>>,
}

/// Answers a search: matches per query with scores, one record per tool in the order in which all queries together have
/// them ([`fairly`]), names that were not found, and, where a query found nothing, the servers that are there. Servers
/// that are starting or down are always told of, since their tools may be missing.
///
/// `statuses` may hold any servers; those that are ready add nothing. `learned` is what use has taught, and the time now in
/// milliseconds since the Unix epoch.
///
/// # Errors
/// When there is no query.
pub fn search_reply<D: Directory + ?Sized>(
    request: &SearchRequest,
    directory: &D,
    searcher: &dyn Searcher,
    statuses: &[ServerStatus<'_>],
    learned: Option<(&Prior, u64)>,
) -> Result<SearchReply, BridgeError> {
    if request.queries.is_empty() {
        return Err(BridgeError::MissingQuery);
    }
    let mut notes = request.notes.clone();
    let server = wanted_server(request, directory, &mut notes);
    let answers: Vec<Answer> = request
        .queries
        .iter()
        .map(|query| answer(request, directory, searcher, query, &server, learned, &mut notes))
        .collect();
    let mut tools = Map::new();
    for (_, hit) in fairly(&answers) {
        let card = directory.card(hit.index);
        tools.insert(card.name.to_owned(), record(&card));
    }
    let results: Vec<Value> = request
        .queries
        .iter()
        .zip(&answers)
        .map(|(query, answer)| result(request, directory, searcher, query, answer))
        .collect();
    let mut reply = Map::new();
    reply.insert("results".to_owned(), results.into());
    if !tools.is_empty() {
        reply.insert("tools".to_owned(), tools.into());
        let next = format!(
            "Run one with {TOOL_CALL} {{\"name\": \"…\", \"arguments\": {{…}}}}; {TOOL_DESCRIBE} shows the full schema."
        );
        reply.insert("next".to_owned(), next.into());
    }
    if answers.iter().any(|answer| answer.more) {
        reply.insert("next_cursor".to_owned(), request.next_cursor().into());
    }
    reply.insert("total_available".to_owned(), directory.len().into());
    let not_ready = not_ready(statuses);
    let nothing = |answer: &Answer| answer.hits.is_empty() && request.offset == 0;
    if answers.iter().any(nothing) && !directory.is_empty() {
        reply.insert("servers".to_owned(), servers(directory));
        reply.insert("hint".to_owned(), hint(request, !not_ready.is_empty()).into());
    }
    if !not_ready.is_empty() {
        reply.insert("not_ready".to_owned(), not_ready.into());
    }
    if !notes.is_empty() {
        reply.insert("notes".to_owned(), json!(notes));
    }
    let found = answers.iter().map(|answer| answer.hits.iter().map(|hit| hit.index).collect()).collect();
    Ok(SearchReply { value: Value::Object(reply), found })
}

/// Where a search is to look.
enum Server {
    Anywhere,
    Only(String),
    /// Anywhere, but rather where these words point.
    Near(String),
}

fn answer<D: Directory + ?Sized>(
    request: &SearchRequest,
    directory: &D,
    searcher: &dyn Searcher,
    query: &str,
    server: &Server,
    learned: Option<(&Prior, u64)>,
    notes: &mut Vec<String>,
) -> Answer {
    let (only, hint, query) = match server {
        Server::Anywhere => match of_one_server(query, directory) {
            Some((label, words)) => (Some(label), "", words),
            None => (None, "", query),
        },
        Server::Only(label) => (Some(label.as_str()), "", query),
        Server::Near(words) => (None, words.as_str(), query),
    };
    let ask =
        Ask { limit: request.limit, offset: request.offset, server: only, hint, filter: &request.filter, learned };
    let answer = find(directory, searcher, query, &ask);
    let Some(label) = only else { return answer };
    let nowhere_yet = answer.hits.is_empty() && answer.missing.is_empty() && request.offset == 0;
    if !nowhere_yet {
        return answer;
    }
    let mut elsewhere = find(directory, searcher, query, &Ask { server: None, hint: label, ..ask });
    // The label as a hint may bring tools of that server which no word of the query fits.
    elsewhere.hits.retain(|hit| directory.card(hit.index).server != label);
    if !elsewhere.hits.is_empty() {
        notes.push(nothing_there(label, query));
        return Answer { more: false, ..elsewhere };
    }
    answer
}

/// A query of the form `server: words`, taken apart: the server as it is called, and the words.
fn of_one_server<'a, D: Directory + ?Sized>(query: &'a str, directory: &'a D) -> Option<(&'a str, &'a str)> {
    let (label, words) = query.split_once(':')?;
    let (label, words) = (label.trim(), words.trim());
    let labels = (0..directory.len()).map(|index| directory.card(index).server);
    let server = labels.filter(|server| server.eq_ignore_ascii_case(label)).min_by_key(|server| *server != label)?;
    (!words.is_empty() && !label.eq_ignore_ascii_case("select")).then_some((server, words))
}

fn nothing_there(label: &str, words: &str) -> String {
    format!("nothing in server '{}' fits '{}'; these are from other servers", clean(label), clip(&clean(words), 60))
}

/// What is said of one query.
fn result<D: Directory + ?Sized>(
    request: &SearchRequest,
    directory: &D,
    searcher: &dyn Searcher,
    query: &str,
    answer: &Answer,
) -> Value {
    let several = answer.steps.len() > 1;
    let matches: Vec<Value> = answer
        .hits
        .iter()
        .map(|hit| {
            let mut found = json!({"name": directory.card(hit.index).name, "score": round(hit.score)});
            if let Via::Step(number) = hit.via {
                found["step"] = (number + 1).into();
            }
            if request.explain {
                found["why"] = why(searcher, query, answer, hit).to_value();
            }
            found
        })
        .collect();
    let mut result = json!({"query": query});
    if several {
        result["steps"] = json!(answer.steps);
    }
    result["matches"] = matches.into();
    if !answer.missing.is_empty() {
        let missing = answer.missing.iter().map(|missing| {
            let mut entry = json!({"name": missing.name});
            if !missing.meanings.is_empty() {
                entry["means_one_of"] = json!(missing.meanings);
            } else if !missing.suggestions.is_empty() {
                entry["suggestions"] = json!(missing.suggestions);
            }
            entry
        });
        result["not_found"] = missing.collect();
    }
    if !answer.left_out.is_empty() {
        let left_out = answer.left_out.iter();
        let left_out = left_out.map(|out| json!({"name": directory.card(out.index).name, "why": out.why}));
        result["left_out"] = left_out.collect();
    }
    result
}

fn hint(request: &SearchRequest, some_not_ready: bool) -> String {
    let mut hint =
        "Nothing matched. Try other words, the name of a thing rather than an action, or a server from this list."
            .to_owned();
    if request.filter != Filter::default() {
        hint.push_str(" The filter (source, category, readonly) may keep out what fits: try without it.");
    }
    hint.push_str(if some_not_ready {
        " Servers that are not ready may have it: search again later before saying that it is not there."
    } else {
        " If none of the servers fits, the tool is not there."
    });
    hint
}

/// The server asked for. Words that name none do not hide everything: all servers are searched, those first that the
/// words fit, with a note.
fn wanted_server<D: Directory + ?Sized>(request: &SearchRequest, directory: &D, notes: &mut Vec<String>) -> Server {
    let Some(wanted) = request.server.as_deref() else { return Server::Anywhere };
    let counts = tool_counts(directory);
    if counts.contains_key(wanted) {
        return Server::Only(wanted.to_owned());
    }
    let bare = wanted.strip_prefix("mcp:").or_else(|| wanted.strip_prefix("mcp__")).unwrap_or(wanted);
    if let Some((label, _)) = counts.iter().find(|(label, _)| label.eq_ignore_ascii_case(bare)) {
        return Server::Only((*label).to_owned());
    }
    let near = suggest(wanted, counts.keys().copied());
    let near = if near.is_empty() { String::new() } else { format!(" (near: {})", near.join(", ")) };
    notes.push(format!("there is no server '{wanted}'{near}; searched all servers"));
    Server::Near(wanted.to_owned())
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
