//! Names and server labels as such: whoever knows a name gets its tool first.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{
    prepare::Prepared,
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
    /// Where spellings lead to, by open addressing.
    places: Vec<Place>,
    pub(super) servers: Vec<Server>,
    /// Servers by the first term of their label; each with all of its terms.
    by_term: HashMap<TermId, Vec<(Vec<TermId>, usize)>>,
}

/// A spelling's place: the upper half of its hash, and the number of a document that it names + 1, 0 for none.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    tag: u32,
    document: u32,
}

/// The plain spellings that name a tool, the best first, each once.
pub(super) fn spellings(name: &str, server: &str, title: &str) -> impl Iterator<Item = (String, NameMatch)> + use<> {
    let (whole, server) = (plain(name), plain(server));
    let short = short_name(&whole, &server).to_owned();
    let qualified = format!("{server}{short}");
    let mut out = vec![(whole, NameMatch::Spelling)];
    for other in [(qualified, NameMatch::Spelling), (short, NameMatch::Short), (plain(title), NameMatch::Short)] {
        if !other.0.is_empty() && out.iter().all(|known| known.0 != other.0) {
            out.push(other);
        }
    }
    out.into_iter()
}

/// Hash of a spelling.
pub(super) fn hash(spelling: &str) -> u64 {
    // Whoever makes two spellings collide gains nothing: what is found is compared letter for letter.
    spelling.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Names {
    /// `documents` in internal order: those of one server together.
    pub(super) fn new(documents: &[Arc<Prepared>]) -> Self {
        let all: usize = documents.iter().map(|document| document.spellings.len()).sum();
        let mut names = Self { places: vec![Place::default(); (all * 2 + 1).next_power_of_two()], ..Self::default() };
        let mut label: Option<&str> = None;
        for (number, document) in documents.iter().enumerate() {
            if label != Some(&document.server) {
                label = Some(&document.server);
                names.servers.push(Server {
                    documents: number..number,
                    plain: plain(&document.server),
                    parts: parts(&document.server),
                });
            }
            if let Some(server) = names.servers.last_mut() {
                server.documents.end += 1;
            }
            for &hash in &document.spellings {
                names.place(hash, number as u32);
            }
        }
        names
    }

    /// Places in the order in which a spelling's are to be looked at.
    fn each_place(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.places.len() - 1;
        (0..=mask).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    fn place(&mut self, hash: u64, document: u32) {
        let tag = (hash >> 32) as u32;
        let mut same = 0;
        for at in self.each_place(hash) {
            let place = &mut self.places[at];
            if place.document == 0 {
                *place = Place { tag, document: document + 1 };
                return;
            }
            same += usize::from(place.tag == tag);
            if same == MAX_SAME {
                return;
            }
        }
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

    /// The documents that `text` names, best match first, then by internal number.
    pub(super) fn find(&self, text: &str, documents: &[Arc<Prepared>]) -> Vec<(NameMatch, u32)> {
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_NAME_BYTES {
            return Vec::new();
        }
        let wanted = plain(text);
        let hash = hash(&wanted);
        let mut found: Vec<(NameMatch, u32)> = Vec::new();
        if self.places.is_empty() {
            return found;
        }
        for at in self.each_place(hash) {
            let Place { tag, document } = self.places[at];
            let Some(number) = document.checked_sub(1) else { break };
            if tag != (hash >> 32) as u32 {
                continue;
            }
            let document = &documents[number as usize];
            let named =
                spellings(&document.name, &document.server, &document.title).find(|(other, _)| *other == wanted);
            if let Some((_, quality)) = named {
                found.push((if *document.name == *text { NameMatch::Exact } else { quality }, number));
            }
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        found
    }

    /// The documents whose names contain the text, in internal order.
    pub(super) fn containing(text: &str, documents: &[Arc<Prepared>]) -> Vec<u32> {
        let wanted = plain(text);
        if wanted.chars().nth(MIN_PART - 1).is_none() || wanted.len() > MAX_NAME_BYTES {
            return Vec::new();
        }
        let names = (0..).zip(documents);
        names.filter(|(_, document)| document.plain.contains(&wanted)).map(|(number, _)| number).collect()
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
pub(super) fn plain(text: &str) -> String {
    crate::name::plain(text).collect()
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
