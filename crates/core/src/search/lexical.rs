//! The default ranker (`retrieval.md` §5–6, with what its parts gained there).
//!
//! - `tokenize`, `vocabulary`: words of identifiers and prose, of any script, stemmed.
//! - `postings`, `fields`: what each word is worth in each document, by weighted fields.
//! - `request`: the query's form; `plan`, `synonyms`, `translations`, `typo`, `clauses`: from its words to terms.
//! - `score`: sums, name coverage, clause evidence, server evidence.
//! - `names`: exact names first, server labels; `answer`: an empty answer rather than filler, and explanations.
//!
//! Equal scores go by name. The documents' order does not matter.

use std::{
    cmp::Ordering,
    fmt,
    sync::{Mutex, PoisonError},
};

use super::{Document, Hit, Ranker, topk::TopK};

mod answer;
mod clauses;
mod fields;
mod names;
mod plan;
mod postings;
mod products;
mod request;
mod score;
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
pub use names::NameMatch;
use names::Names;
pub use plan::Evidence;
use plan::Plan;
use postings::Postings;
use request::Request;
use score::Scratch;
use synonyms::Synonyms;
use tokenize::{TokenKind, Tokenizer};
use translations::Translations;
use typo::NearWords;
use vocabulary::Vocabulary;

/// Most scratch spaces kept for reuse.
const MAX_SPARE: usize = 8;
/// Score of a tool that was found by letters inside its name only, as in the reference.
const PART_OF_NAME_SCORE: f64 = 0.1;

/// How to search, beside the query.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Most hits.
    pub limit: usize,
    /// Hits to pass over before the first one returned.
    pub offset: usize,
    /// Where the tool is likely to be: a server's label, or words about it. Raises, never excludes.
    pub server_hint: &'a str,
    /// Which documents (by position in those given) may be returned; all if `None`.
    pub keep: Option<&'a dyn Fn(usize) -> bool>,
    /// Whether a query that no document answers gets an empty answer instead of the nearest documents. Default true.
    pub answerable_only: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { limit: 5, offset: 0, server_hint: "", keep: None, answerable_only: true }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("limit", &self.limit)
            .field("offset", &self.offset)
            .field("server_hint", &self.server_hint)
            .field("answerable_only", &self.answerable_only)
            .finish_non_exhaustive()
    }
}

/// The default ranker's index.
#[derive(Debug)]
pub struct Lexical {
    vocabulary: Vocabulary,
    postings: Postings,
    synonyms: Synonyms,
    translations: Translations,
    near: NearWords,
    names: Names,
    /// Position in the documents given, by internal number. Internally documents are in order of (server, name), so that a
    /// server is a range.
    given: Vec<u32>,
    /// Place among all names in order, by internal number, and the reverse.
    place: Vec<u32>,
    by_place: Vec<u32>,
    spare: Mutex<Vec<Scratch>>,
}

impl Lexical {
    /// Indexes the documents. Those without a name are left out.
    pub fn build(documents: &[Document]) -> Self {
        let at = |index: u32| &documents[index as usize];
        let mut given: Vec<u32> = (0..documents.len() as u32).filter(|&index| !at(index).name.is_empty()).collect();
        given.sort_unstable_by_key(|&index| (&at(index).server, &at(index).name, index));
        let mut by_place: Vec<u32> = (0..given.len() as u32).collect();
        by_place.sort_unstable_by_key(|&number| (&at(given[number as usize]).name, number));
        let mut place = vec![0; given.len()];
        for (number, &document) in by_place.iter().enumerate() {
            place[document as usize] = number as u32;
        }
        let ordered = || given.iter().map(|&index| at(index));
        let mut vocabulary = Vocabulary::new();
        let postings = Postings::build(ordered(), &mut vocabulary);
        let synonyms = Synonyms::new(&vocabulary);
        let translations = Translations::new(&vocabulary);
        let near = NearWords::new(&vocabulary);
        let mut names = Names::new(ordered());
        names.learn_labels(&vocabulary);
        Self {
            vocabulary,
            postings,
            synonyms,
            translations,
            near,
            names,
            given,
            place,
            by_place,
            spare: Mutex::default(),
        }
    }

    /// Searches with everything that can be said beside the query.
    pub fn search_with(&self, query: &str, options: &Options<'_>) -> Vec<Hit> {
        let wanted = options.limit.saturating_add(options.offset);
        if options.limit == 0 || self.given.is_empty() {
            return Vec::new();
        }
        let request = Request::parse(query, self);
        if let Some(names) = &request.selected {
            return page(self.select(names, options), options);
        }
        let mut scratch = self.take_scratch();
        let mut hits = self.find(&request, options, wanted, &mut scratch);
        if hits.is_empty() && request.servers.is_some() {
            // What looked like a server's label may just have been the first words.
            let whole = Request { servers: None, text: super::bounded(query).trim(), ..request };
            hits = self.find(&whole, options, wanted, &mut scratch);
        }
        self.give_back(scratch);
        page(hits, options)
    }

