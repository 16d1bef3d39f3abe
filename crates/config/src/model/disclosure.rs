//! When tools are deferred.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::clamp;
use crate::Diagnostic;

/// Which ranking answers searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ranker {
    /// As `lexical`, and by what the texts are about (in a build without token vectors: `lexical`).
    #[default]
    Hybrid,
    /// Fields, stems, typo tolerance, and nothing when nothing fits.
    Lexical,
    /// The plain reference ranking.
    Bm25,
}

/// When tools are deferred and how they are listed. A bare boolean, or the words `auto`, `on`, `off`, stand for
/// `{ enabled = … }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DisclosureConfig {
    /// `auto` and `on`: whenever there is something to defer. `off`: everything inline.
    pub enabled: Value,
    /// Largest listing in percent of the context length, 0 to 100. Default 5.
    pub threshold_pct: Value,
    /// Most matches of one query, 1 to 50. Default 20.
    pub max_search_limit: Value,
    /// Matches of a query that asks for no number. Default 5.
    pub search_default_limit: Value,
    /// Whether deferred tools are listed: `auto`, `on`, `off`.
    pub listing: Value,
    /// Largest listing in tokens, 200 to 60000. Default 4000.
    pub listing_max_tokens: Value,
    /// Largest listing as a share of the tokens it hides, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub listing_max_share: f64,
    /// That share never asks for less than this many tokens, 0 to 60000.
    #[schemars(range(min = 0, max = 60_000))]
    pub listing_floor_tokens: u64,
    /// Selectors of tools that are never deferred.
    pub always: Vec<String>,
    /// Selectors of tools that are always deferred.
    pub defer: Vec<String>,
    /// Which ranking answers searches.
    pub ranker: Ranker,
    /// Context length of the model in tokens, 256 to 100000000, if it is not told per request.
    #[schemars(range(min = 256, max = 100_000_000))]
    pub context_length: Option<u64>,
}

impl Default for DisclosureConfig {
    fn default() -> Self {
        Self {
            enabled: Value::Null,
            threshold_pct: Value::Null,
            max_search_limit: Value::Null,
            search_default_limit: Value::Null,
            listing: Value::Null,
            listing_max_tokens: Value::Null,
            listing_max_share: 0.008,
            listing_floor_tokens: 600,
            always: Vec::new(),
            defer: Vec::new(),
            ranker: Ranker::Hybrid,
            context_length: None,
        }
    }
}

impl DisclosureConfig {
    /// The part whose values the core resolves and diagnoses (it owns their rules), as it was written.
    pub fn raw(&self) -> Value {
        let pairs = [
            ("enabled", &self.enabled),
            ("threshold_pct", &self.threshold_pct),
            ("max_search_limit", &self.max_search_limit),
            ("search_default_limit", &self.search_default_limit),
            ("listing", &self.listing),
            ("listing_max_tokens", &self.listing_max_tokens),
        ];
        Value::Object(pairs.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.to_owned(), v.clone())).collect())
    }

    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        if !self.listing_max_share.is_finite() {
            self.listing_max_share = 0.008;
        }
        clamp(&mut self.listing_max_share, 0.0, 1.0, "disclosure.listing_max_share", findings);
        clamp(&mut self.listing_floor_tokens, 0, 60_000, "disclosure.listing_floor_tokens", findings);
        if let Some(length) = &mut self.context_length {
            clamp(length, 256, 100_000_000, "disclosure.context_length", findings);
        }
    }
}
