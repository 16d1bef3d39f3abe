use serde_json::json;

use super::*;

#[track_caller]
fn check_nothing(raw: &str, by_default: bool, passing_empty: bool) {
    let result = ToolResult::from_raw(RawValue::from_string(raw.to_owned()).unwrap()).unwrap();
    assert_eq!(ResultNormaliser::default().is_nothing(&result), by_default, "{raw}");
    assert_eq!(ResultNormaliser::passing_empty_content().is_nothing(&result), passing_empty, "{raw}");
}

#[test]
fn nothing_is_told_from_a_result() {
    check_nothing("{}", true, true);
    check_nothing(r#"{"content":null}"#, true, true);
    check_nothing(r#"{"content": null, "structuredContent":null,"isError":false}"#, true, true);
    check_nothing(r#"{"content":[]}"#, true, false);
    check_nothing(r#"{"content":[ ]}"#, true, false);
    check_nothing(r#"{"content":[[]]}"#, true, false);
    check_nothing(r#"{"content":[],"structuredContent":{}}"#, false, false);
    check_nothing(r#"{"structuredContent":{"a":1}}"#, false, false);
    check_nothing(r#"{"content":[{"type":"text","text":""}]}"#, false, false);
    check_nothing(r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#, false, false);
}

#[test]
fn what_is_logged_is_short_and_without_secrets() {
    let logging = Logging::new(Arc::new(Redactor::builder().build().unwrap()));
    let tool = tool();
    let raw = serde_json::value::to_raw_value(&json!({"password": "hunter2hunter2", "q": "x".repeat(400)})).unwrap();
    let text = logging.arguments(&tool, &raw);
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(text.chars().count(), 200);
    let text = logging.result(&ToolResult::text("password=hunter2hunter2 done"));
    assert!(!text.contains("hunter2") && text.contains("done"), "{text}");
    assert_eq!(logging.result(&ToolResult::text("x".repeat(70_000))), "[70039 bytes]");
}

fn tool() -> Tool {
    let source = toolcrib_core::Source::Mcp("s".into());
    let items = vec![json!({"name": "t"})];
    toolcrib_core::ingest::ingest(&source, items, &toolcrib_core::IngestLimits::default(), 1, &|_| Ok(())).0.remove(0)
}
