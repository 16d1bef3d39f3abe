//! Reading a transcript: which tools the model found, asked about, was given or called, in the order in which it did.
//!
//! Read are the messages of every provider that tool sets are rendered for, and a neutral form:
//!
//! | shape | calls | results |
//! |---|---|---|
//! | Anthropic | `tool_use`, `server_tool_use` blocks | `tool_result`, `tool_search_tool_result` blocks, `tool_reference`s |
//! | OpenAI Chat, Mistral, DeepSeek, xAI, Groq | `tool_calls` | messages of role `tool` |
//! | OpenAI Responses | `function_call` items | `function_call_output`, `tool_search_output` items |
//! | Gemini | `functionCall` parts | `functionResponse` parts |
//! | Bedrock | `toolUse` blocks | `toolResult` blocks |
//! | Ollama | `tool_calls` with object arguments | messages of role `tool` with `tool_name` |
//! | neutral | `{"type": "call", "id", "name", "arguments"}` | `{"type": "result", "id", "content"}` |
//!
//! The transcript may be a list of messages, or an object that holds one under `messages`, `input` or `contents`. What is
//! not understood is passed over: a transcript never fails.
//!
//! Only the bridge's own results are read for names, never those of other tools: nothing that a tool writes can load
//! another tool. What is found grants nothing either; it is looked up among the tools that the scope may see.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;

use super::{
    carry::carried,
    payloads::{described_names, found_names, references},
};
use crate::bridge::{TOOL_CALL, TOOL_DESCRIBE, TOOL_SEARCH, is_bridge_name};

/// Most tools that one transcript can name; later ones are passed over.
pub const MOST_DISCOVERIES: usize = 512;
/// Longest name that is looked up, in bytes; an identity may hold a server's name and a long own name.
const NAME_BYTES: usize = 1_024;

/// How the model came to know a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A marker of an earlier part of the conversation names it ([`super::marker`]).
    Carried,
    /// A search found it.
    Searched,
    /// Its definition was shown.
    Described,
    /// The provider was told to load it.
    Referenced,
    /// It was called, directly or through the bridge.
    Called,
}

/// A tool that the transcript names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Discovery {
    /// Its exposed name, or its identity (`mcp:SERVER/tool`) from a marker.
    pub name: String,
    /// How it came up first.
    pub how: How,
}

/// The tools that a transcript names, each once, in the order in which they came up. A longer transcript gives the same
/// list with more at its end.
pub fn discoveries(transcript: &Value) -> Vec<Discovery> {
    let mut reader = Reader::default();
    for message in messages(transcript) {
        reader.message(message);
    }
    reader.found
}

fn messages(transcript: &Value) -> &[Value] {
    match transcript {
        Value::Array(messages) => messages,
        Value::Object(map) => {
            let list = ["messages", "input", "contents"].iter().find_map(|key| map.get(*key)?.as_array());
            list.map_or(&[], Vec::as_slice)
        }
        _ => &[],
    }
}

/// A call of a bridge tool that waits for its result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lookup {
    Search,
    Describe,
}

#[derive(Default)]
struct Reader {
    found: Vec<Discovery>,
    seen: HashSet<String>,
    /// Bridge calls by their id.
    open: HashMap<String, Lookup>,
}

impl Reader {
    fn message(&mut self, message: &Value) {
        let role = text(message, &["role"]).unwrap_or_default();
        self.piece(message, role);
        if matches!(role, "tool" | "function") {
            self.result(
                text(message, &["tool_call_id", "id"]),
                text(message, &["tool_name", "name"]),
                &message["content"],
            );
            return;
        }
        match &message["content"] {
            Value::String(words) => self.words(role, words),
            Value::Array(blocks) => blocks.iter().for_each(|block| self.piece(block, role)),
            _ => {}
        }
        list(message, "parts").for_each(|part| self.piece(part, role));
        list(message, "tool_calls").for_each(|call| self.call_of(call));
        if message["function_call"].is_object() && message["type"].is_null() {
            self.call_of(&message["function_call"]);
        }
    }

