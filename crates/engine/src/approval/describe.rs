//! What a person reads about a call: our words, the caller's values made visible and bounded.

use std::fmt::Write;

use serde_json::Value;
use toolcrib_core::{hash::canonical_json, permission::Effect};

use super::request::ApprovalRequest;
use crate::permission::Question;

/// Longest title, in characters (openclaw case 121).
pub const TITLE_CHARS: usize = 80;
/// Longest description, in characters (openclaw §1.12).
pub const DESCRIPTION_CHARS: usize = 512;
/// Longest text of the arguments, in characters.
pub const ARGUMENTS_CHARS: usize = 4_000;
/// Longest reason, in characters.
const REASON_CHARS: usize = 300;
/// Longest single value in a description, in characters.
const VALUE_CHARS: usize = 120;

impl ApprovalRequest {
    /// A heading of at most 80 characters.
    pub fn title(&self) -> String {
        cut(&format!("Run {} ({})?", visible(&self.exposed), visible(&self.tool.source.to_string())), TITLE_CHARS)
    }
}

/// One or two sentences on what will happen. `arguments` are masked already.
pub(super) fn description(question: &Question<'_>, arguments: &Value) -> String {
    let does = match question.assessment.effect {
        Effect::ReadOnly => "which only reads",
        Effect::Mutating => "which may change something",
        Effect::Destructive => "which may destroy something",
    };
    let source = question.tool.source().to_string();
    let mut text = format!("Runs {} of {}, {does}", visible(question.exposed), visible(&source));
    match arguments.as_object().filter(|map| !map.is_empty()) {
        None => text.push_str(", without arguments."),
        Some(map) => {
            text.push_str(". ");
            for (at, (key, value)) in map.iter().enumerate() {
                let value = match value {
                    Value::String(text) => format!("\"{}\"", visible(text)),
                    other => visible(&canonical_json(other)),
                };
                let comma = if at == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}{} = {}", visible(key), cut(&value, VALUE_CHARS));
                if text.len() > DESCRIPTION_CHARS * 4 {
                    break;
                }
            }
        }
    }
    cut(&text, DESCRIPTION_CHARS)
}

/// The arguments as text, saying so where they are cut.
pub(super) fn arguments(arguments: &Value) -> String {
    let text = visible(&canonical_json(arguments));
    let chars = text.chars().count();
    if chars <= ARGUMENTS_CHARS {
        return text;
    }
    let note = format!("… [cut: {chars} characters in all]");
    let kept: String = text.chars().take(ARGUMENTS_CHARS - note.chars().count()).collect();
    format!("{kept}{note}")
}

/// A reason within its bounds.
pub(super) fn reason(text: &str) -> String {
    cut(&visible(text), REASON_CHARS)
}

/// The text with everything that does not show, or that changes how the rest shows, written out: control characters,
/// direction marks, zero-width characters and tags. A terminal or a form then shows what is there and nothing else.
pub(super) fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars - 1).chain(['…']).collect(),
    }
}
