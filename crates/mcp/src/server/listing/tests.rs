use std::sync::Arc;

use serde_json::{Value, value::RawValue};

use super::*;

fn list(tools: &[&str], hash: &str) -> ToolList {
    let tools = tools.iter().map(|text| Arc::from(RawValue::from_string((*text).to_owned()).unwrap()));
    ToolList { tools: tools.collect(), hash: hash.to_owned() }
}

fn members(list: &ToolList, cursor: Option<&str>) -> Result<Value, String> {
    page(list, cursor, 2, Protocol::V2025_11_25)
        .map(|page| serde_json::from_str(&format!("{{{}}}", page.members)).unwrap())
        .map_err(|error| error.message)
}

#[test]
fn pages_cover_the_list_once() {
    let all = ["1", "2", "3", "4", "5"];
    for count in 0..=all.len() {
        let list = list(&all[..count], "h");
        let (mut seen, mut pages, mut cursor) = (Vec::new(), 0, None::<String>);
        loop {
            let page = members(&list, cursor.as_deref()).unwrap();
            seen.extend(page["tools"].as_array().unwrap().iter().map(ToString::to_string));
            pages += 1;
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, all[..count]);
        assert_eq!(pages, count.div_ceil(2).max(1));
    }
}

#[test]
fn a_cursor_is_good_for_its_own_list_only() {
    let first = list(&["1", "2", "3"], "h");
    let cursor = members(&first, None).unwrap()["nextCursor"].as_str().unwrap().to_owned();
    assert!(members(&first, Some(&cursor)).is_ok());
    assert!(members(&list(&["1", "2", "3"], "other"), Some(&cursor)).unwrap_err().contains("changed"));
    for forged in ["", "!", "AAAA", &write_cursor(0, "h"), &write_cursor(1, "h"), &write_cursor(4, "h")] {
        assert!(members(&first, Some(forged)).unwrap_err().contains("not given out"), "{forged}");
    }
}

#[test]
fn legacy_clients_do_not_see_an_output_schema_they_would_refuse() {
    #[track_caller]
    fn shows(tool: &str, wants: &str) {
        assert_eq!(for_legacy(tool), wants);
        let modern = page(&list(&[tool], "h"), None, 2, Protocol::V2026_07_28).unwrap().members;
        assert_eq!(modern, format!(r#""tools":[{tool}]"#));
    }
    let same = |tool| shows(tool, tool);
    same(r#"{ "name":"a", "inputSchema":{"type":"object"}, "x":1.0 }"#);
    same(r#"{"name":"a","outputSchema":{"properties":{}, "type" : "object"}}"#);
    same(r#"{"name":"a","description":"see \"outputSchema\""}"#);
    shows(r#"{"name":"a","outputSchema":{"type":"array"},"x":1.0}"#, r#"{"name":"a","x":1.0}"#);
    shows(r#"{"name":"a","outputSchema":true}"#, r#"{"name":"a"}"#);
    shows(r#"{"name":"a","output\u0053chema":{"type":["object","null"]}}"#, r#"{"name":"a"}"#);
}
