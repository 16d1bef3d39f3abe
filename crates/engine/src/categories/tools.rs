//! `tool_catalog_search`, `tool_catalog_load`, `tool_catalog_unload`: how a model looks through the categories and loads them
//! (oneringai §2.5). They change nothing but what is shown to the conversation that calls them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::categories::{CategoryId, TOOL_CATALOG_LOAD, TOOL_CATALOG_SEARCH, TOOL_CATALOG_UNLOAD};

use super::{Item, LoadError, answers};
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
        LoadError::Pinned(_) => "pinned",
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
            // In this order: the more is asked for, the less the rest matters (oneringai §2.5).
            Ok(if wanted.list_all {
                answers::everything(&overview)
            } else if let Some(category) = wanted.category.filter(|category| !category.trim().is_empty()) {
                match overview.find(&id(&category)?) {
                    Some(standing) => answers::of_category(&overview, standing),
                    None => return Err(told(&overview.not_available(&category))),
                }
            } else if let Some(query) = wanted.query.filter(|query| !query.trim().is_empty()) {
                answers::found(&overview, &query, wanted.limit.unwrap_or(10).clamp(1, 50))
            } else {
                answers::categories(&overview)
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
            let item = match (which.category, which.tool) {
                (Some(category), None) => Item::Category(id(&category)?),
                (None, Some(tool)) => {
                    match categories.tool(&tool).map_err(|error| told(&error))? {
                        Some(id) => Item::Tool(id),
                        // What is gone can be unloaded by its identity, or it would take its place for ever.
                        None => match tool.trim().parse() {
                            Ok(id) => Item::Tool(id),
                            Err(_) => return Ok(answers::not_loaded(&tool)),
                        },
                    }
                }
                _ => return Err(wrong("give either category or tool")),
            };
            Ok(match categories.unload(&item).map_err(|error| told(&error))? {
                Some(tools) => json!({"unloaded": tools.len(), "tools": tools}),
                None => answers::not_loaded(&item.text()),
            })
        });
        Ok(unloaded.await??.to_string())
    }
}
