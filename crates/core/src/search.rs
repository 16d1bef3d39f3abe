//! Finding tools by words: what a document is, the two rankers, and the index that the bridge searches.
//!
//! An [`Index`] is built once from the documents that survived the policy selection (so that neither results nor
//! statistics can tell of a tool that the caller may not see), kept by whoever built it, and asked many times.
//! Everything here is pure and deterministic: the same documents and query give the same hits, whatever the order in
//! which the documents were given ([`RankerKind::Bm25`] alone keeps that order for equal scores, as its model does).
//!
//! - [`bm25`] is the reference algorithm, bit for bit in its rules, over an inverted index.
//! - [`lexical`] is ours: fields, stemming, synonyms, misspellings, clauses, servers, exact names, and an empty answer when
//!   the catalog holds nothing that the query is about. As `hybrid`, the default, it also compares what the query and each
//!   document are about, by a table of token vectors ([`dense`]); as `lexical` it does without.

use std::{fmt, str::FromStr};

pub mod bm25;
mod dense;
mod document;
pub mod lexical;
mod topk;

pub use document::{Document, Parameter};
pub use lexical::{
    Corpus, Evidence, Explanation, Field, Lexical, Match, NameMatch, Options, Part, Parts, Shelf, stems,
};

/// Most characters of a query that are read; the rest is ignored.
pub const MAX_QUERY_CHARS: usize = 2_000;

/// Most queries that one call to [`Ranker::search_many`] answers; the rest is ignored.
pub const MAX_QUERIES: usize = 16;

/// One found document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Position in the documents that the index was built from.
    pub index: usize,
    /// Larger is better. Comparable within one answer only.
    pub score: f64,
}

/// Something that orders documents by how well they answer a query.
pub trait Ranker: Send + Sync {
    /// The best `limit` documents, best first. Empty when nothing answers.
    fn search(&self, query: &str, limit: usize) -> Vec<Hit>;

    /// How many documents there are.
    fn len(&self) -> usize;

    /// Whether there is no document at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Several queries in one answer, fairly: the first hits of all queries in the order of the queries, then the second
    /// ones, and so on; a document that several queries found is named once, at its best place. Empty when no query found
    /// anything. At most [`MAX_QUERIES`] queries are read.
    fn search_many(&self, queries: &[&str], limit: usize) -> Vec<Hit> {
        if let [query] = queries {
            return self.search(query, limit);
        }
        let answers: Vec<Vec<Hit>> = queries.iter().take(MAX_QUERIES).map(|query| self.search(query, limit)).collect();
        merge_by_rank(&answers, limit)
    }
}

/// Takes the answers' hits in turn (all first ones, all second ones, …), each document once.
pub fn merge_by_rank(answers: &[Vec<Hit>], limit: usize) -> Vec<Hit> {
    let deepest = answers.iter().map(Vec::len).max().unwrap_or(0);
    let mut seen = std::collections::HashSet::new();
    let mut merged = Vec::new();
    for rank in 0..deepest {
        for hit in answers.iter().filter_map(|answer| answer.get(rank)) {
            if merged.len() == limit {
                return merged;
            }
            if seen.insert(hit.index) {
                merged.push(*hit);
            }
        }
    }
    merged
}

/// Which ranking algorithm an index uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RankerKind {
    /// The reference algorithm ([`bm25`]).
    Bm25,
    /// Words alone ([`lexical`]).
    #[cfg_attr(not(feature = "dense"), default)]
    Lexical,
    /// Words, and what the text is about as a whole. The default.
    #[cfg(feature = "dense")]
    #[default]
    Hybrid,
}

impl RankerKind {
    /// Those that this build has.
    pub const ALL: &'static [Self] = &[
        Self::Bm25,
        Self::Lexical,
        #[cfg(feature = "dense")]
        Self::Hybrid,
    ];

    fn is_dense(self) -> bool {
        !matches!(self, Self::Bm25 | Self::Lexical)
    }
}

/// A ranker name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown ranker `{0}`: use {ranker_names}", ranker_names = NAMES)]
pub struct UnknownRanker(pub String);

