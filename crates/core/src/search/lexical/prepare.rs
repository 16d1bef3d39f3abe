//! Reading one document: what it holds of each term, how it may be named, what it is about. All of that depends on the
//! document alone, so it is done once however many indexes hold the document.

use std::ops::Range;

use super::{
    super::{
        Document,
        dense::{Packed, Sum, Table},
    },
    fields::{Field, FieldLength, each_text},
    names,
    tokenize::{TokenKind, Tokenizer},
    vocabulary::{NewWord, STOP, TermId, Vocabulary, WordMap},
};

/// Saturation of what a term is worth in a document.
const K1: f32 = 1.5;
/// Strength of the length normalisation.
const B: f32 = 0.75;
/// What one step of an impact is worth. The largest impact is below K1 + 1.
pub(super) const IMPACT_STEP: f32 = 1.0 / 16_384.0;

/// Number, after those of the fields, of a name's words given in one piece (`GitHub` as `github`).
const WHOLE_NAME: u8 = Field::ALL.len() as u8;
/// What such a word is worth.
const WHOLE_NAME_WEIGHT: f32 = 1.0;
/// What a description's first sentence adds to what a document is about: it says what the tool does, the rest how.
const FIRST_SENTENCE_WEIGHT: f32 = 0.4;
/// Marks the number of a term that is not in the vocabulary yet.
const NEW: TermId = 1 << 31;

/// A term in a document, as the document sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) term: TermId,
    /// What the term is worth here, rarity left out, in steps.
    steps: u16,
    /// Bits of the fields that hold it ([`Field::bit`], [`WHOLE_NAME`]).
    pub(super) fields: u16,
}

impl Entry {
    pub(super) fn new(term: TermId, steps: u16, fields: u16) -> Self {
        Self { term, steps, fields }
    }

    /// What the term is worth here, rarity left out.
    pub(super) fn impact(self) -> f32 {
        f32::from(self.steps) * IMPACT_STEP
    }

    /// The same in steps of [`IMPACT_STEP`].
    pub(super) fn steps(self) -> u16 {
        self.steps
    }

    /// Whether the name holds the term as a word of its own.
    pub(super) fn is_in_name(self) -> bool {
        self.fields & Field::Name.bit() != 0
    }

    /// The fields that hold the term.
    pub(super) fn fields(self) -> impl Iterator<Item = Field> {
        let whole_name = self.fields & (1 << WHOLE_NAME) != 0;
        let bits = self.fields | if whole_name { Field::Name.bit() } else { 0 };
        Field::ALL.into_iter().filter(move |field| bits & field.bit() != 0)
    }
}

/// A document as the index keeps it.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) server: Box<str>,
    pub(super) name: Box<str>,
    pub(super) title: Box<str>,
    /// The name without separators and letter case.
    pub(super) plain: Box<str>,
    /// Hashes of the spellings that name it.
    pub(super) spellings: Box<[u64]>,
    /// By ascending term.
    pub(super) entries: Box<[Entry]>,
    /// What it is about; `None` where nothing was read with a table.
    pub(super) vector: Option<Box<Packed>>,
}

impl Prepared {
    /// What the document holds of the term.
    pub(super) fn entry(&self, term: TermId) -> Option<Entry> {
        self.entries.binary_search_by_key(&term, |entry| entry.term).ok().map(|at| self.entries[at])
    }
}

/// What the words of one document, or of its server, are before they are weighed.
#[derive(Debug, Default)]
struct Occurrences {
    /// Term, field, in one entry per occurrence.
    terms: Vec<(TermId, u8)>,
    lengths: [FieldLength; Field::ALL.len()],
    about: Sum,
}

impl Occurrences {
    fn clear(&mut self) {
        self.terms.clear();
        self.lengths = Default::default();
        self.about.clear();
    }
}

