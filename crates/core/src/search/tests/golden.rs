//! The golden catalogs and vectors as documents.

use serde_json::Value;

use crate::search::{Document, Parameter};

/// Reads one golden file.
pub(crate) fn read(name: &str) -> Value {
    let path = format!("{}/tests/data/hermes/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// One tool of a golden catalog.
pub(crate) fn document(tool: &Value) -> Document {
    let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
    let parameter = |name: &Value| Parameter { name: name.as_str().unwrap().to_owned(), ..Parameter::default() };
    Document {
        name: text("name"),
        server: text("toolset").trim_start_matches("mcp-").to_owned(),
        description: text("description"),
        parameters: tool["params"].as_array().unwrap().iter().map(parameter).collect(),
        ..Document::default()
    }
}

/// A golden catalog, in its order.
pub(crate) fn documents(catalog: &str) -> Vec<Document> {
    read("catalogs")[catalog].as_array().unwrap().iter().map(document).collect()
}

/// All golden catalogs, one after the other.
pub(crate) fn all_documents() -> Vec<Document> {
    ["small", "medium", "large"].iter().flat_map(|catalog| documents(catalog)).collect()
}
