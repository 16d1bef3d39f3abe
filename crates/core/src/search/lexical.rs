//! The default ranker (`retrieval.md` §5–6, with what its parts gained there).
//!
//! Words of identifiers and prose, of any script, stemmed ([`tokenize`]); weighted fields ([`Field`]); synonyms,
//! abbreviations and misspellings ([`plan`]); name coverage, clause evidence and server evidence ([`score`]).
//! Ties go by name.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use super::{Document, Hit, Ranker, topk::TopK};

mod clauses;
mod fields;
mod plan;
mod postings;
mod score;
mod stop;
mod synonyms;
mod tokenize;
mod typo;
mod vocabulary;

pub use fields::Field;
pub use plan::Evidence;
use plan::Plan;
use postings::Postings;
use score::Scratch;
use synonyms::Synonyms;
use typo::NearWords;
use vocabulary::Vocabulary;

/// Most scratch spaces kept for reuse.
const MAX_SPARE: usize = 8;

/// The default ranker's index.
#[derive(Debug)]
pub struct Lexical {
    vocabulary: Vocabulary,
    postings: Postings,
    synonyms: Synonyms,
    near: NearWords,
    /// Documents are kept by (server, name); a server is a range of them.
    servers: Vec<Server>,
    /// Position in the documents given, by internal number.
    given: Vec<u32>,
    /// Place among all names in order, by internal number, and the reverse.
    place: Vec<u32>,
    by_place: Vec<u32>,
    spare: Mutex<Vec<Scratch>>,
}

/// The documents of one server.
#[derive(Debug)]
struct Server {
    documents: Range<usize>,
}

impl Lexical {
    /// Indexes the documents.
    pub fn build(documents: &[Document]) -> Self {
        let mut given: Vec<u32> = (0..documents.len() as u32).filter(|&at| !documents[at as usize].name.is_empty()).collect();
        let key = |&at: &u32| {
            let document = &documents[at as usize];
            (&document.server, &document.name, at)
        };
        given.sort_unstable_by_key(key);
        let mut by_place: Vec<u32> = (0..given.len() as u32).collect();
        by_place.sort_unstable_by_key(|&at| (&documents[given[at as usize] as usize].name, at));
        let mut place = vec![0; given.len()];
        for (number, &document) in by_place.iter().enumerate() {
            place[document as usize] = number as u32;
        }
        let mut servers: Vec<Server> = Vec::new();
        for group in given.chunk_by(|&a, &b| documents[a as usize].server == documents[b as usize].server) {
            let start = servers.last().map_or(0, |server| server.documents.end);
            servers.push(Server { documents: start..start + group.len() });
        }
        let mut vocabulary = Vocabulary::new();
        let postings = Postings::build(given.iter().map(|&at| &documents[at as usize]), &mut vocabulary);
        let synonyms = Synonyms::new(&vocabulary);
        let near = NearWords::new(&vocabulary);
        Self { vocabulary, postings, synonyms, near, servers, given, place, by_place, spare: Mutex::default() }
    }
}

impl Ranker for Lexical {
    fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        if limit == 0 || self.given.is_empty() {
            return Vec::new();
        }
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = spare.unwrap_or_default();
        let plan = Plan::new(query, self, &mut scratch.slots);
        scratch.score(&plan, self);
        scratch.add_server_evidence(self);
        let mut top = TopK::new(limit, self.given.len());
        let mut floor = f64::NEG_INFINITY;
        for (number, &score) in scratch.scores.iter().enumerate() {
            if score > 0.0 && f64::from(score) >= floor {
                top.push(self.place[number], f64::from(score));
                floor = top.floor();
            }
        }
        let mut pool = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < MAX_SPARE {
            pool.push(scratch);
        }
        drop(pool);
        let given = |place: u32| self.given[self.by_place[place as usize] as usize] as usize;
        top.into_sorted().into_iter().map(|(place, score)| Hit { index: given(place), score }).collect()
    }

    fn len(&self) -> usize {
        self.given.len()
    }
}
