//! Streamed turns, put together again. A stream becomes the response that the provider would have sent at once, which
//! is then read like any other; so there is one reader.
//!
//! Bounded in bytes and in pieces. A stream that ends inside a call's arguments is an error: half a command never runs.

use serde_json::{Map, Value, json};

use super::{MAX_CALLS, wire::Wire};
use crate::render::Target;

/// Most bytes of one turn: what a model can write in one go, many times over.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Most pieces of content in one turn.
const MAX_PIECES: usize = 4 * MAX_CALLS;

/// Why a stream gives no turn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FragmentError {
    /// MCP has no turns.
    #[error("{0} has no streams of models; name the provider the tools were rendered for")]
    NoProvider(Target),
    /// Too much.
    #[error("the streamed turn is larger than {MAX_BYTES} bytes or {MAX_PIECES} pieces; end the request")]
    TooLarge,
    /// The provider ended the stream with an error.
    #[error("the provider ended its stream with an error: {0}")]
    ProviderError(String),
    /// The stream ended inside a call.
    #[error(
        "the stream ended inside the arguments of '{0}', so the call is not run; ask the model again, with room for more tokens"
    )]
    Incomplete(String),
    /// Part of an event has no place.
    #[error("an event of the stream belongs to a piece that never began: {0}")]
    OutOfPlace(String),
}

/// Puts a streamed turn together: every event of the stream, as JSON, is pushed; then the turn is taken.
#[derive(Debug)]
pub struct Fragments {
    wire: Wire,
    bytes: usize,
    /// Pieces by the provider's index, in order of appearance.
    pieces: Vec<Piece>,
    /// Text of the message outside of pieces.
    text: String,
    /// Other fields of the message, texts appended.
    extra: Map<String, Value>,
    whole: Option<Value>,
}

#[derive(Debug)]
struct Piece {
    index: String,
    /// What the piece is, as begun.
    value: Value,
    /// Arguments written so far.
    arguments: String,
    begun: bool,
}

impl Fragments {
    /// For a stream of the target's provider.
    pub fn new(target: Target) -> Result<Self, FragmentError> {
        let wire = Wire::of(target).ok_or(FragmentError::NoProvider(target))?;
        Ok(Self { wire, bytes: 0, pieces: Vec::new(), text: String::new(), extra: Map::new(), whole: None })
    }

