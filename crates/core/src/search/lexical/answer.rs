//! Whether a document answers a query at all, and why it was found.

use std::sync::Arc;

use super::{
    Lexical, NameMatch,
    fields::Field,
    plan::{Evidence, Plan},
    prepare::Entry,
    vocabulary::Vocabulary,
};

/// Share of a known word's information that a document gives which holds it by this evidence.
const fn strength(evidence: Evidence) -> f32 {
    match evidence {
        Evidence::Word => 1.0,
        Evidence::Typo | Evidence::Abbreviation => 0.9,
        Evidence::Translation => 0.8,
        Evidence::Prefix => 0.7,
        Evidence::Synonym => 0.6,
    }
}

/// The same for where it holds it: what a tool takes says less of what it does.
const WEAK_FIELD: f32 = 0.6;
/// What the absence of a word counts that the catalog lacks altogether: it may be a paraphrase.
const UNKNOWN_ABSENCE: f32 = 0.4;
/// The same when the query has no more than [`FEW_WORDS`] words: whoever says little means every word.
const UNKNOWN_ABSENCE_OF_FEW: f32 = 0.8;
/// Most words of a terse query.
const FEW_WORDS: usize = 3;
/// Smallest share at which a query of 0, 1, 2, … words that count is answered; longer ones as the last. A long request
/// says much that is not about the tool.
const FLOORS: [f32; 13] = [0.5, 0.5, 0.5, 0.4, 0.33, 0.29, 0.25, 0.22, 0.19, 0.17, 0.16, 0.15, 0.13];
/// What is demanded of a request of several clauses: a tool need only answer one.
const CLAUSES_LENIENCY: f32 = 0.7;
/// Share of its name that the query must cover for a document to be well named for it.
const WELL_NAMED: f32 = 0.7;
/// What is demanded of a well named document.
const WELL_NAMED_LENIENCY: f32 = 0.6;
/// What is demanded, as a multiple of the floor, of a document as near to what the query is about as the first number
/// says; between these in proportion. Measured on queries held against catalogs that answer them and catalogs of other
/// things (docs/benchmarks.md): nearness tells the two apart better than words do.
const DEMANDS: [(f32, f32); 3] = [(0.15, 3.2), (0.25, 0.7), (0.55, 0.16)];
/// The same of a query of at most [`FEW_WORDS`] words that count.
const DEMANDS_OF_FEW: [(f32, f32); 3] = [(0.1, 1.2), (0.35, 1.0), (0.55, 0.12)];
/// How near a document must be for nothing more to be demanded: it is about the same in other words.
const SAME: f32 = 0.5;
/// Most that is demanded of a document for being far from what the query is about.
const MOST_DEMANDED: f32 = 0.8;
/// What the absence of a product counts that the catalog lacks altogether.
const PRODUCT_ABSENCE: f32 = 1.5;
/// What the absence of a word of another language counts that is not translated: we lack it, not the catalog.
const STRANGE_ABSENCE: f32 = 0.2;
/// What the absence of a likely value counts.
const VALUE_ABSENCE: f32 = 0.1;
/// Most documents that are looked at for an answer.
pub(super) const CANDIDATES: usize = 10;

/// What a query is about, in units of rarity.
#[derive(Debug)]
pub(super) struct Information {
    /// By word: what its presence counts, and its absence.
    words: Vec<(f32, f32)>,
    /// Words, likely values counted half.
    count: usize,
    /// Multiplies the floor.
    leniency: f32,
    /// Whether it names a widely known service that the catalog never mentions.
    missing_product: bool,
}

impl Information {
    pub(super) fn of(plan: &Plan, index: &Lexical) -> Self {
        let mut information = Self {
            words: Vec::with_capacity(plan.words.len()),
            count: 0,
            leniency: 1.0,
            missing_product: plan.words.iter().any(|word| word.missing_product),
        };
        let (values, words): (Vec<_>, Vec<_>) =
            plan.words.iter().filter(|word| !word.joined).partition(|word| word.value);
        information.count = words.len() + values.len().div_ceil(2);
        information.leniency = if plan.clauses == 0 { 1.0 } else { CLAUSES_LENIENCY };
        let unknown = index.postings.unknown_idf();
        for word in &plan.words {
            let amount = word.term.map_or(unknown, |term| index.postings.idf(term));
            let absence = match word.term {
                _ if word.joined => 0.0,
                _ if word.missing_product => PRODUCT_ABSENCE,
                _ if word.value => VALUE_ABSENCE,
                None if word.strange => STRANGE_ABSENCE,
                Some(_) => 1.0,
                None if information.count <= FEW_WORDS => UNKNOWN_ABSENCE_OF_FEW,
                None => UNKNOWN_ABSENCE,
            };
            information.words.push((amount, amount * absence));
        }
        information
    }

