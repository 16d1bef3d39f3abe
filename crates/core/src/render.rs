//! Rendering: the definitions of a tool set in the shape that a model provider accepts, with a report of what that
//! loses and the way back for names and keys.
//!
//! Pure and driven by data: [`dialect::TABLE`] says what each target does to each construct of JSON Schema. A tool that
//! cannot be lowered is refused for that target only; nothing is lost silently.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use self::{
    dialect::{Construct, Dialect},
    lower::lower,
    notes::{shortened, with_remarks},
};
use crate::{ContentHash, provider::WayBack};

pub mod dialect;
mod inline;
mod keys;
mod keyword;
mod lower;
mod merge;
mod notes;
mod payload;
mod reference;
mod report;
mod root;
mod target;

pub use keys::{KeyMap, map_arguments, unmap_arguments};
pub use reference::markdown;
pub use target::{Target, UnknownTarget};

/// Largest lowered schema, in bytes of compact JSON.
const SCHEMA_BYTES: usize = 256 * 1024;

/// What was done to a construct that the target does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Left out.
    Dropped,
    /// Left out of the schema and told in a description.
    Described,
    /// Said in another way that is not quite the same.
    Rewritten,
    /// Replaced by a place that accepts anything.
    Cut,
    /// Has another name; arguments are carried back.
    Renamed,
    /// Shortened.
    Shortened,
    /// Made up, since the target requires it.
    Filled,
}

/// One thing that a rendered tool says less exactly than its definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// Exposed name of the tool.
    pub tool: String,
    /// JSON Pointer into the schema, or into the definition for its name and description.
    pub path: String,
    /// What the target does not take.
    pub construct: Construct,
    /// What was done.
    pub action: Action,
}

/// Why a tool cannot be rendered for a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedTool {
    /// Arguments are an object everywhere.
    #[error("the root of its schema is of type {0}; arguments are an object")]
    RootNotObject(String),
    /// Without references, it would be too large.
    #[error("its schema unfolds to more than {limit} values; simplify it at its source", limit = inline::WEIGHT)]
    TooManySchemas,
    /// The lowered schema is too large.
    #[error("its lowered schema has {0} bytes, more than {SCHEMA_BYTES}; simplify it at its source")]
    TooLarge(usize),
    /// Two tools would have the same name at the target.
    #[error("the target would call it '{0}', which is the name of another tool; rename one of them")]
    NameTaken(String),
    /// The definition has no name.
    #[error("its definition has no name")]
    Nameless,
}

/// A tool that is not rendered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Exposed name of the tool.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// More tools than a target takes in one request. Nothing is cut: which tools to leave out is the caller's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TooManyTools {
    /// Tools rendered.
    pub count: usize,
    /// Most tools in one request.
    pub limit: usize,
}

/// A tool set as a target takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Whom it is for.
    pub target: Target,
    /// Exposed names of the tools that are rendered, in their order.
    pub listed: Vec<String>,
    /// What goes into the request's list of tools. Gemini's list has one entry that holds all declarations.
    pub tools: Vec<Value>,
    /// Exposed names by the names at the target, where they differ.
    pub names: BTreeMap<String, String>,
    /// Renamed keys by exposed name of the tool; only tools that have any.
    pub key_maps: BTreeMap<String, KeyMap>,
    /// What the rendered tools say less exactly, in the order of the tools.
    pub losses: Vec<Loss>,
    /// Tools that are not rendered.
    pub refused: Vec<Refused>,
    /// Set if there are more tools than the target takes.
    pub too_many: Option<TooManyTools>,
}

impl Rendered {
    fn new(target: Target) -> Self {
        Self {
            target,
            listed: Vec::new(),
            tools: Vec::new(),
            names: BTreeMap::new(),
            key_maps: BTreeMap::new(),
            losses: Vec::new(),
            refused: Vec::new(),
            too_many: None,
        }
    }

    /// The way back for calls of the rendered tools.
    pub fn way_back(&self) -> WayBack {
        WayBack::new(self.target, self.listed.iter().cloned(), self.names.clone(), self.key_maps.clone())
    }
}

