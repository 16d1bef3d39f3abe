//! What a person reads about a call: our words, the caller's values made visible and bounded.

use std::fmt::{self, Write};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toolcrib_core::{args::canonical::canonical, permission::Effect};

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
/// Longest text of a tool's own on a call, in characters.
const SAYS_CHARS: usize = 200;
/// Longest single value in a description, in characters.
const VALUE_CHARS: usize = 120;
/// Characters of arguments that are too long which are shown of their end.
const TAIL_CHARS: usize = 1_200;
/// In place of arguments that cannot be shown.
const UNSHOWN: &str = "[cut: the arguments cannot be shown, as secrets in them cannot be told from the rest]";

impl ApprovalRequest {
    /// A heading of at most 80 characters.
    pub fn title(&self) -> String {
        cut(&format!("Run {} ({})?", visible(&self.exposed), visible(&self.tool.source.to_string())), TITLE_CHARS)
    }
}

/// One or two sentences on what will happen; `says` is the tool's own, without secrets. `arguments` are
/// JSON text, masked already.
pub(super) fn description(question: &Question<'_>, arguments: &str, says: Option<&str>) -> String {
    let does = match question.assessment.effect {
        Effect::ReadOnly => "which only reads",
        Effect::Mutating => "which may change something",
        Effect::Destructive => "which may destroy something",
    };
    let source = question.tool.source().to_string();
    let mut text = format!("Runs {} of {}, {does}", visible(question.exposed), visible(&source));
    if let Some(says) = says.map(str::trim).filter(|says| !says.is_empty()) {
        // In quotes, as its words: what will be passed follows in ours.
        let _ = write!(text, ": \"{}\"", cut(&visible(says), SAYS_CHARS));
    }
    match serde_json::from_str(arguments) {
        Err(_) => text.push_str(", with arguments that cannot be shown."),
        Ok(Entries(entries)) if entries.is_empty() => text.push_str(", without arguments."),
        Ok(Entries(entries)) => {
            text.push_str(". ");
            for (at, (key, value)) in entries.iter().enumerate() {
                let value = visible_json(&canonical(value));
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

/// The entries of an object in their order, as written.
struct Entries(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Arguments as a person sees them.
pub(super) struct Shown {
    pub(super) text: String,
    /// Whether that is everything.
    pub(super) whole: bool,
}

/// The arguments in canonical form. What is too long shows its beginning and its end, and says in between how much is
/// missing.
pub(super) fn arguments(arguments: &str) -> Shown {
    let Ok(raw) = serde_json::from_str::<&RawValue>(arguments) else {
        return Shown { text: UNSHOWN.to_owned(), whole: false };
    };
    let text = visible_json(&canonical(raw));
    let chars = text.chars().count();
    if chars <= ARGUMENTS_CHARS {
        return Shown { text, whole: true };
    }
    let note = |left_out: usize| format!(" … [cut: {left_out} of {chars} characters are not shown here] … ");
    // The figure itself has no more digits than that of all characters.
    let head = ARGUMENTS_CHARS - TAIL_CHARS - note(chars).chars().count();
    let begins: String = text.chars().take(head).collect();
    let ends: String = text.chars().skip(chars - TAIL_CHARS).collect();
    Shown { text: format!("{begins}{}{ends}", note(chars - head - TAIL_CHARS)), whole: false }
}

/// A reason within its bounds.
pub(super) fn reason(text: &str) -> String {
    cut(&visible(text), REASON_CHARS)
}

/// The text with everything that does not show, or that changes how the rest shows, written out as `\u{202e}`: control
/// characters, direction marks, zero-width characters, tags, and blanks that only look like one. A terminal or a form
/// then shows what is there and nothing else.
pub fn visible(text: &str) -> String {
    written_out(text, |c, out| {
        let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
    })
}

/// The same within JSON text, as JSON writes it (`\u202e`): the text still says the same.
fn visible_json(text: &str) -> String {
    written_out(text, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

fn written_out(text: &str, write: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { write(c, &mut out) } else { out.push(c) }
    }
    out
}

/// Controls, what Unicode lets renderers ignore, what turns the direction, and blanks other than the common one.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || c.is_whitespace() && c != ' '
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}')
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        || matches!(c, '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}')
        || matches!(c, '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars - 1).chain(['…']).collect(),
    }
}
