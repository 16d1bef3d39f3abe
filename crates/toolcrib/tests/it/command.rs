//! The built command: exit codes, streams, and that data goes to standard output.

use std::{fs, process::Command};

use serde_json::Value;

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn run(config: &str, args: &[&str]) -> Ran {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("toolcrib.toml"), config).unwrap();
    fs::write(
        scratch.path().join("catalog.json"),
        r#"{"server":"shop","tools":[{"name":"find_order","description":"Finds an order by number.","inputSchema":{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}},{"name":"bad","inputSchema":[]}]}"#,
    )
    .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(args)
        .current_dir(scratch.path())
        .env("TOOLCRIB_STORE", ":memory:")
        .env("XDG_CONFIG_HOME", scratch.path())
        .env("HOME", scratch.path())
        .env_remove("TOOLCRIB_CONFIG")
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn check(config: &str, args: &[&str], want_code: i32, want_out: &str, want_err: &str) {
    let ran = run(config, args);
    assert_eq!(ran.code, want_code, "{args:?}\n{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains(want_out), "{args:?}: {}", ran.out);
    assert!(ran.err.contains(want_err), "{args:?}: {}", ran.err);
}

const CATALOG: [&str; 2] = ["--catalog", "catalog.json"];

fn with_catalog<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().copied().chain(CATALOG).collect()
}

#[test]
fn usage_and_configuration_errors_end_with_2() {
    check("", &["--version"], 0, "toolcrib", "");
    check("", &["frobnicate"], 2, "", "frobnicate");
    check("", &["tools", "--config", "none.toml"], 2, "", "none.toml");
    check("x = = 1", &["tools"], 2, "", "toolcrib.toml:1");
    check("", &["tools", "--profile", "nope"], 2, "", "no profile is called 'nope'");
    check("[policy]\ndeny = ['[']", &["tools"], 2, "", "policy.deny");
    check("", &["assemble", "--for", "nobody"], 2, "", "nobody");
    check("", &["call", "current_time", "{bad"], 2, "", "not JSON");
}

