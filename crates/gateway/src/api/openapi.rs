//! The OpenAPI document, made from the table of operations and the types of the wire.

use std::{collections::BTreeMap, sync::OnceLock};

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use toolcrib_core::labels::word::is_hidden;

use super::{
    Code, Problem,
    operation::{Content, Operation, schema},
    operations,
    problem::MEDIA_TYPE,
};

/// Problems that every route may answer with.
const ALWAYS: &[Code] = &[Code::NotRead, Code::KeyNeeded, Code::HostNotServed, Code::CrossSite];
/// And every route that takes a body.
const WITH_BODY: &[Code] = &[Code::TooSlow, Code::TooLarge, Code::NotJson];

/// The document, as JSON text; made once.
pub(super) fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| seen(&document().to_string()))
}

/// JSON in which characters that do not show are escaped, so that whoever reads it sees what it says. Not those beyond U+FFFF:
/// readers of YAML, of which JSON is taken for a part, refuse the pairs that JSON writes them as.
fn seen(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() || letter > '\u{ffff}' || !is_hidden(letter) {
            text.push(letter);
        } else {
            text.push_str(&format!("\\u{:04x}", u32::from(letter)));
        }
    }
    text
}

/// The API as OpenAPI 3.1.
pub fn document() -> Value {
    let Parts { paths, taken, given } = parts();
    let mut schemas = taken;
    schemas.extend(given);
    schemas.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "toolcrib",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Tools for agents: find them, assemble them for a model, call them.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "One of `gateway.keys`, `gateway.named_keys` or `gateway.operator_keys`. Needed where callers' keys are configured.",
                },
            },
            "schemas": schemas,
        },
    })
}

/// The paths, and the schemas that they refer to: of what is read and of what is written. A type that is both has the same
/// schema in both.
struct Parts {
    paths: Map<String, Value>,
    taken: Map<String, Value>,
    given: Map<String, Value>,
}

fn parts() -> Parts {
    let mut taken = generator(SchemaSettings::draft2020_12().for_deserialize());
    let mut given = generator(SchemaSettings::draft2020_12().for_serialize());
    let mut paths = Map::new();
    for operation in operations::all() {
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        item[operation.method.as_str().to_ascii_lowercase()] = describe(&operation, &mut taken, &mut given);
    }
    Parts { paths, taken: taken.take_definitions(true), given: given.take_definitions(true) }
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    let settings = settings.with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    settings.into_generator()
}

fn describe(operation: &Operation, taken: &mut SchemaGenerator, given: &mut SchemaGenerator) -> Value {
    let mut described = json!({"operationId": operation.id, "summary": operation.summary});
    if let Some(scope) = operation.needs {
        described["x-toolcrib-scope"] = scope.word().into();
    }
    let parameters = parameters(operation, taken);
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(body) = operation.body {
        described["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": body(taken)}}});
    }
    let content = match operation.content {
        Content::Json(schema) => json!({"application/json": {"schema": schema(given)}}),
        Content::JsonOrEvents(schema, event) => json!({
            "application/json": {"schema": schema(given)},
            "text/event-stream": {"schema": {
                "type": "string",
                "description": "Events `progress`, `outcome` and `end`; the data of each is JSON.",
                "contentMediaType": "application/json",
                "contentSchema": event(given),
            }},
        }),
        Content::Text => json!({"text/plain": {"schema": {"type": "string"}}}),
    };
    let mut responses = Map::from_iter([("200".to_owned(), json!({"description": "Done.", "content": content}))]);
    let problem = schema::<Problem>(given);
    for (status, codes) in problems(operation) {
        let words: Vec<String> = codes.iter().map(|code| format!("`{}`", code.word())).collect();
        let description = format!("{} ({}).", codes[0].title(), words.join(", "));
        responses.insert(
            status.to_string(),
            json!({"description": description, "content": {MEDIA_TYPE: {"schema": problem.clone()}}}),
        );
    }
    described["responses"] = responses.into();
    described
}

/// Problems by status.
fn problems(operation: &Operation) -> BTreeMap<u16, Vec<Code>> {
    let mut all: Vec<Code> = ALWAYS.to_vec();
    all.extend(operation.needs.map(|_| Code::ScopeNeeded));
    if operation.body.is_some() {
        all.extend(WITH_BODY);
    }
    all.extend(operation.problems);
    all.push(Code::Broken);
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in all {
        by_status.entry(code.status()).or_default().push(code);
    }
    by_status
}

fn parameters(operation: &Operation, taken: &mut SchemaGenerator) -> Vec<Value> {
    let mut all = Vec::new();
    if let Some(part) = operation.part {
        let name = operation.path.split(['{', '}']).nth(1).unwrap_or_default();
        let schema = json!({"type": "string", "minLength": 1});
        all.push(json!({"name": name, "in": "path", "required": true, "description": part, "schema": schema}));
    }
    if let Some(query) = operation.query {
        let schema = query(taken);
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let mut property = property.clone();
            let description = property.as_object_mut().and_then(|property| property.remove("description"));
            // A query can leave a parameter out, but not write null.
            not_null(&mut property);
            all.push(json!({
                "name": name,
                "in": "query",
                "required": required.iter().any(|one| one == name),
                "description": description,
                "schema": property,
            }));
        }
    }
    for (name, description) in operation.headers {
        let schema = json!({"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$"});
        all.push(
            json!({"name": name, "in": "header", "required": false, "description": description, "schema": schema}),
        );
    }
    all
}

fn not_null(property: &mut Value) {
    let Some(property) = property.as_object_mut() else { return };
    property.remove("default");
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }
    if let Some(Value::Array(words)) = property.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
}

#[cfg(test)]
mod tests;
