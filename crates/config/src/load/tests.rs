use std::{collections::BTreeMap, fmt::Write, path::Path};

use super::*;
use crate::model::TrustLevel;

#[derive(Default)]
struct World {
    variables: BTreeMap<&'static str, &'static str>,
    files: BTreeMap<&'static str, &'static str>,
}

impl Surroundings for World {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| (*value).to_owned())
    }

    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let text = path.to_str().and_then(|path| self.files.get(path));
        text.map(|text| text.as_bytes().to_vec()).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

fn load_files(files: &[(&'static str, &'static str)], variables: &[(&'static str, &'static str)]) -> Loaded {
    let world = World { variables: variables.iter().copied().collect(), files: files.iter().copied().collect() };
    let paths: Vec<_> = files.iter().map(|(path, _)| PathBuf::from(path)).collect();
    load(&paths, &[], &world).unwrap()
}

#[track_caller]
fn finds(text: &'static str, want_severity: Severity, want: &str) -> Loaded {
    let loaded = load_files(&[("toolcrib.toml", text)], &[]);
    let texts: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
    assert!(
        loaded.diagnostics.iter().any(|d| d.severity == want_severity && d.to_string().contains(want)),
        "wanted {want:?} in {texts:#?}"
    );
    loaded
}

#[test]
fn nothing_gives_the_defaults() {
    let loaded = load(&[], &[], &World::default()).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert!(loaded.diagnostics.is_empty());
}

#[test]
fn later_layers_win_and_origins_are_kept() {
    let world = World {
        variables: [("TOOLCRIB_LISTEN", "127.0.0.1:9")].into(),
        files: [
            (
                "a/toolcrib.toml",
                "[gateway]\nlisten = '127.0.0.1:1'\ndrain_timeout_ms = 5\n[servers.x]\ncommand = 'one'\nargs = ['1']",
            ),
            ("b/toolcrib.yaml", "servers:\n  x:\n    command: two\n"),
        ]
        .into(),
    };
    let flag = Override { key: "permissions.trust".into(), value: "all".into(), flag: "--trust".into() };
    let loaded = load(&["a/toolcrib.toml".into(), "b/toolcrib.yaml".into()], &[flag], &world).unwrap();
    assert_eq!(loaded.config.servers["x"].command.as_deref(), Some("two"));
    assert_eq!(loaded.config.servers["x"].args, ["1"]);
    assert_eq!(loaded.config.gateway.listen, "127.0.0.1:9");
    assert_eq!(loaded.config.gateway.drain_timeout_ms, 5);
    assert_eq!(loaded.config.permissions.trust, Some(TrustLevel::All));
    assert_eq!(loaded.origins.text("servers.x.command"), "servers.x.command in b/toolcrib.yaml:3");
    assert_eq!(loaded.origins.text("gateway.listen"), "gateway.listen in environment variable TOOLCRIB_LISTEN");
    assert_eq!(loaded.origins.text("permissions.trust"), "permissions.trust in flag --trust");
    assert_eq!(loaded.origins.text("names.conflict"), "default");
}

#[test]
fn a_bad_server_costs_only_itself() {
    let good = "\n[servers.good]\ncommand = 'x'\n";
    for (text, want) in [
        ("[servers.bad]\ncommand = 7", "servers.bad.command"),
        ("[servers.bad]\nurl = 'ftp://x'", "does not start with http"),
        ("[servers.bad]\nargs = []", "neither command nor url"),
        ("[servers.bad]\ncommand = 'x'\nurl = 'http://y'", "both command and url"),
        ("[servers.bad]\nurl = 'http://y'\ntype = 'sse'", "not supported"),
        ("[servers.bad]\ncommand = '${NOPE}'", "NOPE is not set"),
        ("[servers.bad]\ncommand = 'x'\nenv = { T = '${NOPE}' }", "toolcrib.toml:3:9: servers.bad.env.T"),
        ("[servers.'a/b']\ncommand = 'x'", "holds '/'"),
        ("[servers.'']\ncommand = 'x'", "name is empty"),
    ] {
        let text: &'static str = Box::leak(format!("{text}{good}").into_boxed_str());
        let loaded = finds(text, Severity::Error, want);
        assert_eq!(loaded.config.servers.keys().collect::<Vec<_>>(), ["good"], "{text}");
    }
}

#[test]
fn a_server_that_is_off_needs_no_variables() {
    let loaded = load_files(&[("toolcrib.toml", "[servers.x]\ncommand = '${NOPE}'\nenabled = false")], &[]);
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
}

