//! Every text of a definition with its place: names, titles, descriptions, enum values, defaults, comments, keys of
//! properties, annotations, `_meta`, icons (threat T1: the payload may be in any of them).

use serde_json::Value;

/// Calls `take` with each text and its JSON Pointer. Keys of objects count as texts at the place of their value.
/// Ingestion bounds depth and size.
pub(super) fn each(definition: &Value, take: &mut impl FnMut(&str, &str)) {
    let mut place = String::new();
    walk(definition, &mut place, take);
}

fn walk(value: &Value, place: &mut String, take: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => take(place, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                within(place, &index.to_string(), |place| walk(item, place, take));
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                within(place, &escaped(key), |place| {
                    take(place, key);
                    walk(item, place, take);
                });
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn within(place: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let length = place.len();
    place.push('/');
    place.push_str(step);
    then(place);
    place.truncate(length);
}

/// A key as a step of a JSON Pointer.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
