//! Names and server labels as such: whoever knows a name gets its tool first.

use std::{collections::HashMap, ops::Range};

use super::{
    super::Document,
    vocabulary::{TermId, Vocabulary},
};

/// Longest text that is looked up as a name, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Shortest text that is looked for inside of names, in letters and digits.
const MIN_PART: usize = 3;
/// Most documents that one spelling stands for; the rest is found by words only.
const MAX_SAME: usize = 64;

/// How exactly a text names a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameMatch {
    /// Its title, or its name without the server's.
    Short,
    /// The whole name, but for letter case and separators.
    Spelling,
    /// The name, letter for letter.
    Exact,
}

/// Parts of server labels that name no server.
const GENERIC_PARTS: &[&str] = &["api", "app", "local", "mcp", "remote", "server", "tool", "tools"];

/// The documents of one server.
#[derive(Debug)]
pub(super) struct Server {
    /// Internal numbers.
    pub(super) documents: Range<usize>,
    /// The label without separators and letter case.
    plain: String,
    /// The label's parts, plain.
    parts: Vec<String>,
}

/// All names, by internal number.
#[derive(Debug, Default)]
pub(super) struct Names {
    whole: Vec<Box<str>>,
    /// The same without separators and letter case.
    plain: Vec<Box<str>>,
    /// Documents by every plain spelling that names them.
    spellings: HashMap<Box<str>, Vec<(NameMatch, u32)>>,
    pub(super) servers: Vec<Server>,
    /// Servers by the first term of their label; each with all of its terms.
    by_term: HashMap<TermId, Vec<(Vec<TermId>, usize)>>,
}

impl Names {
    /// `documents` in internal order: those of one server together.
    pub(super) fn new<'a>(documents: impl Iterator<Item = &'a Document>) -> Self {
        let mut names = Self::default();
        let mut label: Option<&str> = None;
        for document in documents {
            if label != Some(&document.server) {
                label = Some(&document.server);
                let start = names.whole.len();
                names.servers.push(Server {
                    documents: start..start,
                    plain: plain(&document.server),
                    parts: parts(&document.server),
                });
            }
            let Some(server) = names.servers.last_mut() else { continue };
            server.documents.end += 1;
            let number = names.whole.len() as u32;
            let whole = plain(&document.name);
            let short = short_name(&whole, &server.plain);
            let qualified = format!("{}{short}", server.plain);
            let title = plain(&document.title);
            names.whole.push(document.name.as_str().into());
            names.plain.push(whole.as_str().into());
            let mut add = |spelling: String, quality: NameMatch| {
                let known = names.spellings.entry(spelling.into()).or_default();
                if known.len() < MAX_SAME && known.iter().all(|(_, other)| *other != number) {
                    known.push((quality, number));
                }
            };
            let short = short.to_owned();
            add(whole, NameMatch::Spelling);
            add(qualified, NameMatch::Spelling);
            for other in [short, title].into_iter().filter(|other| !other.is_empty()) {
                add(other, NameMatch::Short);
            }
        }
        names
    }

    /// Makes the labels known as terms, which [`Names::mentioned`] needs.
    pub(super) fn learn_labels(&mut self, vocabulary: &Vocabulary) {
        for (number, server) in self.servers.iter().enumerate() {
            let parts = server.parts.iter().filter(|part| !GENERIC_PARTS.contains(&part.as_str()));
            let terms: Option<Vec<TermId>> = parts.map(|part| vocabulary.term_of(part)).collect();
            if let Some(terms) = terms.filter(|terms| !terms.is_empty()) {
                self.by_term.entry(terms[0]).or_default().push((terms, number));
            }
        }
    }

    /// The servers whose whole label is among the terms.
    pub(super) fn mentioned<'a>(&'a self, terms: &'a [TermId]) -> impl Iterator<Item = &'a Server> {
        let begun = terms.iter().filter_map(|term| self.by_term.get(term)).flatten();
        begun.filter(|(label, _)| label.iter().all(|term| terms.contains(term))).map(|(_, at)| &self.servers[*at])
    }

    pub(super) fn name(&self, document: u32) -> &str {
        &self.whole[document as usize]
    }

    /// The documents that `text` names, best match first, then by internal number.
    pub(super) fn find(&self, text: &str) -> Vec<(NameMatch, u32)> {
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_NAME_BYTES {
            return Vec::new();
        }
        let mut found = self.spellings.get(plain(text).as_str()).cloned().unwrap_or_default();
        for (quality, document) in &mut found {
            if self.name(*document) == text {
                *quality = NameMatch::Exact;
            }
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        found
    }

    /// The documents whose names contain the text, in internal order.
    pub(super) fn containing(&self, text: &str) -> Vec<u32> {
        let wanted = plain(text);
        if wanted.chars().nth(MIN_PART - 1).is_none() || wanted.len() > MAX_NAME_BYTES {
            return Vec::new();
        }
        let names = (0..).zip(&self.plain);
        names.filter(|(_, name)| name.contains(&wanted)).map(|(document, _)| document).collect()
    }

    /// The servers that `label` means: those called just that, else those whose label holds all its parts.
    pub(super) fn servers_called(&self, label: &str) -> Vec<usize> {
        let (whole, wanted) = (plain(label), parts(label));
        if whole.is_empty() {
            return Vec::new();
        }
        let numbers = 0..self.servers.len();
        let same: Vec<usize> = numbers.clone().filter(|&at| self.servers[at].plain == whole).collect();
        if !same.is_empty() {
            return same;
        }
        numbers.filter(|&at| wanted.iter().all(|part| self.servers[at].parts.contains(part))).collect()
    }
}

/// Letters and digits only, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn parts(label: &str) -> Vec<String> {
    label.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
}

/// A plain name without `mcp` and the server in front. The whole name if nothing would be left.
fn short_name<'a>(whole: &'a str, server: &str) -> &'a str {
    let bare = whole.strip_prefix("mcp").unwrap_or(whole);
    let short = if server.is_empty() { None } else { bare.strip_prefix(server) };
    short.filter(|short| !short.is_empty()).unwrap_or(whole)
}

#[cfg(test)]
mod tests;
