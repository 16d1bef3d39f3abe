//! What the built-in tools say of themselves.

use serde_json::Value;
use toolcrib_connect::builtin::{BuiltinSettings, CommandSettings, Commands, Root};

use crate::tools::Tools;

fn everything() -> BuiltinSettings {
    BuiltinSettings {
        roots: vec![Root { path: "/".into(), writable: true }],
        commands: CommandSettings { allowed: Commands::Any, ..CommandSettings::default() },
        ..BuiltinSettings::default()
    }
}

fn names(settings: BuiltinSettings) -> Vec<String> {
    let definitions = Tools::new(settings).builtins.definitions();
    definitions.iter().map(|definition| definition["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn settings_decide_which_tools_there_are() {
    let kv = ["kv_delete", "kv_get", "kv_list", "kv_set"];
    assert_eq!(
        names(BuiltinSettings { fetch: None, ..BuiltinSettings::default() }),
        [&["current_time"][..], &kv].concat()
    );
    assert_eq!(
        names(BuiltinSettings {
            roots: vec![Root { path: "/".into(), writable: false }],
            ..BuiltinSettings::default()
        }),
        [&["current_time", "fetch_url", "find_files"][..], &kv, &["list_directory", "read_file", "search_text"]]
            .concat()
    );
    assert_eq!(
        names(everything()),
        [
            &["current_time", "edit_file", "fetch_url", "find_files"][..],
            &kv,
            &["list_directory", "read_file", "run_command", "search_text", "write_file"]
        ]
        .concat()
    );
    let nothing_named = CommandSettings { allowed: Commands::Only(Vec::new()), ..CommandSettings::default() };
    let settings = BuiltinSettings { commands: nothing_named, ..BuiltinSettings::default() };
    assert!(!names(settings).contains(&"run_command".to_owned()));
}

/// Tokens by the estimate of a quarter of the characters of compact JSON.
#[test]
fn the_list_of_names_is_what_is_there_when_everything_is_on() {
    assert_eq!(names(everything()), toolcrib_connect::builtin::NAMES);
}

fn tokens(definitions: Vec<Value>) -> usize {
    Value::Array(definitions).to_string().chars().count() / 4
}

#[test]
fn all_together_stay_under_800_tokens() {
    let mut definitions = Tools::new(everything()).builtins.definitions();
    // Whole, as a client gets them, for those that earn a place beside the bridge from the start.
    let core = definitions.iter().filter(|tool| !tool["name"].as_str().unwrap().starts_with("kv_")).cloned().collect();
    assert!(tokens(core) < 800);
    // All of them, as a model sees them.
    for tool in &mut definitions {
        let parts = tool.as_object_mut().unwrap();
        parts.retain(|key, _| matches!(key.as_str(), "name" | "description" | "inputSchema"));
    }
    assert!(tokens(definitions) < 800);
}

#[test]
fn every_schema_is_closed_and_every_required_key_exists() {
    for definition in Tools::new(everything()).builtins.definitions() {
        let name = definition["name"].as_str().unwrap();
        let schema = &definition["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(schema["additionalProperties"], false, "{name}");
        for key in schema["required"].as_array().into_iter().flatten() {
            assert!(schema["properties"][key.as_str().unwrap()].is_object(), "{name} {key}");
        }
        assert!(definition["title"].is_string() && !definition["description"].as_str().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn hints_are_honest() {
    let read_only =
        ["current_time", "fetch_url", "find_files", "kv_get", "kv_list", "list_directory", "read_file", "search_text"];
    for definition in Tools::new(everything()).builtins.definitions() {
        let name = definition["name"].as_str().unwrap();
        let hints = &definition["annotations"];
        assert_eq!(hints["readOnlyHint"] == true, read_only.contains(&name), "{name}");
        // Never claimed of a tool that overwrites or runs things.
        assert_ne!(hints["destructiveHint"], false, "{name}");
        let open = hints["openWorldHint"] != false;
        assert_eq!(open, ["fetch_url", "run_command"].contains(&name), "{name}");
    }
}
