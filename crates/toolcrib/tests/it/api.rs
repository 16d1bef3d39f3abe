//! The JSON API as a program sees it: real HTTP, the built command, a tool server that counts outside of both.

mod approvals;
mod batch;
mod calls;
mod conversation;
mod keys;
mod later;
mod operators;
mod statuses;
mod turns;

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    http::{Answer, Served},
    scene::Scene,
};

pub(crate) const ANN: &str = "key-of-ann-5d1c";
pub(crate) const BOB: &str = "key-of-bob-77ab";
pub(crate) const OPERATOR: &str = "key-of-operator-0e9f";

/// A gateway with two callers and an operator.
pub(crate) struct Api {
    // Ends before its folder is removed.
    pub(crate) served: Served,
    pub(crate) scene: Scene,
}

impl Api {
    /// With this configuration beside the keys.
    pub(crate) fn start(config: &str) -> Self {
        Self::start_with(&format!("gateway.max_body_bytes = 4096\n{config}"), &[])
    }

    /// With more words on the command line as well, and bodies as large as by default.
    pub(crate) fn start_with(config: &str, words: &[&str]) -> Self {
        let scene = Scene::new(&format!(
            "gateway.named_keys = {{ ann = '{ANN}', bob = '{BOB}' }}\n\
             gateway.operator_keys = ['{OPERATOR}']\n{config}"
        ));
        Self { served: Served::start_with(&scene, Some(ANN), words), scene }
    }

    /// A request with somebody's key.
    pub(crate) fn of(&self, key: &str, method: &str, path: &str, body: &str) -> Answer {
        self.served.send(method, path, &[("Authorization", &format!("Bearer {key}"))], body)
    }

    pub(crate) fn operator(&self, method: &str, path: &str, body: &str) -> Answer {
        self.of(OPERATOR, method, path, body)
    }

    /// A call of `up__TOOL_http` by Ann.
    pub(crate) fn call(&self, tool: &str, arguments: &str) -> Answer {
        self.call_as(ANN, tool, arguments, "")
    }

    /// The same by somebody, with more in the body.
    pub(crate) fn call_as(&self, key: &str, tool: &str, arguments: &str, more: &str) -> Answer {
        self.of(key, "POST", "/v1/calls", &body(tool, arguments, more))
    }

    /// Records that match, once `enough` of them are there.
    #[track_caller]
    pub(crate) fn records(&self, query: &str, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = self.operator("GET", &format!("/v1/audit{query}"), "");
            assert_eq!(answer.status, 200, "{query}: {answer:?}");
            let found = answer.json()["records"].as_array().unwrap().clone();
            if enough(&found) {
                return found;
            }
            assert!(Instant::now() < until, "{query}: {found:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The body of a call; `more` comes after a comma.
pub(crate) fn body(tool: &str, arguments: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!(r#"{{"name":"up__{tool}_http","arguments":{arguments}{comma}{more}}}"#)
}

/// The code of an error, which has the one form that all have (RFC 9457).
#[track_caller]
pub(crate) fn error_code(answer: &Answer) -> String {
    assert_eq!(answer.headers["content-type"], "application/problem+json", "{answer:?}");
    let problem = answer.json();
    for text in ["title", "detail"] {
        assert!(problem[text].as_str().is_some_and(|text| !text.is_empty()), "{answer:?}");
    }
    let code = problem["code"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (&problem["status"], &problem["type"]),
        (&answer.status.into(), &format!("urn:toolcrib:problem:{code}").into())
    );
    code
}
