//! What a shelf has read, as bytes, so that a program that starts again need not read its tools again.
//!
//! A snapshot is only ever a saving of time: one that is damaged, or that another version of the program made, is refused,
//! and the tools are read as if there were none. It is of use to the very same program only, which is told by what that
//! program makes of a fixed tool ([`fingerprint`]); a checksum tells damage. Nothing in it is trusted beyond that: numbers
//! that lead nowhere are damage, not a panic.

use std::sync::Arc;

use super::{
    super::{
        Document, Parameter,
        dense::{DIMENSIONS, Packed, Table},
    },
    lexicon::Lexicon,
    names,
    prepare::{Entry, Prepared, Reader},
    vocabulary::{STOP, TermId},
};
use crate::ContentHash;

/// First letters of a snapshot; the number is that of its layout.
const MAGIC: &[u8; 8] = b"TCRIBSX1";
/// Length of a hash.
const HASH: usize = 32;

/// Why a snapshot is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// It does not hold what was written.
    #[error("the search index that was kept is damaged; tools are read anew")]
    Damaged,
    /// It is of another version, or of another ranker.
    #[error("the search index that was kept is of another version or ranker; tools are read anew")]
    Foreign,
}

/// What a snapshot holds.
pub(super) struct Snapshot {
    pub(super) lexicon: Lexicon,
    pub(super) documents: Vec<(ContentHash, Arc<Prepared>)>,
    /// Words of the first documents that the shelf read.
    pub(super) first_words: usize,
}

/// Writes what was read: the words that `lexicon` gained, and `documents`.
pub(super) fn write(
    lexicon: &Lexicon,
    table: Option<&'static Table>,
    documents: &[(ContentHash, Arc<Prepared>)],
    first_words: usize,
) -> Vec<u8> {
    let base = Lexicon::new(table);
    let mut out = Writer(Vec::new());
    out.0.extend_from_slice(MAGIC);
    out.0.extend_from_slice(fingerprint(table).as_bytes());
    let vocabulary = &lexicon.vocabulary;
    out.number(first_words);
    let stems = vocabulary.terms_from(base.vocabulary.term_count());
    out.number(stems.len());
    for stem in stems {
        out.text(stem);
    }
    out.number(vocabulary.word_count() - base.vocabulary.word_count());
    for (_, word) in vocabulary.words_from(base.vocabulary.word_count()) {
        out.text(&word.text);
        out.u32(word.term);
        let tokens = vocabulary.tokens(word);
        out.number(tokens.len());
        for token in tokens {
            out.u16(*token);
        }
    }
    out.number(documents.len());
    for (key, document) in documents {
        out.0.extend_from_slice(key.as_bytes());
        write_document(document, &mut out);
    }
    let checksum = ContentHash::of_bytes(&out.0);
    out.0.extend_from_slice(checksum.as_bytes());
    out.0
}

/// Reads what [`write()`] wrote with the same `table`.
pub(super) fn read(bytes: &[u8], table: Option<&'static Table>) -> Result<Snapshot, SnapshotError> {
    let content = bytes.len().checked_sub(HASH).ok_or(SnapshotError::Damaged)?;
    let (content, checksum) = bytes.split_at(content);
    let content = content.strip_prefix(MAGIC).ok_or(SnapshotError::Foreign)?;
    let (version, content) = content.split_at_checked(HASH).ok_or(SnapshotError::Damaged)?;
    if ContentHash::of_bytes(&bytes[..bytes.len() - HASH]).as_bytes() != checksum {
        return Err(SnapshotError::Damaged);
    }
    if fingerprint(table).as_bytes() != version {
        return Err(SnapshotError::Foreign);
    }
    read_content(&mut Source(content), table).ok_or(SnapshotError::Damaged)
}

fn read_content(source: &mut Source<'_>, table: Option<&'static Table>) -> Option<Snapshot> {
    let mut lexicon = Lexicon::new(table);
    let first_words = source.number()?;
    let vocabulary = &mut lexicon.vocabulary;
    for _ in 0..source.number()? {
        let stem = source.text()?;
        let next = vocabulary.term_count() as TermId;
        (vocabulary.intern_stem(stem) == next).then_some(())?;
    }
    let mut tokens = Vec::new();
    for _ in 0..source.number()? {
        let (text, term) = (source.text()?, source.u32()?);
        tokens.clear();
        for _ in 0..source.number()? {
            tokens.push(source.u16()?);
        }
        let known = term == STOP || (term as usize) < vocabulary.term_count();
        let rows = tokens.iter().all(|token| table.is_some_and(|table| usize::from(*token) < table.len()));
        (known && rows && vocabulary.word(text).is_none()).then_some(())?;
        vocabulary.push(text.into(), term, &tokens);
    }
    let terms = vocabulary.term_count();
    let mut documents = Vec::new();
    for _ in 0..source.number()? {
        let key = ContentHash::from_bytes(source.take(HASH)?.try_into().ok()?);
        documents.push((key, Arc::new(read_document(source, terms, table.is_some())?)));
    }
    let Lexicon { vocabulary, near, .. } = &mut lexicon;
    near.extend(vocabulary);
    source.0.is_empty().then_some(Snapshot { lexicon, documents, first_words })
}