const NAMES: &str = if cfg!(feature = "dense") {
    "`hybrid`, `lexical` or `bm25`"
} else {
    "`lexical` or `bm25`; this build has no `hybrid`"
};

impl FromStr for RankerKind {
    type Err = UnknownRanker;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().to_ascii_lowercase().as_str() {
            "bm25" => Ok(Self::Bm25),
            "lexical" => Ok(Self::Lexical),
            #[cfg(feature = "dense")]
            "hybrid" => Ok(Self::Hybrid),
            _ => Err(UnknownRanker(text.chars().take(64).collect())),
        }
    }
}

impl fmt::Display for RankerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bm25 => "bm25",
            Self::Lexical => "lexical",
            #[cfg(feature = "dense")]
            Self::Hybrid => "hybrid",
        })
    }
}

/// An index of one kind, ready to be searched from any number of threads.
#[derive(Debug)]
pub enum Index {
    /// The reference algorithm.
    Bm25(bm25::Bm25),
    /// Ours, with or without dense evidence.
    Lexical(Box<Lexical>),
}

impl Index {
    /// Builds an index over `documents`; hits name them by their position here.
    pub fn build(kind: RankerKind, documents: &[Document]) -> Self {
        match kind {
            RankerKind::Bm25 => Self::Bm25(bm25::Bm25::build(documents)),
            RankerKind::Lexical => Self::Lexical(Box::new(Lexical::build(documents))),
            #[cfg(feature = "dense")]
            RankerKind::Hybrid => Self::Lexical(Box::new(Lexical::build_hybrid(documents))),
        }
    }

    /// The same over documents of which `shelf` may know many already; hits name them by their position in `corpus`.
    pub fn build_from(kind: RankerKind, shelf: &Shelf, corpus: &Corpus<'_>) -> Self {
        match kind {
            RankerKind::Bm25 => {
                let documents: Vec<Document> = (0..corpus.len).map(corpus.document).collect();
                Self::Bm25(bm25::Bm25::build(&documents))
            }
            kind => Self::Lexical(Box::new(Lexical::build_from(shelf, corpus, kind.is_dense()))),
        }
    }

    /// Which algorithm this index uses.
    pub fn kind(&self) -> RankerKind {
        match self {
            Self::Bm25(_) => RankerKind::Bm25,
            #[cfg(feature = "dense")]
            Self::Lexical(lexical) if lexical.is_hybrid() => RankerKind::Hybrid,
            Self::Lexical(_) => RankerKind::Lexical,
        }
    }

    /// The best hits with all that can be said beside the query; hints and the floor of an answer are the default
    /// ranker's alone.
    pub fn search_with(&self, query: &str, options: &Options<'_>) -> Vec<Hit> {
        let bm25 = match self {
            Self::Lexical(lexical) => return lexical.search_with(query, options),
            Self::Bm25(bm25) => bm25,
        };
        let all = options.keep.is_some();
        let wanted = options.limit.saturating_add(options.offset);
        let hits = bm25.search(query, if all { bm25.len() } else { wanted });
        let kept = hits.into_iter().filter(|hit| options.keep.is_none_or(|keep| keep(hit.index)));
        kept.skip(options.offset).take(options.limit).collect()
    }

    /// Our ranker with everything that only it can do (filters, paging, server hints, explanations).
    pub fn lexical(&self) -> Option<&Lexical> {
        match self {
            Self::Lexical(lexical) => Some(lexical),
            Self::Bm25(_) => None,
        }
    }
}

impl Ranker for Index {
    fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        match self {
            Self::Bm25(bm25) => bm25.search(query, limit),
            Self::Lexical(lexical) => lexical.search(query, limit),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Bm25(bm25) => bm25.len(),
            Self::Lexical(lexical) => lexical.len(),
        }
    }
}

/// `query` without what exceeds [`MAX_QUERY_CHARS`].
fn bounded(query: &str) -> &str {
    query.char_indices().nth(MAX_QUERY_CHARS).map_or(query, |(end, _)| &query[..end])
}

#[cfg(test)]
pub(crate) mod tests;
