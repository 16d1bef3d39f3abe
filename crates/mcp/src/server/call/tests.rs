use serde_json::value::RawValue;

use super::*;

#[track_caller]
fn shapes(protocol: Protocol, raw: &str, wants: &str) {
    let result = ToolResult::from_raw(RawValue::from_string(raw.to_owned()).unwrap()).unwrap();
    assert_eq!(shape(&result, protocol), wants);
}

#[test]
fn modern_clients_are_told_the_result_type() {
    let modern = |raw, wants| shapes(Protocol::V2026_07_28, raw, wants);
    modern("{}", r#"{"resultType":"complete"}"#);
    modern(
        r#"{ "content":[], "n":123456789012345678901234567890, "structuredContent":null }"#,
        r#"{"resultType":"complete", "content":[], "n":123456789012345678901234567890, "structuredContent":null }"#,
    );
    // What the upstream said stays.
    modern(r#"{"a":1,"resultType":"task"}"#, r#"{"a":1,"resultType":"task"}"#);
    modern(r#"{"structuredContent":[1]}"#, r#"{"resultType":"complete","structuredContent":[1]}"#);
}

#[test]
fn legacy_clients_get_the_bytes_less_what_they_cannot_have() {
    let legacy = |raw, wants| shapes(Protocol::V2025_11_25, raw, wants);
    let same = |raw| shapes(Protocol::V2025_06_18, raw, raw);
    same("{}");
    same(r#"{ "content":[{"type":"image","data":"AA==","x":1}], "structuredContent":{"a":1.0}, "_meta":{"k":[]} }"#);
    legacy(r#"{"resultType":"complete","content":[]}"#, r#"{"content":[]}"#);
    // A value that is no object goes; the text that says the same stays.
    legacy(
        r#"{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1],"isError":false}"#,
        r#"{"content":[{"type":"text","text":"[1]"}],"isError":false}"#,
    );
    // Without such a text, one is made.
    legacy(r#"{"content":[ ],"structuredContent":["a"]}"#, r#"{"content":[{"type":"text","text":"[\"a\"]"}]}"#);
    legacy(r#"{"structuredContent":null,"_meta":{}}"#, r#"{"content":[{"type":"text","text":"null"}],"_meta":{}}"#);
}
