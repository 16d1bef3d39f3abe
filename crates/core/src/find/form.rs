//! Which form a query has.

use crate::{
    ToolId,
    bridge::{Card, Directory},
    name::{SEPARATOR, plain},
};

/// Most names that `select:` reads.
const MAX_SELECTED: usize = 50;
/// Longest text in bytes that is looked at as a name or the beginning of one.
const MAX_NAME_BYTES: usize = 256;
/// Shortest beginning of names, without the mark that says it is one.
const MIN_BEGINNING: usize = 2;

/// A query's form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form<'a> {
    /// Names to give as they are.
    Select(Vec<&'a str>),
    /// The name of one tool.
    Exact(usize),
    /// The beginning of the names of these tools, in the order of their names.
    Beginning(Vec<usize>),
    /// Anything else.
    Words,
}

impl<'a> Form<'a> {
    /// The form of a trimmed query.
    pub(super) fn of<D: Directory + ?Sized>(query: &'a str, directory: &D) -> Self {
        if let Some(rest) = selection(query) {
            let names: Vec<&str> = listed(rest).take(MAX_SELECTED).collect();
            return if names.is_empty() { Self::Words } else { Self::Select(names) };
        }
        if query.len() > MAX_NAME_BYTES && !query.contains(',') {
            return Self::Words;
        }
        // Several exact names without the word select.
        if query.contains(',') {
            let names: Vec<&str> = listed(query).take(MAX_SELECTED).collect();
            let all = names.len() > 1 && names.iter().all(|name| directory.find(name).is_some());
            return if all { Self::Select(names) } else { Self::Words };
        }
        if query.contains(char::is_whitespace) {
            return Self::Words;
        }
        if is_identifier(query)
            && let Some(index) = directory.find(query)
        {
            return Self::Exact(index);
        }
        if query.contains('/')
            && let Ok(id) = query.parse::<ToolId>()
            && let Some(index) = directory.find_id(&id)
        {
            return Self::Exact(index);
        }
        match beginning(query, directory) {
            indices if indices.is_empty() => Self::Words,
            indices => Self::Beginning(indices),
        }
    }
}

/// What follows `select:`, in whatever case, if a query begins with it.
pub(crate) fn selection(query: &str) -> Option<&str> {
    strip_prefix_ignoring_case(query.trim_start(), "select:")
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(|name| name.trim().trim_matches(['"', '\'', '`'])).filter(|name| !name.is_empty())
}

/// Whether a text is written like a name in code: one piece with separators or capitals inside. A plain word may be a
/// tool's name and mean more.
pub(super) fn is_identifier(text: &str) -> bool {
    let inner = text.trim_matches(['_', '-', '.']);
    let capital = || inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    text.len() <= MAX_NAME_BYTES
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        && (inner.contains(['_', '-', '.']) || capital())
}

/// Whether two names are the same but for letter case and separators.
pub(super) fn folded_eq(a: &str, b: &str) -> bool {
    plain(a).eq(plain(b))
}

/// The tools whose names the text begins, if it is marked as a beginning (case 81): by `__`, by a star at its end, or by
/// being a source (`mcp:slack`).
fn beginning<D: Directory + ?Sized>(text: &str, directory: &D) -> Vec<usize> {
    let starred = text.strip_suffix('*');
    let start = starred.unwrap_or(text);
    let marked = starred.is_some() || start.contains(SEPARATOR);
    let source = text.contains(':') && text.parse::<crate::Source>().is_ok();
    if !(marked || source) || start.chars().nth(MIN_BEGINNING - 1).is_none() {
        return Vec::new();
    }
    // Many clients know servers as `mcp__slack`, which exposed names need not begin with.
    let server = strip_prefix_ignoring_case(start, "mcp__").map(|rest| rest.trim_end_matches('_'));
    let fits = |card: &Card<'_>| {
        strip_prefix_ignoring_case(card.name, start).is_some()
            || server.is_some_and(|server| {
                !server.is_empty()
                    && (folded_eq(card.server, server) || strip_prefix_ignoring_case(card.name, server).is_some())
            })
            || (source && card.tool.is_some_and(|tool| tool.source().to_string().eq_ignore_ascii_case(text)))
    };
    let mut found: Vec<usize> = (0..directory.len()).filter(|&index| fits(&directory.card(index))).collect();
    found.sort_by(|&a, &b| directory.card(a).name.cmp(directory.card(b).name));
    found
}

/// Exact names of tools inside of a longer text, in the order in which they stand there.
pub(super) fn names_within<'a, D: Directory + ?Sized>(
    text: &'a str,
    directory: &'a D,
) -> impl Iterator<Item = usize> + 'a {
    let pieces = text.split_whitespace().map(|piece| piece.trim_matches(|c: char| !c.is_alphanumeric() && c != '_'));
    pieces.filter(|piece| is_identifier(piece)).filter_map(|piece| directory.find(piece))
}

pub(super) fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(tail)
}
