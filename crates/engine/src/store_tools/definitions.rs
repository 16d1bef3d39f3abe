//! The five definitions, written from the stores that are there.

use std::fmt::Write;

use serde_json::{Value, json};

use super::spec::StoreSpec;

/// Reads one entry or a page of whole entries.
pub const STORE_GET: &str = "store_get";
/// Writes an entry.
pub const STORE_SET: &str = "store_set";
/// Removes an entry.
pub const STORE_DELETE: &str = "store_delete";
/// Lists entries in short.
pub const STORE_LIST: &str = "store_list";
/// Does what a store can do besides.
pub const STORE_ACTION: &str = "store_action";
/// All five, sorted. No package, plugin or server may offer tools of these names as built-in ones (oneringai case 135).
pub const STORE_TOOLS: [&str; 5] = [STORE_ACTION, STORE_DELETE, STORE_GET, STORE_LIST, STORE_SET];

/// The definitions of the five tools, in MCP shape, sorted by name.
pub(super) fn definitions(stores: &[StoreSpec]) -> Vec<Value> {
    let store = store_property(stores);
    let key = json!({"type": "string", "description": "The entry's key."});
    let list_params = json!({
        "store": store, "filter": {"type": "object", "description": "What the entries must be like."},
        "after": {"type": "string", "description": "The 'next' of the page before."},
        "limit": {"type": "integer", "minimum": 1, "maximum": super::router::MAX_PAGE}
    });
    vec![
        define(
            STORE_ACTION,
            "Store action",
            &described(stores, "Does something with a store beyond keeping entries.", &actions),
            &json!({
                "store": store,
                "action": {"type": "string"},
                "params": {"type": "object", "description": "The action's parameters."},
                "confirm": {"type": "boolean", "description": "true for an action that destroys something."}
            }),
            &["store", "action"],
            &json!({"openWorldHint": false}),
        ),
        define(
            STORE_DELETE,
            "Delete entry",
            &described(stores, "Deletes an entry of a store.", &|_| String::new()),
            &json!({"store": store, "key": key}),
            &["store", "key"],
            &json!({"destructiveHint": true, "idempotentHint": true, "openWorldHint": false}),
        ),
        define(
            STORE_GET,
            "Get entry",
            &described(stores, "Reads an entry of a store; without a key, whole entries page by page.", &keeps),
            &json!({"store": store, "key": key, "after": {"type": "string", "description": "The 'next' of the page before."}}),
            &["store"],
            &json!({"readOnlyHint": true, "openWorldHint": false}),
        ),
        define(
            STORE_LIST,
            "List entries",
            &described(stores, "Lists the entries of a store in short.", &filters),
            &list_params,
            &["store"],
            &json!({"readOnlyHint": true, "openWorldHint": false}),
        ),
        define(
            STORE_SET,
            "Set entry",
            &described(stores, "Writes an entry of a store, whole.", &fields),
            &json!({"store": store, "key": key, "data": {"type": "object", "description": "The entry's fields."}}),
            &["store", "key"],
            &json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
        ),
    ]
}

fn define(name: &str, title: &str, description: &str, properties: &Value, required: &[&str], hints: &Value) -> Value {
    // Open: fields may stand beside the others (oneringai case 113).
    json!({
        "name": name, "title": title, "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": true},
        "annotations": hints
    })
}

fn store_property(stores: &[StoreSpec]) -> Value {
    if stores.is_empty() {
        return json!({"type": "string"});
    }
    let ids: Vec<&str> = stores.iter().map(|store| store.id.as_str()).collect();
    json!({"type": "string", "enum": ids})
}

/// `lead`, then a line a store.
fn described(stores: &[StoreSpec], lead: &str, says: &dyn Fn(&StoreSpec) -> String) -> String {
    if stores.is_empty() {
        return format!("{lead} There are no stores.");
    }
    let mut text = lead.to_owned();
    for store in stores {
        let said = says(store);
        if !said.is_empty() {
            let _ = write!(text, "\n- {}: {said}", store.id);
        }
    }
    text
}

fn keeps(store: &StoreSpec) -> String {
    store.description.clone()
}

fn fields(store: &StoreSpec) -> String {
    let mut said = store.description.clone();
    if !store.usage_hint.is_empty() {
        let _ = write!(said, " {}", store.usage_hint);
    }
    if !store.fields.is_empty() {
        let _ = write!(said, " Fields: {}", store.fields);
    }
    said
}

fn filters(store: &StoreSpec) -> String {
    if store.filters.is_empty() { store.description.clone() } else { format!("filter by {}", store.filters) }
}

fn actions(store: &StoreSpec) -> String {
    let said: Vec<String> = store
        .actions
        .iter()
        .map(|action| {
            let params = if action.params.is_empty() { String::new() } else { format!(" {{{}}}", action.params) };
            let confirm = if action.destructive { " Needs confirm: true." } else { "" };
            format!("{}{params}: {}{confirm}", action.name, action.description)
        })
        .collect();
    said.join("; ")
}
