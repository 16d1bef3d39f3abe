//! Reading a kept result piece by piece. Every answer is bounded, and says how to go on.

use serde_json::value::RawValue;

use crate::ToolResult;

/// Longest line; longer ones are folded and each piece counts as a line.
const LINE: usize = 2_000;
/// Lines given when no limit is asked for, and at most.
const LINES: (usize, usize) = (200, 2_000);
/// Characters of one answer.
const ANSWER: usize = 50_000;
/// Characters shown around a match.
const AROUND: usize = 300;

/// What to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceQuery<'q> {
    /// First line, counted from 0; with `grep`, matches to skip. Default 0.
    pub offset: Option<usize>,
    /// Lines, or matches with `grep`. Default 200, at most 2,000.
    pub limit: Option<usize>,
    /// JSON Pointer into the result, such as `/content/0/text`; absent for its text blocks one after the other.
    pub pointer: Option<&'q str>,
    /// Only lines that hold this text, upper and lower case alike.
    pub grep: Option<&'q str>,
}

/// Why nothing can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// The pointer does not begin with a slash.
    #[error("'{0}' is no JSON Pointer; write it like /content/0/text, or leave it out")]
    BadPointer(String),
    /// The pointer leads nowhere.
    #[error("the result holds nothing at '{missing}'; {reached} is {found}")]
    NotFound {
        /// The pointer up to the step that is missing.
        missing: String,
        /// The pointer before it.
        reached: String,
        /// What is there: its type, with the keys or the number of items.
        found: String,
    },
    /// Nothing follows the offset.
    #[error("offset {offset} is past the end: there are {lines} lines, counted from 0")]
    PastEnd {
        /// The offset.
        offset: usize,
        /// Lines of the text.
        lines: usize,
    },
}

/// Reads a slice of a kept result: `whole` is its JSON text as kept, or any text. The first line of the answer tells
/// what is shown, out of how much, and how to go on.
pub fn read_slice(whole: &str, query: &SliceQuery<'_>) -> Result<String, SliceError> {
    let text = match query.pointer.filter(|pointer| !pointer.is_empty()) {
        Some(pointer) => readable(at(whole, pointer)?),
        None => plain(whole),
    };
    let offset = query.offset.unwrap_or(0);
    let limit = query.limit.unwrap_or(LINES.0).clamp(1, LINES.1);
    match query.grep.filter(|text| !text.is_empty()) {
        Some(wanted) => Ok(matches(&text, wanted, offset, limit)),
        None => lines(&text, offset, limit),
    }
}

/// The text of a result as its preview shows it, else the readable form of whatever it is.
fn plain(whole: &str) -> String {
    let blocks = RawValue::from_string(whole.to_owned()).ok().and_then(|raw| ToolResult::from_raw(raw).ok());
    match blocks.map(|result| result.to_text()).filter(|text| !text.is_empty()) {
        Some(text) => text,
        None => readable(whole),
    }
}

/// A JSON string as its text, other JSON indented with all digits kept, anything else as it is.
fn readable(text: &str) -> String {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) if raw.get().starts_with('"') => serde_json::from_str(raw.get()).unwrap_or_else(|_| text.to_owned()),
        Ok(raw) => indented(raw.get()),
        Err(_) => text.to_owned(),
    }
}

/// Indents JSON by its text alone, so that numbers stay as written.
fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 4);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut chars = json.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        // Deep nesting must not multiply the size.
        (0..depth.min(32)).for_each(|_| out.push_str("  "));
    };
    while let Some(char) = chars.next() {
        if in_string {
            out.push(char);
            in_string = escaped || char != '"';
            escaped = !escaped && char == '\\';
            continue;
        }
        match char {
            '"' => {
                in_string = true;
                out.push(char);
            }
            '{' | '[' => {
                out.push(char);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(char);
            }
            ',' => {
                out.push(char);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ if char.is_ascii_whitespace() => {}
            _ => out.push(char),
        }
    }
    out
}

