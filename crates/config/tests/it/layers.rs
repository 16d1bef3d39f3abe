//! Layers: what wins, what meets, and where a value is said to come from.

use serde_json::json;
use toolcrib_config::{Config, Override, changes};

use crate::{World, one, texts};

#[test]
fn a_later_file_changes_one_key_of_a_server() {
    let loaded = World::default()
        .file("a.toml", "[servers.x]\ncommand = 'one'\nargs = ['1']\ndisabled = true\n[servers.y]\ncommand = 'y'")
        .file("b.json", r#"{"servers": {"x": {"enabled": true}}}"#)
        .load(&["a.toml", "b.json"])
        .unwrap();
    let server = &loaded.config.servers["x"];
    assert_eq!((server.command.as_deref(), server.is_enabled()), (Some("one"), true));
    assert_eq!(loaded.origins.text("servers.x.enabled"), "servers.x.enabled in b.json:1");
    assert_eq!(loaded.origins.text("servers.x.args[0]"), "servers.x.args[0] in a.toml:3");
    assert_eq!(loaded.config.servers.len(), 2);
}

#[test]
fn a_server_may_move_from_a_command_to_an_address_and_back() {
    let world = World::default()
        .file("a.toml", "[servers.x]\ncommand = 'one'\nargs = ['1']\ntags = ['t']")
        .file("b.toml", "[servers.x]\nurl = 'https://x.test/mcp'\nbearer = 'k'");
    let server = &world.load(&["a.toml", "b.toml"]).unwrap().config.servers["x"];
    assert_eq!((server.command.as_deref(), server.url.as_deref()), (None, Some("https://x.test/mcp")));
    assert_eq!(server.tags, ["t"]);
    let loaded = world.load(&["b.toml", "a.toml"]).unwrap();
    let server = &loaded.config.servers["x"];
    assert_eq!((server.command.as_deref(), server.url.as_deref()), (Some("one"), None));
    assert_eq!(server.bearer, None);
    assert!(texts(&loaded).is_empty());
}

#[test]
fn our_sections_in_another_clients_file_are_not_used_and_that_is_said() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}}, "permissions": {"deny": ["*"]}, "theirs": 1}"#;
    let loaded = one("settings.json", text);
    assert_eq!(loaded.config.servers.len(), 1);
    let told = texts(&loaded);
    assert!(
        told.len() == 1 && told[0].contains("permissions") && told[0].contains("another client's file"),
        "{told:?}"
    );
    let loaded = one("toolcrib.json", text);
    assert_eq!(loaded.config.permissions.deny, ["*"]);
}

#[test]
fn all_three_words_for_servers_are_one_list() {
    for word in ["servers", "mcpServers", "mcp_servers"] {
        let loaded = one("toolcrib.toml", format!("[{word}.x]\ncommand = 'x'\nargz = 1\n[names]\nprefix = 'none'"));
        assert_eq!(loaded.config.servers.len(), 1, "{word}");
        assert_eq!(loaded.config.names.prefix, toolcrib_config::model::PrefixRule::None, "{word}");
        assert_eq!(texts(&loaded), ["toolcrib.toml:3:1: servers.x.argz: unknown key, not used (did you mean args?)"]);
    }
}

#[test]
fn names_with_dots_keep_their_place() {
    let loaded = one("toolcrib.toml", "[servers.'a.b']\ncommand = 'x'\n[servers.'a.b.c']\ncommand = 5");
    assert_eq!(loaded.config.servers.keys().collect::<Vec<_>>(), ["a.b"]);
    assert!(
        texts(&loaded)[0].starts_with("toolcrib.toml:4:1: servers.a.b.c.command: it is a number"),
        "{:?}",
        texts(&loaded)
    );
}

#[test]
fn flags_beat_the_environment_and_both_beat_files() {
    let world = World::default()
        .file("a.yaml", "profile: file\nstore: {path: file.db}\n")
        .variable("TOOLCRIB_PROFILE", "variable")
        .variable("TOOLCRIB_STORE", "variable.db");
    let flag = Override { key: "profile".into(), value: json!("flag"), flag: "--profile".into() };
    let loaded = world.load_with(&["a.yaml"], &[flag]).unwrap();
    assert_eq!(loaded.config.profile.as_deref(), Some("flag"));
    assert_eq!(loaded.config.store.path.as_deref(), Some("variable.db"));
    assert_eq!(loaded.origins.text("profile"), "profile in flag --profile");
}

#[test]
fn a_list_without_a_value_is_told_from_an_empty_one() {
    let loaded = one("toolcrib.yaml", "policy:\n  allow:\n");
    assert_eq!(loaded.config.policy.allow, None);
    assert!(texts(&loaded)[0].starts_with("toolcrib.yaml:2:3: policy.allow: has no value"), "{:?}", texts(&loaded));
    assert_eq!(one("toolcrib.yaml", "policy:\n  allow: []\n").config.policy.allow, Some(vec![]));
    // Elsewhere nothing is nothing.
    let loaded = one("toolcrib.yaml", "servers:\n  x:\n    command: y\n    env:\n    args:\ngateway:\nnames:\n");
    assert!(texts(&loaded).is_empty(), "{:?}", texts(&loaded));
    assert_eq!(loaded.config.servers["x"].command.as_deref(), Some("y"));
}

