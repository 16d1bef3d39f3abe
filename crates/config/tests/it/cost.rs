//! What one bad value costs: never more than its server or key, and never a restriction.

use toolcrib_config::{Severity, model::TrustLevel};

use crate::{World, one, texts};

/// Loads a `toolcrib.toml` and expects an error that contains `want`.
#[track_caller]
fn bad(text: &str, want: &str) -> toolcrib_config::Config {
    let loaded = one("toolcrib.toml", text);
    let errors: Vec<String> =
        loaded.diagnostics.iter().filter(|d| d.severity == Severity::Error).map(ToString::to_string).collect();
    assert!(errors.iter().any(|error| error.contains(want)), "wanted {want:?} in {errors:#?}");
    assert!(loaded.has_errors());
    loaded.config
}

#[test]
fn a_bad_key_costs_its_own_value_where_the_default_is_harmless() {
    let config =
        bad("[names]\nmax_length = 'long'\nprefix = 'none'", "names.max_length: it is a text; expected a whole number");
    assert_eq!((config.names.max_length, config.names.prefix), (64, toolcrib_config::model::PrefixRule::None));
    let config = bad(
        "[names]\nconflict = 'priorty'",
        "'priorty' is not one of priority, first, reject, namespace; did you mean priority?",
    );
    assert_eq!(config.names, toolcrib_config::model::NamesConfig::default());
    let config =
        bad("[limits]\nschema_bytes = -1\nresult_bytes = 2048", "limits.schema_bytes: it is a negative number");
    assert_eq!((config.limits.schema_bytes, config.limits.result_bytes), (65_536, 2_048));
    bad("limits = 5", "limits: it is a number; expected a map");
    bad("[disclosure]\nalways = 'x'", "toolcrib.toml:2:1: disclosure.always: it is a text; expected a list");
    bad("[disclosure]\nalways = ['x', 5]", "toolcrib.toml:2:16: disclosure.always[1]: it is a number; expected a text");
    bad("[store]\npath = '${NOPE}'", "store.path: environment variable NOPE is not set");
}

#[test]
fn a_bad_restriction_allows_nothing() {
    for (text, want) in [
        ("[policy]\ndeny = 'x'", "policy.deny"),
        ("[policy]\ndeny = ['${NOPE}']", "policy.deny[0]"),
        ("[policy]\nallow = 5", "policy.allow"),
        ("policy = 'none'", "policy: it is a text"),
        ("profile = 5", "profile: it is a number"),
        ("profile = '${NOPE}'", "NOPE is not set"),
    ] {
        assert_eq!(bad(text, want).policy.allow, Some(vec![]), "{text}");
    }
}

