//! Files as nobody should write them: an error with its place, or a configuration; never a panic, never a hang.

use std::fmt::Write;

use proptest::prelude::*;
use toolcrib_config::Config;

use crate::{World, one, texts};

#[track_caller]
fn broken(name: &str, bytes: impl AsRef<[u8]>, want: &str) {
    let error = World::default().file(name, bytes).load(&[name]).unwrap_err().to_string();
    assert!(error.contains(want), "wanted {want:?} in {error:?}");
}

#[test]
fn broken_files_say_where() {
    broken("a.toml", "x = 1\ny = = 2", "a.toml:2:5: it is not valid TOML");
    broken("a.toml", "[servers.a]\n[servers.a]\n", "a.toml:2:");
    broken("a.toml", "x = 1\nx = 2", "a.toml:2:1: it is not valid TOML: duplicate key");
    broken("a.json", "{\n  \"a\": ]\n}", "a.json:2:8: it is not valid JSON");
    broken("a.json", "{\"a\": 1,\n \"b\" 2}", "a.json:2:");
    broken("a.json", "{\"a\": 1 \"b\": 2}", "a.json:1:8: it is not valid JSON: Expected comma");
    broken("a.json", "{'a': 1}", "a.json:1:2: it is not valid JSON");
    broken("a.json", "{\"a\": {", "a.json:1:");
    broken("a.json", "{} {}", "a.json:1:");
    broken("a.yaml", "a: [1\nb: 2", "a.yaml:");
    broken("a.yaml", "a: 1\na: 2\n", "a.yaml:2:1: it is not valid YAML: duplicate");
    broken("a.yaml", "a: 1\n---\nb: 2\n", "it is not valid YAML");
    broken("a.toml", b"ok = 1\nx = '\xff'", "a.toml:2:6: it is not UTF-8");
    // What Windows editors call Unicode.
    broken("a.json", b"\xff\xfe{\x00}\x00", "a.json:1:1: it is not UTF-8");
    broken("a.json", "[1]", "a.json:1:1: it holds no keys");
    broken("a.yaml", "just words", "it holds no keys");
    broken("a.json", vec![b' '; 5 * 1024 * 1024], "larger than");
}

#[test]
fn nesting_and_aliases_are_bounded() {
    broken("a.json", "[".repeat(200_000), "a.json:1:");
    broken("a.json", format!("{{\"a\": {}{}}}", "[".repeat(100), "]".repeat(100)), "deeper than 64 levels");
    broken("a.yaml", format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000)), "a.yaml");
    broken("a.toml", format!("a = {}{}", "[".repeat(10_000), "]".repeat(10_000)), "a.toml");
    broken("a.toml", format!("[{}b]\nc = 1", "a.".repeat(10_000)), "a.toml");
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        let _ = writeln!(bomb, "a{level}: &a{level} [{}]", [below.as_str(); 10].join(", "));
    }
    broken("a.yaml", bomb, "it is not valid YAML");
}