    /// Why the document at `index` of those given was found, or would have been. `None` if nothing connects it with the
    /// query or there is no such document.
    pub fn explain(&self, query: &str, index: usize) -> Option<Explanation> {
        let document = self.given.iter().position(|&given| given as usize == index)? as u32;
        let request = Request::parse(query, self);
        let mut scratch = self.take_scratch();
        let plan = Plan::new(request.text, "", self, &mut scratch.slots);
        scratch.score(&plan, self);
        let score = scratch.scores[document as usize];
        scratch.add_server_mentions(&plan, self);
        scratch.add_server_evidence(self);
        let server = scratch.scores[document as usize] - score;
        self.give_back(scratch);
        let named = self.names.find(request.text).into_iter().find(|(_, other)| *other == document);
        let selected =
            request.selected.iter().flatten().find_map(|name| self.resolve(name).map(|at| (NameMatch::Exact, at)));
        let name = named.or(selected.filter(|(_, at)| *at == document)).map(|(quality, _)| quality);
        if score == 0.0 && name.is_none() {
            return None;
        }
        let information = Information::of(&plan, self);
        Some(Explanation {
            index,
            score,
            matches: answer::matches(&plan, document, self),
            name_coverage: answer::name_coverage(&plan, document, self),
            answered: information.share(&plan, document, self),
            answered_floor: information.floor(),
            answers: information.answered_by(&plan, document, self),
            server,
            name,
        })
    }

    /// The named documents, in the order of the names; names that mean none or several are passed over.
    fn select(&self, names: &[&str], options: &Options<'_>) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        for document in names.iter().filter_map(|name| self.resolve(name)) {
            let index = self.given[document as usize] as usize;
            if kept(options, index) && hits.iter().all(|hit| hit.index != index) {
                hits.push(Hit { index, score: 1.0 });
            }
        }
        hits
    }

    /// The document of that name: the exact one, else the only one that it can mean.
    fn resolve(&self, name: &str) -> Option<u32> {
        match self.names.find(name)[..] {
            [(NameMatch::Exact, document), ..] | [(_, document)] => Some(document),
            [(best, document), (next, _), ..] if best > next => Some(document),
            _ => None,
        }
    }

    fn find(&self, request: &Request<'_>, options: &Options<'_>, wanted: usize, scratch: &mut Scratch) -> Vec<Hit> {
        let within = |document: u32| {
            let servers = request.servers.as_ref();
            servers.is_none_or(|servers| {
                servers.iter().any(|&at| self.names.servers[at].documents.contains(&(document as usize)))
            })
        };
        let keep = |document: u32| kept(options, self.given[document as usize] as usize);
        let hit = |document: u32, score: f64| Hit { index: self.given[document as usize] as usize, score };
        if request.servers.is_some() && request.text.is_empty() {
            // A server's label alone asks for what it has.
            let all = (0..self.given.len() as u32).filter(|&document| within(document) && keep(document));
            return all.take(wanted).map(|document| hit(document, PART_OF_NAME_SCORE)).collect();
        }
        let plan = Plan::new(request.text, options.server_hint, self, &mut scratch.slots);
        let required: Vec<_> = request.required.iter().map(|word| Plan::terms_of(word, self)).collect();
        scratch.score(&plan, self);
        scratch.require(&required, self);
        if let Some(servers) = &request.servers {
            scratch.stay_in(servers, self);
        }
        if options.keep.is_some() {
            let unwanted = (0..).zip(&mut scratch.scores).filter(|(document, score)| **score > 0.0 && !keep(*document));
            unwanted.for_each(|(_, score)| *score = 0.0);
        }
        scratch.add_server_mentions(&plan, self);
        scratch.add_server_evidence(self);

        let mut named = self.names.find(request.text);
        named.retain(|(_, document)| within(*document) && keep(*document));
        let mut best = self.best(&scratch.scores, wanted.max(answer::CANDIDATES).saturating_add(named.len()));
        if named.is_empty() && options.answerable_only && !self.answers(&plan, &best) {
            best.clear();
        }
        if named.is_empty() && best.is_empty() && plan.finds_nothing() && required.is_empty() {
            let parts = self.names.containing(request.text).into_iter();
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
                .then(self.place[a.0 as usize].cmp(&self.place[b.0 as usize]))
        });
        best.retain(|(document, _)| named.iter().all(|(_, other)| other != document));
        first.into_iter().chain(best).take(wanted).map(|(document, score)| hit(document, score)).collect()
    }

    /// The highest scores with their documents, equal ones by name.
    fn best(&self, scores: &[f32], limit: usize) -> Vec<(u32, f64)> {
        let mut top = TopK::new(limit, scores.len());
        let mut floor = f64::NEG_INFINITY;
        for (chunk, places) in scores.chunks(score::LANES).zip(self.place.chunks(score::LANES)) {
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
        top.into_sorted().into_iter().map(|(place, score)| (self.by_place[place as usize], score)).collect()
    }

    /// Whether one of the best documents holds enough of what the query is about.
    fn answers(&self, plan: &Plan, best: &[(u32, f64)]) -> bool {
        let information = Information::of(plan, self);
        best.iter().take(answer::CANDIDATES).any(|&(document, _)| information.answered_by(plan, document, self))
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

fn kept(options: &Options<'_>, index: usize) -> bool {
    options.keep.is_none_or(|keep| keep(index))
}

fn page(mut hits: Vec<Hit>, options: &Options<'_>) -> Vec<Hit> {
    hits.drain(..options.offset.min(hits.len()));
    hits.truncate(options.limit);
    hits
}

impl Ranker for Lexical {
    fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.search_with(query, &Options { limit, ..Options::default() })
    }

    fn len(&self) -> usize {
        self.given.len()
    }
}

#[cfg(test)]
mod tests;
