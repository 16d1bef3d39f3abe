//! The inverted index: which document holds which term, and what it is worth there.

use std::collections::HashMap;

use super::{
    super::Document,
    fields::{Field, FieldLength, each_text},
    tokenize::{TokenKind, Tokenizer},
    vocabulary::{STOP, TermId, Vocabulary},
};

/// Saturation of what a term is worth in a document.
const K1: f32 = 1.5;
/// Strength of the length normalisation.
const B: f32 = 0.75;

/// Number, after those of the fields, of a name's words given in one piece (`GitHub` as `github`).
const WHOLE_NAME: u8 = Field::ALL.len() as u8;
/// What such a word is worth.
const WHOLE_NAME_WEIGHT: f32 = 1.0;

/// A term in a document, as the document sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) term: TermId,
    /// What the term is worth here, rarity left out.
    pub(super) impact: f32,
    /// Bits of the fields that hold it ([`Field::bit`], [`WHOLE_NAME`]).
    pub(super) fields: u16,
}

impl Entry {
    /// Whether the name holds the term as a word of its own.
    pub(super) fn is_in_name(&self) -> bool {
        self.fields & Field::Name.bit() != 0
    }

    /// The fields that hold the term.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        let whole_name = self.fields & (1 << WHOLE_NAME) != 0;
        let bits = self.fields | if whole_name { Field::Name.bit() } else { 0 };
        Field::ALL.into_iter().filter(move |field| bits & field.bit() != 0)
    }
}

/// Both directions of the index, in flat arrays. Documents are numbered by the caller.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// Entries of document `d` are `document_starts[d]..document_starts[d + 1]`, by ascending term.
    document_starts: Vec<u32>,
    entries: Vec<Entry>,
    /// Postings of term `t` are `term_starts[t]..term_starts[t + 1]`, by ascending document.
    term_starts: Vec<u32>,
    documents: Vec<u32>,
    impacts: Vec<f32>,
    /// The same for terms in names.
    name_starts: Vec<u32>,
    name_documents: Vec<u32>,
    /// Rarity of each term; 0 for one that no document holds.
    idf: Vec<f32>,
    /// One over the summed rarity of the words of each name.
    name_scale: Vec<f32>,
}

/// What the words of one document are before they are weighed.
#[derive(Default)]
struct Occurrences {
    /// Term, field, in one entry per occurrence.
    terms: Vec<(TermId, u8)>,
    lengths: [FieldLength; Field::ALL.len()],
}

