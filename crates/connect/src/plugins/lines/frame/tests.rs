use proptest::prelude::*;
use serde_json::json;

use super::*;

#[track_caller]
fn result(line: &str, expected: &str) {
    match Heard::read(line.as_bytes()) {
        Ok(Heard::Ended { id: 7, result }) => assert_eq!(result.raw().get(), expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_come_as_text_content_or_structure() {
    result(r#"{"type":"result","id":7,"text":"hi \"x\""}"#, r#"{"content":[{"text":"hi \"x\"","type":"text"}]}"#.replace(r#"{"text":"hi \"x\"","type":"text"}"#, r#"{"type":"text","text":"hi \"x\""}"#).as_str());
    result(
        r#"{"id":7,"type":"result","content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
        r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
    );
    // Numbers beyond 64 bits and the order of keys stay as they were written.
    result(
        r#"{"type":"result","id":7,"structured":{"z":123456789012345678901234567890,"a":1.50}}"#,
        r#"{"content":[{"type":"text","text":"{\"z\":123456789012345678901234567890,\"a\":1.50}"}],"structuredContent":{"z":123456789012345678901234567890,"a":1.50}}"#,
    );
    result(
        r#"{"type":"error","id":7,"message":"no such place"}"#,
        r#"{"content":[{"type":"text","text":"no such place"}],"isError":true}"#,
    );
}

/// A line that is no frame: why, and which call it ends.
#[track_caller]
fn refuses(line: &str, expected: &str, call: Option<u64>) {
    let problem = Heard::read(line.as_bytes()).unwrap_err();
    assert!(problem.problem.contains(expected), "{}", problem.problem);
    assert_eq!(problem.call, call);
}

#[test]
fn everything_else_is_no_frame() {
    refuses("Listening on port 80", "log to standard error", None);
    refuses("[1]", "is not a JSON object with a type", None);
    refuses("{}", "is not a JSON object with a type", None);
    refuses(r#"{"type":"ready"}"#, "'ready' is no type of frame", None);
    refuses(r#"{"type":"result","id":7}"#, "none of text, content and structured", Some(7));
    refuses(r#"{"type":"result","id":7,"text":"a","content":[]}"#, "both text and content", Some(7));
    refuses(r#"{"type":"result","id":7,"text":1}"#, "type result is not right", Some(7));
    refuses(r#"{"type":"result","id":7,"text":"a","isError":true}"#, "unknown field `isError`", Some(7));
    refuses(r#"{"type":"result","id":7,"content":"a"}"#, "not a list of objects", Some(7));
    refuses(r#"{"type":"result","id":7,"content":[{"type":"movie"}]}"#, "'movie'", Some(7));
    refuses(r#"{"type":"result","id":7,"structured":[1]}"#, "structured is not an object", Some(7));
    refuses(r#"{"type":"result","id":"7","text":"a"}"#, "type result is not right", None);
    refuses(r#"{"type":"error","id":7}"#, "missing field `message`", Some(7));
    refuses(r#"{"type":"progress","id":7,"progress":"half"}"#, "type progress is not right", None);
    refuses(r#"{"type":"log","level":"loud","message":"x"}"#, "unknown variant `loud`", None);
    refuses(r#"{"type":"describe","protocol":2,"tools":[]}"#, "version 2", None);
    refuses(r#"{"type":"describe","tools":[]}"#, "missing field `protocol`", None);
}

#[test]
fn the_other_frames_are_read_whole() {
    let read = |line: &str| Heard::read(line.as_bytes()).unwrap();
    assert!(
        matches!(read(r#"{"type":"describe","protocol":1,"tools":[{"name":"a"}]}"#), Heard::Describe(tools) if tools == [json!({"name": "a"})])
    );
    assert!(
        matches!(read(r#"{"type":"progress","id":2,"progress":0.5,"total":1,"message":"m"}"#), Heard::Progress { id: 2, params } if params == json!({"progress": 0.5, "total": 1.0, "message": "m"}))
    );
    assert!(
        matches!(read(r#"{"type":"log","level":"warn","message":"m"}"#), Heard::Log { level: Level::Warn, message } if message == "m")
    );
}

#[test]
fn a_call_says_for_whom_it_is_made() {
    let arguments = RawValue::from_string(r#"{"n":12345678901234567890123}"#.to_owned()).unwrap();
    let caller = Caller { tenant: "", user: Some("ann"), agent: Some("worker"), parents: vec!["chief"] };
    let said = Said::Call { id: 3, tool: "add", arguments: &arguments, timeout_ms: 500, caller };
    assert_eq!(
        String::from_utf8(said.line()).unwrap(),
        "{\"type\":\"call\",\"id\":3,\"tool\":\"add\",\"arguments\":{\"n\":12345678901234567890123},\"timeout_ms\":500,\
         \"caller\":{\"user\":\"ann\",\"agent\":\"worker\",\"parents\":[\"chief\"]}}\n"
    );
    assert_eq!(Said::Cancel { id: 3 }.line(), b"{\"type\":\"cancel\",\"id\":3}\n");
}

/// JSON that is nearly a frame.
fn near_frames() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("1".to_owned()),
        Just("-1".to_owned()),
        Just("\"text\"".to_owned()),
        Just("null".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[{\"type\":\"text\"}]".to_owned()),
        Just("18446744073709551616".to_owned()),
        Just("\"result\"".to_owned()),
        Just("\"error\"".to_owned()),
        Just("\"describe\"".to_owned()),
        Just("\"progress\"".to_owned()),
    ];
    let key = prop::sample::select(vec![
        "type",
        "id",
        "text",
        "content",
        "structured",
        "message",
        "protocol",
        "tools",
        "progress",
        "total",
        "level",
        "x",
    ]);
    prop::collection::vec((key, value), 0..7).prop_map(|pairs| {
        let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", pairs.join(","))
    })
}

proptest! {
    #[test]
    fn no_line_brings_the_reader_down(line in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Heard::read(&line);
    }

    #[test]
    fn what_is_read_as_the_end_of_a_call_is_a_result_that_clients_can_read(line in near_frames()) {
        match Heard::read(line.as_bytes()) {
            Ok(Heard::Ended { result, .. }) => {
                let value = result.to_value();
                prop_assert!(value["content"].is_array(), "{value}");
                prop_assert!(value.get("structuredContent").is_none_or(Value::is_object));
            }
            Err(NoFrame { problem, call }) => {
                prop_assert!(problem.chars().count() < 400);
                // A call only ends by a frame that says so.
                prop_assert!(call.is_none() || line.contains("\"result\"") || line.contains("\"error\""));
            }
            Ok(_) => {}
        }
    }
}
