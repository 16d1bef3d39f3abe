//! Secrets in values, for audit and logs: bounded in depth, number and length.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{MASK, Redactor, Strength, declared::Declared};

/// Deepest level that is shown.
const DEPTH: usize = 64;
/// Values that are shown.
const NODES: usize = 10_000;
/// Longest text, in characters.
const TEXT: usize = 500;
/// In place of what is left out.
const TOO_MANY: &str = "[the rest is left out: too many values]";

/// See [`Redactor::redact_value`].
pub(super) fn redact(redactor: &Redactor, value: &Value, schema: Option<&Value>) -> Value {
    let mut walk = Walk { redactor, declared: Declared::new(schema), nodes: NODES };
    let schemas: Vec<&Value> = schema.into_iter().collect();
    walk.value(value, schemas, 0)
}

struct Walk<'r> {
    redactor: &'r Redactor,
    declared: Declared<'r>,
    nodes: usize,
}

impl<'r> Walk<'r> {
    /// `schemas` are those that apply to the value.
    fn value(&mut self, value: &Value, mut schemas: Vec<&'r Value>, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::from("[deeper levels left out]");
        }
        self.nodes = self.nodes.saturating_sub(1);
        if self.declared.spread(&mut schemas) && !value.is_null() {
            return Value::from(MASK);
        }
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => match self.redactor.plain(&number.to_string(), Strength::Forms) {
                Cow::Owned(_) => Value::from(MASK),
                Cow::Borrowed(_) => value.clone(),
            },
            Value::String(text) => Value::from(cut(self.redactor.redact_text(text))),
            Value::Array(items) => {
                let mut out = Vec::new();
                for item in items {
                    if self.nodes == 0 {
                        out.push(Value::from(TOO_MANY));
                        break;
                    }
                    out.push(self.value(item, self.declared.items(&schemas), depth + 1));
                }
                Value::from(out)
            }
            Value::Object(entries) => {
                let mut out = Map::new();
                for (key, item) in entries {
                    if self.nodes == 0 {
                        out.insert("…".to_owned(), Value::from(TOO_MANY));
                        break;
                    }
                    let mut name = cut(self.redactor.plain(key, Strength::Forms));
                    while out.contains_key(&name) {
                        name.push('*');
                    }
                    let hidden = self.redactor.is_secret_name(key) && !(item.is_null() || item.is_boolean());
                    let item = if hidden {
                        Value::from(MASK)
                    } else {
                        self.value(item, self.declared.property(&schemas, key), depth + 1)
                    };
                    out.insert(name, item);
                }
                Value::Object(out)
            }
        }
    }
}

fn cut(text: Cow<'_, str>) -> String {
    match text.char_indices().nth(TEXT) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}… [{} characters in all]", &text[..end], text.chars().count()),
    }
}
