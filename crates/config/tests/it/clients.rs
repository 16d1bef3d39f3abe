//! Files of the other clients, used as a configuration and as a source of an import.

use std::path::Path;

use toolcrib_config::{
    Loaded,
    import::{ClientKind, Found, Taken, merge, read},
    model::TransportKind,
};

use crate::{World, texts};

fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// The file at `path` of some project, loaded with a few variables set.
fn load(name: &str, path: &str) -> Loaded {
    World::default()
        .file(path, data(name))
        .within("/src")
        .file("/src/app/.env", "# keys\nexport FROM_FILE=\"quoted value\"\nAPI_KEY=loses\n\nbroken line\n")
        .variable("SENTRY_TOKEN", "s3ntry")
        .variable("DOCS_KEY", "d0cs")
        .variable("FIGMA_TOKEN", "f1gma")
        .variable("FIGMA_TEAM", "team")
        .variable("HOME", "/home/ada")
        .load(&[path])
        .unwrap()
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.config.servers.keys().map(String::as_str).collect()
}

#[test]
fn claude_desktop() {
    let loaded = load("claude_desktop_config.json", "claude_desktop_config.json");
    assert_eq!(texts(&loaded), [""; 0]);
    assert_eq!(names(&loaded), ["filesystem", "github", "postgres"]);
    let postgres = &loaded.config.servers["postgres"];
    assert!(!postgres.is_enabled());
    assert_eq!((postgres.env["PORT"].expose(), postgres.env["DEBUG"].expose()), ("5432", "true"));
}

#[test]
fn claude_code_project_file() {
    let loaded = load("claude_code.mcp.json", ".mcp.json");
    assert_eq!(names(&loaded), ["local", "sentry"]);
    let sentry = &loaded.config.servers["sentry"];
    assert_eq!(sentry.transport, Some(TransportKind::Http));
    assert_eq!(sentry.headers["Authorization"].expose(), "Bearer s3ntry");
    assert_eq!(sentry.headers["X-Region"].expose(), "eu");
    assert_eq!(loaded.config.servers["local"].command.as_deref(), Some("./tools/server"));
    let texts = texts(&loaded);
    assert_eq!(texts.len(), 2, "{texts:#?}");
    assert!(texts[0].starts_with(".mcp.json:9:17: servers.linear.transport: the SSE transport"), "{texts:#?}");
    assert!(
        texts[1]
            .starts_with(".mcp.json:10:77: servers.unset.headers.Authorization: environment variable NOBODY_SET_THIS"),
        "{texts:#?}"
    );
}

#[test]
fn claude_code_user_file() {
    let loaded = load("claude.json", ".claude.json");
    assert_eq!(names(&loaded), ["everywhere"]);
    assert_eq!(
        texts(&loaded),
        [".claude.json:4:3: projects: the servers of 1 projects are not used \
          (take them over with toolcrib import claude-code)"]
    );
}

#[test]
fn cursor() {
    let loaded = load("cursor.mcp.json", "app/.cursor/mcp.json");
    assert_eq!(texts(&loaded), [""; 0]);
    let docs = &loaded.config.servers["docs"];
    assert_eq!(docs.args, ["/src/app/mcp/docs.js", "--home", "/home/ada"]);
    assert_eq!(docs.env["API_KEY"].expose(), "d0cs", "env wins over the file");
    assert_eq!(docs.env["FROM_FILE"].expose(), "quoted value");
    assert_eq!(loaded.config.servers["remote"].headers["X-Key"].expose(), "d0cs");
}

#[test]
fn vscode() {
    let loaded = load("vscode.mcp.json", "app/.vscode/mcp.json");
    assert_eq!(names(&loaded), ["github", "playwright"]);
    let texts = texts(&loaded);
    assert_eq!(texts.len(), 1, "{texts:#?}");
    assert!(texts[0].contains("mcp.json:12:16: servers.perplexity.env.PERPLEXITY_API_KEY"), "{texts:#?}");
    assert!(texts[0].contains("${input:perplexity-key} asks in VS Code"), "{texts:#?}");
    let loaded = load("vscode.settings.json", "settings.json");
    assert_eq!(crate::texts(&loaded), [""; 0]);
    assert_eq!(names(&loaded), ["fetch"]);
}