#[test]
fn words_of_yaml_stay_texts() {
    let text = "servers:\n  x:\n    command: y\n    args: [no, on, 0123, 1_000, 8080, true]\n    env: {COUNTRY: no, PORT: 8080}\n";
    let loaded = one("toolcrib.yaml", text);
    assert!(texts(&loaded).is_empty(), "{:?}", texts(&loaded));
    let server = &loaded.config.servers["x"];
    assert_eq!(server.args, ["no", "on", "0123", "1_000", "8080", "true"]);
    assert_eq!((server.env["COUNTRY"].expose(), server.env["PORT"].expose()), ("no", "8080"));
}

#[test]
fn the_disclosure_section_stays_as_written() {
    for (text, want) in [
        ("disclosure = true", json!({"enabled": true})),
        ("disclosure = 'off'", json!({"enabled": "off"})),
        ("disclosure = 1", json!({"enabled": 1})),
        (
            "[disclosure]\nthreshold_pct = 'nan'\nmax_search_limit = 7.5",
            json!({"threshold_pct": "nan", "max_search_limit": 7.5}),
        ),
        ("", json!({})),
    ] {
        assert_eq!(one("toolcrib.toml", text).config.disclosure.raw(), want, "{text}");
    }
}

#[track_caller]
fn check(before: &Config, after: &Config, added: &[&str], removed: &[&str], changed: &[&str], settings: bool) {
    let change = changes(before, after);
    assert_eq!(change.added, added);
    assert_eq!(change.removed, removed);
    assert_eq!(change.changed, changed);
    assert_eq!(change.settings, settings);
}

#[test]
fn a_reload_touches_what_changed() {
    let config = |text: &str| one("toolcrib.toml", text).config;
    let base = "[servers.a]\ncommand = 'a'\n[servers.b]\nurl = 'https://b'\nbearer = 'one'\n";
    let before = config(base);
    check(&before, &before, &[], &[], &[], false);
    check(&before, &config(&base.replace("one", "two")), &[], &[], &["b"], false);
    check(&before, &config(&format!("{base}[servers.c]\ncommand = 'c'")), &["c"], &[], &[], false);
    check(&before, &config(&format!("{base}enabled = false")), &[], &["b"], &[], false);
    for label in [
        "include = ['x*']",
        "description = 'd'",
        "always = true",
        "instructions = true",
        "trust_hints = true",
        "call_timeout_ms = 1000",
    ] {
        let after = config(&format!("{base}{label}"));
        check(&before, &after, &[], &[], &[], false);
        assert_eq!(changes(&before, &after).relabelled, ["b"], "{label}");
    }
    for spoken in ["era = 'legacy'", "connect_timeout_ms = 1000", "lazy = true"] {
        check(&before, &config(&format!("{base}{spoken}")), &[], &[], &["b"], false);
    }
    check(&before, &config(&format!("{base}[policy]\ndeny = ['x']")), &[], &[], &[], true);
    assert_eq!(changes(&before, &config(&format!("{base}[store]\npath = 'x'"))).restart, ["store"]);
}

#[test]
fn fingerprints_tell_servers_apart_and_hold_no_secret() {
    let print = |text: &str| one("toolcrib.toml", format!("[servers.a]\n{text}")).config.servers["a"].fingerprint();
    let all = [
        "command = 'a'",
        "command = 'b'",
        "command = 'a'\nargs = ['x', 'y']",
        "command = 'a'\nargs = ['xy']",
        "command = 'a'\nenv = { A = 'x' }",
        "command = 'a'\nenv = { A = 'y' }",
        "command = 'a'\nenv = { B = 'x' }",
        "url = 'https://a'\nheaders = { A = 'x' }",
        "url = 'https://a'\nheaders = { A = 'y' }",
        "url = 'https://a'\nbearer = 'x'",
    ]
    .map(print);
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
    assert_eq!(
        print("command = 'a'\nargs = ['x']"),
        print("args = ['x']\ncommand = 'a'"),
        "the order of keys is nothing"
    );
}

#[test]
fn files_are_found_in_the_working_directory_and_the_users_folder() {
    let root = tempfile::tempdir().unwrap();
    let (here, home) = (root.path().join("here"), root.path().join("home"));
    std::fs::create_dir_all(&here).unwrap();
    std::fs::create_dir_all(home.join("toolcrib")).unwrap();
    let found = || toolcrib_config::discover(&here, Some(&home));
    assert!(found().is_empty());
    // Each file written is better than those before it.
    for name in [".mcp.json", "toolcrib.json", "toolcrib.yml", "toolcrib.yaml", "toolcrib.toml"] {
        std::fs::write(here.join(name), "").unwrap();
        assert_eq!(found(), [here.join(name)]);
    }
    std::fs::write(home.join("toolcrib/toolcrib.toml"), "").unwrap();
    assert_eq!(found(), [home.join("toolcrib/toolcrib.toml"), here.join("toolcrib.toml")], "lowest layer first");
}