#[test]
fn empty_files_are_empty_configurations() {
    for name in ["toolcrib.toml", "toolcrib.yaml", "toolcrib.json", ".mcp.json", "noext"] {
        for text in ["", " \r\n\t", "\u{feff}", "\u{feff}\n"] {
            let loaded = one(name, text);
            assert_eq!((loaded.config, loaded.diagnostics.len()), (Config::default(), 0), "{name} {text:?}");
        }
    }
    for (name, text) in [("a.toml", "# x"), ("a.yaml", "# x\n"), ("a.json", "// x\n/* y */"), ("a.yaml", "---\n")] {
        assert_eq!(one(name, text).config, Config::default(), "{name}");
    }
    assert_eq!(one(".mcp.json", r#"{"mcpServers": {}}"#).config, Config::default());
    assert_eq!(one(".mcp.json", r#"{"mcpServers": null}"#).config, Config::default());
}

#[test]
fn marks_and_line_ends_of_other_systems_do_not_matter() {
    for (name, text) in [
        ("toolcrib.toml", "\u{feff}[servers.x]\r\ncommand = 'y'\r\nargz = 1\r\n"),
        ("toolcrib.json", "\u{feff}{\"servers\": {\"x\": {\r\n\"command\": \"y\",\r\n\"argz\": 1}}}\r\n"),
        ("toolcrib.yaml", "\u{feff}servers:\r\n  x: {command: y,\r\n    argz: 1}\r\n"),
    ] {
        let loaded = one(name, text);
        assert_eq!(loaded.config.servers["x"].command.as_deref(), Some("y"), "{name}");
        assert!(texts(&loaded)[0].starts_with(&format!("{name}:3:")), "{:?}", texts(&loaded));
    }
}

#[test]
fn a_key_written_twice_is_told() {
    let loaded = one("toolcrib.json", "{\"servers\": {\n\"x\": {\"command\": \"a\"},\n\"x\": {\"command\": \"b\"}}}");
    assert_eq!(loaded.config.servers["x"].command.as_deref(), Some("b"));
    assert_eq!(texts(&loaded), ["toolcrib.json:3:1: servers.x: written twice; the last one counts"]);
}

#[test]
fn ten_thousand_servers_with_faults_load() {
    let mut text = "{\"mcpServers\": {".to_owned();
    for index in 0..10_000 {
        let comma = if index == 0 { "" } else { ",\n" };
        let _ = write!(text, "{comma}\"s{index}\": {{\"command\": \"x\", \"args\": [\"${{A:-b}}\"], \"era\": \"n\"}}");
    }
    text.push_str(",\n\"good\": {\"command\": \"x\"}}}");
    let loaded = one(".mcp.json", &text);
    assert_eq!(loaded.config.servers.len(), 1);
    assert_eq!(loaded.diagnostics.len(), 10_000);
    assert_eq!(loaded.diagnostics[9_999].line, Some(10_000));
}

/// Wrong kinds in every place of a configuration that is otherwise right.
#[test]
fn wrong_kinds_everywhere() {
    let whole = serde_json::to_value(Config::default()).unwrap();
    let mut paths = Vec::new();
    walk(&whole, "", &mut paths);
    assert!(paths.len() > 40, "{paths:?}");
    for path in paths {
        for wrong in [
            serde_json::json!(-1.5),
            serde_json::json!("wrong"),
            serde_json::json!([[]]),
            serde_json::json!({"a": {"b": 1}}),
        ] {
            let mut tree = wrong.clone();
            for part in path.rsplit('.') {
                tree = serde_json::json!({part: tree});
            }
            tree["servers"]["good"] = serde_json::json!({"command": "x"});
            let loaded = one("toolcrib.json", tree.to_string());
            assert!(loaded.config.servers.contains_key("good"), "{path}: {:?}", texts(&loaded));
        }
    }
}

fn walk(value: &serde_json::Value, prefix: &str, paths: &mut Vec<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        walk(value, &path, paths);
        if path != "servers" {
            paths.push(path);
        }
    }
}

/// Fragments that mean something to one of the parsers or to the loader.
fn fragment() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "servers",
        "mcpServers",
        "mcp_servers",
        "policy",
        "allow",
        "gateway",
        "keys",
        "env",
        "command",
        "url",
        "projects",
        "${A}",
        "${",
        "}",
        "$${",
        "{",
        "[",
        "]",
        ":",
        "=",
        ",",
        "\n",
        "  ",
        "\"",
        "'",
        "#",
        "//",
        "&a ",
        "*a",
        "<<: *a",
        "- ",
        "null",
        "true",
        "-1",
        "1e999",
        "nan",
        "2020-01-01",
        "\u{feff}",
        "\r\n",
        ".",
        "é",
    ];
    prop_oneof![4 => proptest::sample::select(WORDS).prop_map(str::to_owned), 1 => "\\PC{0,4}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_makes_loading_panic(
        parts in proptest::collection::vec(fragment(), 0..40),
        name in proptest::sample::select(&["toolcrib.toml", "toolcrib.yaml", "toolcrib.json", ".mcp.json", "noext"][..]),
    ) {
        let _ = World::default().file(name, parts.concat()).load(&[name]);
    }

    #[test]
    fn no_tree_makes_loading_panic(tree in tree(), section in "servers|policy|profiles|gateway|builtin|disclosure|projects|mcp") {
        let text = serde_json::json!({section: tree}).to_string();
        let loaded = World::default().file("toolcrib.json", text).load(&["toolcrib.json"]);
        prop_assert!(loaded.is_ok());
    }
}

fn tree() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "\\PC{0,8}".prop_map(Into::into),
    ];
    let key = prop_oneof![
        "[a-z_]{1,8}",
        "allow|deny|keys|env|args|url|command|type|transport|files|enabled|env_http_headers|mcpServers"
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}
