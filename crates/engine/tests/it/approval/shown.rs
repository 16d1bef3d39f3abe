//! What a person is shown: enough to judge, nothing that misleads, never a secret, never too much.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib_engine::approval::{ARGUMENTS_CHARS, ApprovalRequest, Asked, Asking, DESCRIPTION_CHARS, TITLE_CHARS};

use super::Desk;
use crate::judged::Judged;

async fn shown(call: &Judged, mask: &(dyn Fn(&Value) -> Value + Send + Sync)) -> ApprovalRequest {
    let desk = Desk::new();
    let (question, principal) = (call.question(), call.principal());
    let digest = call.digest();
    let reason = "because ".repeat(200);
    let asking = Asking { question: &question, principal: &principal, digest, reason: &reason, mask, within: None };
    let Asked::Parked { id, .. } = desk.approvals.ask(&asking, None, &CancellationToken::new()).await else {
        panic!("not parked")
    };
    desk.approvals.request(&id, None, call.now_ms).await.unwrap().unwrap().request
}

#[tokio::test]
async fn a_request_says_what_will_happen() {
    let call = Judged::new("mcp:fs/move", json!({"to": "/b", "from": "/a", "n": 1}));
    let request = shown(&call, &Value::clone).await;
    assert_eq!(request.title(), "Run fs__move (mcp:fs)?");
    assert_eq!(
        request.description,
        r#"Runs fs__move of mcp:fs, which may change something. to = "/b", from = "/a", n = 1"#
    );
    assert_eq!(request.arguments, r#"{"from":"/a","n":1,"to":"/b"}"#);
    assert_eq!((request.arguments_digest, request.definition), (call.digest(), call.tool.hash()));
    assert_eq!((request.created_at_ms, request.expires_at_ms), (call.now_ms, call.now_ms + 3_600_000));
}

#[tokio::test]
async fn everything_is_bounded() {
    // C121, §1.12.
    let call = Judged::new("mcp:fs/move", json!({"a": "é".repeat(9_000), "b".repeat(9_000): 1, "c": vec!["x"; 3_000]}))
        .with(|call| call.exposed = "n".repeat(200));
    let request = shown(&call, &Value::clone).await;
    assert_eq!(request.title().chars().count(), TITLE_CHARS);
    assert_eq!(request.description.chars().count(), DESCRIPTION_CHARS);
    assert_eq!(request.arguments.chars().count(), ARGUMENTS_CHARS);
    assert!(
        request.arguments.ends_with("characters in all]"),
        "{}",
        &request.arguments[request.arguments.len() - 60..]
    );
    assert!(request.reason.chars().count() <= 300);
}

#[tokio::test]
async fn secrets_are_masked_everywhere() {
    let call = Judged::new("mcp:s/login", json!({"user": "ann", "password": "hunter2"}));
    let mask = |value: &Value| {
        let mut value = value.clone();
        value["password"] = json!("***");
        value
    };
    let request = shown(&call, &mask).await;
    let all = serde_json::to_string(&request).unwrap();
    assert!(!all.contains("hunter2") && all.contains("***"), "{all}");
    // The approval is for the arguments as they are.
    assert_eq!(request.arguments_digest, call.digest());
}

#[tokio::test]
async fn nothing_hides_or_turns_around() {
    let tricky = "a\u{202e}b\u{200b}c\u{1b}[2Jd\u{e0041}";
    let call = Judged::new("mcp:s/t", json!({tricky: tricky})).with(|call| call.exposed = "t\u{202e}".into());
    let request = shown(&call, &Value::clone).await;
    for text in [&request.title(), &request.description, &request.arguments] {
        assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{1b}', '\u{e0041}']), "{text:?}");
        assert!(text.contains("\\u202e"), "{text:?}");
    }
    assert_eq!(serde_json::from_str::<Value>(&request.arguments).unwrap(), call.arguments);
}