impl Postings {
    /// Indexes `documents`, numbered by their order here, adding their words to `vocabulary`.
    pub(super) fn build<'a>(documents: impl Iterator<Item = &'a Document>, vocabulary: &mut Vocabulary) -> Self {
        let mut postings = Self { document_starts: vec![0], ..Self::default() };
        let mut tokenizer = Tokenizer::default();
        let mut servers: HashMap<(&str, &str), Occurrences> = HashMap::new();
        let mut own = Occurrences::default();
        for document in documents {
            own.terms.clear();
            own.lengths = Default::default();
            for field in Field::ALL {
                if !matches!(field, Field::Server | Field::ServerSummary) {
                    own.read(document, field, &mut tokenizer, vocabulary);
                }
            }
            let server = servers.entry((&document.server, &document.server_summary)).or_insert_with(|| {
                let mut server = Occurrences::default();
                server.read(document, Field::Server, &mut tokenizer, vocabulary);
                server.read(document, Field::ServerSummary, &mut tokenizer, vocabulary);
                server
            });
            own.terms.extend_from_slice(&server.terms);
            own.terms.sort_unstable();
            let norm = |field: usize| {
                if field == usize::from(WHOLE_NAME) {
                    return WHOLE_NAME_WEIGHT;
                }
                let length = own.lengths[field].words() + server.lengths[field].words();
                Field::ALL[field].weight() / (1.0 - B + B * length / Field::ALL[field].usual_length())
            };
            let norms: [f32; Field::ALL.len() + 1] = std::array::from_fn(norm);
            for occurrences in own.terms.chunk_by(|a, b| a.0 == b.0) {
                let (mut worth, mut fields) = (0.0, 0);
                for (_, field) in occurrences {
                    worth += norms[*field as usize];
                    fields |= 1 << field;
                }
                let impact = worth * (K1 + 1.0) / (worth + K1);
                postings.entries.push(Entry { term: occurrences[0].0, impact, fields });
            }
            postings.document_starts.push(postings.entries.len() as u32);
        }
        postings.entries.shrink_to_fit();
        postings.invert(vocabulary.term_count());
        postings
    }

    /// Derives everything that depends on all documents from their entries.
    fn invert(&mut self, terms: usize) {
        let name = Field::Name.bit();
        let mut frequencies = vec![0u32; terms];
        let mut name_frequencies = vec![0u32; terms];
        for entry in &self.entries {
            frequencies[entry.term as usize] += 1;
            name_frequencies[entry.term as usize] += u32::from(entry.fields & name != 0);
        }
        let n = self.len() as f64;
        let rarity = |&df: &u32| match df {
            0 => 0.0,
            df => (1.0 + (n - f64::from(df) + 0.5) / (f64::from(df) + 0.5)).ln() as f32,
        };
        self.idf = frequencies.iter().map(rarity).collect();
        self.term_starts = starts(&frequencies);
        self.name_starts = starts(&name_frequencies);
        self.documents = vec![0; self.entries.len()];
        self.impacts = vec![0.0; self.entries.len()];
        self.name_documents = vec![0; self.name_starts.last().copied().unwrap_or(0) as usize];
        self.name_scale = Vec::with_capacity(self.len());
        // From here on the frequencies serve as write positions.
        let mut next = self.term_starts.clone();
        let mut next_name = self.name_starts.clone();
        for document in 0..self.len() as u32 {
            let mut names = 0.0;
            let range =
                self.document_starts[document as usize] as usize..self.document_starts[document as usize + 1] as usize;
            for entry in &self.entries[range] {
                let term = entry.term as usize;
                let slot = next[term] as usize;
                next[term] += 1;
                self.documents[slot] = document;
                self.impacts[slot] = entry.impact;
                if entry.fields & name != 0 {
                    self.name_documents[next_name[term] as usize] = document;
                    next_name[term] += 1;
                    names += self.idf[term];
                }
            }
            self.name_scale.push(if names > 0.0 { 1.0 / names } else { 0.0 });
        }
    }

    /// Number of documents.
    pub(super) fn len(&self) -> usize {
        self.document_starts.len().saturating_sub(1)
    }

    /// Documents that hold the term, and what it is worth in each.
    pub(super) fn of(&self, term: TermId) -> (&[u32], &[f32]) {
        let range = self.term_starts[term as usize] as usize..self.term_starts[term as usize + 1] as usize;
        (&self.documents[range.clone()], &self.impacts[range])
    }

    /// Documents whose names hold the term.
    pub(super) fn in_names(&self, term: TermId) -> &[u32] {
        &self.name_documents[self.name_starts[term as usize] as usize..self.name_starts[term as usize + 1] as usize]
    }

    /// What the document holds of the term.
    pub(super) fn entry(&self, document: u32, term: TermId) -> Option<&Entry> {
        let entries = self.entries_of(document);
        entries.binary_search_by_key(&term, |entry| entry.term).ok().map(|at| &entries[at])
    }

    fn entries_of(&self, document: u32) -> &[Entry] {
        let document = document as usize;
        &self.entries[self.document_starts[document] as usize..self.document_starts[document + 1] as usize]
    }

    /// Rarity of a term.
    pub(super) fn idf(&self, term: TermId) -> f32 {
        self.idf[term as usize]
    }

    /// Rarity of a word that no document holds.
    pub(super) fn unknown_idf(&self) -> f32 {
        (2.0 * (self.len() as f64 + 1.0)).ln() as f32
    }

    /// One over the summed rarity of the words of each name.
    pub(super) fn name_scale(&self) -> &[f32] {
        &self.name_scale
    }
}

impl Occurrences {
    fn read(&mut self, document: &Document, field: Field, tokenizer: &mut Tokenizer, vocabulary: &mut Vocabulary) {
        let (terms, length) = (&mut self.terms, &mut self.lengths[field as usize]);
        each_text(document, field, |text| {
            if length.is_full() {
                return;
            }
            tokenizer.each(text, |token, kind| {
                let term = vocabulary.intern(token);
                if term == STOP || length.is_full() {
                    return;
                }
                // A word that is given once more in one piece does not make the field longer, nor the name harder to cover.
                match kind {
                    TokenKind::Plain if length.take() => terms.push((term, field as u8)),
                    TokenKind::Plain => {}
                    TokenKind::Joined if field == Field::Name => terms.push((term, WHOLE_NAME)),
                    TokenKind::Joined => terms.push((term, field as u8)),
                }
            });
        });
    }
}

/// Where each group begins in a flat array, and where the last one ends.
fn starts(sizes: &[u32]) -> Vec<u32> {
    let mut total = 0;
    let mut out = Vec::with_capacity(sizes.len() + 1);
    out.push(0);
    for size in sizes {
        total += size;
        out.push(total);
    }
    out
}
