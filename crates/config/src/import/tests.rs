use super::*;

fn found(text: &str, name: &str) -> Found {
    read(Path::new(name), text.as_bytes()).unwrap()
}

#[test]
fn every_clients_file_is_read() {
    for (name, text) in [
        ("claude_desktop_config.json", r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "x"]}}}"#),
        (".claude.json", r#"{"projects": {"/p": {"mcpServers": {"fs": {"type": "stdio", "command": "npx"}}}}}"#),
        (
            "mcp.json",
            "{ // comment\n\"servers\": {\"fs\": {\"type\": \"stdio\", \"command\": \"npx\"},}, \"inputs\": []}",
        ),
        ("settings.json", r#"{"editor.x": 1, "mcp": {"servers": {"fs": {"command": "npx"}}}}"#),
        ("config.toml", "model = \"m\"\n[mcp_servers.fs]\ncommand = \"npx\"\n"),
    ] {
        assert_eq!(found(text, name).servers["fs"]["command"], "npx", "{name}");
    }
}

#[test]
fn comments_stay_and_nothing_is_overwritten_unasked() {
    let target = "# mine\n[servers.fs] # keep\ncommand = \"old\"\n\n[policy]\ndeny = [\"x\"]\n";
    let source = found(
        r#"{"mcpServers": {"fs": {"command": "new"}, "web": {"httpUrl": "https://x.test/mcp", "headers": {"Authorization": "Bearer abcdefgh"}, "autoApprove": []}, "bad": {"foo": 1}}}"#,
        "mcp.json",
    );
    let (text, report) = merge(target, std::slice::from_ref(&source), false).unwrap();
    assert!(text.contains("# mine") && text.contains("# keep") && text.contains("command = \"old\""), "{text}");
    assert!(text.contains("[servers.web]") && text.contains("url = \"https://x.test/mcp\""), "{text}");
    let taken: Vec<_> = report.iter().map(|entry| (entry.name.as_str(), &entry.taken)).collect();
    assert!(matches!(taken[0], ("bad", Taken::Refused(_))));
    assert_eq!(taken[1..], [("fs", &Taken::Kept), ("web", &Taken::Added)]);
    assert_eq!(report[2].plain_secrets, ["servers.web.headers.Authorization"]);
    assert_eq!(report[2].left_out, ["autoApprove"]);
    let (text, _) = merge(target, &[source], true).unwrap();
    assert!(text.contains("command = \"new\""), "{text}");
}

#[test]
fn what_was_imported_loads_back() {
    let source =
        found(r#"{"mcpServers": {"a b": {"command": "x", "args": ["1"], "env": {"K": "v\"\n"}}}}"#, "mcp.json");
    let (text, _) = merge("", &[source], false).unwrap();
    let document = Document::parse(Path::new("toolcrib.toml"), text.as_bytes()).unwrap();
    assert_eq!(document.tree["servers"]["a b"]["env"]["K"], "v\"\n");
}

#[test]
fn a_target_that_is_not_toml_is_refused() {
    assert!(merge("[servers", &[], false).is_err());
}

#[test]
fn secrets_in_plain_text_are_named() {
    let source = found(
        r#"{"mcpServers": {
            "a": {"command": "x", "args": ["--api-key", "abcdefgh", "--token=abcdefgh", "--name", "abcdefgh", "--token", "--flag"]},
            "b": {"url": "https://x.test/mcp?apiKey=abcdefgh"},
            "c": {"url": "https://u:abcdefgh@x.test/mcp"},
            "d": {"command": "x", "env": {"API_KEY": "abcdefgh", "API_TOKEN": "${TOKEN}", "PORT": "12345678"}},
            "e": {"url": "https://x.test/mcp?page=12345678"}}}"#,
        "mcp.json",
    );
    let (_, report) = merge("", &[source], false).unwrap();
    let secrets: Vec<_> = report.iter().flat_map(|entry| entry.plain_secrets.iter().map(String::as_str)).collect();
    assert_eq!(
        secrets,
        ["servers.a.args[1]", "servers.a.args[2]", "servers.b.url", "servers.c.url", "servers.d.env.API_KEY"]
    );
}

