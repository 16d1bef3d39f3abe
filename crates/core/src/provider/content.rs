//! The content of a result as the parts that providers tell apart.

use serde_json::Value;

use crate::ToolResult;

/// One part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text, a link or embedded text.
    Text(String),
    /// An image in base 64.
    Image { mime: String, data: String },
    /// What no provider takes, told in words.
    Other(String),
}

/// A result in parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) parts: Vec<Part>,
    /// The structured value, unless a part of text says the same.
    pub(super) structured: Option<Value>,
    pub(super) is_error: bool,
}

impl Content {
    /// The parts of a result; a call without one was not run.
    pub(super) fn of(result: Option<&ToolResult>) -> Self {
        let Some(result) = result else {
            return Self {
                parts: vec![Part::Text("This call was not run.".to_owned())],
                is_error: true,
                ..Self::default()
            };
        };
        let value = result.to_value();
        let blocks = value["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let parts: Vec<Part> = blocks.iter().filter_map(part).collect();
        // The same as text and as a value is shown once (standards reference §4.7; OpenClaw case 57).
        let structured = value.get("structuredContent").filter(|value| !value.is_null()).cloned();
        Self { parts, structured, is_error: result.is_error() }
    }

    /// The structured value that no part says already.
    fn unsaid(&self) -> Option<&Value> {
        let value = self.structured.as_ref()?;
        let said = self.parts.iter().any(|part| {
            matches!(part, Part::Text(text) if serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value))
        });
        (!said).then_some(value)
    }

    /// The parts, with the structured value as text where none says it. Images only if `images`; else a line of text.
    pub(super) fn shown(&self, images: bool) -> Vec<Part> {
        let mut parts: Vec<Part> = self
            .parts
            .iter()
            .map(|part| match part {
                Part::Image { mime, data } if !(images && taken(mime)) => {
                    Part::Text(format!("[image not shown: {mime}, {} bytes]", data.len() / 4 * 3))
                }
                Part::Other(text) => Part::Text(text.clone()),
                part => part.clone(),
            })
            .collect();
        if let Some(value) = self.unsaid() {
            parts.push(Part::Text(value.to_string()));
        }
        parts
    }

    /// Everything that is text, for answers that hold text only. A failure says so, since there is no other mark for
    /// it. With `attached`, images come in another way, and the text only says where they were.
    pub(super) fn text(&self, attached: bool) -> String {
        let texts: Vec<String> = self
            .shown(attached)
            .into_iter()
            .map(|part| match part {
                Part::Text(text) | Part::Other(text) => text,
                Part::Image { mime, .. } => format!("[image: {mime}, attached]"),
            })
            .collect();
        spoken(texts.join("\n"), self.is_error)
    }

    /// The images that a model can be shown.
    pub(super) fn images(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Image { mime, data } if taken(mime) => Some((mime.as_str(), data.as_str())),
            _ => None,
        })
    }
}

/// A text that is never empty, and with a recognisable start where it tells of a failure.
pub(super) fn spoken(text: String, failed: bool) -> String {
    match (failed, text.trim().is_empty()) {
        (true, true) => "Error: the tool failed without saying why.".to_owned(),
        (true, false) if !text.trim_start().to_ascii_lowercase().starts_with("error") => format!("Error: {text}"),
        (false, true) => "(no output)".to_owned(),
        _ => text,
    }
}

/// The kinds of image that all providers with images take; another kind would spoil the whole conversation (peers §8).
fn taken(mime: &str) -> bool {
    matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

fn part(block: &Value) -> Option<Part> {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    let mime = || block["mimeType"].as_str().unwrap_or("unknown type").to_owned();
    Some(match text("type") {
        "text" => Part::Text(text("text").to_owned()),
        "image" => Part::Image { mime: mime(), data: text("data").to_owned() },
        "audio" => Part::Other(format!("[audio not shown: {}, {} bytes]", mime(), text("data").len() / 4 * 3)),
        "resource_link" => {
            let name = block["title"].as_str().unwrap_or_else(|| text("name"));
            let mut line = format!("[{name}]({})", text("uri"));
            if !text("description").is_empty() {
                line.push_str(": ");
                line.push_str(text("description"));
            }
            Part::Text(line)
        }
        "resource" => {
            let resource = &block["resource"];
            let uri = resource["uri"].as_str().unwrap_or_default();
            let kind = resource["mimeType"].as_str().unwrap_or("unknown type");
            match (resource["text"].as_str(), resource["blob"].as_str()) {
                (Some(text), _) => Part::Text(if uri.is_empty() { text.to_owned() } else { format!("{uri}\n{text}") }),
                (None, Some(data)) if taken(kind) => Part::Image { mime: kind.to_owned(), data: data.to_owned() },
                (None, data) => {
                    Part::Other(format!("[{uri} not shown: {kind}, {} bytes]", data.unwrap_or_default().len() / 4 * 3))
                }
            }
        }
        "" => return None,
        other => Part::Other(format!("[content of type {} not shown]", other.chars().take(40).collect::<String>())),
    })
}