/// The JSON text at a pointer, as written.
fn at<'t>(whole: &'t str, pointer: &str) -> Result<&'t str, SliceError> {
    let short = |text: &str| text.chars().take(200).collect::<String>();
    if !pointer.starts_with('/') {
        return Err(SliceError::BadPointer(short(pointer)));
    }
    let mut text = whole;
    let mut reached = String::new();
    for token in pointer.split('/').skip(1) {
        let step = token.replace("~1", "/").replace("~0", "~");
        let inner = step_into(text, &step);
        let Some(inner) = inner else {
            let missing = short(&format!("{reached}/{token}"));
            let reached = if reached.is_empty() { "the whole".to_owned() } else { format!("'{}'", short(&reached)) };
            return Err(SliceError::NotFound { missing, reached, found: kind(text) });
        };
        text = inner;
        reached.push('/');
        reached.push_str(token);
    }
    Ok(text)
}

fn step_into<'t>(text: &'t str, step: &str) -> Option<&'t str> {
    if text.trim_start().starts_with('[') {
        let index: usize = step.parse().ok()?;
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return items.get(index).map(|raw| raw.get());
    }
    let entries: indexmap::IndexMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    entries.get(step).map(|raw| raw.get())
}

fn kind(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    match value {
        serde_json::Value::Array(items) => format!("a list of {} items", items.len()),
        serde_json::Value::Object(map) => {
            let keys: Vec<String> = map.keys().take(20).map(|key| key.chars().take(40).collect()).collect();
            crate::shape::sanitize_text(&format!("an object with the keys {}", keys.join(", ")))
        }
        other => format!("of type {}", crate::schema::type_name(&other)),
    }
}

/// The pieces of a line, none of them longer than [`LINE`] characters. An empty line is one piece.
fn folded(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let end = line.char_indices().nth(LINE).map(|(end, _)| end);
        let (piece, tail) = end.map_or((line, None), |end| (&line[..end], Some(&line[end..])));
        rest = tail;
        Some(piece)
    })
}

fn lines(text: &str, offset: usize, limit: usize) -> Result<String, SliceError> {
    let mut body = String::new();
    let (mut total, mut shown, mut left, mut full) = (0, 0, ANSWER, false);
    for piece in text.lines().flat_map(folded) {
        if total >= offset && shown < limit && !full {
            let chars = piece.chars().count() + 1;
            full = chars > left;
            if !full {
                left -= chars;
                shown += 1;
                body.push_str(piece);
                body.push('\n');
            }
        }
        total += 1;
    }
    if offset >= total && offset > 0 {
        return Err(SliceError::PastEnd { offset, lines: total });
    }
    let next = offset + shown;
    let more = if next < total { format!("; continue with offset {next}") } else { String::new() };
    Ok(format!("[{shown} lines from line {offset}, of {total}{more}]\n{body}"))
}

fn matches(text: &str, wanted: &str, offset: usize, limit: usize) -> String {
    let lowered = wanted.to_lowercase();
    let mut body = String::new();
    let (mut number, mut found, mut shown, mut left, mut full) = (0, 0, 0, ANSWER, false);
    for line in text.lines() {
        let before = number;
        number += folded(line).count();
        let Some(at) = position(line, &lowered) else { continue };
        found += 1;
        if found <= offset || shown >= limit || full {
            continue;
        }
        let hit = format!("{}: {}\n", before + at / LINE, excerpt(line, at));
        let chars = hit.chars().count();
        full = chars > left;
        if !full {
            left -= chars;
            shown += 1;
            body.push_str(&hit);
        }
    }
    let quoted: String = wanted.chars().take(80).collect();
    let next = offset + shown;
    let more = if next < found { format!("; continue with offset {next}") } else { String::new() };
    format!("[{shown} of {found} lines with '{quoted}', with their numbers{more}]\n{body}")
}

/// The character at which `lowered` first occurs, whatever the case.
fn position(line: &str, lowered: &str) -> Option<usize> {
    let line = line.to_lowercase();
    line.find(lowered).map(|at| line[..at].chars().count())
}

/// The line, or what surrounds the match if it is long.
fn excerpt(line: &str, at: usize) -> String {
    if line.chars().nth(2 * AROUND).is_none() {
        return line.to_owned();
    }
    let from = at.saturating_sub(AROUND / 2);
    let part: String = line.chars().skip(from).take(AROUND).collect();
    format!("{}{part}…", if from > 0 { "…" } else { "" })
}
