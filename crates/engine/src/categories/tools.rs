//! `tool_catalog_search`, `tool_catalog_load`, `tool_catalog_unload`: how a model looks through the categories and loads them
//! (oneringai §2.5). They change nothing but what is shown to the conversation that calls them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::categories::{CategoryId, TOOL_CATALOG_LOAD, TOOL_CATALOG_SEARCH, TOOL_CATALOG_UNLOAD};

use super::{Categories, Item, LoadError, answers};
use crate::{
    authoring::{About, BadTool, Tool, ToolError, Toolbox},
    backend::CallContext,
    engine::{Engine, WeakEngine},
};

/// The three tools over an engine, to be served with the built-in ones. They do not keep the engine alive.
pub fn catalog_toolbox(engine: &Engine) -> Result<Toolbox, BadTool> {
    let engine = engine.downgrade();
    Toolbox::builder().tool(Search(engine.clone())).tool(Load(engine.clone())).tool(Unload(engine)).build()
}

struct Search(WeakEngine);
struct Load(WeakEngine);
struct Unload(WeakEngine);

/// What to look for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wanted {
    /// What you want to do, in a few words.
    #[serde(default)]
    query: Option<String>,
    /// Instead: the tools of this category.
    #[serde(default)]
    category: Option<String>,
    /// Instead: every category with its tools.
    #[serde(default)]
    list_all: bool,
    /// Most tools found by a query (default 10).
    #[serde(default)]
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
}

/// What to load or to unload.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// A category, as tool_catalog_search gives it.
    #[serde(default)]
    category: Option<String>,
    /// Instead: one tool, by its name or identity.
    #[serde(default)]
    tool: Option<String>,
}

fn gone() -> ToolError {
    ToolError::unavailable("the gateway is shutting down")
}

fn told(error: &LoadError) -> ToolError {
    let code = match error {
        LoadError::Off => "off",
        LoadError::NotAvailable { .. } => "not_available",
        LoadError::Ambiguous { .. } => "ambiguous",
        LoadError::NoTools(_) => "no_tools",
        LoadError::Limit { .. } => "limit",
        LoadError::Pinned(_) | LoadError::PinnedTool { .. } => "pinned",
        LoadError::Scope(_) => "denied",
    };
    ToolError::told(json!({"error": code, "message": error.to_string()}).to_string())
}

fn wrong(message: &str) -> ToolError {
    ToolError::told(json!({"error": "invalid_arguments", "message": message}).to_string())
}

fn id(text: &str) -> Result<CategoryId, ToolError> {
    text.parse().map_err(|bad: toolcrib_core::categories::BadCategoryId| wrong(&bad.to_string()))
}

impl Tool for Search {
    type Arguments = Wanted;
    type Output = String;

    fn about(&self) -> About {
        let text = "Finds categories of tools and what is in them. Without arguments: the categories. Load what you need with \
                    tool_catalog_load; its tools are then in your tools list.";
        About::new(TOOL_CATALOG_SEARCH, text).title("Look through the catalog").reads().closed()
    }

    async fn call(&self, wanted: Wanted, context: CallContext) -> Result<String, ToolError> {
        let engine = self.0.upgrade().ok_or_else(gone)?;
        // The index over everything takes long enough to hold up other calls.
        let found = tokio::task::spawn_blocking(move || {
            let categories = engine.categories(&context.scope, context.identity.session.as_deref());
            let overview = categories.overview().map_err(|error| told(&error))?;
            let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
            // One question at a time: theirs drops all but one without a word (oneringai §2.5).
            Ok(match (wanted.list_all, said(wanted.category), said(wanted.query)) {
                (false, None, None) => answers::categories(&overview),
                (true, None, None) => answers::everything(&overview),
                (false, Some(category), None) => match overview.find(&id(&category)?) {
                    Some(standing) => answers::of_category(&overview, standing),
                    None => return Err(told(&overview.not_available(&category))),
                },
                (false, None, Some(query)) => {
                    answers::found(&overview, &query, wanted.limit.unwrap_or(10).clamp(1, 50))
                }
                _ => return Err(wrong("give one of query, category and listAll, and leave the others out")),
            })
        });
        Ok(found.await??.to_string())
    }
}

impl Tool for Load {
    type Arguments = Which;
    type Output = String;

    fn about(&self) -> About {
        let text = "Loads a category of tools, or one tool. Its tools are in your tools list from the next turn on.";
        About::new(TOOL_CATALOG_LOAD, text).title("Load tools").reads().closed()
    }

    async fn call(&self, which: Which, context: CallContext) -> Result<String, ToolError> {
        let engine = self.0.upgrade().ok_or_else(gone)?;
        let loaded = tokio::task::spawn_blocking(move || {
            let categories = engine.categories(&context.scope, context.identity.session.as_deref());
            let loaded = match (which.category, which.tool) {
                (Some(category), None) => categories.load(&id(&category)?),
                (None, Some(tool)) => categories.load_tool(&tool),
                _ => return Err(wrong("give either category or tool")),
            };
            loaded.map_err(|error| told(&error))
        });
        let loaded = loaded.await??;
        let mut answer = json!({"loaded": loaded.tools.len(), "tools": loaded.tools});
        if loaded.already {
            answer["alreadyLoaded"] = true.into();
        }
        Ok(answer.to_string())
    }
}

impl Tool for Unload {
    type Arguments = Which;
    type Output = String;

    fn about(&self) -> About {
        let text = "Takes a loaded category, or tool, out of your tools list again.";
        About::new(TOOL_CATALOG_UNLOAD, text).title("Unload tools").reads().closed()
    }

    async fn call(&self, which: Which, context: CallContext) -> Result<String, ToolError> {
        let engine = self.0.upgrade().ok_or_else(gone)?;
        let unloaded = tokio::task::spawn_blocking(move || -> Result<Value, ToolError> {
            let categories = engine.categories(&context.scope, context.identity.session.as_deref());
            unload(&categories, which.category.as_deref(), which.tool.as_deref())
        });
        Ok(unloaded.await??.to_string())
    }
}

fn unload(categories: &Categories<'_>, category: Option<&str>, tool: Option<&str>) -> Result<Value, ToolError> {
    let gone = |tools: &[String]| json!({"unloaded": tools.len(), "tools": tools});
    match (category, tool) {
        (Some(category), None) => {
            let item = Item::Category(id(category)?);
            let tools = categories.unload(&item).map_err(|error| told(&error))?;
            Ok(tools.map_or_else(|| answers::not_loaded(&item.text()), |tools| gone(&tools)))
        }
        (None, Some(name)) => {
            let Some(tool) = categories.tool_to_unload(name).map_err(|error| told(&error))? else {
                return Ok(answers::not_loaded(name));
            };
            let tools = categories.unload(&Item::Tool(tool.clone())).map_err(|error| told(&error))?;
            if let Some(tools) = tools.as_ref().filter(|tools| !tools.is_empty()) {
                return Ok(gone(tools));
            }
            let keepers = categories.keepers(&tool).map_err(|error| told(&error))?;
            Ok(answers::no_tool_gone(name, tools.is_some(), &keepers))
        }
        _ => Err(wrong("give either category or tool")),
    }
}
