//! What a key opens, and what it is bound to.

use serde_json::json;

use super::error_code;
use crate::{
    http::{Answer, Served},
    scene::Scene,
};

const CONFIG: &str = "
profiles.noting.allow = ['mcp:up/note_*']
permissions.ask = ['mcp:up/wipe_*']
approvals.wait_ms = 0
approvals.per_minute = 1000
[gateway.named_keys]
plain = 'key-plain'
reader = { key = 'key-reader', scopes = ['read'] }
caller = { key = 'key-caller', scopes = ['call'] }
approver = { key = 'key-approver', scopes = ['approve'] }
operator = { key = 'key-operator', scopes = ['operate'] }
acme = { key = 'key-acme', tenant = 'acme' }
acme_boss = { key = 'key-acme_boss', tenant = 'acme', scopes = ['approve', 'operate'] }
globex_boss = { key = 'key-globex_boss', tenant = 'globex', scopes = ['approve', 'operate'] }
";

struct Keys {
    served: Served,
    scene: Scene,
}

impl Keys {
    fn start() -> Self {
        let scene = Scene::new(CONFIG);
        Self { served: Served::start(&scene, Some("key-plain")), scene }
    }

    fn of(&self, key: &str, method: &str, path: &str, body: &str) -> Answer {
        self.served.send(method, path, &[("Authorization", &format!("Bearer key-{key}"))], body)
    }

    fn call(&self, key: &str, tool: &str, more: &str) -> Answer {
        self.of(key, "POST", "/v1/calls", &super::body(tool, r#"{"key":"a"}"#, more))
    }
}

#[test]
fn a_key_opens_what_its_scopes_say() {
    let keys = Keys::start();
    let look = super::body("look", r#"{"key":"a"}"#, "");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
    let routes = [
        ("read", "GET", "/v1/tools", ""),
        ("read", "POST", "/v1/search", r#"{"query":"look"}"#),
        ("read", "POST", "/v1/assemble", r#"{"target":"mcp"}"#),
        ("read", "POST", "/v1/explain", r#"{"name":"up__look_http"}"#),
        ("call", "POST", "/v1/calls", &look),
        ("call", "GET", "/v1/pending", ""),
        ("call", "GET", "/v1/deliveries", ""),
        ("approve", "GET", "/v1/approvals", ""),
        ("approve", "GET", "/v1/grants", ""),
        ("operate", "GET", "/v1/audit", ""),
        ("operate", "GET", "/v1/stats", ""),
        ("operate", "GET", "/metrics", ""),
        ("any", "GET", "/v1/health", ""),
        ("any", "GET", "/v1/openapi.json", ""),
        ("both", "POST", "/mcp", ping),
    ];
    for (key, scopes) in [
        ("plain", &["read", "call", "any", "both"][..]),
        ("reader", &["read", "any"]),
        ("caller", &["call", "any"]),
        ("approver", &["approve", "any"]),
        ("operator", &["operate", "any"]),
    ] {
        for (scope, method, path, body) in routes {
            let answer = keys.of(key, method, path, body);
            if scopes.contains(&scope) {
                assert_eq!(answer.status, 200, "{key} {method} {path}: {answer:?}");
            } else {
                assert_eq!((answer.status, error_code(&answer).as_str()), (403, "scope_needed"), "{key} {path}");
            }
        }
    }
    // Nothing of a request is read before that.
    let unread = keys.of("reader", "POST", "/v1/calls", "nonsense");
    assert_eq!((unread.status, error_code(&unread).as_str()), (403, "scope_needed"));
}

#[test]
fn a_request_names_the_profile_that_it_sees_through() {
    let keys = Keys::start();
    let tools = |query: &str| {
        let answer = keys.of("plain", "GET", &format!("/v1/tools{query}"), "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    };
    assert!(tools("").contains("up__look_http") && tools("").contains("up__note_http"));
    assert!(!tools("?profile=noting").contains("up__look_http"));
    // What cannot be seen cannot be called.
    let noting = r#""scope":{"profile":"noting","agent":"scout"}"#;
    assert_eq!(keys.call("plain", "look", noting).status, 404);
    assert_eq!(keys.call("plain", "note", noting).status, 200);
    assert_eq!(keys.call("plain", "look", "").status, 200);
    let recorded = || {
        let records = keys.of("operator", "GET", "/v1/audit?tool=mcp:up/note_http&outcome=ok", "").json();
        records["records"][0]["principal"]["agent"] == "scout"
    };
    super::calls::until("it is recorded", recorded);
}

#[test]
fn tenants_are_kept_apart() {
    let keys = Keys::start();
    let parked = keys.call("acme", "wipe", "");
    assert_eq!(error_code(&parked), "approval_needed");
    let id = parked.json()["approval"].as_str().unwrap().to_owned();
    let listed = |key: &str| {
        let answer = keys.of(key, "GET", "/v1/approvals", "").json();
        answer["approvals"].as_array().unwrap().iter().any(|one| one["id"] == id.as_str())
    };
    assert!(listed("acme_boss") && !listed("globex_boss") && listed("approver"));
    let path = format!("/v1/approvals/{id}");
    let approve = r#"{"answer":"approve","reach":"once"}"#;
    assert_eq!(keys.of("globex_boss", "POST", &path, approve).status, 404);
    assert_eq!(keys.of("acme_boss", "POST", &path, approve).status, 200);
    assert_eq!(keys.call("acme", "wipe", "").status, 200);
    assert_eq!(keys.scene.executions("a"), 1);
    let records = |key: &str| keys.of(key, "GET", "/v1/audit?tool=mcp:up/wipe_http", "").json()["records"].clone();
    assert_eq!(records("globex_boss"), json!([]));
    assert!(records("acme_boss").as_array().unwrap().iter().all(|record| record["principal"]["tenant"] == "acme"));
    // Figures are of all tenants together.
    for path in ["/v1/stats", "/v1/breakers", "/metrics"] {
        assert_eq!(keys.of("acme_boss", "GET", path, "").status, 403, "{path}");
    }
}

#[test]
fn a_key_with_a_mistake_keeps_the_gateway_from_starting() {
    for (entry, says) in [
        ("{ key = 'k', scops = ['read'] }", "scops"),
        ("{ key = 'k', scopes = ['reed'] }", "reed"),
        ("{ scopes = ['read'] }", "key"),
        ("7", "a text"),
    ] {
        let scene = Scene::new(&format!("[gateway.named_keys]\nann = {entry}\n"));
        let ran = scene.run(&["serve", "--http", "127.0.0.1:0"], false);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(
            !ran.status.success() && said.contains("not serving over HTTP") && said.contains(says),
            "{entry}: {said}"
        );
    }
}
