//! Token counts as a model's family counts: exact where its vocabulary is public and built in, else an estimate with the
//! family's factor. Every number goes with the label of what made it, and the label says which of both it is.
//!
//! The text that is counted is compact JSON, as it is sent. Providers that render tools in another form inside count
//! less (OpenAI about a quarter less), none of them much more; so a budget by these numbers holds.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    ContentHash,
    estimate::TokenCounter,
    model::{Model, TokenWeight, Vocabulary},
};

/// Tokens of o200k for one of [`TokenCounter::Calibrated`], on tool definitions. Measured over the tools of 30 public
/// servers (115,145 tokens of o200k): with this factor the whole comes out, and each server's list within 10 %.
const O200K_OVER_CALIBRATED: f64 = 1.08;

/// Counts tokens for one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCounter {
    weight: TokenWeight,
    label: Arc<str>,
}

impl ModelCounter {
    /// The counter for a model.
    pub fn new(model: &Model) -> Self {
        let weight = model.tokens.clone();
        let label = match vocabulary(&weight) {
            Some(Vocabulary::O200k) => "exact: o200k".to_owned(),
            Some(Vocabulary::Cl100k) => "exact: cl100k".to_owned(),
            None if cfg!(feature = "exact-tokens") => {
                format!("estimate: {:.2} x o200k for {}", weight.over_o200k, model.family)
            }
            None => format!("estimate: {:.2} x calibrated for {}", weight.over_o200k, model.family),
        };
        Self { weight, label: label.into() }
    }

    /// What made the numbers; begins with `exact` or `estimate`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether the model's own vocabulary counts.
    pub fn is_exact(&self) -> bool {
        vocabulary(&self.weight).is_some()
    }

    /// Tokens that the provider adds as soon as there are tools.
    pub fn preamble(&self) -> usize {
        self.weight.preamble
    }

    /// Tokens of a text.
    pub fn text(&self, text: &str) -> usize {
        if let Some(vocabulary) = vocabulary(&self.weight) {
            return exact(vocabulary, text);
        }
        let base = if cfg!(feature = "exact-tokens") {
            exact(Vocabulary::O200k, text) as f64
        } else {
            TokenCounter::Calibrated.text(text) as f64 * O200K_OVER_CALIBRATED
        };
        (base * self.weight.over_o200k).ceil() as usize
    }

    /// Tokens of a value written as compact JSON.
    pub fn json(&self, value: &Value) -> usize {
        self.text(&value.to_string())
    }
}

/// The vocabulary that counts exactly, if it is built in.
fn vocabulary(weight: &TokenWeight) -> Option<Vocabulary> {
    weight.exact.filter(|_| cfg!(feature = "exact-tokens"))
}

#[cfg(feature = "exact-tokens")]
fn exact(vocabulary: Vocabulary, text: &str) -> usize {
    let name = match vocabulary {
        Vocabulary::O200k => "o200k_base",
        Vocabulary::Cl100k => "cl100k_base",
    };
    // Both are built in with the feature.
    tiktoken::get_encoding(name).map_or_else(|| TokenCounter::Calibrated.text(text), |encoding| encoding.count(text))
}

#[cfg(not(feature = "exact-tokens"))]
fn exact(_: Vocabulary, text: &str) -> usize {
    TokenCounter::Calibrated.text(text)
}

/// Counts that were made before, by the definition's hash and the counter's label. Bounded: the oldest go first.
#[derive(Debug)]
pub struct TokenCache {
    counts: HashMap<(ContentHash, Arc<str>), usize>,
    order: VecDeque<(ContentHash, Arc<str>)>,
    limit: usize,
}

impl TokenCache {
    /// A cache of at most `limit` counts.
    pub fn new(limit: usize) -> Self {
        Self { counts: HashMap::new(), order: VecDeque::new(), limit: limit.max(1) }
    }

    /// The count of a definition, made if it is not there.
    pub fn count(&mut self, counter: &ModelCounter, hash: ContentHash, definition: &Value) -> usize {
        let key = (hash, counter.label.clone());
        if let Some(count) = self.counts.get(&key) {
            return *count;
        }
        let count = counter.json(definition);
        if self.order.len() >= self.limit
            && let Some(oldest) = self.order.pop_front()
        {
            self.counts.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.counts.insert(key, count);
        count
    }

    /// How many counts are kept.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

#[cfg(test)]
mod tests;
