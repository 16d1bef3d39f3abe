//! What a plugin declares and what it offers once it runs, brought together: only what is in both is served, and what the
//! running plugin says of a tool can make it more carefully treated, never less.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use toolcrib_core::Annotations;

use super::manifest::{DeclaredTool, Manifest};

/// What comes of an offer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Offer {
    /// The definitions of declared tools, offered or not.
    pub(super) definitions: Vec<Value>,
    /// Declared and not offered.
    pub(super) missing: Vec<String>,
    /// What else is odd about it.
    pub(super) odd: Vec<String>,
}

/// Most names that one finding lists.
const LISTED: usize = 5;

impl Offer {
    /// Before anything was offered: what is declared.
    pub(super) fn of_manifest(manifest: &Manifest) -> Self {
        Self { definitions: manifest.tools.iter().map(DeclaredTool::definition).collect(), ..Self::default() }
    }

    /// Holds what is offered against what is declared. Names are compared exactly (openclaw §1.1).
    pub(super) fn of(manifest: &Manifest, offered: &[Value]) -> Self {
        let mut offer = Self::default();
        let name =
            |item: &Value| item["name"].as_str().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        let nameless = offered.iter().filter(|item| name(item).is_none()).count();
        if nameless > 0 {
            offer.odd.push(format!("{nameless} of its {} definitions have no name and are dropped", offered.len()));
        }
        let names: Vec<String> = offered.iter().filter_map(name).collect();
        let declared: HashSet<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut seen = HashSet::new();
        let undeclared: Vec<String> =
            names.iter().filter(|name| !declared.contains(name.as_str()) && seen.insert(*name)).cloned().collect();
        let mut places: HashMap<&str, (&Value, bool)> = HashMap::new();
        for item in offered {
            let Some(name) = item["name"].as_str().map(str::trim) else { continue };
            places.entry(name).and_modify(|(_, again)| *again = true).or_insert((item, false));
        }
        if !undeclared.is_empty() {
            let what = "it offers tools that its manifest does not declare, which are dropped";
            offer.odd.push(format!("{what}: {}", list(&undeclared)));
        }
        for declared in &manifest.tools {
            let found = places.get(&*declared.name).copied();
            let first = found.map(|(item, _)| item);
            if first.is_none() {
                offer.missing.push(declared.name.clone());
            }
            if found.is_some_and(|(_, again)| again) {
                offer.odd.push(format!("it offers '{}' more than once; the first counts", declared.name));
            }
            offer.definitions.push(first.map_or_else(|| declared.definition(), |item| merged(declared, item)));
        }
        if !offer.missing.is_empty() {
            offer.odd.push(format!("its manifest declares tools that it does not offer: {}", list(&offer.missing)));
        }
        offer
    }
}

fn list(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| name.chars().take(80).collect()).collect();
    let more = names.len().saturating_sub(LISTED);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// The manifest's word counts; the plugin's stands in where the manifest says nothing.
fn merged(declared: &DeclaredTool, offered: &Value) -> Value {
    let mut definition = match declared.definition() {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let mut fill = |key: &str, given: bool| {
        if !given && let Some(value) = offered.get(key).filter(|value| !value.is_null()) {
            definition.insert(key.to_owned(), value.clone());
        }
    };
    fill("title", declared.title.is_some());
    fill("description", declared.description.is_some());
    fill("inputSchema", declared.input_schema.is_some());
    fill("outputSchema", declared.output_schema.is_some());
    let hints = careful(declared.hints, &offered["annotations"]);
    if hints != Annotations::default() {
        definition.insert("annotations".to_owned(), json!(hints));
    }
    Value::Object(definition)
}

/// The manifest's hints, and of the plugin's own those that call for more care.
fn careful(declared: Annotations, offered: &Value) -> Annotations {
    let says = |key: &str, value: bool| offered[key].as_bool() == Some(value);
    let raise = |declared: Option<bool>, key: &str, value: bool| if says(key, value) { Some(value) } else { declared };
    Annotations {
        read_only_hint: raise(declared.read_only_hint, "readOnlyHint", false),
        destructive_hint: raise(declared.destructive_hint, "destructiveHint", true),
        idempotent_hint: raise(declared.idempotent_hint, "idempotentHint", false),
        open_world_hint: raise(declared.open_world_hint, "openWorldHint", true),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn manifest() -> Manifest {
        let text = r#"
            id = "p"
            version = "1"
            description = "d"
            run = { lines = ["x"] }
            [[tools]]
            name = "read"
            description = "Declared"
            hints = { read_only = true }
            [[tools]]
            name = "write"
        "#;
        Manifest::parse(text, Path::new("plugin.toml")).unwrap()
    }

    #[test]
    fn declared_and_offered_is_served_the_rest_is_told() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let offer = Offer::of(
            &manifest(),
            &[
                json!({"name": "read", "description": "Offered", "inputSchema": schema}),
                json!({"name": "Write"}),
                json!({"name": "rm"}),
                json!({"title": "nameless"}),
                json!(7),
            ],
        );
        assert_eq!(offer.definitions[0]["description"], "Declared");
        assert_eq!(offer.definitions[0]["inputSchema"], schema);
        assert_eq!(offer.missing, ["write"]);
        assert_eq!(
            offer.odd,
            [
                "2 of its 5 definitions have no name and are dropped",
                "it offers tools that its manifest does not declare, which are dropped: Write, rm",
                "its manifest declares tools that it does not offer: write",
            ]
        );
    }

    /// Hints of the second tool, of which the manifest says nothing, and of the first, which it calls read-only.
    #[track_caller]
    fn hints(offered: &Value, read: &Value, write: &Value) {
        let tools = ["read", "write"].map(|name| json!({"name": name, "annotations": offered}));
        let offer = Offer::of(&manifest(), &tools);
        assert_eq!(&offer.definitions[0]["annotations"], read);
        assert_eq!(&offer.definitions[1]["annotations"], write);
    }

    #[test]
    fn a_running_plugin_raises_caution_and_never_lowers_it() {
        let declared = &json!({"readOnlyHint": true});
        hints(&json!({"readOnlyHint": true, "idempotentHint": true, "destructiveHint": false}), declared, &json!(null));
        hints(&json!({"readOnlyHint": false}), &json!({"readOnlyHint": false}), &json!({"readOnlyHint": false}));
        hints(
            &json!({"destructiveHint": true, "openWorldHint": true, "idempotentHint": false}),
            &json!({"readOnlyHint": true, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}),
            &json!({"destructiveHint": true, "idempotentHint": false, "openWorldHint": true}),
        );
        hints(&json!("yes"), declared, &json!(null));
    }

    #[test]
    fn one_definition_stands_for_a_name_that_is_offered_twice() {
        let twice = [json!({"name": "write", "description": "1"}), json!({"name": "write", "description": "2"})];
        let offer = Offer::of(&manifest(), &twice);
        assert_eq!(offer.definitions[1]["description"], "1");
        assert!(offer.odd.iter().any(|odd| odd.contains("'write' more than once")), "{:?}", offer.odd);
    }
}
