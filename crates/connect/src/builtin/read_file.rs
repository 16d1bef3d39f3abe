//! `read_file`: a slice of a text file's lines.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    blocking::Stop,
    definition::{Behaviour, define},
    failure::Failure,
    lines::{LineEnd, Lines},
};

pub(crate) fn definition() -> Value {
    define(
        "read_file",
        "Read file",
        "Read a text file, or lines of it.",
        &json!({
            "path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 1, "description": "First line, from 1"},
            "limit": {"type": "integer", "minimum": 1, "description": "Lines"},
        }),
        &["path"],
        Behaviour::Reads,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    limit: Option<usize>,
}

pub(crate) fn run(shared: &Shared, arguments: &Arguments, stop: &Stop) -> Result<String, Failure> {
    let limits = shared.settings.read;
    let (first, limit) =
        (arguments.offset.unwrap_or(1).max(1), arguments.limit.unwrap_or(limits.lines).min(limits.lines));
    let place = shared.roots.place(&arguments.path)?;
    let file = place.open_file()?;
    let failed = |error| place.failure(&error);
    let Some(mut lines) = Lines::of_text(file, stop).map_err(failed)? else {
        return Err(Failure::new(format!("'{}' is not a text file (it contains NUL bytes)", arguments.path)));
    };
    // A character takes four bytes at most.
    let line_cap = limits.chars.saturating_mul(4);
    let (mut text, mut chars, mut buffer) = (String::new(), 0, Vec::new());
    let mut number = 0_u64;
    let mut note = None;
    while let Some(line) = lines.next(&mut buffer, if number + 1 < first { 0 } else { line_cap }).map_err(failed)? {
        number += 1;
        if number.is_multiple_of(1_024) {
            stop.check()?;
        }
        if number < first {
            continue;
        }
        if number - first == limit as u64 {
            note = Some(format!("[more lines follow; continue with offset {number}]"));
            break;
        }
        let shown = String::from_utf8_lossy(&buffer);
        let length = shown.chars().count() + 1;
        if chars + length > limits.chars {
            if chars > 0 {
                note = Some(format!("[more lines follow; continue with offset {number}]"));
            } else {
                text.extend(shown.chars().take(limits.chars));
                note = Some(format!(
                    "[line {number} was cut at {} characters; the next line is offset {}]",
                    limits.chars,
                    number + 1
                ));
            }
            break;
        }
        chars += length;
        text.push_str(&shown);
        if line.end == LineEnd::Break {
            text.push('\n');
        }
    }
    if number < first && first > 1 {
        return Err(Failure::new(format!("'{}' has {number} lines; offset {first} is past its end", arguments.path)));
    }
    if let Some(note) = note {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&note);
    }
    Ok(text)
}
