use serde_json::{json, value::RawValue};

use super::*;

#[track_caller]
fn check(given: &str, content: &Value, is_error: bool) {
    let result = ToolResult::from_raw(RawValue::from_string(given.to_owned()).unwrap()).unwrap();
    let formed = in_form(&result).unwrap_or_else(|| panic!("{given} is in form"));
    let value = formed.to_value();
    let blocks = value["content"].as_array().unwrap();
    let (note, blocks) = blocks.split_last().unwrap();
    assert_eq!(json!(blocks), *content, "{given}");
    assert!(
        note["text"].as_str().unwrap().starts_with("[toolcrib] warning: this result was not in the form"),
        "{note}"
    );
    assert_eq!(formed.is_error(), is_error, "{given}");
    assert!(in_form(&formed).is_none(), "it is in form now");
}

#[test]
fn what_is_out_of_form_is_brought_into_it_with_a_warning() {
    let text = |text: &str| json!({"type": "text", "text": text});
    check(r#"{"content":"one\ntwo"}"#, &json!([text("one\ntwo")]), false);
    check(r#"{"content": 5, "x": 1}"#, &json!([text("5")]), false);
    check(r#"{"content":{"a":1.0}}"#, &json!([text(r#"{"a":1.0}"#)]), false);
    check(r#"{"content":{"type":"text","text":"x"}}"#, &json!([text("x")]), false);
    check(
        r#"{"content":["x",{"type":"text","text":"y"},7,null]}"#,
        &json!([text("x"), text("y"), text("7"), text("null")]),
        false,
    );
    for (flag, is_error) in [
        (r#""yes""#, true),
        (r#""true""#, true),
        ("1", true),
        ("{}", true),
        (r#""false""#, false),
        (r#""No""#, false),
        ("0", false),
        (r#""""#, false),
    ] {
        check(
            &format!(r#"{{"content":[{{"type":"text","text":"x"}}],"isError":{flag}}}"#),
            &json!([text("x")]),
            is_error,
        );
    }
    check(r#"{"content":"x","isError":"yes"}"#, &json!([text("x")]), true);
}

#[test]
fn what_is_in_form_stays() {
    for given in [
        r"{}",
        r#"{"content":[]}"#,
        r#"{"content":null,"isError":null}"#,
        r#"{"content":[{"type":"image","data":"AA=="}],"isError":true}"#,
        r#"{"structuredContent":{"content":"x","isError":"yes"},"isError":false}"#,
    ] {
        let result = ToolResult::from_raw(RawValue::from_string(given.to_owned()).unwrap()).unwrap();
        assert!(in_form(&result).is_none(), "{given}");
    }
}
