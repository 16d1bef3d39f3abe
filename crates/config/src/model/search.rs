//! How searches rank and learn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::{Diagnostic, Secret};

/// Learning from use: tools that were called upon a search's words come earlier when such words are searched for again.
/// Local, by tenant, and never more than another order of what the caller sees anyway. `toolcrib learned` shows and
/// forgets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchConfig {
    /// Whether searches learn from the calls that follow them. Keeps words of queries in the store.
    pub learn: bool,
    /// Days after which half of what was learnt is forgotten, 1 to 3650.
    #[schemars(range(min = 1, max = 3_650))]
    pub learn_half_life_days: u64,
    /// What says how near a tool is to a query, in place of the built-in table; left out, the table does. Counts with the
    /// ranker `hybrid`, once all tools were read; until then, and where it fails, the table answers.
    pub encoder: Option<EncoderConfig>,
}

/// A stronger encoder for searches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EncoderConfig {
    /// Which kind it is. Required.
    pub kind: Option<EncoderKind>,
    /// `static`: the folder of the model, with `model.safetensors` and `tokenizer.json` as model2vec writes them.
    /// Relative to this file; `~/` is the home folder.
    pub folder: Option<String>,
    /// `http`: address of the endpoint, as `https://HOST/v1/embeddings`. It is sent names, titles, descriptions and server
    /// labels of tools, and queries (secrets masked as in the journal). Only this host is asked; it may be a private one.
    pub url: Option<String>,
    /// `http`: name of the model there.
    pub model: Option<String>,
    /// `http`: bearer key, as `${NAME}` of an environment variable.
    pub key: Option<Secret>,
    /// `http`: how many numbers a vector is to have, 1 to 4096; asked for only if set.
    #[schemars(range(min = 1, max = 4_096))]
    pub dimensions: Option<u64>,
    /// `http`: milliseconds that a search waits for the vector of its query, 0 to 2000. With 0 it never waits, and a query
    /// counts from its repetition on.
    #[schemars(range(min = 0, max = 2_000))]
    pub query_wait_ms: u64,
    /// `http`: texts of one request, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub batch: u64,
    /// `http`: put in front of what tools say, as some models want it (`passage: `).
    pub document_prefix: String,
    /// `http`: put in front of queries (`query: `).
    pub query_prefix: String,
}

/// A kind of encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EncoderKind {
    /// A static model in a folder.
    Static,
    /// An HTTP endpoint of embeddings that speaks as OpenAI's does.
    Http,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self { learn: false, learn_half_life_days: 30, encoder: None }
    }
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self {
            kind: None,
            folder: None,
            url: None,
            model: None,
            key: None,
            dimensions: None,
            query_wait_ms: 200,
            batch: 64,
            document_prefix: String::new(),
            query_prefix: String::new(),
        }
    }
}

impl SearchConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.learn_half_life_days, 1, 3_650, "search.learn_half_life_days", findings);
        let Some(encoder) = &mut self.encoder else { return };
        if let Some(finding) = encoder.settle(findings) {
            findings.push(finding.hint("until this is mended searches go by the built-in table"));
            self.encoder = None;
        }
    }
}

impl EncoderConfig {
    /// Brings numbers into their ranges; what is wrong that costs the encoder.
    fn settle(&mut self, findings: &mut Vec<Diagnostic>) -> Option<Diagnostic> {
        let missing = |text: &Option<String>| text.as_deref().is_none_or(|text| text.trim().is_empty());
        let lacks = |key: &str, what: &str| Some(Diagnostic::error(format!("search.encoder.{key}"), what));
        match self.kind {
            None => return lacks("kind", "it is missing; 'static' and 'http' are known"),
            Some(EncoderKind::Static) if missing(&self.folder) => {
                return lacks("folder", "a static encoder needs the folder of its model");
            }
            Some(EncoderKind::Http) if missing(&self.url) => {
                return lacks("url", "an http encoder needs the address of its endpoint");
            }
            Some(EncoderKind::Http) if missing(&self.model) => {
                return lacks("model", "an http encoder needs the name of a model");
            }
            Some(EncoderKind::Static | EncoderKind::Http) => {}
        }
        let strangers: [(&str, bool); 3] = match self.kind {
            Some(EncoderKind::Static) => {
                [("url", self.url.is_some()), ("model", self.model.is_some()), ("key", self.key.is_some())]
            }
            _ => [("folder", self.folder.is_some()), ("", false), ("", false)],
        };
        for (key, _) in strangers.into_iter().filter(|(_, set)| *set) {
            let text = "encoders of this kind have no such setting; it is not used";
            findings.push(Diagnostic::warning(format!("search.encoder.{key}"), text));
        }
        clamp(&mut self.query_wait_ms, 0, 2_000, "search.encoder.query_wait_ms", findings);
        clamp(&mut self.batch, 1, 256, "search.encoder.batch", findings);
        if let Some(dimensions) = &mut self.dimensions {
            clamp(dimensions, 1, 4_096, "search.encoder.dimensions", findings);
        }
        None
    }
}