    /// An item, block or part, whichever provider it is of.
    fn piece(&mut self, piece: &Value, role: &str) {
        match text(piece, &["type"]) {
            Some("text" | "input_text" | "output_text") => {
                self.words(role, text(piece, &["text"]).unwrap_or_default());
            }
            Some("tool_use" | "server_tool_use" | "mcp_tool_use" | "function_call" | "call" | "function") => {
                self.call_of(piece);
            }
            Some("tool_result" | "mcp_tool_result") => {
                // Anybody may have written the rest; these the provider reads as well.
                for block in list(piece, "content").filter(|block| text(block, &["type"]) == Some("tool_reference")) {
                    self.note(text(block, &["tool_name"]).unwrap_or_default(), How::Referenced);
                }
                self.result(text(piece, &["tool_use_id"]), None, &piece["content"]);
            }
            Some("function_call_output") => self.result(text(piece, &["call_id", "id"]), None, &piece["output"]),
            Some("result") => {
                self.result(text(piece, &["id", "call_id"]), text(piece, &["name"]), &piece["content"]);
            }
            Some("tool_reference") => self.note(text(piece, &["tool_name"]).unwrap_or_default(), How::Referenced),
            Some("tool_search_tool_result" | "tool_search_output") => {
                for name in references(piece) {
                    self.note(&name, How::Referenced);
                }
            }
            Some(_) => {}
            None => self.untyped(piece, role),
        }
    }

    /// Parts of Gemini and blocks of Bedrock, which say by a key what they are.
    fn untyped(&mut self, piece: &Value, role: &str) {
        let Some(map) = piece.as_object() else { return };
        if map.contains_key("role") {
            return;
        }
        for (key, value) in map {
            match key.as_str() {
                "text" => self.words(role, value.as_str().unwrap_or_default()),
                "functionCall" | "function_call" | "toolUse" => self.call_of(value),
                "functionResponse" | "function_response" => {
                    self.result(text(value, &["id"]), text(value, &["name"]), &value["response"]);
                }
                "toolResult" => self.result(text(value, &["toolUseId"]), None, &value["content"]),
                _ => {}
            }
        }
    }

    fn call_of(&mut self, call: &Value) {
        let inner = if call["function"].is_object() { &call["function"] } else { call };
        let Some(name) = text(inner, &["name"]) else { return };
        let id = text(call, &["call_id", "id", "toolUseId"]);
        let arguments = ["arguments", "input", "args"].iter().map(|key| &inner[*key]).find(|value| !value.is_null());
        match name {
            TOOL_SEARCH | TOOL_DESCRIBE => {
                let lookup = if name == TOOL_SEARCH { Lookup::Search } else { Lookup::Describe };
                if let Some(id) = id {
                    self.open.insert(id.to_owned(), lookup);
                }
            }
            TOOL_CALL => {
                let inner = arguments.and_then(|arguments| match arguments {
                    Value::String(written) => serde_json::from_str::<Value>(written).ok(),
                    other => Some(other.clone()),
                });
                if let Some(name) = inner.as_ref().and_then(|inner| inner["name"].as_str()) {
                    self.note(name.trim(), How::Called);
                }
            }
            other => {
                // An id that comes again is no longer that of the search.
                if let Some(id) = id {
                    self.open.remove(id);
                }
                self.note(other, How::Called);
            }
        }
    }

    /// Results belong to calls by id where there is one, else by name (Gemini, Ollama).
    fn result(&mut self, id: Option<&str>, name: Option<&str>, content: &Value) {
        let by_name = match name {
            Some(TOOL_SEARCH) => Some(Lookup::Search),
            Some(TOOL_DESCRIBE) => Some(Lookup::Describe),
            _ => None,
        };
        let (names, how) = match id.and_then(|id| self.open.remove(id)).or(by_name) {
            Some(Lookup::Search) => (found_names(content), How::Searched),
            Some(Lookup::Describe) => (described_names(content), How::Described),
            None => return,
        };
        for name in names {
            self.note(&name, how);
        }
    }

    /// Markers count where a host or a person writes, not where a model or a tool does.
    fn words(&mut self, role: &str, words: &str) {
        if matches!(role, "user" | "system" | "developer") {
            for id in carried(words) {
                self.note(&id, How::Carried);
            }
        }
    }

    fn note(&mut self, name: &str, how: How) {
        let usable = !name.is_empty() && name.len() <= NAME_BYTES && !is_bridge_name(name);
        if usable && self.found.len() < MOST_DISCOVERIES && self.seen.insert(name.to_owned()) {
            self.found.push(Discovery { name: name.to_owned(), how });
        }
    }
}

fn text<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| value.get(*key)?.as_str())
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).map_or(&[] as &[Value], Vec::as_slice).iter()
}