    /// Takes one event. Events that say nothing of the turn are passed over.
    pub fn push(&mut self, event: &Value) -> Result<(), FragmentError> {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            let text = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
            return Err(FragmentError::ProviderError(text.chars().take(300).collect()));
        }
        self.bytes += size(event);
        if self.bytes > MAX_BYTES || self.pieces.len() > MAX_PIECES {
            return Err(FragmentError::TooLarge);
        }
        match self.wire {
            Wire::Anthropic => self.anthropic(event),
            Wire::Chat | Wire::Mistral => {
                self.chat(event.pointer("/choices/0/delta").unwrap_or(&Value::Null));
                Ok(())
            }
            Wire::Ollama => {
                self.chat(&event["message"]);
                Ok(())
            }
            Wire::Responses => self.responses(event),
            Wire::Gemini => self.gemini(event),
            Wire::Bedrock => self.bedrock(event),
        }
    }

    /// The response, in the shape that [`super::calls_from`] reads.
    pub fn finish(mut self) -> Result<Value, FragmentError> {
        if let Some(whole) = self.whole {
            return Ok(whole);
        }
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in std::mem::take(&mut self.pieces) {
            pieces.push(close(self.wire, piece)?);
        }
        Ok(match self.wire {
            Wire::Anthropic => json!({"role": "assistant", "content": pieces}),
            Wire::Bedrock => json!({"output": {"message": {"role": "assistant", "content": pieces}}}),
            Wire::Gemini => json!({"candidates": [{"content": {"role": "model", "parts": pieces}}]}),
            Wire::Responses => json!({"output": pieces}),
            Wire::Chat | Wire::Mistral | Wire::Ollama => {
                let mut message = self.extra;
                message.insert("role".to_owned(), "assistant".into());
                message.insert("content".to_owned(), self.text.into());
                if !pieces.is_empty() {
                    message.insert("tool_calls".to_owned(), pieces.into());
                }
                match self.wire {
                    Wire::Ollama => json!({"message": message}),
                    _ => json!({"choices": [{"message": message}]}),
                }
            }
        })
    }

    fn piece(&mut self, index: &Value) -> Result<&mut Piece, FragmentError> {
        let index = index.to_string();
        self.pieces.iter_mut().rev().find(|piece| piece.index == index).ok_or(FragmentError::OutOfPlace(index))
    }

    fn begin(&mut self, index: &Value, value: Value) -> &mut Piece {
        self.pieces.push(Piece { index: index.to_string(), value, arguments: String::new(), begun: false });
        let last = self.pieces.len() - 1;
        &mut self.pieces[last]
    }

    fn anthropic(&mut self, event: &Value) -> Result<(), FragmentError> {
        match event["type"].as_str() {
            Some("content_block_start") => {
                self.begin(&event["index"], event["content_block"].clone());
            }
            Some("content_block_delta") => {
                let delta = &event["delta"];
                let piece = self.piece(&event["index"])?;
                match delta["type"].as_str() {
                    Some("text_delta") => append(&mut piece.value, "text", &delta["text"]),
                    Some("thinking_delta") => append(&mut piece.value, "thinking", &delta["thinking"]),
                    Some("signature_delta") => append(&mut piece.value, "signature", &delta["signature"]),
                    Some("input_json_delta") => piece.argue(&delta["partial_json"]),
                    Some("citations_delta") => {
                        if let Some(list) = piece.value["citations"].as_array_mut() {
                            list.push(delta["citation"].clone());
                        } else {
                            piece.value["citations"] = json!([delta["citation"]]);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn bedrock(&mut self, event: &Value) -> Result<(), FragmentError> {
        if let Some(start) = event.get("contentBlockStart") {
            self.begin(&start["contentBlockIndex"], start["start"].clone());
        } else if let Some(block) = event.get("contentBlockDelta") {
            let (index, delta) = (&block["contentBlockIndex"], &block["delta"]);
            // Blocks of text have no start of their own.
            if self.piece(index).is_err() {
                self.begin(index, json!({}));
            }
            let piece = self.piece(index)?;
            if delta["text"].is_string() {
                append(&mut piece.value, "text", &delta["text"]);
            }
            if let Some(thought) = delta.get("reasoningContent") {
                for key in ["text", "signature"] {
                    if thought[key].is_string() {
                        append(&mut piece.value["reasoningContent"]["reasoningText"], key, &thought[key]);
                    }
                }
                if let Some(hidden) = thought.get("redactedContent") {
                    piece.value["reasoningContent"] = json!({"redactedContent": hidden});
                }
            }
            if delta["toolUse"]["input"].is_string() {
                piece.argue(&delta["toolUse"]["input"]);
            }
        }
        Ok(())
    }

    fn chat(&mut self, delta: &Value) {
        for (key, value) in delta.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("role" | "function_call", _) | (_, Value::Null) => {}
                ("content", Value::String(text)) => self.text.push_str(text),
                ("content", Value::Array(parts)) => {
                    for part in parts {
                        self.text.push_str(part["text"].as_str().unwrap_or_default());
                    }
                }
                ("tool_calls", Value::Array(calls)) => {
                    for call in calls {
                        self.chat_call(call);
                    }
                }
                (key, Value::String(text)) => {
                    if let Some(Value::String(known)) = self.extra.get_mut(key) {
                        known.push_str(text);
                    } else {
                        self.extra.insert(key.to_owned(), text.as_str().into());
                    }
                }
                (key, Value::Array(more)) => {
                    if let Some(Value::Array(known)) = self.extra.get_mut(key) {
                        known.extend(more.iter().cloned());
                    } else {
                        self.extra.insert(key.to_owned(), value.clone());
                    }
                }
                (key, value) => {
                    self.extra.insert(key.to_owned(), value.clone());
                }
            }
        }
    }

    /// One entry of a delta's `tool_calls`. Some servers give every call the index 0, or none; a new id or a second
    /// name then begins a new call.
    fn chat_call(&mut self, call: &Value) {
        let id = call["id"].as_str().filter(|id| !id.is_empty());
        let name = call["function"]["name"].as_str().filter(|name| !name.is_empty());
        let index = call["index"].to_string();
        let goes_on = self.pieces.iter().rposition(|piece| piece.index == index).filter(|at| {
            let known = &self.pieces[*at].value;
            let other_id = id.is_some_and(|id| known["id"].as_str().is_some_and(|known| known != id));
            let repeated = name.is_some() && self.pieces[*at].begun && id.is_none_or(|id| known["id"] != id);
            !other_id && !repeated
        });
        let at = if let Some(at) = goes_on {
            at
        } else {
            self.begin(&call["index"], json!({"type": "function", "function": {"name": ""}}));
            self.pieces.len() - 1
        };
        let piece = &mut self.pieces[at];
        if let Some(id) = id {
            piece.value["id"] = id.into();
        }
        if let Some(name) = name
            && piece.value["function"]["name"] != name
        {
            append(&mut piece.value["function"], "name", &name.into());
        }
        match &call["function"]["arguments"] {
            Value::Null => {}
            Value::String(_) => piece.argue(&call["function"]["arguments"]),
            whole => piece.argue(&whole.to_string().into()),
        }
    }

    fn responses(&mut self, event: &Value) -> Result<(), FragmentError> {
        let index = &event["output_index"];
        match event["type"].as_str() {
            Some("response.output_item.added") => {
                self.begin(index, event["item"].clone());
            }
            Some("response.output_item.done") => {
                if self.piece(index).is_err() {
                    self.begin(index, Value::Null);
                }
                let piece = self.piece(index)?;
                piece.value = event["item"].clone();
                piece.begun = false;
            }
            Some("response.function_call_arguments.delta") => {
                let delta = event["delta"].clone();
                self.piece(index)?.argue(&delta);
            }
            Some("response.function_call_arguments.done") => {
                let piece = self.piece(index)?;
                piece.arguments.clear();
                piece.argue(&event["arguments"]);
            }
            Some("response.completed") => self.whole = Some(event["response"].clone()),
            Some("response.failed") => {
                let error = &event["response"]["error"];
                let text = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
                return Err(FragmentError::ProviderError(text.chars().take(300).collect()));
            }
            _ => {}
        }
        Ok(())
    }

    fn gemini(&mut self, event: &Value) -> Result<(), FragmentError> {
        for part in event.pointer("/candidates/0/content/parts").and_then(Value::as_array).into_iter().flatten() {
            let plain = part.as_object().is_some_and(|part| part.keys().all(|key| key == "text" || key == "thought"));
            if let Some(Piece { value: last, .. }) = self.pieces.last_mut()
                && plain
                && last["text"].is_string()
                && last.get("thoughtSignature").is_none()
                && last["thought"] == part["thought"]
            {
                append(last, "text", &part["text"]);
                continue;
            }
            if part["functionCall"]["partialArgs"].is_array() || part["functionCall"]["willContinue"].is_boolean() {
                self.gemini_call(part)?;
                continue;
            }
            self.begin(&Value::Null, part.clone());
        }
        Ok(())
    }

    /// A call whose arguments come in pieces, each with the path where it belongs.
    fn gemini_call(&mut self, part: &Value) -> Result<(), FragmentError> {
        let call = &part["functionCall"];
        if call["name"].is_string() {
            let mut begun = part.clone();
            let function = begun["functionCall"].as_object_mut();
            if let Some(function) = function {
                function.shift_remove("partialArgs");
                function.shift_remove("willContinue");
                function.entry("args").or_insert_with(|| json!({}));
            }
            self.begin(&Value::Null, begun);
        }
        let Some(piece) = self.pieces.last_mut().filter(|piece| piece.value["functionCall"].is_object()) else {
            return Err(FragmentError::OutOfPlace("a part of arguments".to_owned()));
        };
        for partial in call["partialArgs"].as_array().into_iter().flatten() {
            let path = partial["jsonPath"].as_str().unwrap_or_default();
            let place = place(&mut piece.value["functionCall"]["args"], path)
                .ok_or_else(|| FragmentError::OutOfPlace(path.chars().take(80).collect()))?;
            match (&partial["stringValue"], &mut *place) {
                (Value::String(more), Value::String(known)) => known.push_str(more),
                (Value::String(text), place) => *place = text.as_str().into(),
                _ => {
                    let value = ["numberValue", "boolValue"].iter().find_map(|key| partial.get(*key));
                    *place = value.cloned().unwrap_or_default();
                }
            }
        }
        piece.begun = call["willContinue"] == true;
        Ok(())
    }
}

impl Piece {
    fn argue(&mut self, more: &Value) {
        self.begun = true;
        self.arguments.push_str(more.as_str().unwrap_or_default());
    }
}

/// The piece as it would have come at once.
fn close(wire: Wire, piece: Piece) -> Result<Value, FragmentError> {
    let Piece { mut value, arguments, begun, .. } = piece;
    let name = |value: &Value| {
        let name =
            [&value["name"], &value["toolUse"]["name"], &value["function"]["name"], &value["functionCall"]["name"]];
        name.iter().find_map(|name| name.as_str()).unwrap_or_default().chars().take(128).collect::<String>()
    };
    if !begun {
        return Ok(value);
    }
    let text = if arguments.trim().is_empty() { "{}" } else { arguments.trim() };
    let read: Option<Value> = serde_json::from_str(text).ok();
    match wire {
        Wire::Anthropic => value["input"] = read.ok_or_else(|| FragmentError::Incomplete(name(&value)))?,
        Wire::Bedrock => value["toolUse"]["input"] = read.ok_or_else(|| FragmentError::Incomplete(name(&value)))?,
        // Only set while a call is to go on.
        Wire::Gemini => return Err(FragmentError::Incomplete(name(&value))),
        // Text that begins an object and does not end it was cut; other text that is no JSON is the model's fault, and
        // the call path tells it so.
        Wire::Chat | Wire::Mistral | Wire::Ollama | Wire::Responses if read.is_none() && cut(text) => {
            return Err(FragmentError::Incomplete(name(&value)));
        }
        Wire::Responses => value["arguments"] = text.into(),
        Wire::Chat | Wire::Mistral | Wire::Ollama => value["function"]["arguments"] = text.into(),
    }
    Ok(value)
}

fn cut(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_err_and(|error| error.is_eof())
}

fn append(value: &mut Value, key: &str, more: &Value) {
    let Some(more) = more.as_str() else { return };
    if value.is_null() {
        *value = json!({});
    }
    match value.get_mut(key) {
        Some(Value::String(known)) => known.push_str(more),
        _ => value[key] = more.into(),
    }
}

/// The place that a path such as `$.a.b[0]` names, made where it is not there yet.
fn place<'v>(mut at: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    let path = path.strip_prefix('$')?;
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        let step = step.trim_end_matches(']').trim_matches(['\'', '"']);
        at = if let Ok(index) = step.parse::<usize>() {
            if !at.is_array() {
                *at = json!([]);
            }
            let list = at.as_array_mut()?;
            // Lists grow by one at a time; anything else is no stream of a model.
            if index > list.len() {
                return None;
            }
            if index == list.len() {
                list.push(Value::Null);
            }
            &mut list[index]
        } else {
            if !at.is_object() {
                *at = json!({});
            }
            at.as_object_mut()?.entry(step).or_insert(Value::Null)
        };
    }
    Some(at)
}

/// Bytes that an event adds at most.
fn size(event: &Value) -> usize {
    match event {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(size).sum::<usize>() + 1,
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + size(value)).sum::<usize>() + 1,
        _ => 8,
    }
}
