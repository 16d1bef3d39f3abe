//! What models can do, as data: [`ModelTable`] knows families by the patterns of their names, and says how long their
//! context is, whether they load tools by search, what their tokens weigh, and whose rules of schemas they have.
//!
//! The data is `data/models.json`; a configuration can put entries before it. A model that no entry names gets what is
//! safe everywhere, and [`Model::known`] says that it was so.

use std::{collections::BTreeMap, str::FromStr};

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use crate::render::Target;

/// The data that comes with this version.
const BUILT_IN: &str = include_str!("../data/models.json");

/// How much more tokens than o200k an unknown model may use, at most: the greatest factor of any family but Claude's
/// newest (standards reference §5), so that a budget is not overrun.
const UNKNOWN_FACTOR: f64 = 1.25;

/// What a family's tokens weigh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenWeight {
    /// Tokens of the family for one token of o200k, on tool definitions.
    pub over_o200k: f64,
    /// The public vocabulary with which counts are exact: `o200k` or `cl100k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<Vocabulary>,
    /// Tokens that the provider adds as soon as there are tools.
    #[serde(default)]
    pub preamble: usize,
}

/// A public vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vocabulary {
    /// OpenAI's since GPT-4o.
    O200k,
    /// OpenAI's before that.
    Cl100k,
}

/// What is known of a family of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its name.
    pub family: String,
    /// Patterns of model names, lower case, without what providers put before them (`vendor/`, `models/`, regions).
    /// `*` is any text, `[…]` one of several characters.
    #[serde(rename = "match")]
    pub patterns: Vec<String>,
    /// Tokens of context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
    /// Targets behind which it loads tools by search.
    #[serde(default)]
    pub search: Vec<String>,
    /// Whether it looks at images in results.
    #[serde(default)]
    pub images: bool,
    /// Whether strict tools work.
    #[serde(default)]
    pub strict: bool,
    /// Targets by whose rules schemas are lowered in place of the target's own: another provider's model behind a
    /// compatible endpoint.
    #[serde(default)]
    pub lower_as: BTreeMap<String, String>,
    /// What its tokens weigh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenWeight>,
}

/// Why entries cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelTableError {
    /// Not the form of the data.
    #[error("models: {0}")]
    Malformed(String),
    /// A pattern that is none.
    #[error("models: family '{family}': '{pattern}' is not a pattern; write a name with * for any text")]
    Pattern {
        /// The family.
        family: String,
        /// What was written.
        pattern: String,
    },
    /// A word that is no target.
    #[error("models: family '{family}': {error}")]
    Target {
        /// The family.
        family: String,
        /// Which word.
        error: String,
    },
    /// A factor that cannot be.
    #[error("models: family '{family}': over_o200k is {factor}; write a number from 0.1 to 10")]
    Factor {
        /// The family.
        family: String,
        /// What was written.
        factor: String,
    },
}

/// What is known of one model, for one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The name as given.
    pub name: String,
    /// Its family; `unknown` if no entry names it.
    pub family: String,
    /// Whether an entry names it.
    pub known: bool,
    /// Tokens of context, where known.
    pub context_length: Option<u64>,
    /// Whether tools can be loaded by search.
    pub search: bool,
    /// Whether it looks at images in results.
    pub images: bool,
    /// Whether strict tools work.
    pub strict: bool,
    /// By whose rules schemas are lowered.
    pub lower_as: Target,
    /// What its tokens weigh.
    pub tokens: TokenWeight,
}

impl Model {
    /// One sentence on what was assumed, where something was.
    pub fn remark(&self) -> Option<String> {
        (!self.known).then(|| {
            format!(
                "the model '{}' is not known: tools are reached through the bridge, no tool is strict, and token counts \
                 are estimates with a margin; an entry under [[payloads.models]] in the configuration tells more",
                self.name.chars().take(80).collect::<String>()
            )
        })
    }
}

/// Families in order; the first that names a model counts.
#[derive(Clone, Debug)]
pub struct ModelTable {
    families: Vec<(GlobSet, Family)>,
    revised: String,
}

#[derive(Deserialize)]
struct Data {
    revised: String,
    families: Vec<Family>,
}

impl ModelTable {
    /// The data of this version, with `first` before it.
    pub fn with(first: Vec<Family>) -> Result<Self, ModelTableError> {
        let data: Data =
            serde_json::from_str(BUILT_IN).map_err(|error| ModelTableError::Malformed(error.to_string()))?;
        let families = first.into_iter().chain(data.families).map(checked).collect::<Result<_, _>>()?;
        Ok(Self { families, revised: data.revised })
    }

    /// When the data was last compared with what providers publish.
    pub fn revised(&self) -> &str {
        &self.revised
    }

    /// The families, in order.
    pub fn families(&self) -> impl Iterator<Item = &Family> {
        self.families.iter().map(|(_, family)| family)
    }

    /// What is known of a model behind a target.
    pub fn model(&self, name: &str, target: Target) -> Model {
        let bare = bare(name);
        let Some((_, family)) = self.families.iter().find(|(patterns, _)| patterns.is_match(&bare)) else {
            return Model {
                name: name.to_owned(),
                family: "unknown".to_owned(),
                known: false,
                context_length: None,
                search: false,
                images: false,
                strict: false,
                lower_as: target,
                tokens: TokenWeight { over_o200k: UNKNOWN_FACTOR, exact: None, preamble: 0 },
            };
        };
        let lower_as = family.lower_as.get(target.name()).and_then(|word| word.parse().ok()).unwrap_or(target);
        Model {
            name: name.to_owned(),
            family: family.family.clone(),
            known: true,
            context_length: family.context_length,
            search: family.search.iter().any(|word| word == target.name()),
            images: family.images,
            strict: family.strict,
            lower_as,
            tokens: family.tokens.clone().unwrap_or(TokenWeight {
                over_o200k: UNKNOWN_FACTOR,
                exact: None,
                preamble: 0,
            }),
        }
    }
}

fn checked(family: Family) -> Result<(GlobSet, Family), ModelTableError> {
    let mut patterns = GlobSetBuilder::new();
    for pattern in &family.patterns {
        let glob = Glob::new(&pattern.to_ascii_lowercase())
            .map_err(|_| ModelTableError::Pattern { family: family.family.clone(), pattern: pattern.clone() })?;
        patterns.add(glob);
    }
    for word in family.search.iter().chain(family.lower_as.keys()).chain(family.lower_as.values()) {
        Target::from_str(word)
            .map_err(|error| ModelTableError::Target { family: family.family.clone(), error: error.to_string() })?;
    }
    if let Some(tokens) = &family.tokens
        && !(0.1..=10.0).contains(&tokens.over_o200k)
    {
        return Err(ModelTableError::Factor { family: family.family.clone(), factor: tokens.over_o200k.to_string() });
    }
    let patterns = patterns.build().map_err(|error| ModelTableError::Malformed(error.to_string()))?;
    Ok((patterns, family))
}

/// A model's own name: without the vendor, region or path before it, and lower case.
fn bare(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or(&name);
    let vendors =
        ["anthropic.", "amazon.", "meta.", "mistral.", "deepseek.", "openai.", "qwen.", "moonshot.", "cohere."];
    let start = vendors.iter().filter_map(|vendor| Some(name.find(vendor)? + vendor.len())).max().unwrap_or(0);
    name[start..].to_owned()
}

#[cfg(test)]
mod tests;
