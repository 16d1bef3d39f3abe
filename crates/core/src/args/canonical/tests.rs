use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::hash::canonical_json;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[track_caller]
fn check(written: &str, expected: &str) {
    assert_eq!(canonical(&raw(written)), expected);
    assert_eq!(canonical(&raw(expected)), expected, "it is stable");
    assert_eq!(digest(&raw(written)), digest(&raw(expected)));
}

#[test]
fn one_text_for_one_meaning() {
    check("{}", "{}");
    check(" { } ", "{}");
    check("[ ]", "[]");
    check(" null", "null");
    check(r#"{"b":1,"a":[ true , {"y":2,"x":null} ]}"#, r#"{"a":[true,{"x":null,"y":2}],"b":1}"#);
    check("{\n\t\"a\" :\r 1 }", r#"{"a":1}"#);
    // By code point, not by UTF-16 unit.
    check(r#"{"𝄞":1,"｡":2,"é":3,"z":4}"#, r#"{"z":4,"é":3,"｡":2,"𝄞":1}"#);
    check(r#"{"\u0062":1,"a":2}"#, r#"{"a":2,"b":1}"#);
    check(r#""\u00e9\/\u000A\uD834\uDD1E""#, r#""é/\n𝄞""#);
    check(r#"{"a{\"":"}],\\"}"#, r#"{"a{\"":"}],\\"}"#);
}

#[test]
fn numbers_keep_their_text() {
    for number in ["123456789012345678901234567890", "1.0", "1", "1e2", "-0", "0.1000", "1E+2"] {
        check(&format!(r#"{{"b":{number},"a":[{number}]}}"#), &format!(r#"{{"a":[{number}],"b":{number}}}"#));
    }
    let last_digit = |digit| digest(&raw(&format!(r#"{{"id":12345678901234567890123456789{digit}}}"#)));
    assert_ne!(last_digit(0), last_digit(1));
}

#[track_caller]
fn equivalent(one: &str, other: &str, same: bool) {
    let (one, other) = (raw(one), raw(other));
    assert_eq!(equivalent_digest(&one) == equivalent_digest(&other), same, "{one} and {other}");
    for raw in [&one, &other] {
        assert_eq!(equivalent_digest_from(raw, digest(raw)), equivalent_digest(raw), "{raw}");
    }
}

#[test]
fn equivalent_are_numbers_of_one_value_and_texts_of_one_look() {
    for other in ["1.0", "1e0", "10e-1", "100E-2", "1.000"] {
        equivalent(r#"{"n":1}"#, &format!(r#"{{"n":{other}}}"#), true);
        equivalent(r#"{"a":[{"n":1}]}"#, &format!(r#"{{ "a" : [ {{"n": {other} }}]}}"#), true);
        equivalent("1", other, true);
    }
    equivalent(r#"{"n":-0}"#, r#"{"n":0.0}"#, true);
    equivalent(r#"{"n":1e100}"#, &format!(r#"{{"n":1{}}}"#, "0".repeat(100)), true);
    equivalent(r#"{"s":"caf\u00e9"}"#, "{\"s\":\"cafe\u{301}\"}", true);
    equivalent(r#"{"n":1}"#, r#"{"n":1.00000000000000000000000000001}"#, false);
    equivalent(r#"{"n":12345678901234567890123}"#, r#"{"n":12345678901234567890124}"#, false);
    equivalent(r#"{"n":1}"#, r#"{"n":"1"}"#, false);
    equivalent(r#"{"n":"1"}"#, r#"{"n":"1.0"}"#, false);
    equivalent(r#"{"n":1}"#, r#"{"n":-1}"#, false);
    equivalent("{\"\u{e9}\":1}", "{\"e\u{301}\":1}", false);
    assert_ne!(digest(&raw("1")), digest(&raw("1.0")), "an approval means the text");
    let without = equivalent_digest_without(&raw(r#"{"n":1.0,"ts":5}"#), &["ts".to_owned()]);
    assert_eq!(without, equivalent_digest(&raw(r#"{"n":1}"#)));
}

#[test]
fn what_cannot_be_one_meaning_stays_two() {
    // Half a surrogate pair, a key given twice, what lies too deep: as written.
    check(r#"{"b":"\ud800","a":1}"#, r#"{"a":1,"b":"\ud800"}"#);
    check(r#"{"b":1,"a":2,"a":1}"#, r#"{"a":2,"a":1,"b":1}"#);
    let deep = format!("{}{{\"b\": 1}}{}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(canonical(&raw(&deep)), deep);
}

#[test]
fn volatile_entries_do_not_count_at_the_top() {
    let volatile = ["request_id".to_owned(), "ts".to_owned()];
    let without = |text: &str| digest_without(&raw(text), &volatile);
    let plain = digest(&raw(r#"{"q":1}"#));
    for same in [r#"{"q":1}"#, r#"{"ts":{"a":[1]},"q":1}"#, r#"{"q":1,"request_id":"x","t\u0073":2}"#] {
        assert_eq!(without(same), plain, "{same}");
    }
    assert_eq!(without(r#"{"ts":1}"#), digest(&raw("{}")));
    assert_ne!(without(r#"{"q":{"ts":1}}"#), without(r#"{"q":{"ts":2}}"#), "only at the top");
    assert_ne!(without(r#"{"q":1,"tsx":2}"#), plain);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "[\"\\\\/\u{0}-\u{1f}{}:,]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// The same value with keys the other way round, blanks everywhere, every character escaped.
fn rewritten(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .rev()
                .map(|(key, value)| format!("\n{} :\t{} ", rewritten(&json!(key)), rewritten(value)))
                .collect();
            format!(" {{{} }}", entries.join(","))
        }
        Value::Array(items) => {
            format!("[ {}\r]", items.iter().map(rewritten).collect::<Vec<_>>().join(" , "))
        }
        Value::String(text) => {
            let units = text.encode_utf16().fold(String::new(), |text, unit| text + &format!("\\u{unit:04X}"));
            format!("\"{units}\"")
        }
        other => other.to_string(),
    }
}

/// The values that differ from this one in one place.
fn changed(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(false)],
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => vec![json!(number.to_string()), json!(number.as_f64() == Some(0.0))],
        Value::String(text) => vec![json!(format!("{text}x")), json!([text])],
        Value::Array(items) => {
            let mut longer = items.clone();
            longer.push(Value::Null);
            let places = items.iter().enumerate().flat_map(|(i, item)| {
                changed(item).into_iter().map(move |other| {
                    let mut items = items.clone();
                    items[i] = other;
                    json!(items)
                })
            });
            places.chain([json!(longer)]).collect()
        }
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, item)| {
                let less = {
                    let mut map = map.clone();
                    map.remove(key);
                    Value::Object(map)
                };
                changed(item)
                    .into_iter()
                    .map(|other| {
                        let mut map = map.clone();
                        map.insert(key.clone(), other);
                        Value::Object(map)
                    })
                    .chain([less])
                    .collect::<Vec<_>>()
            })
            .collect(),
    }
}

proptest! {
    #[test]
    fn writing_does_not_matter(value in values()) {
        let text = value.to_string();
        prop_assert_eq!(canonical(&raw(&text)), canonical_json(&value));
        prop_assert_eq!(digest(&raw(&rewritten(&value))), digest(&raw(&text)));
        prop_assert_eq!(digest(&raw(&text)), ContentHash::of_json(&value));
        prop_assert_eq!(equivalent_digest(&raw(&rewritten(&value))), equivalent_digest(&raw(&text)));
        prop_assert_eq!(equivalent_digest_from(&raw(&text), digest(&raw(&text))), equivalent_digest(&raw(&text)));
    }

    #[test]
    fn any_change_matters(value in values()) {
        let before = digest(&raw(&value.to_string()));
        for other in changed(&value) {
            prop_assert_ne!(digest(&raw(&rewritten(&other))), before, "{} {}", value, other);
        }
    }
}
