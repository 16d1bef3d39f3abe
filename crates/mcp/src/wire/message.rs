//! The JSON-RPC envelope: strict reading, newline-free writing.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{Deserializer, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::Id;

/// JSON-RPC and MCP error codes.
pub mod code {
    /// Not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON, but no JSON-RPC 2.0 message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Parameters that do not fit, unknown tools included.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something broke on the answering side.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// An `Mcp-*` header disagrees with the body (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// A client capability is needed that the request did not declare (2026-07-28).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// Protocol version not supported; `data.supported` lists those that are (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

// Members of an envelope that are looked at; more is refused rather than remembered for the duplicate check.
const MAX_MEMBERS: usize = 32;

/// One JSON-RPC 2.0 message.
#[derive(Clone, Debug)]
pub enum Message {
    /// Asks for an answer.
    Request {
        /// The sender's id.
        id: Id,
        /// Method name.
        method: String,
        /// Parameters: the text of a JSON object.
        params: Option<Box<RawValue>>,
    },
    /// Asks for nothing.
    Notification {
        /// Method name.
        method: String,
        /// Parameters: the text of a JSON object.
        params: Option<Box<RawValue>>,
    },
    /// A good answer.
    Response {
        /// Id of the request.
        id: Id,
        /// The result as written.
        result: Box<RawValue>,
    },
    /// A bad answer.
    Error {
        /// Id of the request; absent when the other side could not read one.
        id: Option<Id>,
        /// What went wrong.
        error: RpcError,
    },
}

/// The `error` member of an answer.
#[derive(Clone, Debug)]
pub struct RpcError {
    /// See [`code`].
    pub code: i64,
    /// For people; from an upstream it is untrusted text.
    pub message: String,
    /// Details as written.
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// An error with details.
    pub fn of(code: i64, message: String, data: Option<&Value>) -> Self {
        Self { code, message, data: data.and_then(|data| serde_json::value::to_raw_value(data).ok()) }
    }
}

/// Bytes that are no message.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WireError {
    /// Not exactly one JSON value in UTF-8.
    #[error("not one JSON value: {0}")]
    NotJson(String),
    /// A JSON array: a JSON-RPC batch, which only MCP 2025-03-26 knew. See [`split_batch`].
    #[error("a JSON-RPC batch; send one message at a time")]
    Batch,
    /// A JSON value that is no JSON-RPC 2.0 message.
    #[error("not a JSON-RPC 2.0 message: {reason}")]
    Invalid {
        /// What is wrong.
        reason: String,
        /// The message's id, if it could be read, so that the other side can be answered or its waiter failed.
        id: Option<Id>,
    },
}

impl WireError {
    /// The id of the unusable message, if it could be read.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Invalid { id, .. } => id.as_ref(),
            Self::NotJson(_) | Self::Batch => None,
        }
    }

    /// The error to answer with.
    pub fn to_rpc_error(&self) -> RpcError {
        let code = if matches!(self, Self::NotJson(_)) { code::PARSE_ERROR } else { code::INVALID_REQUEST };
        RpcError::new(code, self.to_string())
    }
}

/// Reads one message. Strict about the envelope: one UTF-8 JSON value, an object, `jsonrpc` exactly `"2.0"`, no member
/// twice (also not when spelt with escapes; T18), an id that is a number or a text, parameters that are an object (`null`
/// counts as absent), `result` or `error` but not both. Unknown members are dropped. Depth is not limited here: nothing
/// below the envelope is built.
pub fn parse(bytes: &[u8]) -> Result<Message, WireError> {
    let text = std::str::from_utf8(bytes).map_err(|error| WireError::NotJson(error.to_string()))?;
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    match text.as_bytes().first() {
        Some(b'{') => {}
        Some(b'[') => {
            return match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => Err(WireError::Batch),
                Err(error) => Err(WireError::NotJson(error.to_string())),
            };
        }
        _ => {
            return match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => Err(invalid("it is not an object", None)),
                Err(error) => Err(WireError::NotJson(error.to_string())),
            };
        }
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| WireError::NotJson(error.to_string()))?;
    envelope.into_message()
}

/// Takes a batch apart into its messages' texts; `None` when `bytes` are not an array of 1 to `max` values.
pub fn split_batch(bytes: &[u8], max: usize) -> Option<Vec<Box<RawValue>>> {
    let items: Vec<Box<RawValue>> = serde_json::from_slice(bytes).ok()?;
    (1..=max).contains(&items.len()).then_some(items)
}

