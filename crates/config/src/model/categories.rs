//! Categories of tools that are loaded when a task needs them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use crate::Diagnostic;

/// What becomes of tools whose category is not loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnloadedTools {
    /// They are found with `tool_search` and run with `tool_call`.
    #[default]
    Deferred,
    /// They are not there; only `tool_catalog_search` finds them.
    Hidden,
}

/// What is said of one category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CategoryConfig {
    /// What it is called. Default: made of its key, `my-tools` as My Tools.
    pub name: Option<String>,
    /// What it is for, in a sentence.
    pub description: Option<String>,
    /// Selectors of its tools, beside those labelled with it (`servers.NAME.category`).
    pub tools: Vec<String>,
}

/// Categories of tools that a conversation loads when it needs them, with `tool_catalog_search`, `tool_catalog_load` and
/// `tool_catalog_unload`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CategoriesConfig {
    /// Whether categories are loaded at all. Otherwise they are labels and no more.
    pub enabled: bool,
    /// What becomes of tools whose category is not loaded.
    pub unloaded: UnloadedTools,
    /// The only categories that may be loaded; names and globs. Tools of others are hidden. Not beside `except`.
    pub only: Option<Vec<String>>,
    /// Categories that may not be loaded; names and globs. Their tools are hidden.
    pub except: Vec<String>,
    /// The only connectors whose categories may be loaded, `NAME` (with all accounts) or `NAME:ACCOUNT`. `only` and `except`
    /// do not count for them.
    pub connectors: Option<Vec<String>>,
    /// Categories that are always loaded.
    pub pinned: Vec<String>,
    /// Categories that a conversation begins with.
    pub auto_load: Vec<String>,
    /// Most categories that a conversation may have loaded, the pinned ones apart; 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub max_loaded: u64,
    /// Most tools that a conversation may have loaded one by one; 0 to 10000.
    #[schemars(range(min = 0, max = 10_000))]
    pub max_tools: u64,
    /// Most tokens of the list of categories in what clients are told of the server; 0 = none, at most 20000.
    #[schemars(range(min = 0, max = 20_000))]
    pub digest_tokens: u64,
    /// What is said of single categories, by id: a name, or `connector:NAME[:ACCOUNT]`.
    pub category: BTreeMap<String, CategoryConfig>,
}

impl Default for CategoriesConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            unloaded: UnloadedTools::Deferred,
            only: None,
            except: Vec::new(),
            connectors: None,
            pinned: Vec::new(),
            auto_load: Vec::new(),
            max_loaded: 10,
            max_tools: 30,
            digest_tokens: 400,
            category: BTreeMap::new(),
        }
    }
}

impl CategoriesConfig {
    pub(crate) fn settle(&mut self, findings: &mut Vec<Diagnostic>) {
        clamp(&mut self.max_loaded, 1, 1_000, "categories.max_loaded", findings);
        clamp(&mut self.max_tools, 0, 10_000, "categories.max_tools", findings);
        clamp(&mut self.digest_tokens, 0, 20_000, "categories.digest_tokens", findings);
    }
}
