//! The forms that a query may take beside plain words.
//!
//! - `server: words` searches one server only, if there is one of that label;
//! - `+word` must occur in every hit.

use super::{super::bounded, Lexical};

/// Most words that can be required.
const MAX_REQUIRED: usize = 16;
/// Longest server label in front of a colon, in bytes.
const MAX_LABEL_BYTES: usize = 64;

/// A query taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Numbers of the servers to stay in; all if `None`.
    pub(super) servers: Option<Vec<usize>>,
    /// Words that every hit must hold.
    pub(super) required: Vec<&'a str>,
    /// What to look for.
    pub(super) text: &'a str,
}

impl<'a> Request<'a> {
    pub(super) fn parse(query: &'a str, index: &Lexical) -> Self {
        let mut request = Self { text: bounded(query).trim(), ..Self::default() };
        if let Some((label, rest)) = request.text.split_once(':')
            && label.len() <= MAX_LABEL_BYTES
        {
            let servers = index.names.servers_called(label);
            if !servers.is_empty() {
                request.servers = Some(servers);
                request.text = rest.trim();
            }
        }
        let required = request.text.split_whitespace().filter_map(|word| word.strip_prefix('+'));
        let word = |word: &&str| word.chars().next().is_some_and(char::is_alphabetic);
        request.required = required.filter(word).take(MAX_REQUIRED).collect();
        request
    }
}