/// Reads documents against a vocabulary that does not change meanwhile; what it lacks is gathered aside.
pub(super) struct Reader<'a> {
    words: Words<'a>,
    tokenizer: Tokenizer,
    own: Occurrences,
    /// The server that was read last: those of one server usually come together.
    server: Option<(String, String)>,
    of_server: Occurrences,
    field: Sum,
}

/// The words read so far, known before or not.
struct Words<'a> {
    known: &'a Vocabulary,
    table: Option<&'static Table>,
    ids: WordMap<Box<str>, u32>,
    /// By id: its term, and where its tokens are.
    read: Vec<(TermId, Range<u32>)>,
    tokens: Vec<u16>,
    new: Vec<NewWord>,
    new_terms: WordMap<Box<str>, TermId>,
    new_stems: Vec<Box<str>>,
}

impl Words<'_> {
    /// The term of a word, and its tokens to `f`.
    fn see(&mut self, word: &str, f: impl FnOnce(&Table, &[u16])) -> TermId {
        let id = self.ids.get(word).copied().unwrap_or_else(|| self.add(word));
        let (term, tokens) = &self.read[id as usize];
        if let Some(table) = self.table {
            f(table, &self.tokens[tokens.start as usize..tokens.end as usize]);
        }
        *term
    }

    fn add(&mut self, word: &str) -> u32 {
        let start = self.tokens.len() as u32;
        let term = if let Some(known) = self.known.word(word) {
            self.tokens.extend_from_slice(self.known.tokens(known));
            known.term
        } else {
            let new = self.known.describe(word);
            self.tokens.extend_from_slice(&new.tokens);
            let term = self.known.term(&new.stem).unwrap_or_else(|| {
                let next = NEW | self.new_stems.len() as u32;
                let term = *self.new_terms.entry(new.stem.clone()).or_insert(next);
                if term == next {
                    self.new_stems.push(new.stem.clone());
                }
                term
            });
            self.new.push(new);
            term
        };
        let id = self.read.len() as u32;
        self.ids.insert(word.into(), id);
        self.read.push((term, start..self.tokens.len() as u32));
        id
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(known: &'a Vocabulary, table: Option<&'static Table>) -> Self {
        let words = Words {
            known,
            table,
            ids: WordMap::default(),
            read: Vec::new(),
            tokens: Vec::new(),
            new: Vec::new(),
            new_terms: WordMap::default(),
            new_stems: Vec::new(),
        };
        Self {
            words,
            tokenizer: Tokenizer::default(),
            own: Occurrences::default(),
            server: None,
            of_server: Occurrences::default(),
            field: Sum::default(),
        }
    }

    /// What the vocabulary lacks.
    pub(super) fn finish(self) -> News {
        News { words: self.words.new, stems: self.words.new_stems }
    }

    pub(super) fn read(&mut self, document: &Document) -> Prepared {
        let server = self.server.as_ref();
        if server.is_none_or(|(label, summary)| *label != document.server || *summary != document.server_summary) {
            self.server = Some((document.server.clone(), document.server_summary.clone()));
            self.of_server.clear();
            for field in [Field::Server, Field::ServerSummary] {
                read(document, field, &mut self.of_server, &mut self.field, &mut self.words, &mut self.tokenizer);
            }
        }
        self.own.clear();
        for field in Field::ALL.into_iter().filter(|field| !matches!(field, Field::Server | Field::ServerSummary)) {
            read(document, field, &mut self.own, &mut self.field, &mut self.words, &mut self.tokenizer);
        }
        let (own, server) = (&mut self.own, &self.of_server);
        own.terms.extend_from_slice(&server.terms);
        own.terms.sort_unstable();
        own.about.add(&server.about);
        let plain = names::plain(&document.name);
        let spellings = names::spellings(&document.name, &document.server, &document.title);
        Prepared {
            server: document.server.as_str().into(),
            name: document.name.as_str().into(),
            title: document.title.as_str().into(),
            plain: plain.into(),
            spellings: spellings.map(|(text, _)| names::hash(&text)).collect(),
            entries: weigh(own, server),
            vector: self.words.table.map(|_| Box::new(own.about.pack())),
        }
    }
}

