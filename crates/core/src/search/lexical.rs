//! The default ranker (`retrieval.md` §5–6, with what its parts gained there).
//!
//! - `tokenize`, `vocabulary`: words of identifiers and prose, of any script, stemmed.
//! - `prepare`, `fields`: what each word is worth in a document, by weighted fields, and what the document is about;
//!   `shelf`, `lexicon`: what indexes share of that; `numbers`, `postings`: which documents hold a word.
//! - `request`: the query's form; `plan`, `synonyms`, `translations`, `typo`, `clauses`: from its words to terms.
//! - `score`: sums, name coverage, clause evidence, server evidence; `fuse`: with what the query is about as a whole.
//! - `names`: exact names first, server labels; `answer`: an empty answer rather than filler, and explanations.
//!
//! Equal scores go by name. The documents' order does not matter.

use std::{
    cmp::Ordering,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Document, Hit, Ranker,
    dense::{Encoded, Encoding, Vector, Vectors},
    topk::TopK,
};
use crate::ContentHash;

mod answer;
mod clauses;
mod fields;
mod fuse;
mod lexicon;
mod names;
mod numbers;
mod parts;
mod plan;
mod postings;
mod prepare;
mod products;
mod request;
mod score;
mod shelf;
mod snapshot;
mod stop;
mod synonyms;
mod tokenize;
mod translations;
mod typo;
mod values;
mod vocabulary;

use answer::Information;
pub use answer::{Explanation, Match};
pub use fields::Field;
use lexicon::Lexicon;
pub use names::NameMatch;
use names::Names;
use numbers::{GONE, Numbers};
pub use parts::{Part, Parts};
pub use plan::Evidence;
use plan::{Context, Plan};
use postings::Postings;
use prepare::Prepared;
use request::Request;
use score::Scratch;
use shelf::Stock;
pub use shelf::{Corpus, Shelf};
pub use snapshot::SnapshotError;
use tokenize::{TokenKind, Tokenizer};

/// Most scratch spaces kept for reuse.
const MAX_SPARE: usize = 8;
/// Score of a tool that was found by letters inside its name only, as in the reference.
const PART_OF_NAME_SCORE: f64 = 0.1;

/// How to search, beside the query.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Most hits.
    pub limit: usize,
    /// Where the tool is likely to be: a server's label, or words about it. Raises, never excludes.
    pub server_hint: &'a str,
    /// Which documents (by position in those given) may be returned; all if `None`.
    pub keep: Option<&'a dyn Fn(usize) -> bool>,
    /// Whether a query that no document answers gets an empty answer instead of the nearest documents. Default true.
    pub answerable_only: bool,
    /// Parts of the ranking that are left out, to see what they contribute. Default none.
    pub without: Parts,
    /// What an encoder says of the documents and of the query. It takes the place of the built-in dense evidence in the
    /// order of what is found; whether a query is answered at all still goes by the built-in one, whose cosines that was
    /// measured with. Default none.
    pub encoding: Option<Encoding<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { limit: 5, server_hint: "", keep: None, answerable_only: true, without: Parts::NONE, encoding: None }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("limit", &self.limit)
            .field("server_hint", &self.server_hint)
            .field("answerable_only", &self.answerable_only)
            .field("without", &self.without)
            .field("encoding", &self.encoding)
            .finish_non_exhaustive()
    }
}

/// The default ranker's index.
#[derive(Debug)]
pub struct Lexical {
    /// Words, shared with other indexes.
    stock: Arc<Stock>,
    /// The documents by internal number.
    documents: Vec<Arc<Prepared>>,
    numbers: Numbers,
    postings: Postings,
    names: Names,
    /// What each document is about; `None` in an index without dense evidence.
    dense: Option<Vectors>,
    spare: Mutex<Vec<Scratch>>,
}

impl Lexical {
    /// Indexes the documents, without dense evidence. Those without a name are left out.
    pub fn build(documents: &[Document]) -> Arc<Self> {
        Self::build_alone(documents, false)
    }

    /// The same with dense evidence, if this build has it.
    pub fn build_hybrid(documents: &[Document]) -> Arc<Self> {
        Self::build_alone(documents, true)
    }

