//! Where indexes get their documents from: each is read once, however many indexes hold it, and kept as long as one does.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak},
};

use super::{
    super::{Document, RankerKind, dense::Table},
    Lexical,
    lexicon::Lexicon,
    prepare::{News, Prepared, Reader},
    snapshot::{self, SnapshotError},
};
use crate::ContentHash;

/// Fewest documents that are worth a thread of their own.
const MIN_PER_THREAD: usize = 256;
/// Forgotten documents are swept away when so many have been added since the last time.
const SWEEP_EVERY: usize = 4_096;
/// A shelf starts anew when it knows this many words more than twice those of its first documents: most of them are then
/// from documents that are gone.
const SPARE_WORDS: usize = 50_000;

/// Reads documents for indexes, and shares what it read between them. An engine keeps one for all of its views, so that
/// a view's index, or the same view's after a source changed, costs no more than what is new in it.
#[derive(Debug)]
pub struct Shelf {
    /// Without and with vectors.
    kinds: [Mutex<Held>; 2],
    threads: usize,
}

#[derive(Debug, Default)]
struct Held {
    stock: Option<Arc<Stock>>,
    /// The index that was made last: the next one seldom differs much.
    last: Option<Arc<Lexical>>,
}

/// The words and documents that some indexes share.
#[derive(Debug)]
pub(super) struct Stock {
    lexicon: RwLock<Lexicon>,
    table: Option<&'static Table>,
    prepared: Mutex<Known>,
    /// What a snapshot held, until an index holds it.
    restored: Mutex<Vec<Arc<Prepared>>>,
}

#[derive(Debug, Default)]
struct Known {
    documents: HashMap<ContentHash, Weak<Prepared>>,
    added: usize,
    /// Documents read since a snapshot was written.
    unsaved: usize,
    /// Words after the first documents.
    first_words: usize,
}

/// The documents that an index is to hold, each made only if it is not known yet.
pub struct Corpus<'a> {
    /// How many there are.
    pub len: usize,
    /// Tells documents apart: equal only for equal documents.
    pub key: &'a (dyn Fn(usize) -> ContentHash + Sync),
    /// The document at a position.
    pub document: &'a (dyn Fn(usize) -> Document + Sync),
}

impl std::fmt::Debug for Corpus<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Corpus({} documents)", self.len)
    }
}

impl Default for Shelf {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Shelf {
    /// An empty shelf that reads with so many threads (at least one) where there is much to read.
    pub fn new(threads: usize) -> Self {
        Self { kinds: Default::default(), threads: threads.max(1) }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Does both, at the same time if this shelf may use threads and there are enough documents.
    pub(super) fn join<A: Send, B>(
        &self,
        documents: usize,
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B,
    ) -> (A, B) {
        if self.threads == 1 || documents < 2 * MIN_PER_THREAD {
            return (a(), b());
        }
        std::thread::scope(|scope| {
            let first = scope.spawn(a);
            let second = b();
            (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
        })
    }

    fn held(&self, dense: bool) -> MutexGuard<'_, Held> {
        lock(&self.kinds[usize::from(dense)])
    }

    /// What indexes with or without dense evidence share, and the one made last.
    pub(super) fn open(&self, dense: bool) -> (Arc<Stock>, Option<Arc<Lexical>>) {
        let mut held = self.held(dense);
        if held.stock.as_ref().is_some_and(|stock| stock.is_worn()) {
            *held = Held::default();
        }
        let stock = held.stock.get_or_insert_with(|| Arc::new(Stock::new(dense)));
        (Arc::clone(stock), held.last.clone())
    }

    /// Keeps an index for the next one to be made from.
    pub(super) fn keep(&self, dense: bool, index: &Arc<Lexical>) {
        let mut held = self.held(dense);
        if held.stock.as_ref().is_some_and(|stock| Arc::ptr_eq(stock, &index.stock)) {
            let before = held.last.replace(Arc::clone(index));
            drop(held);
            drop((before, std::mem::take(&mut *lock(&index.stock.restored))));
        }
    }

    /// How many documents were read for such indexes and are in no snapshot.
    pub fn unsaved(&self, kind: RankerKind) -> usize {
        self.held(kind.is_dense()).stock.as_ref().map_or(0, |stock| lock(&stock.prepared).unsaved)
    }

    /// What was read for such indexes, for [`Shelf::restore`]. `None` for a ranker that does not use a shelf, and where
    /// nothing was read.
    pub fn snapshot(&self, kind: RankerKind) -> Option<Vec<u8>> {
        let stock = self.held(kind.is_dense()).stock.clone().filter(|_| kind != RankerKind::Bm25)?;
        let (mut documents, first_words) = {
            let mut known = lock(&stock.prepared);
            known.unsaved = 0;
            let alive = |(key, document): (&ContentHash, &Weak<Prepared>)| Some((*key, document.upgrade()?));
            (known.documents.iter().filter_map(alive).collect::<Vec<_>>(), known.first_words)
        };
        // Settled before what follows is read, so that it holds every word of these.
        documents.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        (!documents.is_empty()).then(|| snapshot::write(&stock.lexicon(), stock.table, &documents, first_words))
    }

    /// Takes in a snapshot, so that indexes need not read what it holds. Of no effect once something was read. How many
    /// documents it held.
    pub fn restore(&self, kind: RankerKind, bytes: &[u8]) -> Result<usize, SnapshotError> {
        let dense = kind.is_dense();
        if kind == RankerKind::Bm25 || self.held(dense).stock.is_some() {
            return Ok(0);
        }
        let stock = Stock::restore(dense, bytes)?;
        let count = lock(&stock.restored).len();
        self.held(dense).stock.get_or_insert_with(|| Arc::new(stock));
        Ok(count)
    }
}

impl Stock {
    fn new(dense: bool) -> Self {
        let table = Table::built_in().filter(|_| dense);
        Self {
            lexicon: RwLock::new(Lexicon::new(table)),
            table,
            prepared: Mutex::default(),
            restored: Mutex::default(),
        }
    }

