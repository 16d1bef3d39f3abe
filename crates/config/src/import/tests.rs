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
    let (text, report) = merge(target, &[source.clone()], false).unwrap();
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