    fn build_alone(documents: &[Document], dense: bool) -> Arc<Self> {
        let key = |at: usize| ContentHash::of_bytes(&at.to_le_bytes());
        let document = |at: usize| documents[at].clone();
        let corpus = Corpus { len: documents.len(), key: &key, document: &document };
        Self::build_from(&Shelf::default(), &corpus, dense)
    }

    /// Indexes the documents of a corpus, of which the shelf may know many already. `dense`: with dense evidence, if this
    /// build has it. The result answers just like one that was built from nothing.
    pub fn build_from(shelf: &Shelf, corpus: &Corpus<'_>, dense: bool) -> Arc<Self> {
        let keys: Vec<ContentHash> = (0..corpus.len).map(corpus.key).collect();
        let (stock, mut earlier) = shelf.open(dense);
        let mut old = earlier.as_ref().map_or_else(|| vec![GONE; keys.len()], |index| index.numbers.recognise(&keys));
        let known = old.iter().map(|&number| earlier.as_ref()?.documents.get(number as usize).cloned()).collect();
        let all = stock.take(corpus, &keys, known, shelf.threads());
        let kept = old.iter().filter(|number| **number != GONE).count();
        if earlier.as_ref().is_some_and(|index| kept * 2 < index.documents.len().max(keys.len())) {
            // Too little is the same for the earlier index to be of use.
            (earlier, old) = (None, vec![GONE; keys.len()]);
        }
        let (no_numbers, no_postings) = (Numbers::default(), Postings::default());
        let before = earlier.as_ref().map_or((&no_numbers, &no_postings), |index| (&index.numbers, &index.postings));
        let (numbers, renumbered, documents) = Numbers::after(before.0, keys, &old, &all);
        let read_postings = || {
            let terms = stock.lexicon().vocabulary.term_count();
            Postings::after(before.1, &renumbered, &documents, terms)
        };
        let read_rest = || {
            let mut names = Names::new(&documents);
            names.learn_labels(&stock.lexicon().vocabulary);
            let earlier = earlier.as_ref().and_then(|index| index.dense.as_ref());
            let vector = |number: usize| documents[number].vector.as_deref();
            let vectors = stock
                .table()
                .map(|_| Vectors::after(earlier, &renumbered.new, &renumbered.added, documents.len(), vector));
            (names, vectors)
        };
        let (postings, (names, vectors)) = shelf.join(renumbered.added.len(), read_postings, read_rest);
        let index = Self { stock, documents, numbers, postings, names, dense: vectors, spare: Mutex::default() };
        let index = Arc::new(index);
        shelf.keep(dense, &index);
        index
    }

    /// Whether this index has dense evidence.
    pub fn is_hybrid(&self) -> bool {
        self.dense.is_some()
    }

