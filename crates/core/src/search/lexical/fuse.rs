//! Lexical and dense evidence in one score (`retrieval.md` §6): both as deviations from their means over the catalog, and
//! the sum of the two. Adding ranks instead of scores is worse there by far.

use super::{
    super::dense::{DIMENSIONS, Encoding, scan},
    Lexical, clauses,
    plan::Plan,
    score::Scratch,
};

/// Dense share of a query of [`FEW_WORDS`] words: the fewer the words, the more it matters what they are about.
const SHARE: f32 = 0.6;
/// What each word beyond takes from that.
const SHARE_A_WORD: f32 = 0.01;
const FEW_WORDS: usize = 6;
/// Smallest dense share.
const LEAST_SHARE: f32 = 0.4;
/// Share of the best clause in what a request of several clauses is about.
const CLAUSE_SHARE: f32 = 0.4;
/// A document that holds no word of the query is found only if it is about the same to this degree.
const ALONE: f32 = 0.35;
/// Dense share where an encoder says what is near, whatever the query's length (`retrieval.md` §5, OPTIONAL).
const ENCODED_SHARE: f32 = 0.6;
/// The same as [`ALONE`] for an encoder, whose cosines may lie anywhere: so many deviations above the mean of all documents.
const ENCODED_ALONE: f32 = 2.0;

impl Scratch {
    /// Finds how near each document is to what the query is about, into [`Scratch::cosines`].
    pub(super) fn compare(&mut self, plan: &Plan, index: &Lexical) {
        self.cosines.clear();
        let (Some(vectors), Some(whole)) = (&index.dense, plan.about.first()) else { return };
        let queries: Vec<&[i8]> = plan.about.iter().map(|about| &about.numbers[..]).collect();
        scan(&queries, DIMENSIONS, &vectors.numbers, &mut self.products);
        let (of_whole, of_clauses) = self.products.split_at(vectors.scales.len());
        let near = of_whole.iter().map(|&product| product as f32 * whole.scale);
        if of_clauses.is_empty() {
            self.cosines.extend(near.zip(&vectors.scales).map(|(near, scale)| near * scale));
            return;
        }
        self.sums.clear();
        self.sums.resize(of_whole.len(), f32::NEG_INFINITY);
        for (clause, products) in plan.about[1..].iter().zip(of_clauses.chunks_exact(of_whole.len())) {
            for (best, &product) in self.sums.iter_mut().zip(products) {
                let near = product as f32 * clause.scale;
                *best = if near > *best { near } else { *best };
            }
        }
        let best = self.sums.iter().zip(&vectors.scales);
        let cosines = near.zip(best).map(|(whole, (best, scale))| (whole + CLAUSE_SHARE * (best - whole)) * scale);
        self.cosines.extend(cosines);
    }

    /// Finds how near each document is to `text` by an encoder, into [`Scratch::encoded`]; empty where that cannot be said,
    /// and the built-in evidence counts.
    pub(super) fn compare_encoded(&mut self, text: &str, encoding: Option<Encoding<'_>>, index: &Lexical) {
        self.encoded.clear();
        let Some(Encoding { documents, queries }) = encoding else { return };
        if documents.scales.len() != index.documents.len() || index.dense.is_none() {
            return;
        }
        let pieces = clauses::split(text);
        let clauses = pieces.iter().filter(|(_, clause)| *clause).map(|(range, _)| text[range.clone()].trim());
        // All are asked for, so that whoever lacks some can get them at once.
        let vectors: Vec<_> = [text].into_iter().chain(clauses).map(|text| queries.vector(text)).collect();
        let vectors: Option<Vec<_>> = vectors.into_iter().collect();
        let Some(vectors) =
            vectors.filter(|vectors| vectors.iter().all(|vector| vector.dimensions() == documents.dimensions()))
        else {
            return;
        };
        if vectors[0].is_zero() {
            return;
        }
        let numbers: Vec<&[i8]> = vectors.iter().map(|vector| vector.numbers()).collect();
        scan(&numbers, documents.width, &documents.numbers, &mut self.products);
        let (of_whole, of_clauses) = self.products.split_at(documents.scales.len());
        let whole = vectors[0].scale();
        self.encoded.extend(of_whole.iter().map(|&product| product as f32 * whole));
        if !of_clauses.is_empty() {
            for (document, near) in self.encoded.iter_mut().enumerate() {
                let best = vectors[1..].iter().zip(of_clauses.chunks_exact(of_whole.len()));
                let best = best.map(|(vector, products)| products[document] as f32 * vector.scale());
                *near += CLAUSE_SHARE * (best.fold(f32::NEG_INFINITY, f32::max) - *near);
            }
        }
        self.encoded.iter_mut().zip(&documents.scales).for_each(|(near, scale)| *near *= scale);
    }