#[test]
fn a_question_becomes_a_variable() {
    let source = found(
        r#"{"inputs": [{"id": "github-token", "type": "promptString"}], "servers": {
            "gh": {"type": "http", "url": "https://x.test", "headers": {"Authorization": "Bearer ${input:github-token}"}}}}"#,
        "mcp.json",
    );
    let (text, report) = merge("", &[source], false).unwrap();
    assert!(text.contains("Bearer ${GITHUB_TOKEN}"), "{text}");
    assert_eq!(report[0].set_variables, ["GITHUB_TOKEN"]);
    assert!(report[0].plain_secrets.is_empty());
}

#[test]
fn what_codex_says_is_said_in_our_words() {
    let source = found(
        "[mcp_servers.a]\ncommand = 'x'\nenv_vars = ['A', { name = 'B', source = 'local' }]\nstartup_timeout_sec = 2.5\n\
         tool_timeout_sec = 90\n[mcp_servers.b]\nurl = 'https://x.test'\nenv_http_headers = { X-Key = 'KEY' }\n",
        "config.toml",
    );
    let (text, _) = merge("", &[source], false).unwrap();
    let document = Document::parse(Path::new("toolcrib.toml"), text.as_bytes()).unwrap();
    let servers = &document.tree["servers"];
    assert_eq!(servers["a"]["env_inherit"], serde_json::json!(["A", "B"]));
    assert_eq!(servers["a"]["connect_timeout_ms"], 2500);
    assert_eq!(servers["a"]["call_timeout_ms"], 90_000);
    assert_eq!(servers["b"]["headers"]["X-Key"], "${KEY}");
}

#[test]
fn servers_stay_in_the_list_they_are_in() {
    let source = found(r#"{"mcpServers": {"fs": {"command": "new"}}}"#, "mcp.json");
    for target in [
        "[mcp_servers.fs]\ncommand = 'old'\n",
        "mcpServers = { fs = { command = 'old' } }\n",
        "servers = { fs = { command = 'old' } }\n",
        "servers.fs.command = 'old'\n",
    ] {
        let (text, report) = merge(target, std::slice::from_ref(&source), false).unwrap();
        assert_eq!((text.as_str(), &report[0].taken), (target, &Taken::Kept));
        let (text, report) = merge(target, std::slice::from_ref(&source), true).unwrap();
        assert_eq!(report[0].taken, Taken::Replaced);
        let document = Document::parse(Path::new("toolcrib.toml"), text.as_bytes()).unwrap();
        assert_eq!(document.tree["servers"]["fs"]["command"], "new", "{text}");
    }
    let (text, report) = merge("servers = 5\n", &[source], false).unwrap();
    assert_eq!(text, "servers = 5\n");
    assert!(matches!(report[0].taken, Taken::Refused(_)));
}

#[test]
fn what_cannot_run_here_is_refused() {
    let source = found(r#"{"mcpServers": {"old": {"type": "sse", "url": "https://x.test/sse"}}}"#, "mcp.json");
    let (text, report) = merge("", &[source], false).unwrap();
    assert!(matches!(&report[0].taken, Taken::Refused(reason) if reason.contains("SSE")));
    assert_eq!(text, "");
}

#[test]
fn two_of_one_name_are_told_apart() {
    let one = found(
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["a"]}, "same": {"url": "https://x.test"}}}"#,
        "one.json",
    );
    let two = found(
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["b"]}, "same": {"url": "https://x.test", "env": {}}}}"#,
        "two.json",
    );
    for (force, taken) in [(false, Taken::Kept), (true, Taken::Replaced)] {
        let (_, report) = merge("", &[one.clone(), two.clone()], force).unwrap();
        let told: Vec<_> = report.iter().map(|one| (one.name.as_str(), one.differs, one.other.is_some())).collect();
        assert_eq!(told, [("fs", false, false), ("same", false, false), ("fs", true, true), ("same", false, true)]);
        assert_eq!((&report[2].taken, report[2].other.as_deref()), (&taken, Some(Path::new("one.json"))));
    }
    let (_, report) = merge("[servers.fs]\ncommand = 'other'", &[one], false).unwrap();
    assert!(report[0].differs && report[0].other.is_none());
}