/// What each term is worth in a document, from its occurrences in order.
fn weigh(own: &Occurrences, server: &Occurrences) -> Box<[Entry]> {
    let norm = |field: usize| {
        if field == usize::from(WHOLE_NAME) {
            return WHOLE_NAME_WEIGHT;
        }
        let length = own.lengths[field].words() + server.lengths[field].words();
        Field::ALL[field].weight() / (1.0 - B + B * length / Field::ALL[field].usual_length())
    };
    let norms: [f32; Field::ALL.len() + 1] = std::array::from_fn(norm);
    let entry = |occurrences: &[(TermId, u8)]| {
        let (mut worth, mut fields) = (0.0, 0);
        for (_, field) in occurrences {
            worth += norms[*field as usize];
            fields |= 1 << field;
        }
        let impact = worth * (K1 + 1.0) / (worth + K1);
        Entry { term: occurrences[0].0, steps: (impact / IMPACT_STEP).round() as u16, fields }
    };
    own.terms.chunk_by(|a, b| a.0 == b.0).map(entry).collect()
}

fn read(
    document: &Document,
    field: Field,
    out: &mut Occurrences,
    sum: &mut Sum,
    words: &mut Words<'_>,
    tokenizer: &mut Tokenizer,
) {
    let (terms, length) = (&mut out.terms, &mut out.lengths[field as usize]);
    sum.clear();
    let mut read_text = |text: &str, sum: &mut Sum| {
        if length.is_full() {
            return;
        }
        tokenizer.each(text, |token, kind| {
            let term = words.see(token, |table, tokens| {
                // A split word's whole is about something of its own only where it has a vector of its own.
                if field.about() > 0.0 && (kind == TokenKind::Plain || tokens.len() == 1) {
                    for &token in tokens {
                        sum.add_token(table, token, 1.0);
                    }
                }
            });
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
    };
    if field == Field::Description {
        let (first, rest) = document.description.split_at(end_of_first_sentence(&document.description));
        read_text(first, sum);
        out.about.add_unit(sum, FIRST_SENTENCE_WEIGHT);
        read_text(rest, sum);
    } else {
        each_text(document, field, |text| read_text(text, sum));
    }
    out.about.add_unit(sum, field.about());
}

/// Where the first sentence or line ends.
fn end_of_first_sentence(text: &str) -> usize {
    let start = text.len() - text.trim_start().len();
    let mut ends = text[start..].char_indices().zip(text[start..].chars().skip(1).chain([' ']));
    let end = ends.find(|((_, c), next)| match c {
        '\n' | '。' => true,
        '.' | '!' | '?' => next.is_whitespace(),
        _ => false,
    });
    end.map_or(text.len(), |((at, c), _)| start + at + c.len_utf8())
}

/// What readers found that their vocabulary lacks.
#[derive(Debug, Default)]
pub(super) struct News {
    words: Vec<NewWord>,
    /// The stems of new terms, in the order of the numbers that stand for them meanwhile.
    stems: Vec<Box<str>>,
}

impl News {
    /// Adds everything to the vocabulary. Returns the terms by the numbers that stood for them.
    pub(super) fn add_to(&self, vocabulary: &mut Vocabulary) -> Vec<TermId> {
        for word in &self.words {
            vocabulary.add(word);
        }
        self.stems.iter().map(|stem| vocabulary.intern_stem(stem)).collect()
    }
}

impl Prepared {
    /// Replaces the numbers that stood for new terms.
    pub(super) fn settle(&mut self, terms: &[TermId]) {
        let mut changed = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.term & NEW != 0) {
            entry.term = terms[(entry.term & !NEW) as usize];
            changed = true;
        }
        if changed {
            self.entries.sort_unstable_by_key(|entry| entry.term);
        }
    }
}