    /// Arranges an encoder's vectors of all documents, by their positions among those given, for searches in this index.
    /// `None` if one is missing (a document without a name needs none), if they are not of one width, if all are too large
    /// together, and in an index without dense evidence.
    pub fn encode<'v>(&self, by: Arc<str>, vector: impl Fn(usize) -> Option<&'v Vector>) -> Option<Encoded> {
        self.dense.as_ref()?;
        let given = &self.numbers.given;
        Encoded::arrange(by, given.len(), |number| vector(given[number] as usize))
    }

    /// Searches with everything that can be said beside the query.
    pub fn search_with(&self, query: &str, options: &Options<'_>) -> Vec<Hit> {
        if options.limit == 0 || self.documents.is_empty() {
            return Vec::new();
        }
        let request = Request::parse(query, self);
        let lexicon = self.stock.lexicon();
        let mut scratch = self.take_scratch();
        let mut hits = self.find(&request, options, &lexicon, &mut scratch);
        if hits.is_empty() && request.servers.is_some() {
            // What looked like a server's label may just have been the first words.
            let whole = Request { servers: None, text: super::bounded(query).trim(), ..request };
            hits = self.find(&whole, options, &lexicon, &mut scratch);
        }
        self.give_back(scratch);
        hits
    }

    /// Why the document at `index` of those given was found, or would have been. `None` if nothing connects it with the
    /// query or there is no such document.
    pub fn explain(&self, query: &str, index: usize) -> Option<Explanation> {
        self.explain_with(query, index, None)
    }

    /// The same for a search with an encoder.
    pub fn explain_with(&self, query: &str, index: usize, encoding: Option<Encoding<'_>>) -> Option<Explanation> {
        let document = self.numbers.at(index)?;
        let request = Request::parse(query, self);
        let lexicon = self.stock.lexicon();
        let context = Context { index: self, lexicon: &lexicon, without: Parts::NONE };
        let mut scratch = self.take_scratch();
        let plan = Plan::new(request.text, "", context, &mut scratch.slots);
        scratch.score(&plan, Parts::NONE, self);
        let score = scratch.scores[document as usize];
        scratch.add_server_mentions(&plan, self);
        scratch.add_server_evidence(self);
        let server = scratch.scores[document as usize] - score;
        scratch.compare(&plan, self);
        scratch.compare_encoded(request.text, encoding, self);
        let similarity = scratch.cosines.get(document as usize).copied();
        let encoded = scratch.encoded.get(document as usize).copied();
        scratch.fuse(&plan);
        let found = scratch.scores[document as usize] > 0.0;
        let named = self.names.find(request.text, &self.documents).into_iter().find(|(_, other)| *other == document);
        let name = named.map(|(quality, _)| quality);
        let information = Information::of(&plan, self);
        let explanation = (found || name.is_some()).then(|| Explanation {
            index,
            score,
            matches: answer::matches(&plan, document, self, &lexicon.vocabulary),
            name_coverage: answer::name_coverage(&plan, document, self),
            similarity,
            encoded: encoding.and_then(|encoding| Some((encoding.documents.by().clone(), encoded?))),
            answered: information.share(&plan, document, self),
            answered_floor: information.demanded(similarity, plan.known_share),
            answers: information.answered_by(&plan, document, similarity, self),
            server,
            name,
        });
        self.give_back(scratch);
        explanation
    }

    fn find(&self, request: &Request<'_>, options: &Options<'_>, lexicon: &Lexicon, scratch: &mut Scratch) -> Vec<Hit> {
        let wanted = options.limit;
        let within = |document: u32| {
            let servers = request.servers.as_ref();
            servers.is_none_or(|servers| {
                servers.iter().any(|&at| self.names.servers[at].documents.contains(&(document as usize)))
            })
        };
        let keep = |document: u32| kept(options, self.numbers.given[document as usize] as usize);
        let hit = |document: u32, score: f64| Hit { index: self.numbers.given[document as usize] as usize, score };
        if request.servers.is_some() && request.text.is_empty() {
            // A server's label alone asks for what it has.
            let all = (0..self.documents.len() as u32).filter(|&document| within(document) && keep(document));
            return all.take(wanted).map(|document| hit(document, PART_OF_NAME_SCORE)).collect();
        }
        let without = options.without;
        let context = Context { index: self, lexicon, without };
        let plan = Plan::new(request.text, options.server_hint, context, &mut scratch.slots);
        let required: Vec<_> = request.required.iter().map(|word| Plan::terms_of(word, context)).collect();
        scratch.score(&plan, without, self);
        if !without.has(Part::ServerMentions) {
            scratch.add_server_mentions(&plan, self);
        }
        if !without.has(Part::ServerEvidence) {
            scratch.add_server_evidence(self);
        }
        scratch.compare(&plan, self);
        scratch.compare_encoded(request.text, options.encoding.filter(|_| !without.has(Part::Dense)), self);
        scratch.fuse(&plan);
        scratch.require(&required, self);
        if let Some(servers) = &request.servers {
            scratch.stay_in(servers, self);
        }
        if options.keep.is_some() {
            let unwanted = (0..).zip(&mut scratch.scores).filter(|(document, score)| **score > 0.0 && !keep(*document));
            unwanted.for_each(|(_, score)| *score = 0.0);
        }

        let mut named = self.names.find(request.text, &self.documents);
        named.retain(|(_, document)| within(*document) && keep(*document));
        let mut best = self.best(&scratch.scores, wanted.max(answer::CANDIDATES).saturating_add(named.len()));
        if named.is_empty() && options.answerable_only && !self.answers(&plan, &best, &scratch.cosines) {
            best.clear();
        }
        if named.is_empty() && best.is_empty() && plan.finds_nothing() && required.is_empty() {
            let parts = Names::containing(request.text, &self.documents).into_iter();
            let parts = parts.filter(|&document| within(document) && keep(document)).take(wanted);
            return parts.map(|document| hit(document, PART_OF_NAME_SCORE)).collect();
        }
        let lift = |quality: NameMatch| 2.0 + f64::from(quality as u8);
        let score = |document: u32| f64::from(scratch.scores[document as usize]);
        let mut first: Vec<(u32, f64)> =
            named.iter().map(|&(quality, document)| (document, score(document) + lift(quality))).collect();
        first.sort_by(|a, b| {
            b.1.partial_cmp(&a.1)
                .unwrap_or(Ordering::Equal)
                .then(self.numbers.place[a.0 as usize].cmp(&self.numbers.place[b.0 as usize]))
        });
        best.retain(|(document, _)| named.iter().all(|(_, other)| other != document));
        first.into_iter().chain(best).take(wanted).map(|(document, score)| hit(document, score)).collect()
    }

    /// The highest scores with their documents, equal ones by name.
    fn best(&self, scores: &[f32], limit: usize) -> Vec<(u32, f64)> {
        let mut top = TopK::new(limit, scores.len());
        let mut floor = f64::NEG_INFINITY;
        for (chunk, places) in scores.chunks(score::LANES).zip(self.numbers.place.chunks(score::LANES)) {
            // Most chunks hold nothing of interest once the first few are read.
            let best = f64::from(score::largest(chunk));
            if best == 0.0 || best < floor {
                continue;
            }
            for (&place, &score) in places.iter().zip(chunk) {
                if score > 0.0 && f64::from(score) >= floor {
                    top.push(place, f64::from(score));
                    floor = top.floor();
                }
            }
        }
        top.into_sorted().into_iter().map(|(place, score)| (self.numbers.by_place[place as usize], score)).collect()
    }

    /// Whether one of the best documents holds enough of what the query is about.
    fn answers(&self, plan: &Plan, best: &[(u32, f64)], cosines: &[f32]) -> bool {
        let information = Information::of(plan, self);
        best.iter().take(answer::CANDIDATES).any(|&(document, _)| {
            information.answered_by(plan, document, cosines.get(document as usize).copied(), self)
        })
    }

    fn take_scratch(&self) -> Scratch {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, scratch: Scratch) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MAX_SPARE {
            spare.push(scratch);
        }
    }
}