/// Renders definitions in MCP shape, under their exposed names and in their order, for a target.
pub fn render<'a>(target: Target, definitions: impl IntoIterator<Item = &'a Value>) -> Rendered {
    let mut rendered = Rendered::new(target);
    let definitions: Vec<&Value> = definitions.into_iter().collect();
    let Some(dialect) = target.dialect() else {
        rendered.listed =
            definitions.iter().filter_map(|definition| Some(definition["name"].as_str()?.to_owned())).collect();
        rendered.tools = definitions.into_iter().cloned().collect();
        return rendered;
    };
    let exposed: BTreeSet<&str> = definitions.iter().filter_map(|definition| definition["name"].as_str()).collect();
    let mut taken = BTreeSet::new();
    for definition in definitions {
        let name = definition["name"].as_str().unwrap_or_default();
        match tool(dialect, definition, &exposed, &mut taken, &mut rendered) {
            Ok(tool) => {
                rendered.tools.push(tool);
                rendered.listed.push(name.to_owned());
            }
            Err(error) => rendered.refused.push(Refused { tool: name.to_owned(), reason: error.to_string() }),
        }
    }
    let count = rendered.tools.len();
    rendered.too_many = dialect.tools.filter(|limit| count > *limit).map(|limit| TooManyTools { count, limit });
    rendered.tools = payload::gather(dialect.wrapper, std::mem::take(&mut rendered.tools));
    rendered
}

/// Lowers one schema of arguments for a target; MCP takes it as it is.
pub fn lower_schema(target: Target, schema: &Value) -> Result<Value, RefusedTool> {
    match target.dialect() {
        Some(dialect) => lower(schema, dialect).map(|lowered| lowered.schema),
        None => Ok(schema.clone()),
    }
}

fn tool(
    dialect: &Dialect,
    definition: &Value,
    exposed: &BTreeSet<&str>,
    taken: &mut BTreeSet<String>,
    rendered: &mut Rendered,
) -> Result<Value, RefusedTool> {
    let name = definition["name"].as_str().filter(|name| !name.is_empty()).ok_or(RefusedTool::Nameless)?;
    let own = target_name(dialect, name);
    if taken.contains(&own) || (own != name && exposed.contains(own.as_str())) {
        return Err(RefusedTool::NameTaken(own));
    }
    let lowered = lower(&definition["inputSchema"], dialect)?;
    let bytes = lowered.schema.to_string().len();
    if bytes > SCHEMA_BYTES {
        return Err(RefusedTool::TooLarge(bytes));
    }
    let mut losses = lowered.losses;
    let written = definition["description"].as_str().unwrap_or_default();
    let description = describe(dialect, definition, name, written, &lowered.remarks, &mut losses);
    if own != name {
        losses.push(("/name".to_owned(), Construct::Name, Action::Renamed));
        rendered.names.insert(own.clone(), name.to_owned());
    }
    rendered.losses.extend(losses.into_iter().map(|(path, construct, action)| Loss {
        tool: name.to_owned(),
        path,
        construct,
        action,
    }));
    if !lowered.keys.is_empty() {
        rendered.key_maps.insert(name.to_owned(), lowered.keys);
    }
    let tool = payload::wrap(dialect.wrapper, &own, description.as_deref(), lowered.schema);
    taken.insert(own);
    Ok(tool)
}

/// The description with remarks, within the target's limit; none where there is none and none is required.
fn describe(
    dialect: &Dialect,
    definition: &Value,
    name: &str,
    written: &str,
    remarks: &[String],
    losses: &mut Vec<(String, Construct, Action)>,
) -> Option<String> {
    let mut text = with_remarks(written, remarks);
    if let Some(limit) = dialect.description
        && text.chars().count() > limit
    {
        losses.push(("/description".to_owned(), Construct::Description, Action::Shortened));
        // Remarks replace constraints, so the description gives way to them.
        let room = limit.saturating_sub(with_remarks("", remarks).chars().count() + 1);
        text = shortened(&with_remarks(&shortened(written, room), remarks), limit);
    }
    if text.trim().is_empty() {
        if !dialect.description_required {
            return None;
        }
        losses.push(("/description".to_owned(), Construct::Description, Action::Filled));
        let title = definition["title"].as_str().filter(|title| !title.trim().is_empty());
        text = title.map_or_else(|| format!("The tool {name}."), str::to_owned);
    }
    Some(text)
}

/// The name at the target: the exposed one unless the target would refuse it.
fn target_name(dialect: &Dialect, name: &str) -> String {
    let Some(limit) = dialect.name else { return name.to_owned() };
    let mut own: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect();
    if dialect.name_letter_first && !own.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        own.insert(0, '_');
    }
    if own.len() > limit {
        let tail = ContentHash::of_bytes(name.as_bytes()).base32(6);
        own = format!("{}_{tail}", &own[..limit - 7]);
    }
    own
}

#[cfg(test)]
mod tests;
