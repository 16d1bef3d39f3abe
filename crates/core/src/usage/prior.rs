//! A prior from use: how strongly each word of past queries points to each tool that was then called.
//!
//! A pair of a word and a tool has a strength, the number of times that it was seen, of which half is forgotten after a
//! half-life. What a query's words say of a tool is the mean, over the words, of the tool's part of the word's strength;
//! a word that was seen a few times only says little. A search multiplies a hit's score by one plus [`WEIGHT`] times
//! that: hits change places, and nothing that is no hit becomes one.

use std::collections::HashMap;

use crate::search::stems;

/// Most pairs that are kept; the weakest make room.
pub const MAX_PAIRS: usize = 20_000;
/// Most words of one query that count.
pub const MAX_WORDS: usize = 24;
/// What a prior of 1 adds to a score, as a share of it. `toolcrib eval --learn` on labelled sets: 1 gains less; with 3 and more
/// the first places suffer.
pub const WEIGHT: f64 = 2.0;
/// Strength of a word at which half of its mass counts.
const DOUBT: f64 = 1.0;
/// Longest word in bytes.
const MAX_WORD_BYTES: usize = 40;

/// A pair of a word and a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The word, as a stem.
    pub word: String,
    /// The tool's identity.
    pub tool: String,
    /// How often it was seen, decayed up to `at_ms`.
    pub weight: f64,
    /// When it was last seen, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// What is left of `weight` after so many milliseconds.
pub fn decayed(weight: f64, age_ms: u64, half_life_ms: u64) -> f64 {
    weight * (-(age_ms as f64) / half_life_ms.max(1) as f64).exp2()
}

#[derive(Clone, Copy, Debug)]
struct Strength {
    tool: u32,
    weight: f64,
    at_ms: u64,
}

/// What was learnt from use.
#[derive(Clone, Debug, Default)]
pub struct Prior {
    words: HashMap<String, Vec<Strength>>,
    tools: Vec<String>,
    numbers: HashMap<String, u32>,
    pairs: usize,
    half_life_ms: u64,
}

impl Prior {
    /// Nothing learnt yet; half of everything will be forgotten after `half_life_ms`.
    pub fn new(half_life_ms: u64) -> Self {
        Self { half_life_ms, ..Self::default() }
    }

    /// What was learnt before, at most [`MAX_PAIRS`]: the strongest at `now_ms`.
    pub fn from_pairs(pairs: impl IntoIterator<Item = Pair>, half_life_ms: u64, now_ms: u64) -> Self {
        let mut prior = Self::new(half_life_ms);
        for pair in pairs {
            prior.add(&pair.word, &pair.tool, pair.weight, pair.at_ms);
        }
        prior.make_room(now_ms);
        prior
    }

    /// The words of a query that count, each once.
    pub fn words_of(query: &str) -> Vec<String> {
        let mut words = stems(query);
        words.retain(|word| word.len() <= MAX_WORD_BYTES);
        words.truncate(MAX_WORDS);
        words
    }

    /// Learns that `tool` was called upon a query with these words.
    pub fn observe(&mut self, words: &[String], tool: &str, now_ms: u64) {
        for word in words {
            self.add(word, tool, 1.0, now_ms);
        }
        self.make_room(now_ms);
    }

    fn add(&mut self, word: &str, tool: &str, amount: f64, at_ms: u64) {
        if !amount.is_finite() || amount <= 0.0 {
            return;
        }
        let number = *self.numbers.entry(tool.to_owned()).or_insert_with(|| {
            self.tools.push(tool.to_owned());
            self.tools.len() as u32 - 1
        });
        let strengths = self.words.entry(word.to_owned()).or_default();
        if let Some(known) = strengths.iter_mut().find(|known| known.tool == number) {
            let latest = known.at_ms.max(at_ms);
            known.weight = decayed(known.weight, latest - known.at_ms, self.half_life_ms)
                + decayed(amount, latest - at_ms, self.half_life_ms);
            known.at_ms = latest;
        } else {
            strengths.push(Strength { tool: number, weight: amount, at_ms });
            self.pairs += 1;
        }
    }

    /// Drops the weakest pairs, a tenth more than need be so that it is seldom done.
    fn make_room(&mut self, now_ms: u64) {
        if self.pairs <= MAX_PAIRS {
            return;
        }
        let mut pairs = self.pairs(now_ms);
        pairs.truncate(MAX_PAIRS - MAX_PAIRS / 10);
        let mut kept = Self::new(self.half_life_ms);
        for pair in pairs {
            kept.add(&pair.word, &pair.tool, pair.weight, now_ms);
        }
        *self = kept;
    }

    /// Everything, with weights as they are at `now_ms`, the strongest first.
    pub fn pairs(&self, now_ms: u64) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = Vec::with_capacity(self.pairs);
        for (word, strengths) in &self.words {
            for strength in strengths {
                pairs.push(Pair {
                    word: word.clone(),
                    tool: self.tools[strength.tool as usize].clone(),
                    weight: self.at(strength, now_ms),
                    at_ms: strength.at_ms,
                });
            }
        }
        pairs.sort_by(|a, b| {
            b.weight.total_cmp(&a.weight).then_with(|| a.word.cmp(&b.word)).then_with(|| a.tool.cmp(&b.tool))
        });
        pairs
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.pairs
    }

    /// Whether nothing was learnt.
    pub fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    fn at(&self, strength: &Strength, now_ms: u64) -> f64 {
        decayed(strength.weight, now_ms.saturating_sub(strength.at_ms), self.half_life_ms)
    }

    /// What a query's words say of tools at `now_ms`, 0 to 1 each.
    pub fn experience(&self, query: &str, now_ms: u64) -> Experience<'_> {
        let mut shares: HashMap<u32, f64> = HashMap::new();
        let words = if self.is_empty() { Vec::new() } else { Self::words_of(query) };
        for strengths in words.iter().filter_map(|word| self.words.get(word)) {
            let total: f64 = strengths.iter().map(|strength| self.at(strength, now_ms)).sum();
            for strength in strengths {
                let share = self.at(strength, now_ms) / (total + DOUBT);
                *shares.entry(strength.tool).or_default() += share / words.len() as f64;
            }
        }
        Experience { prior: self, shares }
    }
}

/// What a query's words say of tools.
#[derive(Debug)]
pub struct Experience<'a> {
    prior: &'a Prior,
    shares: HashMap<u32, f64>,
}

impl Experience<'_> {
    /// What is said of the tool with this identity, 0 to 1.
    pub fn of(&self, tool: &str) -> f64 {
        let number = self.prior.numbers.get(tool);
        number.and_then(|number| self.shares.get(number)).copied().unwrap_or(0.0)
    }

    /// Whether nothing is said of any tool.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }
}