    /// Replaces the scores by those of both kinds of evidence, 0 to 1. Nothing changes without [`Scratch::compare`] or
    /// [`Scratch::compare_encoded`].
    pub(super) fn fuse(&mut self, plan: &Plan) {
        if !self.encoded.is_empty() {
            return self.fuse_encoded(plan);
        }
        if self.cosines.is_empty() {
            return;
        }
        let beyond = plan.length.saturating_sub(FEW_WORDS) as f32;
        let share = (SHARE - SHARE_A_WORD * beyond).max(LEAST_SHARE) * plan.known_share;
        let (lexical, dense) = (Spread::of(&self.scores), Spread::of(&self.cosines));
        for (score, &cosine) in self.scores.iter_mut().zip(&self.cosines) {
            *score = if *score > 0.0 || cosine >= ALONE {
                squash((1.0 - share) * lexical.deviation(*score) + share * dense.deviation(cosine))
            } else {
                0.0
            };
        }
    }

    fn fuse_encoded(&mut self, plan: &Plan) {
        // Of a text without words that the built-in table could know of, the encoder alone knows something.
        let share = ENCODED_SHARE * if plan.words.is_empty() { 1.0 } else { plan.known_share };
        let (lexical, dense) = (Spread::of(&self.scores), Spread::of(&self.encoded));
        for (at, (score, &cosine)) in self.scores.iter_mut().zip(&self.encoded).enumerate() {
            let deviation = dense.deviation(cosine);
            let near = self.cosines.get(at).is_some_and(|near| *near >= ALONE) || deviation >= ENCODED_ALONE;
            *score = if *score > 0.0 || near {
                squash((1.0 - share) * lexical.deviation(*score) + share * deviation)
            } else {
                0.0
            };
        }
    }
}

/// Any sum to between 0 and 1, in order.
fn squash(sum: f32) -> f32 {
    (0.5 + 0.5 * sum / (1.0 + sum.abs())).max(f32::MIN_POSITIVE)
}

/// Mean of some numbers and one over their standard deviation.
struct Spread {
    mean: f32,
    scale: f32,
}

impl Spread {
    fn of(numbers: &[f32]) -> Self {
        // In lanes of a fixed number, so that the order of the additions is the same on every machine.
        const LANES: usize = 8;
        let (mut sums, mut squares) = ([0.0f64; LANES], [0.0f64; LANES]);
        let (chunks, rest) = numbers.as_chunks::<LANES>();
        for chunk in chunks {
            for ((sum, square), &number) in sums.iter_mut().zip(&mut squares).zip(chunk) {
                let number = f64::from(number);
                *sum += number;
                *square += number * number;
            }
        }
        for &number in rest {
            sums[0] += f64::from(number);
            squares[0] += f64::from(number) * f64::from(number);
        }
        let count = numbers.len().max(1) as f64;
        let mean = sums.iter().sum::<f64>() / count;
        let variance = squares.iter().sum::<f64>() / count - mean * mean;
        Self { mean: mean as f32, scale: if variance > 1e-12 { (1.0 / variance.sqrt()) as f32 } else { 0.0 } }
    }

    fn deviation(&self, number: f32) -> f32 {
        (number - self.mean) * self.scale
    }
}
