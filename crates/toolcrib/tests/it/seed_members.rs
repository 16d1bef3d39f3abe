//! `docs/oneringai-map.md`: what every member of the seed (oneringai reference §5.1) in the area of tools became. Table and test
//! are made of one list, so an item that the page names exists.

mod catalog;
mod definition;
mod manager;

use std::fmt::Write as _;

use toolcrib::engine::{
    CallContext,
    authoring::{About, NoArguments, Tool, ToolError},
};

/// What one member became.
pub(crate) struct Row {
    pub(crate) member: &'static str,
    /// Path of the item, or nothing where there is none.
    pub(crate) item: Option<&'static str>,
    /// More about it.
    pub(crate) note: &'static str,
}

/// Rows of one class. `=> PATH` names a value or function that exists, `=> type PATH` a type, `=> PATH as (…)` a generic function
/// that takes arguments of these types, `=> field TYPE.FIELD` a field, `=> of TRAIT METHOD` and `=> part TRAIT TYPE` what a trait
/// has; `=> none` is followed by the reason why nothing has its place.
macro_rules! rows {
    (@row $member:literal => none, $note:literal) => {
        Row { member: $member, item: None, note: $note }
    };
    (@row $member:literal => field $item:ident . $field:ident, $note:literal) => {{
        let _ = |value: &$item| {
            let _ = &value.$field;
        };
        Row { member: $member, item: Some(concat!(stringify!($item), "::", stringify!($field))), note: $note }
    }};
    (@row $member:literal => of $item:ident $method:ident, $note:literal) => {{
        fn has<T: $item>() {
            let _ = T::$method;
        }
        let _ = has::<crate::seed_members::Sample>;
        Row { member: $member, item: Some(concat!(stringify!($item), "::", stringify!($method))), note: $note }
    }};
    (@row $member:literal => part $item:ident $part:ident, $note:literal) => {{
        let _ = std::mem::size_of::<<crate::seed_members::Sample as $item>::$part>();
        Row { member: $member, item: Some(concat!(stringify!($item), "::", stringify!($part))), note: $note }
    }};
    (@row $member:literal => type $item:ty, $note:literal) => {{
        let _ = std::mem::size_of::<fn() -> Box<$item>>();
        Row { member: $member, item: Some(stringify!($item)), note: $note }
    }};
    (@row $member:literal => $item:path as ($($argument:ty),* $(,)?), $note:literal) => {{
        let _ = || $item($(crate::seed_members::any::<$argument>()),*);
        Row { member: $member, item: Some(stringify!($item)), note: $note }
    }};
    (@row $member:literal => $item:path, $note:literal) => {{
        let _ = $item;
        Row { member: $member, item: Some(stringify!($item)), note: $note }
    }};
    ($([$($row:tt)*])*) => { vec![$(rows!(@row $($row)*)),*] };
}
pub(crate) use rows;

/// Never called: stands for a value in code that is only compiled.
pub(crate) fn any<T>() -> T {
    unreachable!("only compiled")
}

/// Some tool, to name what the trait has.
pub(crate) struct Sample;

impl Tool for Sample {
    type Arguments = NoArguments;
    type Output = String;

    fn about(&self) -> About {
        About::new("sample", "Nothing.")
    }

    async fn call(&self, _: NoArguments, _: CallContext) -> Result<String, ToolError> {
        Ok(String::new())
    }
}

fn classes() -> Vec<(&'static str, Vec<Row>)> {
    [manager::classes(), catalog::classes(), definition::classes()].into_iter().flatten().collect()
}

fn page() -> String {
    let mut page = String::from(
        "# Where the members of OneRingAI's tool layer are\n\nFor whoever comes from there: every member of its classes about tools, and the item that does its work here. A test\n\
         makes this page of the same list that names the items, so each of them exists. Generated; see `tests/it/seed_members.rs`.\n",
    );
    for (class, rows) in classes() {
        let _ = write!(page, "\n## {class}\n\n| member | item | |\n|---|---|---|\n");
        for Row { member, item, note } in rows {
            let item = item.map_or("–".to_owned(), |item| format!("`{item}`"));
            let _ = writeln!(page, "| `{member}` | {item} | {note} |");
        }
    }
    page
}

#[test]
fn the_page_says_what_there_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/oneringai-map.md");
    let page = page();
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/oneringai-map.md is out of date; run the test with UPDATE_GENERATED=1");
}

/// The members that the reference lists, by class, so that none is left out of the table.
#[test]
fn no_member_is_missing() {
    let all = classes();
    for (class, members) in [
        (
            "ToolManager",
            "constructor register registerMany registerConnectorTools unregister clear enable disable toggle isEnabled setEnabled \
             setNamespace enableNamespace disableNamespace getNamespaces createNamespace setPriority getPriority setPermission \
             getPermission get has getEnabled getEnabledRegistrations getAll getByNamespace getByCategory getRegistration list \
             listEnabled listCompact selectForContext selectByCapability selectWithinBudget recordExecution getStats \
             setToolContext mergeToolContext getToolContext setPermissionManager getPermissionManager hasPermissionEnforcement \
             setEvidenceMiddleware execute executeWithOutcome hasToolFunction getToolDefinition registerTool unregisterTool \
             listTools getCircuitBreakerStates getToolCircuitBreakerMetrics resetToolCircuitBreaker setCircuitBreakerConfig \
             getState loadState destroy toolExecutionTimeout",
        ),
        (
            "ToolRegistry",
            "getBuiltInTools getConnectorTools getAllConnectorTools getAllTools getToolsByService getToolsByConnector \
             isConnectorTool",
        ),
        (
            "ToolCatalogRegistry",
            "toDisplayName parseConnectorCategory getConnectorToolsModule setConnectorToolsModule registerCategory registerTools \
             registerTool unregisterCategory unregisterTool getCategories getCategory hasCategory getToolsInCategory \
             getAllCatalogTools findTool filterCategories isCategoryAllowed discoverConnectorCategories \
             resolveConnectorCategoryTools resolveTools resolveToolsGrouped ensureInitialized initializeFromRegistry reset",
        ),
        (
            "ToolCatalogPluginNextGen",
            "constructor getInstructions getInstructionsTokenSize getContent getContents getTools isCompactable compact getState \
             restoreState destroy setToolManager executeLoad tool_catalog_search tool_catalog_load tool_catalog_unload",
        ),
        (
            "StoreToolsManager",
            "constructor registerHandler unregisterHandler getHandler getSchemas getStoreIds getTools destroy buildOverview",
        ),
        ("IToolExecutor", "execute hasToolFunction getToolDefinition registerTool unregisterTool listTools"),
        (
            "FunctionToolDefinition",
            "name description parameters strict outputSchema blocking timeout async allowedCallers deferLoading descriptionFactory \
             describeCall execute",
        ),
    ] {
        let rows = &all.iter().find(|(name, _)| *name == class).unwrap_or_else(|| panic!("no table of {class}")).1;
        let listed: Vec<&str> = rows.iter().map(|row| row.member).collect();
        for member in members.split_whitespace() {
            assert!(listed.contains(&member), "{class}: {member} is not in the table");
        }
    }
}