/// The stems of a text's words, each once, in order; stop words left out.
pub fn stems(text: &str) -> Vec<String> {
    let stemmer = rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English);
    let mut stems: Vec<String> = Vec::new();
    Tokenizer::default().each(super::bounded(text), |token, kind| {
        if kind == TokenKind::Plain && stop::STOP_WORDS.binary_search(&token).is_err() {
            let stem = vocabulary::stem(&stemmer, token);
            if stems.iter().all(|known| *known != stem) {
                stems.push(stem.into_owned());
            }
        }
    });
    stems
}

/// A tool's name as words: without its server's in front, split where people would.
pub(super) fn words_of_name(name: &str, server: &str) -> String {
    let separator = |c: char| matches!(c, '_' | '-' | '.' | '/' | ':');
    let short = name.strip_prefix("mcp__").unwrap_or(name);
    let short = short.strip_prefix(server).map_or(short, |rest| rest.trim_start_matches(separator));
    let short = if short.is_empty() { name } else { short };
    if !short.is_ascii() {
        return short.replace(separator, " ");
    }
    let mut words: Vec<String> = Vec::new();
    Tokenizer::default().each(short, |token, kind| {
        if kind == TokenKind::Plain {
            words.push(token.to_owned());
        }
    });
    words.join(" ")
}

fn kept(options: &Options<'_>, index: usize) -> bool {
    options.keep.is_none_or(|keep| keep(index))
}

impl Ranker for Lexical {
    fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.search_with(query, &Options { limit, ..Options::default() })
    }

    fn len(&self) -> usize {
        self.documents.len()
    }
}

#[cfg(test)]
mod tests;
