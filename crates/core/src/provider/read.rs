//! Reading of responses, one function a shape (standards reference §4.2–4.6).

use serde_json::{Map, Value, json, value::RawValue};

use super::{CallKind, ReadError, way::owned, wire::Wire};
use crate::{bridge::TOOL_SEARCH, render::Target};

/// Longest text of a provider's error that is told.
const ERROR_CHARS: usize = 300;

/// A call as found.
pub(super) struct FoundCall {
    pub(super) id: Option<String>,
    /// Set when the provider gave no id at all.
    pub(super) unnamed: bool,
    pub(super) name: String,
    pub(super) arguments: Box<RawValue>,
    /// Which message holds the call, and where.
    pub(super) place: (usize, String),
    /// Whether it was printed as text.
    pub(super) printed: bool,
    pub(super) kind: CallKind,
    /// What programmatic calls say of who called.
    pub(super) caller: Option<Value>,
}

/// A turn as found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) calls: Vec<FoundCall>,
    pub(super) messages: Vec<Value>,
    pub(super) text: String,
}

impl Found {
    pub(super) fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    pub(super) fn call(&mut self, pointer: String, id: &Value, name: &Value, arguments: &Value) -> &mut FoundCall {
        self.calls.push(FoundCall {
            id: id.as_str().filter(|id| !id.is_empty()).map(str::to_owned),
            unnamed: false,
            name: name.as_str().unwrap_or_default().to_owned(),
            arguments: arguments_of(arguments),
            place: (0, pointer),
            printed: false,
            kind: CallKind::Function,
            caller: None,
        });
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }
}

/// Reads a response of the target.
pub(super) fn read(wire: Wire, target: Target, response: &Value) -> Result<Found, ReadError> {
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        let text = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
        return Err(ReadError::ProviderError(text.chars().take(ERROR_CHARS).collect()));
    }
    let missing = |expected| ReadError::NotAResponse { target, expected };
    match wire {
        Wire::Anthropic => anthropic(response).ok_or_else(|| missing("a list 'content'")),
        Wire::Chat | Wire::Mistral => {
            let message = response.pointer("/choices/0/message").unwrap_or(response);
            chat(wire, message).ok_or_else(|| missing("'choices[0].message'"))
        }
        Wire::Ollama => chat(wire, response.get("message").unwrap_or(response)).ok_or_else(|| missing("'message'")),
        Wire::Responses => responses(response).ok_or_else(|| missing("a list 'output'")),
        Wire::Gemini => gemini(response).ok_or_else(|| missing("'candidates[0].content'")),
        Wire::Bedrock => bedrock(response).ok_or_else(|| missing("'output.message'")),
    }
}

/// Arguments as a raw value, whether written as an object or as its text.
pub(super) fn arguments_of(value: &Value) -> Box<RawValue> {
    match value {
        Value::Null => owned("{}"),
        Value::String(text) if text.trim().is_empty() => owned("{}"),
        Value::String(text) => owned(text.trim()),
        other => owned(&other.to_string()),
    }
}

/// `content` blocks, of a whole message or alone.
fn anthropic(response: &Value) -> Option<Found> {
    let content = response.get("content").or_else(|| response.is_array().then_some(response))?;
    let mut found = Found::default();
    match content {
        Value::String(text) => found.say(text),
        Value::Array(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                match block["type"].as_str() {
                    Some("text") => found.say(block["text"].as_str().unwrap_or_default()),
                    Some("tool_use") => {
                        let call =
                            found.call(format!("/content/{index}"), &block["id"], &block["name"], &block["input"]);
                        call.caller = block.get("caller").cloned();
                    }
                    _ => {}
                }
            }
        }
        _ => return None,
    }
    found.messages = vec![json!({"role": "assistant", "content": content})];
    Some(found)
}

