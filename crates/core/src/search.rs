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

use std::{fmt, str::FromStr, sync::Arc};

pub mod bm25;
mod dense;
mod document;
pub mod lexical;
mod topk;

pub use dense::{BadVector, Encoded, Encoding, MAX_DIMENSIONS, QueryVectors, Vector};
pub use document::{Document, Parameter};
pub use lexical::{
    Corpus, Evidence, Explanation, Field, Lexical, Match, NameMatch, Options, Part, Parts, Shelf, SnapshotError, stems,
};

/// Most characters of a query that are read; the rest is ignored.
pub const MAX_QUERY_CHARS: usize = 2_000;

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
    Lexical(Arc<Lexical>),
}

impl Index {
    /// Builds an index over `documents`; hits name them by their position here.
    pub fn build(kind: RankerKind, documents: &[Document]) -> Self {
        match kind {
            RankerKind::Bm25 => Self::Bm25(bm25::Bm25::build(documents)),
            RankerKind::Lexical => Self::Lexical(Lexical::build(documents)),
            #[cfg(feature = "dense")]
            RankerKind::Hybrid => Self::Lexical(Lexical::build_hybrid(documents)),
        }
    }

    /// The same over documents of which `shelf` may know many already; hits name them by their position in `corpus`.
    pub fn build_from(kind: RankerKind, shelf: &Shelf, corpus: &Corpus<'_>) -> Self {
        match kind {
            RankerKind::Bm25 => {
                let documents: Vec<Document> = (0..corpus.len).map(corpus.document).collect();
                Self::Bm25(bm25::Bm25::build(&documents))
            }
            kind => Self::Lexical(Lexical::build_from(shelf, corpus, kind.is_dense())),
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
        let hits = bm25.search(query, if options.keep.is_some() { bm25.len() } else { options.limit });
        let kept = hits.into_iter().filter(|hit| options.keep.is_none_or(|keep| keep(hit.index)));
        kept.take(options.limit).collect()
    }

    /// [`Lexical::encode`]; `None` too for the reference algorithm.
    pub fn encode<'v>(&self, by: Arc<str>, vector: impl Fn(usize) -> Option<&'v Vector>) -> Option<Encoded> {
        self.lexical()?.encode(by, vector)
    }

    /// Our ranker, which alone says why it found something.
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