#[test]
fn unknown_keys_get_a_suggestion() {
    finds(
        "[server.x]\ncommand = 'x'",
        Severity::Warning,
        "toolcrib.toml:1:2: server: unknown key, not used (did you mean servers?)",
    );
    finds("[gateway]\nlissten = 'x'", Severity::Warning, "did you mean listen?");
    finds("[servers.x]\ncommand = 'x'\nargz = []", Severity::Warning, "toolcrib.toml:3:1: servers.x.argz: unknown key");
    finds("[builtin.files]\nroot = []", Severity::Warning, "did you mean roots?");
}

#[test]
fn other_clients_files_work_and_their_own_keys_do_not_matter() {
    let text = r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y"], "autoApprove": ["x"], "weird": 1}}, "theme": "dark"}"#;
    let loaded = load_files(&[(".mcp.json", text)], &[]);
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    assert_eq!(loaded.config.servers["fs"].args, ["-y"]);
    let codex =
        "[mcp_servers.docs]\nurl = \"https://x.test/mcp\"\nbearer_token_env_var = \"TOKEN\"\nenabled_tools = [\"a\"]\n";
    let loaded = load_files(&[("config.toml", codex)], &[("TOKEN", "t0")]);
    assert_eq!(loaded.config.servers["docs"].bearer.as_ref().unwrap().expose(), "t0");
    assert_eq!(loaded.config.servers["docs"].include.as_deref(), Some(&["a".to_owned()][..]));
}

#[test]
fn an_encoder_that_cannot_be_used_costs_itself_only() {
    let finds_none = |text: &'static str, want: &str| {
        let loaded = finds(text, Severity::Error, want);
        assert_eq!(loaded.config.search.encoder, None, "{text}");
        assert!(loaded.config.search.learn, "{text}");
    };
    finds_none("[search]\nlearn = true\nencoder = 'static'", "search.encoder");
    finds_none("[search]\nlearn = true\n[search.encoder]\nfolder = 'm'", "search.encoder.kind: it is missing");
    finds_none("[search]\nlearn = true\nencoder = {kind = 'onnx'}", "search.encoder");
    finds_none("[search]\nlearn = true\nencoder = {kind = 'static'}", "needs the folder");
    finds_none("[search]\nlearn = true\nencoder = {kind = 'http', model = 'm'}", "needs the address");
    finds_none("[search]\nlearn = true\nencoder = {kind = 'http', url = 'https://x.test'}", "name of a model");
    finds_none(
        "[search]\nlearn = true\nencoder = {kind = 'http', url = 'https://x.test', model = 'm', key = '${NONE}'}",
        "NONE",
    );
    finds_none(
        "[search]\nlearn = true\nencoder = {kind = 'http', url = 'https://x.test', model = 'm', batch = 'x'}",
        "batch",
    );
    let other = "[search.encoder]\nkind = 'static'\nfolder = 'm'\nurl = 'https://x.test'";
    finds(other, Severity::Warning, "search.encoder.url: encoders of this kind have no such setting");
    finds("[search.encoder]\nkind = 'static'\nfolder = 'm'\nfoldr = 'x'", Severity::Warning, "did you mean folder?");
}

#[test]
fn an_encoders_key_is_a_secret_and_its_folder_lies_beside_the_file() {
    let text = "[search.encoder]\nkind = 'http'\nurl = 'https://x.test/v1'\nmodel = 'm'\nkey = '${KEY}'";
    let loaded = load_files(&[("toolcrib.toml", text)], &[("KEY", "hunter2hunter2")]);
    let encoder = loaded.config.search.encoder.clone().unwrap();
    assert_eq!(encoder.key.as_ref().unwrap().expose(), "hunter2hunter2");
    assert_eq!((encoder.query_wait_ms, encoder.batch, encoder.dimensions), (200, 64, None));
    assert!(
        !serde_json::to_string(&loaded.config).unwrap().contains("hunter2")
            && !format!("{encoder:?}").contains("hunter2")
    );
    let folder = |text: &'static str| {
        let loaded = load_files(&[("/etc/crib/toolcrib.toml", text)], &[("HOME", "/home/me")]);
        loaded.config.search.encoder.unwrap().folder.unwrap()
    };
    assert_eq!(folder("[search.encoder]\nkind = 'static'\nfolder = 'models/m'"), "/etc/crib/models/m");
    assert_eq!(folder("[search.encoder]\nkind = 'static'\nfolder = '~/m'"), "/home/me/m");
    assert_eq!(folder("[search.encoder]\nkind = 'static'\nfolder = '/m'"), "/m");
}

