//! The catalog of categories and the stores.

use std::{str::FromStr as _, sync::Arc};

use toolcrib::{
    core::{
        Tool,
        categories::{self, Book, CategoryId, Connector},
        selector::{Groups, Selector},
    },
    engine::{
        self, Hub, SourceOptions,
        authoring::ToolFactory,
        categories::{Categories, Overview, Resolution},
        store_tools::{Router, RouterBuilder, StoreSpec},
    },
};

use super::{Row, rows};

pub(super) fn classes() -> Vec<(&'static str, Vec<Row>)> {
    vec![("ToolCatalogRegistry", registry()), ("ToolCatalogPluginNextGen", plugin()), ("StoreToolsManager", stores())]
}

fn registry() -> Vec<Row> {
    rows! {
        ["toDisplayName" => categories::display_name, "case 53"]
        ["parseConnectorCategory" => CategoryId::from_str, "typed, and back by `Display`; case 52"]
        ["getConnectorToolsModule" => none, "what a category's tools are is registered with it; there is nothing to break a cycle of imports with"]
        ["setConnectorToolsModule" => engine::categories::publish_on_load as (&Hub, CategoryId, SourceOptions, Arc<dyn ToolFactory>), "a connector's tools are those of its source, made when they are loaded"]
        ["registerCategory" => Book::upsert, "a blank name is no `CategoryId`; cases 47 and 49"]
        ["registerTools" => Book::upsert_tools as (&mut Book, CategoryId, Vec<Selector>), "case 48"]
        ["registerTool" => Book::upsert_tools as (&mut Book, CategoryId, Option<Selector>), "the same with one"]
        ["unregisterCategory" => Book::remove, "gives back what was said; case 57"]
        ["unregisterTool" => Book::remove_tool, "false when it was not named"]
        ["getCategories" => Categories::overview, "those that the scope may load, with how they stand"]
        ["getCategory" => Overview::find, ""]
        ["hasCategory" => Overview::find, "`is_some`"]
        ["getToolsInCategory" => Overview::tools, ""]
        ["getAllCatalogTools" => Overview::all_tools, "each once"]
        ["findTool" => Categories::find, "all owners, not the first"]
        ["filterCategories" => Book::categories as (&Book, std::iter::Empty<(&str, &Tool)>, &Groups), "the offered ones of given tools; case 50"]
        ["isCategoryAllowed" => Book::offers, "all, only, except, with globs; case 50"]
        ["discoverConnectorCategories" => Overview::connectors, "a connector's source is a category by itself; `Book::connectors` says of which identities"]
        ["resolveConnectorCategoryTools" => Categories::tools_of, "a failure is told, not an empty list; nothing is loaded by it"]
        ["resolveTools" => Categories::resolve as (&Categories<'_>, Vec<&str>), "what is missing is told; cases 54 and 55"]
        ["resolveToolsGrouped" => Resolution::by_connector, "with `plain` and `missing`"]
        ["ensureInitialized" => none, "categories are settings; there is no moment before them"]
        ["initializeFromRegistry" => Book::extend as (&mut Book, Vec<(CategoryId, categories::CategorySpec)>), ""]
        ["reset" => Book::default, "nothing is global: a new one"]
        ["identities" => Connector::covers, "one without an account stands for all of them"]
    }
}

fn plugin() -> Vec<Row> {
    rows! {
        ["constructor" => type Book, "`offered`, `connectors`, `pinned`, `auto_load`, `max_loaded`; in a file `[categories]`"]
        ["getInstructions" => Categories::digest, "the same text whatever is loaded; part of what MCP clients are told"]
        ["getInstructionsTokenSize" => Categories::digest_cost, "`digest_within` bounds it"]
        ["getContent" => Categories::digest, ""]
        ["getContents" => Categories::overview, "every category with loaded and pinned"]
        ["getTools" => engine::categories::catalog_toolbox, "the three tools"]
        ["isCompactable" => Categories::reclaimable, "in tokens; 0 = no"]
        ["compact" => Categories::reclaim, "least recently used first; case 68"]
        ["getState" => Categories::state, "with a version"]
        ["restoreState" => Categories::restore, "with a report; unloads nothing"]
        ["destroy" => Categories::end, "a conversation; the rest is `Drop`. Without categories the tools answer `off`; case 70"]
        ["setToolManager" => engine::Engine::categories, "no half-built state; connectors that come later are seen"]
        ["executeLoad" => Categories::load, "and `load_tool`; cases 61 to 65"]
        ["tool_catalog_search" => categories::TOOL_CATALOG_SEARCH, "ranked; cases 58 to 60 and 73"]
        ["tool_catalog_load" => categories::TOOL_CATALOG_LOAD, "factories too; cases 61 to 65 and 72"]
        ["tool_catalog_unload" => categories::TOOL_CATALOG_UNLOAD, "what another category keeps stays; cases 66 and 67"]
    }
}

fn stores() -> Vec<Row> {
    rows! {
        ["constructor" => type RouterBuilder, "`promptView` is `RouterBuilder::prompt_view`"]
        ["registerHandler" => Router::add, "a duplicate is an error; case 117"]
        ["unregisterHandler" => Router::remove, ""]
        ["getHandler" => Router::get, ""]
        ["getSchemas" => Router::schemas, ""]
        ["getStoreIds" => Router::ids, ""]
        ["getTools" => Router::definitions, "five, written from the stores that are there; cases 113 to 116"]
        ["destroy" => none, "`Drop`"]
        ["buildOverview" => Router::overview, "none when there are no stores"]
        ["promptView" => RouterBuilder::prompt_view as (RouterBuilder, fn(&StoreSpec) -> StoreSpec), ""]
    }
}
