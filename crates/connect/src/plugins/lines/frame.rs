//! Frames of the line protocol, version 1 (docs/plugin-protocol.md): one JSON object a line.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use toolcrib_core::ToolResult;

/// The version spoken here.
pub(super) const PROTOCOL: u32 = 1;

/// Longest text of an error, a log line, a progress message that is passed on, in characters.
const MAX_TEXT: usize = 4_000;

/// What toolcrib says.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Said<'a> {
    /// First of all.
    Hello {
        protocol: u32,
        plugin: Named<'a>,
        config: &'a Map<String, Value>,
        auth: &'a std::collections::BTreeMap<String, String>,
    },
    Call {
        id: u64,
        tool: &'a str,
        arguments: &'a RawValue,
        timeout_ms: u64,
        caller: Caller<'a>,
    },
    Cancel {
        id: u64,
    },
}

#[derive(Serialize)]
pub(super) struct Named<'a> {
    pub(super) id: &'a str,
    pub(super) version: &'a str,
}

/// For whom a call is made. An agent's own agents come with whoever started them.
#[derive(Serialize)]
pub(super) struct Caller<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) tenant: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<&'a str>,
    /// Agents above this one, the nearest first; empty texts for agents without a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parents: Vec<&'a str>,
}

impl Said<'_> {
    /// The frame as a line, its end included.
    pub(super) fn line(&self) -> Vec<u8> {
        // Texts, numbers and JSON that was parsed before: nothing in it can fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// What a plugin says.
#[derive(Debug)]
pub(super) enum Heard {
    /// What it offers; the answer to `hello`, and again whenever that changes.
    Describe(Vec<Value>),
    Progress {
        id: u64,
        params: Value,
    },
    /// A call's end.
    Ended {
        id: u64,
        result: ToolResult,
    },
    Log {
        level: Level,
        message: String,
    },
}

/// How important a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// A line that is no frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoFrame {
    /// What is wrong.
    pub(super) problem: String,
    /// The call that it was about, which has ended in a way that cannot be read.
    pub(super) call: Option<u64>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Describe {
    #[serde(rename = "type")]
    _kind: String,
    protocol: u32,
    tools: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(rename = "type")]
    _kind: String,
    id: u64,
    progress: f64,
    #[serde(default)]
    total: Option<f64>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    #[serde(rename = "type")]
    _kind: String,
    id: u64,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    content: Option<Box<RawValue>>,
    #[serde(default)]
    structured: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failed {
    #[serde(rename = "type")]
    _kind: String,
    id: u64,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    #[serde(rename = "type")]
    _kind: String,
    level: Level,
    message: String,
}

impl Heard {
    /// Reads a line. Strict: an unknown type, an unknown key, a missing one or a wrong kind of value is no frame.
    pub(super) fn read(line: &[u8]) -> Result<Self, NoFrame> {
        let head: Head = serde_json::from_slice(line).map_err(|_| NoFrame {
            problem: format!("'{}' is not a JSON object with a type; log to standard error instead", shown(line)),
            call: None,
        })?;
        let ends = matches!(head.kind.as_str(), "result" | "error");
        let call = head.id.as_ref().and_then(Value::as_u64).filter(|_| ends);
        let wrong = |error: &serde_json::Error| NoFrame {
            problem: format!("a frame of type {} is not right: {}", head.kind, without_place(error)),
            call,
        };
        match head.kind.as_str() {
            "describe" => {
                let Describe { protocol, tools, .. } = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
                if protocol != PROTOCOL {
                    let problem = format!("it speaks version {protocol} of the protocol, and this is {PROTOCOL}");
                    return Err(NoFrame { problem, call: None });
                }
                Ok(Self::Describe(tools))
            }
            "progress" => {
                let Step { id, progress, total, message, .. } =
                    serde_json::from_slice(line).map_err(|error| wrong(&error))?;
                let mut params = json!({"progress": progress});
                if let Some(total) = total {
                    params["total"] = json!(total);
                }
                if let Some(message) = message {
                    params["message"] = json!(cut(&message));
                }
                Ok(Self::Progress { id, params })
            }
            "result" => {
                let ended: Ended = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
                let id = ended.id;
                let result = ended.result().map_err(|problem| NoFrame {
                    problem: format!("a frame of type result is not right: {problem}"),
                    call: Some(id),
                })?;
                Ok(Self::Ended { id, result })
            }
            "error" => {
                let Failed { id, message, .. } = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
                Ok(Self::Ended { id, result: ToolResult::error(message) })
            }
            "log" => {
                let Log { level, message, .. } = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
                Ok(Self::Log { level, message: cut(&message) })
            }
            other => {
                let other: String = other.chars().take(40).collect();
                let problem =
                    format!("'{other}' is no type of frame; there are describe, progress, result, error and log");
                Err(NoFrame { problem, call: None })
            }
        }
    }
}

impl Ended {
    fn result(self) -> Result<ToolResult, String> {
        let Self { text, content, structured, .. } = self;
        // Only what must be known is read: numbers and the order of keys stay as they were written.
        let content = match (&text, &content, &structured) {
            (Some(_), Some(_), _) => return Err("it has both text and content; keep one".to_owned()),
            (Some(text), None, _) => json!([{"type": "text", "text": text}]).to_string(),
            (None, Some(content), _) => {
                check_content(content)?;
                content.get().to_owned()
            }
            (None, None, Some(structured)) => json!([{"type": "text", "text": structured.get()}]).to_string(),
            (None, None, None) => return Err("it has none of text, content and structured".to_owned()),
        };
        let structured = match structured {
            None => String::new(),
            Some(value) if value.get().starts_with('{') => format!(",\"structuredContent\":{}", value.get()),
            Some(_) => return Err("structured is not an object".to_owned()),
        };
        let raw = RawValue::from_string(format!("{{\"content\":{content}{structured}}}"))
            .map_err(|error| without_place(&error))?;
        ToolResult::from_raw(raw).map_err(|error| error.to_string())
    }
}

/// Blocks of content as MCP has them: objects with a type.
fn check_content(content: &RawValue) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
    }
    let blocks: Vec<Block> = serde_json::from_str(content.get())
        .map_err(|_| "content is not a list of objects, each with a type".to_owned())?;
    let known = ["text", "image", "audio", "resource", "resource_link"];
    match blocks.iter().find(|block| !known.contains(&&*block.kind)) {
        None => Ok(()),
        Some(block) => {
            let kind: String = block.kind.chars().take(40).collect();
            Err(format!("content has a block of type '{kind}'; there are {}", known.join(", ")))
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// The beginning of a line, fit to be printed.
pub(super) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]).to_owned()
}