#[test]
fn numbers_out_of_range_are_held_and_said() {
    let loaded = finds("[names]\nmax_length = 200", Severity::Warning, "200 is out of range 16 to 64");
    assert_eq!(loaded.config.names.max_length, 64);
    finds("[servers.x]\ncommand = 'x'\ncall_timeout_ms = 1", Severity::Warning, "servers.x.call_timeout_ms");
}

#[test]
fn absent_and_empty_allow_lists_differ() {
    assert_eq!(load_files(&[("toolcrib.toml", "[policy]\ndeny = []")], &[]).config.policy.allow, None);
    assert_eq!(load_files(&[("toolcrib.toml", "[policy]\nallow = []")], &[]).config.policy.allow, Some(vec![]));
}

#[test]
fn a_broken_restriction_fails_closed() {
    let loaded = finds("[policy]\ndeny = 'x'", Severity::Error, "policy.deny");
    assert_eq!(loaded.config.policy.allow, Some(vec![]), "nothing is shown until it is mended");
}

/// What categories take away is not guessed either; how many may be loaded is.
#[test]
fn broken_categories_fail_closed() {
    for text in [
        "[categories]\nexcept = 'web'",
        "[categories]\nexcept = [1]",
        "[categories]\nonly = 'web'",
        "[categories]\nconnectors = 'crm'",
        "[categories]\nenabled = 'yes'",
        "[categories]\nunloaded = 'gone'",
        "[categories]\ncategory = ['web']",
        "[categories.category.web]\ntools = 'x'",
        "categories = ['web']",
        "[policy]\nalso_allow = ['mcp:crm']\n[categories]\nexcept = 'web'",
    ] {
        let loaded = finds(text, Severity::Error, "categories");
        assert_eq!(loaded.config.policy.allow, Some(vec![]), "{text}");
        assert_eq!(loaded.config.policy.also_allow, [""; 0], "{text}");
        assert!(loaded.diagnostics.iter().any(|one| one.to_string().contains("no tool is shown")), "{text}");
    }
    for harmless in ["[categories]\npinned = 'web'", "[categories]\nmax_loaded = 'x'", "[categories]\nexcept = ['web']"]
    {
        let loaded = load_files(&[("toolcrib.toml", harmless)], &[]);
        assert_eq!(loaded.config.policy.allow, None, "{harmless}");
    }
}

/// Whatever makes all tools invisible leaves no list that adds any.
#[test]
fn nothing_is_added_to_no_tools() {
    for (text, key) in [
        ("agents = ['a']\n[policy]\nalso_allow = ['mcp:crm']", "agents"),
        ("callers = 1\n[policy]\nalso_allow = ['mcp:crm']", "callers"),
        ("profile = ['x']\n[policy]\nalso_allow = ['mcp:crm']", "profile"),
    ] {
        let loaded = finds(text, Severity::Error, key);
        assert_eq!((&loaded.config.policy.allow, &loaded.config.policy.also_allow), (&Some(vec![]), &vec![]), "{text}");
    }
}

#[test]
fn a_bare_word_or_boolean_stands_for_the_disclosure_section() {
    for (text, want) in [("disclosure = false", Value::from(false)), ("disclosure = 'off'", Value::from("off"))] {
        assert_eq!(load_files(&[("toolcrib.toml", text)], &[]).config.disclosure.raw()["enabled"], want);
    }
}

#[test]
fn secrets_do_not_print() {
    let text = "[servers.x]\nurl = 'https://x.test'\nbearer = 'hunter2hunter2'\nheaders = { A = 'hunter2hunter2' }\n[gateway]\nkeys = ['hunter2hunter2']";
    let loaded = load_files(&[("toolcrib.toml", text)], &[]);
    let dump = format!("{:?} {}", loaded, serde_json::to_string(&loaded.config).unwrap());
    assert!(!dump.contains("hunter2"), "{dump}");
    let wrong = finds(
        "[servers.x]\nurl = 'https://x.test'\nbearer = 'ok'\nheaders = 'hunter2hunter2'",
        Severity::Error,
        "servers.x.headers",
    );
    assert!(!format!("{:?}", wrong.diagnostics).contains("hunter2"), "{:?}", wrong.diagnostics);
}