#[test]
fn codex() {
    let loaded = load("codex.config.toml", "config.toml");
    assert_eq!(texts(&loaded), [""; 0]);
    let context = &loaded.config.servers["context7"];
    assert_eq!(context.env_inherit, ["LOCAL_TOKEN"]);
    assert_eq!(context.connect_timeout_ms, 20_000);
    assert_eq!(context.env["MY_ENV_VAR"].expose(), "MY_ENV_VALUE");
    let figma = &loaded.config.servers["figma"];
    assert_eq!(figma.bearer.as_ref().unwrap().expose(), "f1gma");
    assert_eq!(figma.headers["X-Figma-Region"].expose(), "us-east-1");
    assert_eq!(figma.headers["X-Team"].expose(), "team");
    assert_eq!(figma.call_timeout_ms, Some(45_500));
    let chrome = &loaded.config.servers["chrome"];
    assert_eq!(chrome.include.as_deref(), Some(&["open".to_owned(), "screenshot".to_owned()][..]));
    assert_eq!(chrome.exclude, ["screenshot"]);
    assert!(!chrome.is_enabled());
}

/// What is imported loads again, as the same servers; only the refused ones are missing.
#[test]
fn every_clients_file_survives_an_import() {
    for (name, refused) in [
        ("claude_desktop_config.json", 0),
        ("claude_code.mcp.json", 1),
        ("claude.json", 0),
        ("cursor.mcp.json", 0),
        ("vscode.mcp.json", 0),
        ("vscode.settings.json", 0),
        ("codex.config.toml", 0),
    ] {
        let found: Found = read(Path::new(name), &data(name)).unwrap();
        let (text, report) = merge("# kept\n", std::slice::from_ref(&found), false).unwrap();
        assert!(text.starts_with("# kept\n"), "{text}");
        assert_eq!(report.iter().filter(|entry| matches!(entry.taken, Taken::Refused(_))).count(), refused, "{name}");
        let added = report.iter().filter(|entry| entry.taken == Taken::Added).count();
        let back = read(Path::new("toolcrib.toml"), text.as_bytes()).unwrap();
        assert_eq!(back.servers.len(), added, "{name}");
        for (server, written) in &back.servers {
            let before = &found.servers[server];
            for key in ["command", "args", "url", "env"] {
                let want =
                    before.get(key).map(|value| value.to_string().replace("input:perplexity-key", "PERPLEXITY_KEY"));
                assert_eq!(written.get(key).map(ToString::to_string), want, "{name}: {server}.{key}");
            }
        }
        let (again, report) = merge(&text, &[found], false).unwrap();
        assert_eq!(again, text, "{name}: a second import changes nothing");
        assert!(report.iter().all(|entry| matches!(entry.taken, Taken::Kept | Taken::Refused(_))));
    }
}

#[test]
fn each_client_has_its_places() {
    for (kind, want) in [
        (ClientKind::ClaudeDesktop, "/h/.config/Claude/claude_desktop_config.json"),
        (ClientKind::ClaudeDesktop, "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        (ClientKind::ClaudeDesktop, "/h/AppData/Roaming/Claude/claude_desktop_config.json"),
        (ClientKind::ClaudeCode, "/h/.claude.json"),
        (ClientKind::ClaudeCode, "/p/.mcp.json"),
        (ClientKind::Cursor, "/h/.cursor/mcp.json"),
        (ClientKind::Cursor, "/p/.cursor/mcp.json"),
        (ClientKind::Vscode, "/h/.config/Code/User/mcp.json"),
        (ClientKind::Vscode, "/p/.vscode/mcp.json"),
        (ClientKind::Codex, "/h/.codex/config.toml"),
    ] {
        let places = kind.locations(Path::new("/h"), Path::new("/p"));
        assert!(places.iter().any(|place| place == Path::new(want)), "{kind:?}: {places:?}");
        assert_eq!(ClientKind::from_word(kind.word()), Some(kind));
    }
}
