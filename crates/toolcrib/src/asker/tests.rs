//! What is shown on a terminal and in a form, and what counts as an answer there.

use std::io::{BufReader, Cursor};

use serde_json::json;

use super::*;

fn request(more: &Value) -> ApprovalRequest {
    let mut request = json!({
        "id": "r1", "principal": {"tenant": "t"}, "tool": "mcp:s/t", "exposed": "s__t",
        "definition": "0".repeat(64), "arguments_digest": "0".repeat(64), "arguments": "{}",
        "description": "Runs it.", "reason": "it is new.", "risk": "low", "offers": ["once", "session", "always"],
        "patterns": [{"kind": "within", "root": "/a\u{202e}b"}], "created_at_ms": 0, "expires_at_ms": 1,
    });
    let tool: toolcrib_core::ToolId = "mcp:s/t".parse().unwrap();
    request["tool"] = serde_json::to_value(tool).unwrap();
    let principal =
        toolcrib_engine::Principal { tenant: "t".into(), user: None, agent: None, session: Some("s1".into()) };
    request["principal"] = serde_json::to_value(principal).unwrap();
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(request).unwrap()
}

#[test]
fn nothing_that_does_not_show_gets_into_a_form() {
    let bad = "x\u{1b}[2J\u{202e}\u{200b}\r\ny";
    let asked = question(&request(&json!({"description": bad, "arguments": bad, "reason": bad})));
    assert!(asked.message.contains(r"x\u{1b}[2J\u{202e}\u{200b}\u{d}\u{a}y"), "{:?}", asked.message);
    assert!(!asked.message.contains(['\u{1b}', '\u{202e}', '\u{200b}', '\r']), "{:?}", asked.message);
    assert_eq!(asked.message.lines().count(), 4, "{:?}", asked.message);
    let titles = asked.schema["properties"][FIELD]["enumNames"].to_string();
    assert!(titles.contains(r"\\u{202e}") && !titles.contains('\u{202e}'), "{titles}");
}

#[test]
fn only_a_number_on_the_list_is_more_than_a_refusal() {
    let request = request(&json!({}));
    let once = Answer::Approve { reach: Reach::Once, pattern: None };
    for (line, expected) in [
        ("1", once.clone()),
        (" 1 \r", once),
        ("2", Answer::Approve { reach: Reach::Session, pattern: None }),
        ("6", Answer::Deny { reach: Reach::Always }),
    ] {
        assert_eq!(choice(&request, line), expected, "{line:?}");
    }
    for line in ["", "0", "7", "-1", "y", "yes", "1 1", "99999999999999999999"] {
        assert_eq!(choice(&request, line), Answer::Deny { reach: Reach::Once }, "{line:?}");
    }
}

#[tokio::test]
async fn an_interrupt_ends_the_wait_and_so_does_the_end_of_the_input() {
    use std::future::{pending, ready};
    let line = |text: &str| ready(Ok(Some(text.to_owned())));
    assert_eq!(line_unless(ready(()), pending()).await.unwrap(), None);
    assert_eq!(line_unless(ready(()), line("1")).await.unwrap(), None, "an interrupt is no time to approve anything");
    assert_eq!(line_unless(pending::<()>(), ready(Ok(None))).await.unwrap(), None);
    assert_eq!(line_unless(pending::<()>(), line("1")).await.unwrap(), Some("1".to_owned()));
    assert!(line_unless(pending::<()>(), ready(Err(io::Error::other("gone")))).await.is_err());
}

#[test]
fn lines_are_bounded_and_the_end_is_no_line() {
    #[track_caller]
    fn check(typed: &[u8], lines: &[&str]) {
        for buffer in [1, 7, 8_192] {
            let mut input = BufReader::with_capacity(buffer, Cursor::new(typed));
            let mut read = Vec::new();
            while let Some(line) = bounded_line(&mut input).unwrap() {
                read.push(line);
            }
            assert_eq!(read, lines);
        }
    }
    check(b"", &[]);
    check(b"1\n2\n", &["1", "2"]);
    check(b"1", &["1"]);
    check(b"\n\n", &["", ""]);
    check(b"\xff1\n2\n", &["", "2"]);
    let long = |length: usize| [&b"1"[..], &vec![b' '; length - 1], b"\n2\n"].concat();
    check(&long(256), &[&format!("1{}", " ".repeat(255)), "2"]);
    // The rest of a long line is no answer, and neither is its beginning.
    check(&long(257), &["", "2"]);
    check(&long(100_000), &["", "2"]);
}