#[test]
fn calls_end_with_the_code_of_their_outcome() {
    check("", &["call", "current_time", "{}"], 0, "UTC", "");
    check("", &["call", "read_file", r#"{"path":"none.txt"}"#], 1, "", "none.txt");
    check("", &["call", "read_file", "{}"], 1, "", "\"required\":[\"path\"]");
    check("", &["call", "no_such_tool"], 1, "", "`toolcrib search WORDS`");
    check("", &["call", "current_time", "--trust", "none"], 3, "", "permissions.allow");
    check("[permissions]\nallow = ['current_time']", &["call", "current_time", "--trust", "none"], 0, "UTC", "");
    check("", &with_catalog(&["call", "shop__find_order", r#"{"number":"1"}"#]), 4, "", "cannot be called");
    check("", &["call", "--catalog", "catalog.json", "catalog.json", "current_time", "{}"], 0, "UTC", "");
    check("", &["call", "current_time", "--deny", "current_time"], 1, "", "there is no tool");
}

#[test]
fn every_tool_can_be_explained() {
    check("", &with_catalog(&["explain", "shop__find_order"]), 0, "reachable as shop__find_order", "");
    check("", &with_catalog(&["explain", "static:shop/bad"]), 0, "quarantined: inputSchema is not usable", "");
    check(
        "[policy]\ndeny = ['static:shop']",
        &with_catalog(&["explain", "shop__find_order"]),
        0,
        "deny \"static:shop\"",
        "",
    );
    check("", &["explain", "nothing"], 1, "", "No source offers");
}

#[test]
fn json_is_one_document_on_standard_output() {
    for args in [
        vec!["tools", "--json"],
        vec!["search", "order", "--json"],
        vec!["show", "shop__find_order", "--json"],
        vec!["assemble", "--for", "mcp", "--json"],
        vec!["assemble", "--for", "gemini", "--json"],
        vec!["explain", "*", "--json"],
        vec!["doctor", "--json"],
    ] {
        let ran = run("", &with_catalog(&args));
        serde_json::from_str::<Value>(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", ran.out));
    }
}

#[test]
fn assemble_prints_the_shape_of_the_target() {
    for (target, pointer) in [
        ("mcp", "/tools/0/inputSchema/type"),
        ("anthropic", "/tools/0/input_schema/type"),
        ("openai-chat", "/tools/0/function/parameters/type"),
        ("openai-responses", "/tools/0/parameters/type"),
        ("gemini", "/tools/0/functionDeclarations/0/parametersJsonSchema/type"),
        ("gemini-parameters", "/tools/0/functionDeclarations/0/parameters/type"),
        ("bedrock", "/tools/0/toolSpec/inputSchema/json/type"),
        ("ollama", "/tools/0/function/parameters/type"),
    ] {
        let ran = run("", &with_catalog(&["assemble", "--for", target, "--disclosure", "off", "--json"]));
        let printed: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(printed.pointer(pointer), Some(&Value::from("object")), "{target}: {}", ran.out);
        assert_eq!(printed["target"], target);
        assert!(printed["losses"].is_array() && printed["name_map"].is_object(), "{target}");
    }
}

/// The model decides how deferred tools are loaded, whose tokens are counted, and what strict mode takes.
#[test]
fn assemble_goes_by_the_model() {
    let get = |config: &str, target: &str, model: &str| -> Value {
        let args = ["assemble", "--for", target, "--model", model, "--disclosure", "on", "--json"];
        serde_json::from_str(&run(config, &with_catalog(&args)).out).unwrap()
    };
    for (config, target, model, loading, known) in [
        ("", "anthropic", "claude-opus-5", "search", true),
        ("", "anthropic", "claude-haiku-4-5", "bridge", true),
        ("", "openai-responses", "gpt-5.4", "search", true),
        ("", "openai-chat", "gpt-5.4", "bridge", true),
        ("", "anthropic", "house-1", "bridge", false),
        ("payloads.loading = 'provider'", "anthropic", "claude-opus-5", "provider_search", true),
        ("payloads.loading = 'bridge'", "anthropic", "claude-opus-5", "bridge", true),
        (
            "[[payloads.models]]\nfamily = 'house'\nmatch = ['house-*']\nsearch = ['anthropic']",
            "anthropic",
            "house-1",
            "search",
            true,
        ),
    ] {
        let printed = get(config, target, model);
        assert_eq!(printed["loading"], loading, "{target} {model} {config}");
        assert_eq!(printed["model"]["known"], known, "{model}");
        assert_eq!(printed["notes"].is_array(), !known, "{model}: an unknown model is told of");
        let text = printed["tools"].to_string();
        assert_eq!(text.contains("tool_call"), loading == "bridge", "{target} {model}");
        assert_eq!(text.contains("defer_loading"), loading != "bridge" && target == "anthropic", "{target} {model}");
        let counter = printed["tokens"]["counter"].as_str().unwrap();
        assert!(counter.starts_with("estimate") || counter.starts_with("exact"), "{counter}");
    }
    let printed = get("payloads.strict = ['*']", "openai-chat", "gpt-5");
    assert!(printed["strict"].as_array().unwrap().iter().any(|verdict| verdict["strict"] == true), "{printed}");
    check("payloads.strict = ['[']", &["assemble"], 2, "", "payloads.strict");
    check("[[payloads.models]]\nfamily = 'x'\nmatch = ['[']", &["assemble"], 2, "", "family 'x'");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let once = run("", &with_catalog(&["assemble", "--json"])).out;
    assert_eq!(once, run("", &with_catalog(&["assemble", "--json"])).out);
    assert!(once.contains("\"listing_form\""));
}

#[test]
fn a_server_that_does_not_start_is_said_and_hides_nothing() {
    let config = "[servers.gone]\ncommand = '/no/such/program'\n[servers.off]\ncommand = 'x'\nenabled = false";
    check(config, &["call", "current_time", "{}"], 0, "UTC", "");
    check(config, &["doctor"], 1, "mcp:gone", "");
}

#[test]
fn secrets_appear_nowhere() {
    let config = "[servers.web]\nurl = 'http://127.0.0.1:9/mcp'\nbearer = 'canary-6b1f'\nheaders = { X-Key = 'canary-6b1f' }\n[gateway]\nkeys = ['canary-6b1f']";
    for args in [vec!["doctor", "--json"], vec!["tools", "-vv"], vec!["explain", "*"], vec!["assemble", "--json"]] {
        let ran = run(config, &args);
        assert!(!format!("{}{}", ran.out, ran.err).contains("canary-6b1f"), "{args:?}");
    }
    // A credential in the arguments, repeated by the server on its way out.
    let config = "[servers.leaky]\ncommand = 'sh'\nargs = ['-c', 'echo \"bad token $0\" >&2; exit 3', '${file:token}']";
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("token"), "canary-6b1f\n").unwrap();
    fs::write(scratch.path().join("toolcrib.toml"), config).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(["doctor", "--json", "-v", "--wait", "5"])
        .current_dir(scratch.path())
        .env("TOOLCRIB_STORE", ":memory:")
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("bad token") && !said.contains("canary-6b1f"), "{said}");
}

#[test]
fn without_a_store_nothing_runs_that_leaves_a_trace_elsewhere() {
    let scratch = tempfile::tempdir().unwrap();
    let call = |tool: &str, arguments: &str, audit: &str| {
        let store = scratch.path().join("a file, no folder/state.db");
        let config = format!("[audit]\nenabled = {audit}\n[store]\npath = {}", Value::from(store.to_str().unwrap()));
        fs::write(scratch.path().join("a file, no folder"), "").unwrap();
        fs::write(scratch.path().join("toolcrib.toml"), config).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(["call", tool, arguments])
            .current_dir(scratch.path())
            .env("XDG_CONFIG_HOME", scratch.path())
            .env_remove("TOOLCRIB_STORE")
            .env_remove("TOOLCRIB_CONFIG")
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = call("kv_set", r#"{"key":"a","value":"b"}"#, "true");
    assert!(code == 4 && said.contains("the record of calls cannot be written"), "{code} {said}");
    assert!(said.contains("store.path"), "it says what to do: {said}");
    let (code, said) = call("current_time", "{}", "true");
    assert!(code == 0 && said.contains("nothing is kept"), "what only reads goes on and it is said: {code} {said}");
    assert_eq!(said.matches("cannot be used").count(), 1, "once: {said}");
    assert_eq!(call("kv_set", r#"{"key":"a","value":"b"}"#, "false").0, 0, "without a journal there is none to miss");
}

/// A transcript by a file, and the answer handed on to the next turn.
#[test]
fn assemble_follows_a_conversation() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let names = |printed: &Value| -> Vec<String> {
        let tools = printed["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let assemble = |extra: &[&str]| -> Value {
        let ran = run("", &with_catalog(&[&["assemble", "--for", "anthropic", "--json"], extra].concat()));
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err))
    };
    let plain = assemble(&[]);
    assert!(plain.get("turn").is_none());
    let messages = file(
        "messages.jsonl",
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"tool_call\",\"input\":{\"name\":\"shop__find_order\"}}]}\n{\"role\":\"user\",\"content\":\"go on\"}",
    );
    let first = assemble(&["--transcript", &messages]);
    let mut want = names(&plain);
    want.push("shop__find_order".to_owned());
    assert_eq!(names(&first), want);
    assert_eq!(first["loaded"][0]["how"], "called");
    assert_eq!(first["marker"], r#"<toolcrib-tools>["static:shop/find_order"]</toolcrib-tools>"#);
    let previous = file("previous.json", &first.to_string());
    let second = assemble(&["--previous", &previous]);
    assert_eq!(second["tools"], first["tools"]);
    assert_eq!(second["announcement"], Value::Null);
    // Gone by policy: a note, no error, the rest as it was.
    let third = assemble(&["--previous", &previous, "--deny", "shop__*"]);
    assert_eq!(names(&third), names(&plain));
    assert_eq!(third["gone"], serde_json::json!(["shop__find_order"]));
    let shown = assemble(&["--for-task", "find order", "--budget", "100000"]);
    assert!(want.iter().all(|name| names(&shown).contains(name)), "{:?}", names(&shown));
    check("", &["assemble", "--transcript", "none.json"], 2, "", "none.json");
    check("", &with_catalog(&["assemble", "--transcript", "toolcrib.toml"]), 0, "tool_search", "");
    check("", &with_catalog(&["assemble", "--budget", "1"]), 0, "", "more than the budget");
    check("", &with_catalog(&["assemble", "--previous", "catalog.json"]), 2, "", "give the `turn` of the last answer");
}

#[test]
fn lint_judges_definitions_and_its_code_can_gate() {
    // The catalog holds one definition that is refused.
    check("", &with_catalog(&["lint"]), 1, "error   quarantined static:shop/bad", "1 error, ");
    check("", &with_catalog(&["lint", "--level", "error"]), 1, "fix: do what the reason says", "");
    check("", &with_catalog(&["lint", "--fail-on", "never"]), 0, "quarantined", "");
    check("", &with_catalog(&["lint", "--target", "nobody"]), 2, "", "'nobody' is not a target");
    check("", &with_catalog(&["lint", "--baseline", "none.json"]), 2, "", "none.json");
    check("", &with_catalog(&["lint", "--baseline", "catalog.json"]), 2, "", "--write-baseline");
    // Our own tools are as good as we ask others to be.
    check("", &["lint", "--fail-on", "warning"], 0, "", "0 errors, 0 warnings");
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("accepted.json");
    let file = file.to_str().unwrap();
    check("", &with_catalog(&["lint", "--write-baseline", file]), 0, "", "accepted from now on: ");
    check("", &with_catalog(&["lint", "--baseline", file, "--fail-on", "info"]), 0, "", "accepted by the baseline");
    check("", &["lint", "--baseline", file], 0, "", "of the baseline are gone");
    let ran = run("", &with_catalog(&["lint", "--json", "--target", "ollama", "--target", "gemini"]));
    let printed: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((printed["failed"].clone(), printed["counts"]["quarantined"].clone()), (true.into(), 1.into()));
    let finding = &printed["findings"][0];
    for key in ["code", "severity", "tool", "place", "message", "fix", "fingerprint"] {
        assert!(finding[key].is_string(), "{key}: {finding}");
    }
}

#[test]
fn errors_say_everything_once() {
    let ran = run("", &["tools", "--config", "none.toml"]);
    assert_eq!(ran.err.matches("os error 2").count(), 1, "{}", ran.err);
    let ran = run("", &["import", "claude-code"]);
    assert!(ran.err.contains("Nothing to import: no servers in ") && ran.err.contains(".claude.json"), "{}", ran.err);
    let ran = run("", &["tools", "--allow", "current_time"]);
    assert!(ran.err.starts_with("1 tool; "), "{}", ran.err);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for words in [&["completions", "bash"][..], &["tools"], &["completions", "zsh"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(words)
            .env("TOOLCRIB_STORE", ":memory:")
            .env("XDG_CONFIG_HOME", "/nonexistent")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(0) && !said.contains("panicked"), "{words:?}: {said}");
    }
}
