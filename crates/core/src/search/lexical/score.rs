//! Scoring: from a plan to one number per document.

use super::{
    Lexical, Part, Parts,
    plan::{Evidence, Plan},
    prepare::IMPACT_STEP,
    vocabulary::TermId,
};

/// What a name fully covered by the query adds, as a share of the score.
const NAME_COVERAGE: f32 = 0.4;
/// Share of a request's best clause in its score.
const CLAUSE_SHARE: f32 = 0.4;
/// What the mention of a server by its label adds to the scores of its documents, as a share.
const MENTION_SHARE: f32 = 0.12;
/// Share of the best score in the same server.
const SERVER_SHARE: f32 = 0.2;

/// Arrays of one number per document (or term), reused from query to query.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) slots: Vec<u32>,
    /// The result.
    pub(super) scores: Vec<f32>,
    /// Scratch of each step in turn.
    pub(super) sums: Vec<f32>,
    covered: Vec<f32>,
    held: Vec<u8>,
    /// Products of vectors, before they are cosines.
    pub(super) products: Vec<i32>,
    /// How near each document is to what the query is about. Empty if that is not known.
    pub(super) cosines: Vec<f32>,
    /// The same by an encoder.
    pub(super) encoded: Vec<f32>,
}

impl Scratch {
    /// Scores all documents for `plan` into [`Scratch::scores`]: 0 for one that holds none of its terms, up to 1 for the
    /// best.
    pub(super) fn score(&mut self, plan: &Plan, without: Parts, index: &Lexical) {
        let n = index.postings.len();
        self.scores.clear();
        self.scores.resize(n, 0.0);
        self.sums.resize(n, 0.0);
        self.covered.resize(n, 0.0);
        let whole = if plan.clauses == 0 { 1.0 } else { 1.0 - CLAUSE_SHARE };
        for clause in 0..plan.clauses {
            let best = self.accumulate(plan, 1 << clause, without, index);
            if best > 0.0 {
                let scale = CLAUSE_SHARE / best;
                let scored = self.scores.iter_mut().zip(&self.sums);
                scored.for_each(|(score, sum)| *score = if sum * scale > *score { sum * scale } else { *score });
            }
        }
        let best = self.accumulate(plan, 0, without, index);
        if best > 0.0 {
            let scale = whole / best;
            self.scores.iter_mut().zip(&self.sums).for_each(|(score, sum)| *score += sum * scale);
        }
    }

    /// Sums what the terms of one clause (0: of all) are worth in each document, into `sums`. Returns the largest sum.
    fn accumulate(&mut self, plan: &Plan, clause: u8, without: Parts, index: &Lexical) -> f32 {
        let coverage = !without.has(Part::NameCoverage);
        let (sums, covered) = (&mut self.sums, &mut self.covered);
        sums.fill(0.0);
        covered.fill(0.0);
        for term in plan.terms.iter().filter(|term| clause == 0 || term.clauses & clause != 0) {
            let idf = index.postings.idf(term.term);
            let weight = idf * term.weight * IMPACT_STEP;
            for posting in index.postings.of(term.term) {
                sums[posting.document as usize] += weight * f32::from(posting.steps);
            }
            if coverage && term.weight >= 1.0 {
                for &document in index.postings.in_names(term.term) {
                    covered[document as usize] += idf;
                }
            }
        }
        for ((sum, covered), scale) in sums.iter_mut().zip(covered.iter()).zip(index.postings.name_scale()) {
            *sum *= 1.0 + NAME_COVERAGE * covered * scale;
        }
        largest(sums)
    }

    /// Raises the documents of servers that the query mentions by their label.
    pub(super) fn add_server_mentions(&mut self, plan: &Plan, index: &Lexical) {
        let said = plan.terms.iter().filter(|term| term.evidence <= Evidence::Abbreviation);
        let said: Vec<TermId> = said.map(|term| term.term).collect();
        for server in index.names.mentioned(&said) {
            self.scores[server.documents.clone()].iter_mut().for_each(|score| *score *= 1.0 + MENTION_SHARE);
        }
    }

    /// Adds to every found document a share of the best score in its server.
    pub(super) fn add_server_evidence(&mut self, index: &Lexical) {
        if index.names.servers.len() < 2 {
            return;
        }
        for server in &index.names.servers {
            let scores = &mut self.scores[server.documents.clone()];
            let share = SERVER_SHARE * largest(scores);
            if share > 0.0 {
                for score in scores {
                    *score += if *score > 0.0 { share } else { 0.0 };
                }
            }
        }
    }

    /// Drops the documents that do not hold one of the terms of each group.
    pub(super) fn require(&mut self, groups: &[Vec<TermId>], index: &Lexical) {
        if groups.is_empty() {
            return;
        }
        self.held.clear();
        self.held.resize(self.scores.len(), 0);
        for (number, group) in groups.iter().enumerate() {
            for posting in group.iter().flat_map(|&term| index.postings.of(term)) {
                let held = &mut self.held[posting.document as usize];
                if usize::from(*held) == number {
                    *held += 1;
                }
            }
        }
        for (score, held) in self.scores.iter_mut().zip(&self.held) {
            if usize::from(*held) < groups.len() {
                *score = 0.0;
            }
        }
    }

    /// Drops the documents outside of the servers.
    pub(super) fn stay_in(&mut self, servers: &[usize], index: &Lexical) {
        let mut at = 0;
        for &server in servers {
            let documents = &index.names.servers[server].documents;
            self.scores[at..documents.start].fill(0.0);
            at = documents.end;
        }
        self.scores[at..].fill(0.0);
    }
}

/// Scores that are looked at together.
pub(super) const LANES: usize = 16;

/// The largest of some scores, 0 if there is none above. In lanes, so that it runs at the speed of memory.
pub(super) fn largest(scores: &[f32]) -> f32 {
    let greater = |a: f32, b: f32| if a > b { a } else { b };
    let (chunks, rest) = scores.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, &score) in lanes.iter_mut().zip(chunk) {
            *lane = greater(score, *lane);
        }
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(0.0, greater)
}