/// A message with `tool_calls`.
fn chat(wire: Wire, message: &Value) -> Option<Found> {
    let written = message.as_object()?;
    if !["role", "content", "tool_calls", "function_call"].iter().any(|key| written.contains_key(*key)) {
        return None;
    }
    let mut found = Found::default();
    match &message["content"] {
        Value::String(text) => found.say(text),
        Value::Array(parts) => {
            for part in parts {
                found.say(part["text"].as_str().unwrap_or_default());
            }
        }
        _ => {}
    }
    let mut turn = Map::new();
    turn.insert("role".to_owned(), "assistant".into());
    for (key, value) in written {
        if key != "role" && !value.is_null() && !matches!(key.as_str(), "tool_calls" | "function_call") {
            turn.insert(key.clone(), value.clone());
        }
    }
    let listed = message["tool_calls"].as_array().cloned().unwrap_or_default();
    // What `tool_calls` replaced; some servers still write it.
    let former = message.get("function_call").filter(|call| listed.is_empty() && call.is_object());
    let former = former.map(|call| json!({"type": "function", "function": call}));
    let mut calls = Vec::new();
    for (index, mut call) in listed.into_iter().chain(former).enumerate() {
        let key = if call["function"].is_object() { "function" } else { "custom" };
        let arguments = call[key].get("arguments").or_else(|| call[key].get("input")).cloned().unwrap_or_default();
        found.call(format!("/tool_calls/{index}"), &call["id"], &call[key]["name"], &arguments);
        if let Some(call) = call.as_object_mut() {
            if wire != Wire::Ollama {
                call.entry("type").or_insert_with(|| key.into());
            }
            call.shift_remove("index");
            if let Some(Value::Object(function)) = call.get_mut("function") {
                let text = match &arguments {
                    Value::String(text) if !text.trim().is_empty() => text.clone(),
                    Value::Null | Value::String(_) => "{}".to_owned(),
                    other => other.to_string(),
                };
                let arguments = match wire {
                    Wire::Ollama => serde_json::from_str(&text).ok().filter(Value::is_object).unwrap_or(json!({})),
                    _ => text.into(),
                };
                function.insert("arguments".to_owned(), arguments);
            }
        }
        calls.push(call);
    }
    if !calls.is_empty() {
        turn.insert("tool_calls".to_owned(), calls.into());
    }
    found.messages = vec![Value::Object(turn)];
    Some(found)
}

/// Items of `output`.
fn responses(response: &Value) -> Option<Found> {
    let items = response.get("output").unwrap_or(response).as_array()?;
    let mut found = Found::default();
    for (index, item) in items.iter().enumerate() {
        match item["type"].as_str() {
            Some("message") => {
                for part in item["content"].as_array().into_iter().flatten() {
                    found.say(part["text"].as_str().unwrap_or_default());
                }
            }
            Some("function_call") => {
                let call = found.call(String::new(), &item["call_id"], &item["name"], &item["arguments"]);
                call.place = (index, String::new());
                call.caller = item.get("caller").filter(|caller| !caller.is_null()).cloned();
            }
            // Hosted searches are answered by the provider itself.
            Some("tool_search_call") if item["execution"] == "client" => {
                let call = found.call(String::new(), &item["call_id"], &TOOL_SEARCH.into(), &item["arguments"]);
                call.place = (index, String::new());
                call.kind = CallKind::Search;
            }
            _ => {}
        }
    }
    found.messages.clone_from(items);
    Some(found)
}

/// Parts of the first candidate's content; keys as the API and as SDKs write them.
fn gemini(response: &Value) -> Option<Found> {
    let content = response.pointer("/candidates/0/content").unwrap_or(response);
    let parts = content.get("parts")?.as_array()?;
    let mut found = Found::default();
    for (index, part) in parts.iter().enumerate() {
        for key in ["functionCall", "function_call"] {
            if let Some(call) = part.get(key).filter(|call| call.is_object()) {
                found.call(format!("/parts/{index}/{key}"), &call["id"], &call["name"], &call["args"]);
            }
        }
        if part["thought"] != true {
            found.say(part["text"].as_str().unwrap_or_default());
        }
    }
    let mut turn = content.clone();
    turn["role"] = "model".into();
    found.messages = vec![turn];
    Some(found)
}

/// Content blocks of `output.message`.
fn bedrock(response: &Value) -> Option<Found> {
    let message = response.pointer("/output/message").unwrap_or(response);
    let blocks = message.get("content")?.as_array()?;
    let mut found = Found::default();
    for (index, block) in blocks.iter().enumerate() {
        found.say(block["text"].as_str().unwrap_or_default());
        if let Some(call) = block.get("toolUse").filter(|call| call.is_object()) {
            found.call(format!("/content/{index}/toolUse"), &call["toolUseId"], &call["name"], &call["input"]);
        }
    }
    found.messages = vec![json!({"role": "assistant", "content": blocks})];
    Some(found)
}
