//! A repair as a tree over the value, applied to the JSON text so that everything untouched stays as written.

use serde_json::{Value, value::RawValue};

use super::{
    Repair,
    strict::{self, ArgsError, escaped},
};
use crate::schema::type_name;

/// What happens to one value.
#[derive(Debug)]
pub(super) enum Change {
    /// It is replaced by this JSON text.
    Text(String),
    /// It is a string whose content is the JSON text (and value) to use, itself changed further.
    Unquoted(String, Value, Option<Box<Change>>),
    /// It becomes the only item of a list, itself changed further.
    Wrapped(Option<Box<Change>>),
    /// A number becomes the string of its digits.
    Quoted,
    /// Some entries of an object change, in the object's order.
    Entries(Vec<(String, Change)>),
    /// Some items of a list change, by ascending index.
    Items(Vec<(usize, Change)>),
}

/// Writes `raw` with the change made.
pub(super) fn apply(raw: &str, change: Option<&Change>, out: &mut String) -> Result<(), ArgsError> {
    match change {
        None => out.push_str(raw.trim()),
        Some(Change::Text(text)) => out.push_str(text),
        Some(Change::Unquoted(text, _, inner)) => apply(text, inner.as_deref(), out)?,
        Some(Change::Wrapped(inner)) => {
            out.push('[');
            apply(raw, inner.as_deref(), out)?;
            out.push(']');
        }
        Some(Change::Quoted) => {
            out.push('"');
            out.push_str(raw.trim());
            out.push('"');
        }
        Some(Change::Entries(changes)) => {
            let mut changes = changes.iter().peekable();
            out.push('{');
            for (index, (key, value)) in strict::entries(raw)?.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let change = changes.next_if(|(changed, _)| *changed == key).map(|(_, change)| change);
                out.push_str(&Value::String(key).to_string());
                out.push(':');
                apply(value.get(), change, out)?;
            }
            out.push('}');
        }
        Some(Change::Items(changes)) => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(|error| ArgsError::from_json(&error))?;
            let mut changes = changes.iter().peekable();
            out.push('[');
            for (index, item) in items.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let change = changes.next_if(|(changed, _)| *changed == index).map(|(_, change)| change);
                apply(item.get(), change, out)?;
            }
            out.push(']');
        }
    }
    Ok(())
}

/// Lists what a change does to `value`, which is found at `path`.
pub(super) fn report(change: &Change, value: &Value, path: &mut String, repairs: &mut Vec<Repair>) {
    let mut say = |path: &str, to| repairs.push(Repair { path: path.to_owned(), from: type_name(value), to });
    match change {
        Change::Text(text) => say(path, serde_json::from_str(text).map_or("string", |value| type_name(&value))),
        Change::Quoted => say(path, "string"),
        Change::Unquoted(_, parsed, inner) => {
            say(path, type_name(parsed));
            if let Some(inner) = inner {
                report(inner, parsed, path, repairs);
            }
        }
        Change::Wrapped(inner) => {
            say(path, "array");
            if let Some(inner) = inner {
                within(path, "0", |path| report(inner, value, path, repairs));
            }
        }
        Change::Entries(changes) => {
            for (key, change) in changes {
                within(path, &escaped(key), |path| report(change, &value[key], path, repairs));
            }
        }
        Change::Items(changes) => {
            for (index, change) in changes {
                within(path, &index.to_string(), |path| report(change, &value[index], path, repairs));
            }
        }
    }
}

fn within(path: &mut String, step: &str, run: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(step);
    run(path);
    path.truncate(length);
}
