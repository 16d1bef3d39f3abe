use super::*;

fn run(items: Vec<Value>) -> (Vec<Tool>, Vec<Quarantine>) {
    ingest(&Source::Mcp("s".into()), items, &IngestLimits::default(), 100, &|_| Ok(()))
}

#[track_caller]
fn refused(item: Value, want: &str) {
    let good = json!({"name": "good", "inputSchema": {"type": "object"}});
    let (tools, quarantined) = run(vec![item, good]);
    assert_eq!(tools.len(), 1, "the sibling must stay");
    assert_eq!(quarantined.len(), 1);
    let text = quarantined[0].reason.to_string();
    assert!(text.contains(want), "{text}");
}

#[test]
fn a_bad_item_is_refused_alone() {
    refused(json!("x"), "is a text, not an object");
    refused(json!({"inputSchema": {}}), "no text 'name'");
    refused(json!({"name": 7}), "no text 'name'");
    refused(json!({"name": " "}), "no text 'name'");
    refused(json!({"name": "a\u{7}b"}), "U+0007");
    refused(json!({"name": "x".repeat(300)}), "longer than 256");
    refused(json!({"name": "a", "inputSchema": []}), "it is a list");
    refused(json!({"name": "a", "inputSchema": false}), "it is a boolean");
    refused(json!({"name": "a", "inputSchema": {"type": "string"}}), "root type is \"string\"");
    refused(json!({"name": "a", "inputSchema": {"type": "object", "description": "x".repeat(70_000)}}), "schema_bytes");
    refused(json!({"name": "a", "description": "x".repeat(300_000)}), "too large");
    refused(oversize("a", 300_000), "too large: 300000 bytes as sent, the limit is 262144");
    refused(oversize("", 300_000), "too large: 300000 bytes as sent");
    let mut deep = json!({});
    for _ in 0..80 {
        deep = json!({"a": deep});
    }
    refused(json!({"name": "a", "inputSchema": {"type": "object", "x": deep}}), "nested deeper");
}

#[test]
fn of_a_repeated_name_the_same_stays_in_any_order() {
    let one = |text: &str| json!({"name": "a", "description": text});
    let (tools, quarantined) = run(vec![one("1"), one("2")]);
    assert_eq!((tools.len(), &quarantined[0].reason), (1, &QuarantineReason::DuplicateName));
    let (other, quarantined) = run(vec![one("2"), one("1")]);
    assert_eq!((other[0].description(), quarantined.len()), (tools[0].description(), 1));
}

#[test]
fn a_flood_is_cut_and_said_once() {
    let (tools, quarantined) = run((0..5000).map(|i| json!({"name": format!("t{i}")})).collect());
    assert_eq!(tools.len(), 100);
    assert_eq!(quarantined.len(), 1);
    assert_eq!(quarantined[0].reason, QuarantineReason::TooMany { limit: 100, more: 4899 });
}

#[test]
fn unknown_keys_and_key_order_survive() {
    let text = r#"{"zeta":1,"name":"a","inputSchema":{"type":"object","x-y":[1.0,12345678901234567890]},"_meta":{"k":null},"execution":{"taskSupport":"optional"}}"#;
    let (tools, _) = run(vec![serde_json::from_str(text).unwrap()]);
    assert_eq!(serde_json::to_string(&**tools[0].definition()).unwrap(), text);
}

#[test]
fn a_missing_schema_means_anything_and_a_wrong_hint_means_none() {
    let (tools, _) = run(vec![json!({"name": "a", "annotations": {"readOnlyHint": "yes", "destructiveHint": true}})]);
    assert_eq!(tools[0].input_schema(), &json!({"type": "object"}));
    assert_eq!(tools[0].annotations().read_only_hint, None);
    assert_eq!(tools[0].annotations().destructive_hint, Some(true));
}

#[test]
fn other_shapes_become_mcp() {
    let (tools, quarantined) = run(vec![
        json!({"type": "function", "function": {"name": "a", "description": "d", "parameters": {"type": "object", "properties": {"x": {}}}}}),
        json!({"name": "b", "parameters": ["one", "two"]}),
        json!({"name": "c", "input_schema": {"properties": {}}}),
    ]);
    assert!(quarantined.is_empty(), "{quarantined:?}");
    assert_eq!(tools[0].input_schema()["properties"], json!({"x": {}}));
    assert_eq!(tools[1].input_schema(), &json!({"type": "object", "properties": {"one": {}, "two": {}}}));
    assert_eq!(tools[2].input_schema(), &json!({"type": "object", "properties": {}}));
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better in the tables below")]
fn left_out(field: Value, want: Value) {
    let mut item = json!({"name": "a", "inputSchema": {"type": "object"}});
    item.as_object_mut().unwrap().extend(field.as_object().unwrap().clone());
    let (tools, quarantined) = run(vec![item]);
    assert!(quarantined.is_empty(), "{quarantined:?}");
    let mut kept = tools[0].definition().as_object().unwrap().clone();
    kept.remove("name");
    if want.get("inputSchema").is_none() {
        kept.remove("inputSchema");
    }
    assert_eq!(Value::Object(kept), want, "{field}");
}

#[test]
fn an_optional_field_of_the_wrong_type_is_left_out_and_the_tool_stays() {
    for field in [
        json!({"title": 4}),
        json!({"title": null}),
        json!({"description": null}),
        json!({"description": ["x"]}),
        json!({"annotations": "x"}),
        json!({"_meta": "x"}),
        json!({"execution": "x"}),
        json!({"icons": "x"}),
        json!({"icons": [{"src": 5}]}),
        json!({"icons": [{"src": "https://x.test/i.png", "sizes": "48x48"}]}),
        json!({"outputSchema": true}),
    ] {
        left_out(field, json!({}));
    }
    left_out(
        json!({"annotations": {"title": 5, "readOnlyHint": true, "x": 1}}),
        json!({"annotations": {"readOnlyHint": true, "x": 1}}),
    );
    left_out(json!({"execution": {"taskSupport": "bogus", "x": 1}}), json!({"execution": {"x": 1}}));
    left_out(
        json!({"inputSchema": {"type": "object", "required": "a", "properties": {"a": true, "b": false, "c": {"type": "string"}}}}),
        json!({"inputSchema": {"type": "object", "properties": {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}}}),
    );
}

#[test]
fn sound_optional_fields_and_unknown_ones_stay() {
    let sound = json!({
        "title": "T", "annotations": {"title": "t", "readOnlyHint": true, "x": 1}, "_meta": {"k": 1}, "unknown": 7,
        "icons": [{"src": "https://x.test/i.png", "mimeType": "image/png", "sizes": ["48x48"]}],
        "execution": {"taskSupport": "optional"}
    });
    left_out(sound.clone(), sound);
}