#[test]
fn a_bad_profile_allows_nothing_and_the_others_stand() {
    for inner in ["deny = 5", "allow = 'x'", "also_allow = 'b'", "also_allow = ['a']\ndeny = ['${NOPE}']"] {
        let config = bad(&format!("[profiles.bad]\n{inner}\n[profiles.good]\nallow = ['a', 'b']"), "profiles.bad.");
        assert_eq!(config.profiles["bad"].allow, Some(vec![]), "{inner}");
        assert!(config.profiles["bad"].also_allow.is_empty(), "{inner}");
        assert_eq!(config.profiles["good"].allow, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(config.policy.allow, None);
    }
}

#[test]
fn a_bad_group_is_unknown() {
    let config = bad("[groups]\na = 'x'\nb = ['y']", "groups.a: it is a text; expected a list");
    assert_eq!(config.groups.keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn bad_permissions_trust_nothing() {
    for (text, trust) in [
        ("[permissions]\ntrust = 'configred'", Some(TrustLevel::None)),
        ("[permissions]\ntrust = true", Some(TrustLevel::None)),
        ("permissions = 'all'", Some(TrustLevel::None)),
        // A list of exceptions that is lost only means fewer of them.
        ("[permissions]\ntrust = 'configured'\nallow = 'x'", Some(TrustLevel::Configured)),
    ] {
        assert_eq!(bad(text, "permissions").permissions.trust, trust, "{text}");
    }
    // What would have been denied is not known, so nothing that was allowed is allowed either.
    for text in [
        "[permissions]\ntrust = 'all'\nallow = ['*']\ndeny = 'run_command'",
        "[permissions]\ntrust = 'all'\nallow = ['*']\nask = [5]",
        "[permissions]\ntrust = 'all'\nallow = ['*']\ndney = ['run_command']",
        "[permissions]\ntrust = 'all'\nrules = [{tool = '*', action = 'allow', wen = []}]",
        "[permissions]\ntrust = 'all'\nrules = [{tool = '*', action = 'allow', when = [{argument = 'a', op = 'equals', value = 'b', case = true}]}]",
        "[permissions]\ntrust = 'all'\nallow = ['*']\nhosts = {denny = ['x']}",
        "[permissions]\ntrust = 'all'\nallow = ['*']\nrules = [{tool = '*', action = 'denny'}]",
    ] {
        let config = bad(text, "permissions");
        assert_eq!(config.permissions.trust, Some(TrustLevel::None), "{text}");
        assert!(config.permissions.allow.is_empty() && config.permissions.rules.is_empty(), "{text}");
    }
    let loaded = World::default().variable("TOOLCRIB_TRUST", "everything").load(&[]).unwrap();
    assert_eq!(loaded.config.permissions.trust, Some(TrustLevel::None));
    assert!(texts(&loaded)[0].contains("(from environment variable TOOLCRIB_TRUST)"), "{:?}", texts(&loaded));
}

#[test]
fn bad_built_ins_are_off() {
    let config = bad("[builtin.files]\nroots = '/srv'\n[builtin.kv]\nmax_keys = 5", "builtin.files.roots");
    assert!(!config.builtin.files.enabled);
    assert!(config.builtin.enabled && config.builtin.fetch.enabled);
    assert_eq!(config.builtin.kv.max_keys, 5);
    assert!(!bad("[builtin]\nenabled = 'no'", "builtin.enabled").builtin.enabled);
    assert!(!bad("builtin = 'no'", "builtin: it is a text").builtin.enabled);
    assert!(!bad("[builtin.fetch]\nallow_hosts = ['${NOPE}']", "builtin.fetch.allow_hosts[0]").builtin.fetch.enabled);
}

#[test]
fn a_gateway_whose_keys_are_lost_says_so() {
    for text in ["[gateway]\nkeys = 'k'", "[gateway]\nkeys = ['${NOPE}']", "[gateway]\nkeys = ['a', 5]", "gateway = 5"]
    {
        let config = bad(text, "gateway");
        assert!(config.gateway.unusable.is_some(), "{text}");
        assert!(config.gateway.listen.starts_with("127.0.0.1:"));
    }
    let config = bad("[gateway]\nkeys = ['k']\nmax_body_bytes = 'x'", "gateway.max_body_bytes");
    assert_eq!((config.gateway.unusable, config.gateway.keys.len()), (None, 1));
}

#[test]
fn a_bad_server_costs_only_itself_whatever_is_wrong() {
    for (inner, want) in [
        ("command = ['x']", "command: it is a list; expected a text"),
        ("args = 'x'\ncommand = 'x'", "args: it is a text; expected a list"),
        ("command = 'x'\nenv = ['A=1']", "env: it is a list; expected a map"),
        ("command = 'x'\nenabled = 'yes'", "enabled: it is a text; expected true or false"),
        ("command = 'x'\nera = 'new'", "era: 'new' is not one of auto, legacy, modern"),
        ("command = 'x'\ncall_timeout_ms = 1.5", "call_timeout_ms: it is a fraction; expected a whole number"),
        ("url = 'https://x'\ntransport = 'ws'", "transport: 'ws' is not one of stdio, http"),
        ("command = 'x'\nenv = { VERSION = 1.10 }", "env.VERSION: it is a fraction; expected a text"),
        ("command = 'x'\nenv_file = 'none.env'", "env_file: file none.env cannot be used"),
        (
            "url = 'https://x'\nbearer_token_env_var = 'NOPE'",
            "bearer_token_env_var: environment variable NOPE is not set",
        ),
        ("url = 'https://x'\nbearer = '${file:none}'", "bearer: file none cannot be used"),
        ("command = '${cmd:pass show x}'", "command: ${cmd:…} is not supported"),
    ] {
        let config =
            bad(&format!("[servers.bad]\n{inner}\n[servers.good]\ncommand = 'x'"), &format!("servers.bad.{want}"));
        assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["good"], "{inner}");
    }
    let config = bad("[servers]\nbad = 5\ngood = { command = 'x' }", "servers.bad: it is a number; expected a map");
    assert_eq!(config.servers.len(), 1);
    bad("servers = [1]", "servers: it is not a map");
}

/// A secret in the wrong place is not quoted back, however it is written.
#[test]
fn findings_never_hold_secrets() {
    for secret in ["hunter2", "hunt\\\"er2", "x, expected hunter2", "`hunter2`"] {
        for text in [
            format!("[servers.a]\nurl = 'https://x'\nheaders = \"{secret}\""),
            format!("[servers.a]\nurl = 'https://x'\nheaders = [\"{secret}\"]"),
            format!("[servers.a]\nurl = 'https://x'\nbearer = [\"{secret}\"]"),
            format!("[servers.a]\ncommand = 'x'\nenv = \"{secret}\""),
            format!("[gateway]\nkeys = \"{secret}\""),
            format!("[gateway]\nkeys = {{ a = \"{secret}\" }}"),
        ] {
            let loaded = one("toolcrib.toml", &text);
            assert!(loaded.has_errors(), "{text}");
            assert!(!format!("{loaded:?}").contains("hunt"), "{text}\n{:?}", texts(&loaded));
        }
    }
    for (name, text) in [
        ("a.toml", "[servers.a]\nbearer = \"hunter2\" x"),
        ("a.json", "{\"bearer\": \"hunter2\" x}"),
        ("a.yaml", "bearer: \"hunter2\" x\n  y: z"),
        ("a.yaml", "bearer: 'hunter2"),
    ] {
        let error = World::default().file(name, text).load(&[name]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}
