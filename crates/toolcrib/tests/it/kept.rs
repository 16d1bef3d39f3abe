//! The store tools of the built-in source, through the command: what is kept lasts, and what destroys is asked about.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

/// Runs `toolcrib call` and gives its exit code, the structured result, and what it said.
fn call(folder: &Path, tool: &str, arguments: &Value) -> (i32, Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(["call", tool, &arguments.to_string(), "--json"])
        .current_dir(folder)
        .env("TOOLCRIB_STORE", "state.db")
        .env("XDG_CONFIG_HOME", folder)
        .env_remove("TOOLCRIB_CONFIG")
        .output()
        .unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = String::from_utf8(output.stderr).unwrap() + &printed.to_string();
    (output.status.code().unwrap(), printed["structuredContent"].clone(), said)
}

fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("toolcrib.toml"), config).unwrap();
    folder
}

#[test]
fn what_is_kept_outlives_the_process() {
    let folder = folder("[builtin.stores]\nenabled = true\n");
    let note = json!({"store": "notes", "key": "trip", "text": "Flights to Lisbon"});
    let (code, _, said) = call(folder.path(), "store_set", &note);
    assert_eq!(code, 0, "{said}");
    let search = json!({"store": "notes", "action": "search", "params": {"query": "flight"}});
    let (code, found, said) = call(folder.path(), "store_action", &search);
    assert_eq!((code, &found["found"][0]["key"]), (0, &json!("trip")), "{said}");
}

#[test]
fn what_destroys_is_asked_about() {
    let folder = folder("[builtin.stores]\nenabled = true\n");
    call(folder.path(), "store_set", &json!({"store": "notes", "key": "a", "text": "kept"}));
    for (tool, arguments) in [
        ("store_delete", json!({"store": "notes", "key": "a"})),
        ("store_action", json!({"store": "notes", "action": "clear", "confirm": true})),
    ] {
        let (code, _, said) = call(folder.path(), tool, &arguments);
        assert_eq!(code, 3, "{tool}: {said}");
    }
    // Without the confirmation it reaches the store, which refuses (oneringai case 116).
    let text = json!({"store": "notes", "action": "clear", "confirm": "true"});
    assert_ne!(call(folder.path(), "store_action", &text).0, 0);
    let (code, kept, said) = call(folder.path(), "store_get", &json!({"store": "notes", "key": "a"}));
    assert_eq!((code, &kept["entry"]["text"]), (0, &json!("kept")), "{said}");
}

#[test]
fn only_the_stores_that_are_named_are_there() {
    let folder = folder("[builtin.stores]\nenabled = true\nonly = [\"tasks\"]\n");
    let (code, _, said) = call(folder.path(), "store_list", &json!({"store": "notes"}));
    assert_ne!(code, 0, "{said}");
    assert_eq!(call(folder.path(), "store_list", &json!({"store": "tasks"})).0, 0);
    let off = self::folder("");
    assert_ne!(call(off.path(), "store_list", &json!({"store": "tasks"})).0, 0, "off unless enabled");
}
