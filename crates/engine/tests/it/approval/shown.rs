//! What a person is shown: enough to judge, nothing that misleads, never a secret, never too much.

use serde_json::{Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;
use toolcrib_engine::approval::{
    ARGUMENTS_CHARS, ApprovalRequest, Asked, Asking, DESCRIPTION_CHARS, Reach, TITLE_CHARS, visible,
};

use super::{Desk, as_written};
use crate::judged::Judged;

async fn shown(call: &Judged, mask: &(dyn Fn(&RawValue) -> String + Send + Sync)) -> ApprovalRequest {
    let desk = Desk::new();
    let (question, principal) = (call.question(), call.principal());
    let digest = call.digest();
    let reason = "because ".repeat(200);
    let asking =
        Asking { question: &question, principal: &principal, digest, reason: &reason, mask, says: None, within: None };
    let Asked::Parked { id, .. } = desk.approvals.ask(&asking, None, &CancellationToken::new()).await else {
        panic!("not parked")
    };
    desk.approvals.request(&id, None, call.now_ms).await.unwrap().unwrap().request
}

#[tokio::test]
async fn a_request_says_what_will_happen() {
    let call = Judged::new("mcp:fs/move", json!({"to": "/b", "from": "/a", "n": 1}));
    let request = shown(&call, &as_written).await;
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
    let request = shown(&call, &as_written).await;
    assert_eq!(request.title().chars().count(), TITLE_CHARS);
    assert_eq!(request.description.chars().count(), DESCRIPTION_CHARS);
    assert_eq!(request.arguments.chars().count(), ARGUMENTS_CHARS);
    assert!(request.reason.chars().count() <= 300);
}

#[tokio::test]
async fn secrets_are_masked_everywhere() {
    let call = Judged::new("mcp:s/login", json!({"user": "ann", "password": "hunter2"}));
    let mask = |raw: &RawValue| raw.get().replace("hunter2", "***");
    let request = shown(&call, &mask).await;
    let all = serde_json::to_string(&request).unwrap();
    assert!(!all.contains("hunter2") && all.contains("***"), "{all}");
    // The approval is for the arguments as they are.
    assert_eq!(request.arguments_digest, call.digest());
}

#[tokio::test]
async fn what_is_too_long_shows_both_ends_and_can_be_approved_once_only() {
    // The arguments are `{"c":"…"}`: eight characters and the text.
    for (chars, whole) in [(10, true), (ARGUMENTS_CHARS - 8, true), (ARGUMENTS_CHARS - 7, false), (90_000, false)] {
        let text = format!("begin{}end", "é".repeat(chars - 8));
        let call = Judged::new("mcp:s/t", json!({ "c": text }));
        let request = shown(&call, &as_written).await;
        assert!(request.arguments.chars().count() <= ARGUMENTS_CHARS, "{chars}");
        assert!(request.arguments.starts_with(r#"{"c":"begin"#) && request.arguments.ends_with(r#"end"}"#), "{chars}");
        assert_eq!(request.offers == [Reach::Once], !whole, "{chars}: {:?}", request.offers);
        assert_eq!(request.patterns.is_empty(), !whole, "{chars}: {:?}", request.patterns);
        let Some((before, rest)) = request.arguments.split_once(" … [cut: ") else {
            assert!(whole, "{chars}: cut without a word");
            continue;
        };
        let (figures, after) = rest.split_once(" characters are not shown here] … ").unwrap();
        let (left_out, all) = figures.split_once(" of ").unwrap();
        let [left_out, all] = [left_out, all].map(|figure| figure.parse::<usize>().unwrap());
        assert_eq!(all, chars + 8, "{chars}");
        assert_eq!(before.chars().count() + left_out + after.chars().count(), all, "{chars}");
    }
}

#[tokio::test]
async fn what_cannot_be_shown_can_be_approved_once_only() {
    let request = shown(&Judged::new("mcp:s/t", json!({"c": 1})), &|_| String::new()).await;
    assert_eq!(request.offers, [Reach::Once]);
    assert!(request.patterns.is_empty());
    for text in [&request.arguments, &request.description] {
        assert!(text.contains("cannot be shown"), "{text}");
    }
}

#[tokio::test]
async fn numbers_are_shown_to_the_last_digit() {
    let written = r#"{"n":123456789012345678901234567890,"m":0.1000000000000000055511151231257827}"#;
    let mask = |_: &RawValue| written.to_owned();
    let request = shown(&Judged::new("mcp:s/t", json!({})), &mask).await;
    for text in [&request.arguments, &request.description] {
        for digits in ["123456789012345678901234567890", "0.1000000000000000055511151231257827"] {
            assert!(text.contains(digits), "{text}");
        }
    }
}

#[test]
fn what_does_not_show_is_written_out() {
    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(visible(given), expected);
        assert_eq!(visible(expected), expected, "twice is as good as once");
    }
    check("Grüße, 世界 🙂 $(x) \\", "Grüße, 世界 🙂 $(x) \\");
    check("\u{1b}[2J\r\n\t\u{9b}", r"\u{1b}[2J\u{d}\u{a}\u{9}\u{9b}");
    check("a\u{202e}b\u{2066}c", r"a\u{202e}b\u{2066}c");
    check("\u{200b}\u{200d}\u{feff}\u{ad}\u{fe0f}", r"\u{200b}\u{200d}\u{feff}\u{ad}\u{fe0f}");
    check("rm\u{a0}-rf\u{3000}/\u{2800}\u{3164}", r"rm\u{a0}-rf\u{3000}/\u{2800}\u{3164}");
    check("\u{e0041}\u{e0101}", r"\u{e0041}\u{e0101}");
}

#[tokio::test]
async fn nothing_hides_or_turns_around() {
    let tricky = "a\u{202e}b\u{200b}c\u{1b}[2Jd\u{e0041}\", x = \"";
    let call = Judged::new("mcp:s/t", json!({tricky: tricky})).with(|call| call.exposed = "t\u{202e}".into());
    let request = shown(&call, &as_written).await;
    for text in [&request.title(), &request.description, &request.arguments] {
        assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{1b}', '\u{e0041}']), "{text:?}");
    }
    assert!(request.title().contains(r"t\u{202e}"), "{}", request.title());
    // In JSON as JSON writes it, so that it still says the same; and a quote does not end the text.
    assert!(
        request.description.ends_with(r#"= "a\u202eb\u200bc\u001b[2Jd\udb40\udc41\", x = \"""#),
        "{}",
        request.description
    );
    assert_eq!(serde_json::from_str::<Value>(&request.arguments).unwrap(), call.arguments);
}