fn write_document(document: &Prepared, out: &mut Writer) {
    for text in [&document.server, &document.name, &document.title] {
        out.text(text);
    }
    out.number(document.spellings.len());
    for hash in &document.spellings {
        out.0.extend_from_slice(&hash.to_le_bytes());
    }
    out.number(document.entries.len());
    for entry in &document.entries {
        out.u32(entry.term);
        out.u16(entry.steps());
        out.u16(entry.fields);
    }
    if let Some(vector) = &document.vector {
        out.u32(vector.scale.to_bits());
        out.0.extend(vector.numbers.iter().map(|number| number.cast_unsigned()));
    }
}

fn read_document(source: &mut Source<'_>, terms: usize, dense: bool) -> Option<Prepared> {
    let (server, name, title) = (source.text()?, source.text()?, source.text()?);
    let mut spellings = Vec::new();
    for _ in 0..source.number()? {
        spellings.push(u64::from_le_bytes(source.take(8)?.try_into().ok()?));
    }
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..source.number()? {
        let entry = Entry::new(source.u32()?, source.u16()?, source.u16()?);
        let after = entries.last().is_none_or(|last| last.term < entry.term);
        (after && (entry.term as usize) < terms).then_some(())?;
        entries.push(entry);
    }
    let vector = if dense {
        let scale = f32::from_bits(source.u32()?);
        let numbers: &[u8; DIMENSIONS] = source.take(DIMENSIONS)?.try_into().ok()?;
        let numbers = numbers.map(u8::cast_signed);
        (scale.is_finite() && !numbers.contains(&i8::MIN)).then_some(())?;
        Some(Box::new(Packed { numbers, scale }))
    } else {
        None
    };
    Some(Prepared {
        plain: names::plain(name).into(),
        server: server.into(),
        name: name.into(),
        title: title.into(),
        spellings: spellings.into(),
        entries: entries.into(),
        vector,
    })
}

/// What tells this program from others: its version, the words it knows from the start, and what it makes of a tool.
fn fingerprint(table: Option<&'static Table>) -> ContentHash {
    let lexicon = Lexicon::new(table);
    let text = "Sends messages (e-mails, PRs) to a user's getHTTPResponse channel. Zürich 東京 weather, forecasts; k8s pods 42.";
    let probe = Document {
        name: "mcp__probe-server__create_GitHubIssue_v2".to_owned(),
        title: "Issue maker".to_owned(),
        server: "probe-server".to_owned(),
        server_summary: "Makes and closes issues.".to_owned(),
        description: text.to_owned(),
        parameters: vec![Parameter {
            name: "repositoryName".to_owned(),
            description: "Where to, owner/name".to_owned(),
            enum_values: vec!["open".to_owned(), "closed".to_owned()],
            nested: false,
        }],
        tags: vec!["work".to_owned()],
    };
    let mut reader = Reader::new(&lexicon.vocabulary, table);
    let mut out = Writer(Vec::new());
    write_document(&reader.read(&probe), &mut out);
    out.text(&format!("{:?}", reader.finish()));
    out.text(env!("CARGO_PKG_VERSION"));
    out.number(lexicon.vocabulary.word_count());
    out.number(lexicon.vocabulary.term_count());
    out.number(table.map_or(0, Table::len));
    ContentHash::of_bytes(&out.0)
}

/// Bytes in the making; numbers with the lowest byte first.
struct Writer(Vec<u8>);

impl Writer {
    fn u16(&mut self, number: u16) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A count, of which nothing here has more than 32 bits hold.
    fn number(&mut self, number: usize) {
        self.u32(number as u32);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// Bytes that are left to read. Everything is `None` where there are too few.
struct Source<'a>(&'a [u8]);

impl<'a> Source<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn number(&mut self) -> Option<usize> {
        Some(self.u32()? as usize)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        std::str::from_utf8(self.take(length)?).ok()
    }
}

#[cfg(test)]
mod tests;
