//! Exposed names: one normaliser, and the name map that goes with every assembled set.
//!
//! The name of a tool is a function of its identity and the settings alone, so it does not depend on which other
//! servers are up. A name that had to be changed on the way carries a hash tail; names that need no change cannot look
//! like one that has a tail. Together this makes the mapping injective (up to 40-bit hash collisions, which the
//! conflict rule then resolves), without ever comparing tools with one another.

mod assign;
mod called;
mod confusable;
mod merge;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::{ContentHash, Source, ToolId, bridge::is_bridge_name};

pub use assign::{Assignment, Claim, NameLoser, NameMap, assign};
pub use called::Called;
pub(crate) use confusable::loose;
pub use confusable::{Alike, Lookalikes, clashes, folded, lookalikes};
pub(crate) use merge::merge;
pub use merge::{MergeRule, Merged, WhichOne};

/// The letters and digits of a name in lower case: what is left when case and separators do not count.
pub(crate) fn plain(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Between a source's label and the tool's own name.
pub const SEPARATOR: &str = "__";

/// Length of a hash tail with its underscore.
const TAIL: usize = 9;

/// How exposed names are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameSettings {
    /// Whether names carry their source's label. Default [`Prefix::Source`].
    pub prefix: Prefix,
    /// Longest name in characters, 16 to 64. Default 64, which every provider accepts (standards reference §0.3).
    pub max_length: usize,
    /// What happens when two tools would have the same name. Default [`Conflict::Priority`].
    pub conflict: Conflict,
}

impl Default for NameSettings {
    fn default() -> Self {
        Self { prefix: Prefix::Source, max_length: 64, conflict: Conflict::Priority }
    }
}

/// Whether names carry their source's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefix {
    /// `SERVER__TOOL` for everything but built-in and plugin tools.
    Source,
    /// The tool's own name; meant for a single upstream.
    None,
}

/// What happens when two tools that survived selection would have the same exposed name. Input order never matters:
/// "first" and "priority" both go by [`Source::precedence`] and then by identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// The tool whose identity sorts first keeps the name.
    First,
    /// Built-in beats plugin beats MCP beats the rest; ties go to the identity that sorts first.
    Priority,
    /// None of them is served.
    Reject,
    /// The one with precedence keeps the name, the others get their source's label in front.
    Namespace,
}

/// The exposed name of a tool, from its identity alone.
pub fn exposed_name(id: &ToolId, settings: &NameSettings) -> String {
    let bare = matches!(id.source, Source::Builtin | Source::Plugin(_)) || settings.prefix == Prefix::None;
    let label = if bare { None } else { Some(label_of(&id.source)) };
    build(id, label.as_deref(), settings.max_length)
}

/// What the exposed names of a source's tools begin with, where nothing had to be changed.
pub(crate) fn prefix_of(source: &Source, settings: &NameSettings) -> String {
    match exposed_name(&ToolId::new(source.clone(), "x"), settings).strip_suffix('x') {
        Some(prefix) => prefix.to_owned(),
        // With a tail: the label and the separator are in front all the same.
        None => format!("{}{SEPARATOR}", normalise(&label_of(source)).0),
    }
}

fn label_of(source: &Source) -> String {
    match source {
        Source::Connector { name, account: Some(account) } => format!("{name}_{account}"),
        Source::Builtin
        | Source::Plugin(_)
        | Source::Mcp(_)
        | Source::Connector { account: None, .. }
        | Source::Custom(_)
        | Source::Remote(_)
        | Source::Static(_) => source.group().to_owned(),
    }
}

fn build(id: &ToolId, label: Option<&str>, max_length: usize) -> String {
    let max_length = max_length.clamp(16, 64);
    let (stem, mut exact) = normalise(&id.name);
    let mut name = match label {
        None => stem,
        Some(label) => {
            let (prefix, prefix_exact) = normalise(label);
            // The first "__" must be the separator, else `a` + `_b` and `a_` + `b` would meet; likewise connector
            // `a_b` and account `b` of connector `a`.
            let account = matches!(id.source, Source::Connector { account: Some(_), .. });
            exact &= prefix_exact && !account && !prefix.contains(SEPARATOR) && !prefix.ends_with('_');
            let prefix = if prefix.is_empty() { "x" } else { &prefix };
            format!("{prefix}{SEPARATOR}{stem}")
        }
    };
    if name.is_empty() || name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '_') {
        name.insert_str(0, "t_");
        exact = false;
    }
    if exact && name.len() <= max_length && !looks_tailed(&name) && !is_bridge_name(&name) {
        return name;
    }
    name.truncate(max_length - TAIL);
    format!("{}_{}", name.trim_end_matches(['_', '-']), tail_of(id))
}

/// The text in `[a-zA-Z0-9_-]`, and whether nothing had to be changed. Accents are stripped (`é` to `e`); everything
/// else outside becomes one underscore a run.
fn normalise(text: &str) -> (String, bool) {
    // Nearly every name; decomposing it would give the same.
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
        return (text.to_owned(), true);
    }
    let mut out = String::with_capacity(text.len());
    let mut exact = true;
    let mut in_gap = false;
    for c in text.nfkd() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            out.push(c);
            in_gap = false;
        } else if unicode_normalization::char::is_combining_mark(c) {
            exact = false;
        } else {
            exact = false;
            if !in_gap {
                out.push('_');
            }
            in_gap = true;
        }
    }
    if exact {
        // Compatibility forms decompose to ASCII without passing through the branches above.
        exact = out == text;
    } else if out.chars().all(|c| c == '_') {
        out.clear();
    }
    (out, exact)
}

fn looks_tailed(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() >= TAIL
        && bytes[bytes.len() - TAIL] == b'_'
        && bytes[bytes.len() - TAIL + 1..].iter().all(|b| b.is_ascii_digit() || (b'a'..=b'v').contains(b))
        // A tail of letters alone is far more often a word ("_messages"); hashes hold a digit 15 times out of 16,
        // and those that do not are given one by `tail_of`.
        && bytes[bytes.len() - TAIL + 1..].iter().any(u8::is_ascii_digit)
}

/// The name with its source's label and a tail, so that it cannot meet an unchanged name.
fn namespaced(id: &ToolId, settings: &NameSettings) -> String {
    let (label, _) = normalise(&label_of(&id.source));
    let (stem, _) = normalise(&id.name);
    let max_length = settings.max_length.clamp(16, 64);
    let mut name = format!("{label}{SEPARATOR}{stem}");
    if name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '_') {
        name.insert_str(0, "t_");
    }
    name.truncate(max_length - TAIL);
    format!("{}_{}", name.trim_end_matches(['_', '-']), tail_of(id))
}

fn tail_of(id: &ToolId) -> String {
    let mut tail = ContentHash::of_bytes(id.to_string().as_bytes()).base32(TAIL - 1);
    if !tail.bytes().any(|b| b.is_ascii_digit()) {
        tail.replace_range(0..1, "0");
    }
    tail
}

#[cfg(test)]
mod tests;