    /// The share of the query's information that the document holds, 0 to 1.
    pub(super) fn share(&self, plan: &Plan, document: u32, index: &Lexical) -> f32 {
        let weak = Field::ParameterName.bit() | Field::ParameterText.bit() | Field::ServerSummary.bit();
        let mut best = vec![0.0f32; self.words.len()];
        for term in &plan.terms {
            let Some(entry) = index.documents[document as usize].entry(term.term) else { continue };
            let place = if entry.fields & !weak == 0 { WEAK_FIELD } else { 1.0 };
            let best = &mut best[term.word as usize];
            *best = best.max(place * strength(term.evidence));
        }
        let (mut held, mut total) = (0.0, 0.0);
        for (&(presence, absence), share) in self.words.iter().zip(best) {
            held += presence * share;
            total += if share > 0.0 { presence.max(absence) } else { absence };
        }
        if total > 0.0 { held / total } else { 0.0 }
    }

    /// Whether the document holds enough of what the query is about, or is plainly about the same.
    pub(super) fn answered_by(&self, plan: &Plan, document: u32, similarity: Option<f32>, index: &Lexical) -> bool {
        let share = self.share(plan, document, index);
        let floor = self.demanded(similarity, plan.known_share);
        share >= floor || (share >= floor * WELL_NAMED_LENIENCY && name_coverage(plan, document, index) >= WELL_NAMED)
    }

    /// The share that a document must hold for the query to count as answered by it.
    pub(super) fn demanded(&self, similarity: Option<f32>, known_share: f32) -> f32 {
        // To be about the same is no answer to a request that names a service which is not there.
        let similarity = similarity.filter(|_| !self.missing_product);
        similarity.map_or(self.floor(), |near| self.demand(near, known_share))
    }

    /// The share demanded of a document that is so near to what the query is about. What the vectors know nothing of
    /// (`known_share` below 1) is not held against it.
    fn demand(&self, near: f32, known_share: f32) -> f32 {
        let between = |(from, more): (f32, f32), (to, less): (f32, f32)| {
            more + (less - more) * ((near - from) / (to - from)).clamp(0.0, 1.0)
        };
        let [far, middle, near_enough] = if self.count <= FEW_WORDS { DEMANDS_OF_FEW } else { DEMANDS };
        let floor = self.floor();
        if near >= SAME {
            return 0.0;
        }
        if near >= middle.0 {
            return floor * between(middle, near_enough);
        }
        let usual = floor * middle.1;
        let more = (floor * between(far, middle)).min(MOST_DEMANDED) - usual;
        usual + more.max(0.0) * known_share
    }

    /// The share that is demanded where nothing is known of how near a document is.
    fn floor(&self) -> f32 {
        FLOORS[self.count.min(FLOORS.len() - 1)] * self.leniency
    }
}

/// Share of the information of the document's name that the query covers.
pub(super) fn name_coverage(plan: &Plan, document: u32, index: &Lexical) -> f32 {
    let covering = plan.terms.iter().filter(|term| {
        term.weight >= 1.0 && index.documents[document as usize].entry(term.term).is_some_and(Entry::is_in_name)
    });
    covering.map(|term| index.postings.idf(term.term)).sum::<f32>() * index.postings.name_scale()[document as usize]
}

/// Why a document was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Position in the documents given.
    pub index: usize,
    /// Its score for the query alone, before exact names and servers: 1 is the best found.
    pub score: f32,
    /// The query's words that it holds, the weightiest first.
    pub matches: Vec<Match>,
    /// Share of its name's information that the query covers.
    pub name_coverage: f32,
    /// How near it is to what the query is about, 1 for the same; `None` without dense evidence.
    pub similarity: Option<f32>,
    /// The encoder whose evidence counted instead, and how near it says that the document is.
    pub encoded: Option<(Arc<str>, f32)>,
    /// Share of the query's information that it holds.
    pub answered: f32,
    /// Smallest such share at which this document counts as an answer, by how near it is (less where the query covers its name).
    pub answered_floor: f32,
    /// Whether the document holds enough to count as an answer.
    pub answers: bool,
    /// What the best tool of its server adds.
    pub server: f32,
    /// How the query names it, if it does.
    pub name: Option<NameMatch>,
}

/// One word of a query that a document holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The word as the query has it.
    pub word: String,
    /// The stem that the document holds.
    pub term: String,
    /// How the one led to the other.
    pub evidence: Evidence,
    /// Where the document holds it.
    pub fields: Vec<Field>,
    /// What it is worth, before names and clauses are taken into account.
    pub worth: f32,
}

/// The terms of the plan that a document holds.
pub(super) fn matches(plan: &Plan, document: u32, index: &Lexical, vocabulary: &Vocabulary) -> Vec<Match> {
    let mut matches: Vec<Match> = plan
        .terms
        .iter()
        .filter_map(|term| {
            let entry = index.documents[document as usize].entry(term.term)?;
            Some(Match {
                word: plan.words[term.word as usize].text.clone(),
                term: vocabulary.term_text(term.term).to_owned(),
                evidence: term.evidence,
                fields: entry.fields().collect(),
                worth: term.weight * index.postings.idf(term.term) * entry.impact(),
            })
        })
        .collect();
    matches.sort_by(|a, b| b.worth.total_cmp(&a.worth).then_with(|| a.term.cmp(&b.term)));
    matches
}