/// Writes a message as one line of JSON, without a line end.
pub fn write(message: &Message) -> Vec<u8> {
    let mut out = String::with_capacity(128);
    out.push_str(r#"{"jsonrpc":"2.0""#);
    let member = |out: &mut String, name: &str, value: &str| {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        out.push_str(value);
    };
    match message {
        Message::Request { id, method, params } => {
            member(&mut out, "id", &id.to_json());
            member(&mut out, "method", &quoted(method));
            if let Some(params) = params {
                member(&mut out, "params", &one_line(params));
            }
        }
        Message::Notification { method, params } => {
            member(&mut out, "method", &quoted(method));
            if let Some(params) = params {
                member(&mut out, "params", &one_line(params));
            }
        }
        Message::Response { id, result } => {
            member(&mut out, "id", &id.to_json());
            member(&mut out, "result", &one_line(result));
        }
        Message::Error { id, error } => {
            member(&mut out, "id", &id.as_ref().map_or_else(|| "null".to_owned(), Id::to_json));
            member(&mut out, "error", "");
            out.push_str("{\"code\":");
            out.push_str(&error.code.to_string());
            member(&mut out, "message", &quoted(&error.message));
            if let Some(data) = &error.data {
                member(&mut out, "data", &one_line(data));
            }
            out.push('}');
        }
    }
    out.push('}');
    out.into_bytes()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

// Inside JSON strings line ends are always escaped, so a bare one is white space between tokens.
fn one_line(raw: &RawValue) -> Cow<'_, str> {
    let text = raw.get();
    if text.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        Cow::Owned(text.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(text)
    }
}

fn invalid(reason: impl Into<String>, id: Option<Id>) -> WireError {
    WireError::Invalid { reason: reason.into(), id }
}

#[derive(Default)]
struct Envelope<'a> {
    version: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    // The first fault of the members themselves, reported once the id is known.
    fault: Option<String>,
}

impl Envelope<'_> {
    fn into_message(self) -> Result<Message, WireError> {
        let id = self.id.and_then(|raw| Id::from_json(raw.get()));
        if let Some(fault) = self.fault {
            // With a member given twice it is not certain which id is meant.
            return Err(invalid(fault, None));
        }
        let id_is_null = self.id.is_some_and(|raw| raw.get() == "null");
        if self.id.is_some() && id.is_none() && !id_is_null {
            return Err(invalid("\"id\" is neither a number nor a text", None));
        }
        if self.version.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).as_deref() != Some("2.0") {
            return Err(invalid("\"jsonrpc\" is not \"2.0\"", id));
        }
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let Ok(method) = serde_json::from_str::<String>(method.get()) else {
                    return Err(invalid("\"method\" is not a text", id));
                };
                let params = match self.params {
                    Some(raw) if raw.get().starts_with('{') => Some(raw.to_owned()),
                    None => None,
                    Some(raw) if raw.get() == "null" => None,
                    Some(_) => return Err(invalid("\"params\" is not an object", id)),
                };
                match id {
                    Some(id) => Ok(Message::Request { id, method, params }),
                    None if id_is_null => Err(invalid("\"id\" is null", None)),
                    None => Ok(Message::Notification { method, params }),
                }
            }
            (None, Some(result), None) => match id {
                Some(id) => Ok(Message::Response { id, result: result.to_owned() }),
                None => Err(invalid("a result without \"id\"", None)),
            },
            (None, None, Some(error)) => match RpcError::read(error) {
                Some(error) => Ok(Message::Error { id, error }),
                None => Err(invalid("\"error\" is not an object", id)),
            },
            (None, Some(_), Some(_)) => Err(invalid("both \"result\" and \"error\"", id)),
            (Some(_), _, _) => Err(invalid("\"method\" together with \"result\" or \"error\"", id)),
            (None, None, None) => Err(invalid("none of \"method\", \"result\", \"error\"", id)),
        }
    }
}

impl RpcError {
    // Lenient below the envelope: an error with an odd code still has to reach whoever waits for the answer.
    fn read(raw: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Parts {
            #[serde(default)]
            code: Option<Box<RawValue>>,
            #[serde(default)]
            message: Option<Box<RawValue>>,
            #[serde(default)]
            data: Option<Box<RawValue>>,
        }
        let parts: Parts = raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok())??;
        Some(Self {
            code: parts.code.and_then(|code| serde_json::from_str(code.get()).ok()).unwrap_or(code::INTERNAL_ERROR),
            message: parts
                .message
                .map(|text| serde_json::from_str(text.get()).unwrap_or_else(|_| text.get().to_owned()))
                .unwrap_or_default(),
            data: parts.data,
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor(std::marker::PhantomData))
    }
}

struct EnvelopeVisitor<'a>(std::marker::PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for EnvelopeVisitor<'a> {
    type Value = Envelope<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        let mut others: Vec<String> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let slot = match name.as_str() {
                "jsonrpc" => &mut envelope.version,
                "id" => &mut envelope.id,
                "method" => &mut envelope.method,
                "params" => &mut envelope.params,
                "result" => &mut envelope.result,
                "error" => &mut envelope.error,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    if others.contains(&name) {
                        envelope.fault.get_or_insert_with(|| "a member is given twice".to_owned());
                    } else if others.len() >= MAX_MEMBERS {
                        envelope.fault.get_or_insert_with(|| format!("more than {MAX_MEMBERS} unknown members"));
                    } else {
                        others.push(name);
                    }
                    continue;
                }
            };
            let value: &'de RawValue = map.next_value()?;
            if slot.replace(value).is_some() {
                envelope.fault.get_or_insert_with(|| format!("\"{name}\" is given twice"));
            }
        }
        Ok(envelope)
    }
}
