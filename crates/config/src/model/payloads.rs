//! How tool sets are rendered for model providers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a provider is asked to keep the prefix that ends with the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMark {
    /// No mark.
    #[default]
    Off,
    /// Five minutes.
    #[serde(rename = "5m")]
    Short,
    /// One hour.
    #[serde(rename = "1h")]
    Long,
}

/// How deferred tools are loaded by models that can do that by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadingMode {
    /// By the search of this gateway, where the model is known to load tools by search; else through the bridge.
    #[default]
    Auto,
    /// By the provider's own search, where the model is known to load tools by search; else through the bridge.
    Provider,
    /// Always through the bridge.
    Bridge,
}

/// What a server that the provider calls itself may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostedCalls {
    /// The provider asks before every call; where it asks nobody, the server stays here.
    #[default]
    Ask,
    /// Tools that say that they only read run unasked, if the server's hints are trusted; the others are asked about.
    AskToWrite,
    /// Everything runs.
    Run,
}

/// A family of models, before those that are built in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Its name.
    pub family: String,
    /// Patterns of model names, lower case, without `vendor/`. `*` is any text.
    #[serde(rename = "match")]
    pub patterns: Vec<String>,
    /// Tokens of context, 256 to 100000000.
    #[schemars(range(min = 256, max = 100_000_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
    /// Targets behind which it loads tools by search: `anthropic`, `openai-responses`.
    #[serde(default)]
    pub search: Vec<String>,
    /// Whether it looks at images in results.
    #[serde(default)]
    pub images: bool,
    /// Whether strict tools work.
    #[serde(default)]
    pub strict: bool,
    /// Targets by whose rules schemas are lowered in place of the target's own.
    #[serde(default)]
    pub lower_as: BTreeMap<String, String>,
    /// What its tokens weigh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<ModelTokens>,
}

/// What a family's tokens weigh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelTokens {
    /// Tokens for one token of OpenAI's o200k, on tool definitions, 0.1 to 10.
    #[schemars(range(min = 0.1, max = 10.0))]
    pub over_o200k: f64,
    /// Tokens that the provider adds as soon as there are tools, 0 to 100000.
    #[schemars(range(min = 0, max = 100_000))]
    #[serde(default)]
    pub preamble: u64,
}

/// How tool sets are rendered for model providers (`assemble`, `/v1/assemble`). Lists are of selectors. What a target has
/// no place for is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PayloadsConfig {
    /// Tools that the model's own strict mode holds to their schema, where they fit: `assemble --json` says which do.
    pub strict: Vec<String>,
    /// Tools that programs of the model may call.
    pub programmatic: Vec<String>,
    /// Tools whose arguments are streamed as they are written.
    pub eager_streaming: Vec<String>,
    /// Tools that run while the model goes on.
    pub asynchronous: Vec<String>,
    /// Whether the schemas of results are told.
    pub output_schemas: bool,
    /// Whether the tools end with a mark up to which the provider caches: `off`, `5m`, `1h`.
    pub cache: CacheMark,
    /// How deferred tools are loaded: `auto`, `provider`, `bridge`.
    pub loading: LoadingMode,
    /// Servers that the provider calls itself, by name: `ask`, `ask_to_write`, `run`. Their calls do not pass through
    /// here: no rules about arguments, no approvals, no record. Only servers with an https address.
    pub hosted: BTreeMap<String, HostedCalls>,
    /// Families of models, before those that are built in.
    pub models: Vec<ModelConfig>,
}
