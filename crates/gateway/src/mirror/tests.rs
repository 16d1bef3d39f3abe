use axum::http::HeaderValue;
use serde_json::{json, value::to_raw_value};

use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())).collect()
}

#[test]
fn a_header_mirrors_the_body() {
    const NAME: HeaderName = HeaderName::from_static("mcp-name");
    #[track_caller]
    fn mirrors(values: &[&str], body: &str, wants: bool) {
        let mut all = HeaderMap::new();
        for value in values {
            all.append(NAME, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        assert_eq!(check(&all, &NAME, body).is_ok(), wants, "{values:?} for {body:?}");
    }
    mirrors(&["a"], "a", true);
    mirrors(&["=?base64?SGVsbG8sIOS4lueVjA==?="], "Hello, 世界", true);
    mirrors(&["=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="], "=?base64?literal?=", true);
    // Without both markers a value is literal.
    mirrors(&["=?base64?SGVsbG8="], "=?base64?SGVsbG8=", true);
    mirrors(&["SGVsbG8="], "SGVsbG8=", true);
    mirrors(&[], "a", false);
    mirrors(&["A"], "a", false);
    mirrors(&["a", "a"], "a", false);
    mirrors(&["=?base64?SGVsbG8?="], "Hello", false);
    mirrors(&["=?base64?SGVs!!!bG8=?="], "Hello", false);
    mirrors(&["=?base64?//4=?="], "\u{fffd}", false);
    mirrors(&["=?BASE64?SGVsbG8=?="], "Hello", false);
    mirrors(&["é"], "é", false);
}

fn mirrors_of(schema: &Value) -> Mirrors {
    let tool = json!({"name": "t", "inputSchema": schema});
    let tools = [Arc::from(to_raw_value(&tool).unwrap())].into_iter().collect();
    Mirrors::of(&ToolList { tools, hash: String::new() })
}

#[track_caller]
fn agrees(mirrors: &Mirrors, arguments: &str, pairs: &[(&'static str, &str)], wants: bool) {
    assert_eq!(mirrors.check("t", Some(arguments), &headers(pairs)).is_ok(), wants, "{arguments} {pairs:?}");
}

#[test]
fn mirrored_arguments_agree_with_their_headers() {
    let mirrors = mirrors_of(&json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "page": {"type": "integer", "x-mcp-header": "Page"},
        "deep": {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
        "x-mcp-header": {"type": "string"},
    }}));
    for (arguments, pairs, wants) in [
        ("{}", &[][..], true),
        (r#"{"region":null}"#, &[], true),
        (r#"{"region":"eu"}"#, &[("mcp-param-region", "eu")], true),
        (r#"{"region":"ü"}"#, &[("mcp-param-region", "=?base64?w7w=?=")], true),
        (r#"{"page":42}"#, &[("mcp-param-page", "42")], true),
        (r#"{"page":42}"#, &[("mcp-param-page", "42.0")], true),
        (r#"{"page":-7}"#, &[("mcp-param-page", "-7")], true),
        (r#"{"deep":{"flag":true}}"#, &[("mcp-param-flag", "true")], true),
        // What mirrors nothing is ignored.
        ("{}", &[("mcp-param-other", "x")], true),
        (r#"{"x-mcp-header":"v"}"#, &[], true),
        // What cannot be put into a header is left out.
        (r#"{"region":["eu"]}"#, &[], true),
        (r#"{"region":"eu"}"#, &[], false),
        (r#"{"region":"eu"}"#, &[("mcp-param-region", "us")], false),
        (r#"{"region":"eu"}"#, &[("mcp-param-region", "EU")], false),
        (r#"{"region":"eu"}"#, &[("mcp-param-region", "=?base64?!?=")], false),
        ("{}", &[("mcp-param-region", "eu")], false),
        (r#"{"region":["eu"]}"#, &[("mcp-param-region", "eu")], false),
        (r#"{"page":42}"#, &[("mcp-param-page", "42.5")], false),
        (r#"{"page":42}"#, &[("mcp-param-page", "4.2e1")], false),
        (r#"{"deep":{"flag":true}}"#, &[("mcp-param-flag", "True")], false),
    ] {
        agrees(&mirrors, arguments, pairs, wants);
    }
    let mut twice = headers(&[("mcp-param-region", "eu")]);
    twice.append("mcp-param-region", HeaderValue::from_static("eu"));
    assert!(mirrors.check("t", Some(r#"{"region":"eu"}"#), &twice).is_err());
    assert!(mirrors.check("another tool", Some(r#"{"region":"eu"}"#), &HeaderMap::new()).is_ok());
}

#[test]
fn a_schema_with_an_invalid_annotation_mirrors_nothing() {
    let text = |name: &str| json!({"type": "string", "x-mcp-header": name});
    for schema in [
        json!({"properties": {"a": text("")}}),
        json!({"properties": {"a": text("two words")}}),
        json!({"properties": {"a": text("line\nbreak")}}),
        json!({"properties": {"a": {"type": "string", "x-mcp-header": 7}}}),
        json!({"properties": {"a": {"type": "number", "x-mcp-header": "N"}}}),
        json!({"properties": {"a": {"x-mcp-header": "N"}}}),
        json!({"properties": {"a": text("Same"), "b": text("same")}}),
        json!({"properties": {"a": text("A"), "b": {"type": "array", "items": text("B")}}}),
        json!({"properties": {"a": text("A")}, "anyOf": [{"properties": {"b": text("B")}}]}),
        json!({"properties": {"a": text("A")}, "$defs": {"b": text("B")}}),
    ] {
        let mirrors = mirrors_of(&schema);
        assert!(mirrors.0.is_empty(), "{schema}: {mirrors:?}");
    }
}
