//! Outgoing messages.

use std::borrow::Cow;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::wire::{Id, RpcError};

/// Where a request's messages go. Answers wait for room in it, notifications are dropped when it is full.
pub type Outbox = mpsc::Sender<Frame>;

/// One outgoing JSON-RPC message.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The message without a line break, and without a line end.
    pub json: Bytes,
    /// What it is.
    pub kind: FrameKind,
}

/// What a [`Frame`] is, so that a transport need not look inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A notification; more may follow.
    Notification,
    /// A request of ours; more may follow, and its answer comes as a message of its own.
    Request,
    /// A request's result: its last message.
    Result,
    /// A request's error, with its code: its last message.
    Error(i64),
}

impl FrameKind {
    /// Whether it is the last message of the request it belongs to.
    pub fn is_last(self) -> bool {
        matches!(self, Self::Result | Self::Error(_))
    }
}

/// An error answer. MCP has no `null` id: the member is left out when the id could not be read (MCP 2026-07-28, error
/// responses).
pub fn error_frame(id: Option<&Id>, error: &RpcError) -> Frame {
    let mut out = String::with_capacity(96 + error.message.len());
    out.push_str(r#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.push_str("\"id\":");
        out.push_str(&id.to_json());
        out.push(',');
    }
    out.push_str("\"error\":{\"code\":");
    out.push_str(&error.code.to_string());
    out.push_str(",\"message\":");
    out.push_str(&quoted(&error.message));
    if let Some(data) = &error.data {
        out.push_str(",\"data\":");
        out.push_str(&one_line(data.get()));
    }
    out.push_str("}}");
    Frame { json: out.into(), kind: FrameKind::Error(error.code) }
}

/// A result answer; `result` is the text of a JSON object.
pub(super) fn result_frame(id: &Id, result: &str) -> Frame {
    let id = id.to_json();
    let result = one_line(result);
    let mut out = String::with_capacity(40 + id.len() + result.len());
    out.push_str(r#"{"jsonrpc":"2.0","id":"#);
    out.push_str(&id);
    out.push_str(r#","result":"#);
    out.push_str(&result);
    out.push('}');
    Frame { json: out.into(), kind: FrameKind::Result }
}

/// A notification; `params` is the text of a JSON object.
pub(super) fn notification_frame(method: &str, params: Option<&str>) -> Frame {
    let mut out = String::with_capacity(64);
    out.push_str(r#"{"jsonrpc":"2.0","method":"#);
    out.push_str(&quoted(method));
    if let Some(params) = params {
        out.push_str(",\"params\":");
        out.push_str(&one_line(params));
    }
    out.push('}');
    Frame { json: out.into(), kind: FrameKind::Notification }
}

/// A request of ours; `params` is the text of a JSON object.
pub(super) fn request_frame(id: &Id, method: &str, params: &str) -> Frame {
    let id = id.to_json();
    let method = quoted(method);
    let params = one_line(params);
    let json = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
    Frame { json: json.into(), kind: FrameKind::Request }
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

// Line breaks inside JSON strings are escaped, so a bare one is white space between tokens.
fn one_line(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        Cow::Owned(text.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(text)
    }
}