    fn restore(dense: bool, bytes: &[u8]) -> Result<Self, SnapshotError> {
        let table = Table::built_in().filter(|_| dense);
        let snapshot::Snapshot { lexicon, documents, first_words } = snapshot::read(bytes, table)?;
        let known = documents.iter().map(|(key, document)| (*key, Arc::downgrade(document))).collect();
        Ok(Self {
            lexicon: RwLock::new(lexicon),
            table,
            prepared: Mutex::new(Known { documents: known, first_words, ..Known::default() }),
            restored: Mutex::new(documents.into_iter().map(|(_, document)| document).collect()),
        })
    }

    /// What is shared about words, for as long as the guard is held.
    pub(super) fn lexicon(&self) -> RwLockReadGuard<'_, Lexicon> {
        self.lexicon.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn table(&self) -> Option<&'static Table> {
        self.table
    }

    fn is_worn(&self) -> bool {
        let first = lock(&self.prepared).first_words;
        first > 0 && self.lexicon().vocabulary.word_count() > 2 * first + SPARE_WORDS
    }

    /// The documents of `corpus`, in its order: those that are `found` already, and the others.
    pub(super) fn take(
        &self,
        corpus: &Corpus<'_>,
        keys: &[ContentHash],
        mut found: Vec<Option<Arc<Prepared>>>,
        threads: usize,
    ) -> Vec<Arc<Prepared>> {
        {
            let known = lock(&self.prepared);
            for (place, key) in found.iter_mut().zip(keys).filter(|(place, _)| place.is_none()) {
                *place = known.documents.get(key).and_then(Weak::upgrade);
            }
        }
        let missing: Vec<usize> = (0..corpus.len).filter(|&at| found[at].is_none()).collect();
        if !missing.is_empty() {
            let read = self.read(&missing, corpus, threads);
            let words = self.lexicon().vocabulary.word_count();
            let mut known = lock(&self.prepared);
            for (&at, document) in missing.iter().zip(read) {
                let document = Arc::new(document);
                known.documents.insert(keys[at], Arc::downgrade(&document));
                found[at] = Some(document);
            }
            known.added += missing.len();
            known.unsaved += missing.len();
            if known.added > SWEEP_EVERY.max(known.documents.len() / 2) {
                known.documents.retain(|_, document| document.strong_count() > 0);
                known.added = 0;
            }
            if known.first_words == 0 {
                known.first_words = words;
            }
        }
        found.into_iter().flatten().collect()
    }

    /// Reads the documents at some positions.
    fn read(&self, positions: &[usize], corpus: &Corpus<'_>, threads: usize) -> Vec<Prepared> {
        let pieces = threads.min(positions.len().div_ceil(MIN_PER_THREAD)).max(1);
        let mut parts: Vec<(Vec<Prepared>, News)> = {
            let lexicon = self.lexicon();
            let read = |positions: &[usize]| {
                let mut reader = Reader::new(&lexicon.vocabulary, self.table);
                let documents = positions.iter().map(|&at| reader.read(&(corpus.document)(at))).collect();
                (documents, reader.finish())
            };
            let mut chunks = positions.chunks(positions.len().div_ceil(pieces));
            let first = chunks.next().unwrap_or_default();
            std::thread::scope(|scope| {
                let others: Vec<_> = chunks.map(|chunk| scope.spawn(move || read(chunk))).collect();
                let mut parts = vec![read(first)];
                for other in others {
                    match other.join() {
                        Ok(part) => parts.push(part),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
                parts
            })
        };
        let terms: Vec<_> = {
            let mut lexicon = self.lexicon.write().unwrap_or_else(PoisonError::into_inner);
            let Lexicon { vocabulary, near, .. } = &mut *lexicon;
            let terms = parts.iter().map(|(_, news)| news.add_to(vocabulary)).collect();
            near.extend(vocabulary);
            terms
        };
        for ((documents, _), terms) in parts.iter_mut().zip(&terms) {
            for document in documents {
                document.settle(terms);
            }
        }
        parts.into_iter().flat_map(|(documents, _)| documents).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
