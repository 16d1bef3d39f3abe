//! No canary survives: a known value put anywhere, in any encoding.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use proptest::prelude::*;
use serde_json::{Value, json, value::RawValue};

use super::super::Redactor;
use crate::ToolResult;

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn units(text: &str) -> String {
    text.encode_utf16().fold(String::new(), |text, unit| text + &format!("\\u{unit:04x}"))
}

fn percent(text: &str, upper: bool, all: bool) -> String {
    text.bytes()
        .map(|byte| match byte {
            _ if !all && byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        })
        .collect()
}

/// The encoded canary as it may be written, and the part of it that must not be found.
fn encodings(canary: &str) -> Vec<(String, String)> {
    let whole = |text: String| (text.clone(), text);
    let mut forms = vec![
        whole(canary.to_owned()),
        whole(escaped(canary)),
        whole(escaped(&escaped(canary))),
        whole(units(canary)),
        whole(percent(canary, true, false)),
        whole(percent(canary, false, true)),
        whole(percent(&escaped(canary), true, false)),
        whole(escaped(&percent(canary, true, false))),
        whole(percent(&percent(canary, true, false), true, false)),
        whole(percent(canary, true, false).replace("%20", "+")),
        whole(canary.bytes().fold(String::new(), |text, byte| text + &format!("{byte:02X}"))),
        whole(STANDARD.encode(canary)),
        whole(URL_SAFE_NO_PAD.encode(canary)),
        whole(percent(&STANDARD.encode(canary), true, false)),
    ];
    for before in ["u:", "us:", "user:"] {
        let text = STANDARD.encode(format!("{before}{canary}\n"));
        let (first, end) = ((before.len() * 8).div_ceil(6), (before.len() + canary.len()) * 8 / 6);
        let part = text[first..end].to_owned();
        forms.push((text, part));
    }
    forms
}

/// Values with the text somewhere in them: as an item, a value, a key, a text that is JSON itself.
fn placed(text: String) -> impl Strategy<Value = Value> {
    let inner = text.clone();
    Just(Value::from(text)).prop_recursive(4, 8, 2, move |value| {
        let key = inner.clone();
        prop_oneof![
            value.clone().prop_map(|value| json!([1, value, "x"])),
            value.clone().prop_map(|value| json!({"a": value, "b": 2})),
            value.clone().prop_map(|value| Value::from(value.to_string())),
            value.prop_map(move |value| json!({key.as_str(): value, "c": null})),
        ]
    })
}

fn cases() -> impl Strategy<Value = (String, String, Value)> {
    let canary = "[A-Za-z0-9!\"#$%&'()*+,./:;<=>?@\\\\\\^{}\\[\\]~é𝄞 -]{8,24}"
        .prop_map(|text: String| text.trim().to_owned())
        .prop_filter("long enough", |text| text.chars().count() >= 8);
    (canary, "[a-z .:=&]{0,5}", "[ .,;&]{0,3}", any::<prop::sample::Index>()).prop_flat_map(
        |(canary, before, after, index)| {
            let forms = encodings(&canary);
            let (written, part) = forms[index.index(forms.len())].clone();
            placed(format!("{before} {written}{after}")).prop_map(move |value| (canary.clone(), part.clone(), value))
        },
    )
}

/// Whether a text is found in any text of a value, also in texts that are JSON.
fn holds(value: &Value, part: &str) -> bool {
    match value {
        Value::String(text) => {
            text.contains(part) || serde_json::from_str(text).is_ok_and(|value: Value| holds(&value, part))
        }
        Value::Array(items) => items.iter().any(|item| holds(item, part)),
        Value::Object(map) => map.iter().any(|(key, item)| key.contains(part) || holds(item, part)),
        _ => false,
    }
}

thread_local! {
    /// Compiling the forms for every case would take most of the time.
    static FORMS: Redactor = Redactor::builder().build().unwrap();
}

fn knowing(value: &str) -> Redactor {
    FORMS.with(|forms| forms.with_values([value]).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_canary_survives((canary, part, value) in cases()) {
        let redactor = knowing(&canary);
        prop_assert!(holds(&value, &part));
        prop_assert!(!holds(&redactor.redact_value(&value, None), &part));

        let text = value.to_string();
        let out = redactor.redact_text(&text);
        prop_assert!(!out.contains(&part), "{}", out);
        let inner: Result<Value, _> = serde_json::from_str(&out);
        prop_assert!(!inner.is_ok_and(|value| holds(&value, &part)), "{}", out);

        let result = json!({
            "content": [{"type": "text", "text": text}, {"type": "resource", "resource": {"text": value}}],
            "structuredContent": {"v": value}, "_meta": {"m": value}, "isError": true,
        });
        let out = redactor.redact_result(&ToolResult::from_value(&result)).unwrap();
        prop_assert!(out.is_error());
        prop_assert!(!holds(&out.to_value(), &part), "{}", out.raw());
    }

    #[test]
    fn any_text_is_answered(text in ".{0,60}|[\"\\\\%u0-9a-f{}:,=*-]{0,40}", known in "[a-z%\\\\]{8}") {
        let redactor = knowing(&known);
        let once = redactor.redact_text(&text).into_owned();
        prop_assert_eq!(redactor.redact_text(&once).into_owned(), once);
        let result = ToolResult::text(text);
        if let Some(out) = redactor.redact_result(&result) {
            prop_assert!(RawValue::from_string(out.raw().get().to_owned()).is_ok());
        }
    }
}
