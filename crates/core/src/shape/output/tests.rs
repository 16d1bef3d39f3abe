use serde_json::{json, value::RawValue};

use super::*;

fn raw(text: &str) -> ToolResult {
    ToolResult::from_raw(RawValue::from_string(text.to_owned()).unwrap()).unwrap()
}

#[track_caller]
fn becomes(change: impl Fn(&ToolResult) -> ToolResult, given: &str, expected: &str) {
    assert_eq!(change(&raw(given)).raw().get(), expected);
}

#[test]
fn structured_content_is_checked() {
    let schema = json!({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "integer"}, "k": {"type": "string", "maxLength": 2, "writeOnly": true}}});
    let validator = Validator::compile(&schema).unwrap();
    for fits in [
        r#"{"structuredContent":{"id":1}}"#,
        r#"{"isError":true}"#,
        r#"{"isError":true,"structuredContent":{"error":1}}"#,
        r#"{"structuredContent":{"id":1,"more":[]},"content":[]}"#,
    ] {
        assert_eq!(check_output(&raw(fits), &validator), None, "{fits}");
    }
    for (given, reason) in [
        ("{}", "gave none"),
        (r#"{"structuredContent":null}"#, "gave none"),
        (r#"{"structuredContent":{}}"#, "the required property \"id\" is missing"),
        (r#"{"structuredContent":{"id":"x"}}"#, "/id must be integer, but is the string \"x\""),
        (r#"{"structuredContent":[1]}"#, "must be object"),
    ] {
        let found = check_output(&raw(given), &validator).unwrap();
        assert!(found.contains(reason) && found.chars().count() <= 400, "{found}");
    }
    let secret = check_output(&raw(r#"{"structuredContent":{"id":1,"k":["hidden"]}}"#), &validator).unwrap();
    assert!(!secret.contains("hidden"), "{secret}");
}

/// Case 81 of the peers reference: what is wrong with a result takes nothing away from it.
#[test]
fn notes_are_added_and_nothing_is_lost() {
    let note = |result: &ToolResult| append_note(result, "n");
    becomes(
        note,
        r#"{ "content":[ {"type":"image","data":"AA==","n":1.0} ],"isError":true }"#,
        r#"{ "content":[ {"type":"image","data":"AA==","n":1.0} ,{"type":"text","text":"[toolcrib] n"}],"isError":true }"#,
    );
    becomes(note, "{}", r#"{"content":[{"type":"text","text":"[toolcrib] n"}]}"#);
    becomes(note, r#"{"content":null,"x":1}"#, r#"{"content":[{"type":"text","text":"[toolcrib] n"}],"x":1}"#);
    becomes(
        note,
        r#"{"structuredContent":{"n":12345678901234567890123}}"#,
        r#"{"structuredContent":{"n":12345678901234567890123},"content":[{"type":"text","text":"{\"n\":12345678901234567890123}"},{"type":"text","text":"[toolcrib] n"}]}"#,
    );
    let warned = with_warning(&ToolResult::error("x"), "odd");
    assert!(warned.is_error());
    assert_eq!(warned.to_text(), "x\n[toolcrib] warning: odd");
}

#[test]
fn structured_content_alone_is_given_as_text_too() {
    let structured = r#""structuredContent": {"id": 12345678901234567890123, "f":1.0}"#;
    let block = r#"{"type":"text","text":"{\"id\": 12345678901234567890123, \"f\":1.0}"}"#;
    for (content, expected) in [
        (String::new(), format!(r#","content":[{block}]"#)),
        (r#","content":[]"#.to_owned(), format!(r#","content":[{block}]"#)),
        (
            r#","content":[{"type":"text","text":" "}]"#.to_owned(),
            format!(r#","content":[{{"type":"text","text":" "}},{block}]"#),
        ),
        (
            r#","content":[{"type":"image","data":"AA=="}]"#.to_owned(),
            format!(r#","content":[{{"type":"image","data":"AA=="}},{block}]"#),
        ),
    ] {
        becomes(ensure_text, &format!("{{{structured}{content}}}"), &format!("{{{structured}{expected}}}"));
    }
    for same in [
        r#"{"structuredContent":{"a":1},"content":[{"type":"text","text":"one"}]}"#,
        r#"{"structuredContent":null}"#,
        r#"{"content":[]}"#,
        "{}",
    ] {
        becomes(ensure_text, same, same);
    }
}

#[test]
fn one_text_says_all() {
    for (given, expected) in [
        (r#"{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}"#, "a\nb"),
        (r#"{"structuredContent":{"a":1}}"#, r#"{"a":1}"#),
        (
            r#"{"content":[{"type":"text","text":"{ \"b\":2, \"a\":1 }"}],"structuredContent":{"a":1,"b":2}}"#,
            r#"{ "b":2, "a":1 }"#,
        ),
        (r#"{"content":[{"type":"text","text":"2 found"}],"structuredContent":{"a":1}}"#, "2 found\n{\"a\":1}"),
        (
            r#"{"content":[{"type":"text","text":"{\"n\":12345678901234567890}"}],"structuredContent":{"n":12345678901234567891}}"#,
            "{\"n\":12345678901234567890}\n{\"n\":12345678901234567891}",
        ),
        ("{}", ""),
    ] {
        assert_eq!(whole_text(&raw(given)), expected, "{given}");
    }
}

/// Case 23 of the OneRingAI reference.
#[test]
fn nothing_is_said_plainly() {
    for nothing in [
        "{}",
        r#"{"content":[ ]}"#,
        r#"{"content":null,"structuredContent":null,"isError":false,"_meta":{"a":1}}"#,
        r#"{"resultType":"complete"}"#,
    ] {
        assert!(is_nothing(&raw(nothing)), "{nothing}");
    }
    for something in [
        r#"{"content":[{}]}"#,
        r#"{"content":"odd"}"#,
        r#"{"structuredContent":{}}"#,
        r#"{"structuredContent":0}"#,
        r#"{"toolResult":1}"#,
        r#"{"resultType":"input_required","inputRequests":{}}"#,
        r#"{"content":[],"resultType":"task"}"#,
    ] {
        assert!(!is_nothing(&raw(something)), "{something}");
    }
    let error = nothing_returned("mail_send");
    assert!(error.is_error());
    assert_eq!(error.to_text(), "mail_send returned no result");
}