/// Where the default permits more, a value that cannot be read closes.
#[test]
fn who_may_approve_is_not_guessed() {
    for text in ["[approvals]\nfour_eyes = 'yes'", "approvals = 'x'"] {
        let loaded = finds(text, Severity::Error, "approvals");
        assert!(loaded.config.approvals.four_eyes, "{text}");
    }
}

#[test]
fn many_servers_load() {
    let mut text = String::new();
    for index in 0..10_000 {
        let _ = writeln!(text, "[servers.s{index}]\ncommand = 'x'");
    }
    let text: &'static str = Box::leak(text.into_boxed_str());
    let world = World { files: [("big.toml", text)].into(), ..World::default() };
    assert_eq!(load(&["big.toml".into()], &[], &world).unwrap().config.servers.len(), 10_000);
}

#[test]
fn a_missing_file_is_named() {
    let error = load(&["none.toml".into()], &[], &World::default()).unwrap_err();
    assert!(error.to_string().contains("none.toml"));
}

#[test]
fn a_change_touches_only_what_changed() {
    let before = load_files(
        &[(
            "toolcrib.toml",
            "[servers.a]\ncommand='x'\n[servers.b]\ncommand='x'\n[servers.c]\ncommand='x'\nenv={K='1'}",
        )],
        &[],
    )
    .config;
    let after = load_files(&[("toolcrib.toml", "[servers.a]\ncommand='x'\n[servers.c]\ncommand='x'\nenv={K='2'}\n[servers.d]\ncommand='x'\n[policy]\ndeny=['z']")], &[]).config;
    let change = crate::changes(&before, &after);
    assert_eq!(
        (change.added, change.removed, change.changed),
        (vec!["d".to_owned()], vec!["b".to_owned()], vec!["c".to_owned()])
    );
    assert!(change.settings);
    assert!(crate::changes(&before, &before).is_empty());
}

#[test]
fn what_is_wrong_with_an_element_of_a_list_is_said() {
    let error = Severity::Error;
    finds(
        "[permissions]\nrules = [{ tool = 'x' }]",
        error,
        "permissions.rules[0]: it has no key 'action', which it needs",
    );
    finds(
        "[permissions]\nrules = [{ tool = 'x', action = 'allow', tols = 1 }]",
        error,
        "unknown key 'tols'; did you mean tool?",
    );
    finds(
        "[permissions]\nrules = [{ tool = 'x', action = 'no' }]",
        error,
        "permissions.rules[0].action: 'no' is not one of allow, deny, ask",
    );
    finds("[permissions]\nrisks = [{ risk = 'low' }]", error, "it has no key 'tool'");
    finds(
        "[permissions]\nrisks = [{ tool = 'x', zzzzzzzz = 1 }]",
        error,
        "unknown key 'zzzzzzzz'; known: tool, risk, effect",
    );
    finds("[calls]\ntimeouts = [{ tool = 'x' }]", error, "calls.timeouts[0]: it has no key 'ms'");
    finds("[calls]\nrates = ['x']", error, "calls.rates[0]: it is a text; expected a map");
    finds(
        "[payloads]\nmodels = [{ foo = 1 }]",
        error,
        "payloads.models[0].foo: it has an unknown key 'foo'; known: family, match",
    );
    finds("[payloads]\nmodels = [{ family = 'x' }]", error, "it has no key 'match'");
    let loaded =
        finds("[calls]\ntimeouts = [{ tool = 'x', ms = 500, tol = 1 }]", Severity::Warning, "did you mean tool?");
    assert_eq!(loaded.config.calls.timeouts.len(), 1);
    let text = "[calls]\ntimeouts = [{ tool = 'x', ms = 500, zzzzzzzz = 1 }]";
    finds(text, Severity::Warning, "calls.timeouts[0].zzzzzzzz: unknown key, not used (known: tool, ms)");
}

#[test]
fn a_mistake_about_a_single_tool_does_not_open_it() {
    let text = "[servers.x]\ncommand = 'x'\n[servers.x.tools.wipe]\nenabeld = false";
    let loaded = finds(text, Severity::Error, "unknown key 'enabeld'; did you mean enabled?");
    assert!(loaded.config.servers.is_empty());
    assert_eq!(loaded.diagnostics.len(), 1, "{:?}", loaded.diagnostics);
}

#[test]
fn a_key_of_the_gateway_that_is_not_set_is_no_key() {
    let loaded = finds(
        "[gateway]\nkeys = ['${NOPE}']",
        Severity::Error,
        "there is no such key, and until this is mended HTTP is not served",
    );
    assert!(loaded.config.gateway.unusable.is_some());
}
