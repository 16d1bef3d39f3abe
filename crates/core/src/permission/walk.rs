//! Walking the texts inside the arguments of a call, bounded.

use serde_json::Value;

/// Deepest nesting that is looked at.
const DEPTH: usize = 16;
/// Most values that are looked at.
const VALUES: usize = 10_000;

/// Calls `visit` with every text in `arguments` and the key it stands under (of the innermost object; elements of a
/// list have the list's key). False when something lay beyond the bounds and was not seen.
pub(super) fn texts<'a>(arguments: &'a Value, visit: &mut dyn FnMut(&'a str, &'a str)) -> bool {
    let mut left = VALUES;
    step(arguments, "", 0, &mut left, visit)
}

fn step<'a>(
    value: &'a Value,
    key: &'a str,
    depth: usize,
    left: &mut usize,
    visit: &mut dyn FnMut(&'a str, &'a str),
) -> bool {
    if *left == 0 || depth > DEPTH {
        return false;
    }
    *left -= 1;
    match value {
        Value::String(text) => {
            visit(key, text);
            true
        }
        // What lies beside something too deep is still looked at.
        Value::Array(items) => {
            let mut all = true;
            for item in items {
                all &= step(item, key, depth + 1, left, visit);
            }
            all
        }
        Value::Object(map) => {
            let mut all = true;
            for (key, item) in map {
                all &= step(item, key, depth + 1, left, visit);
            }
            all
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// An argument's name in the form in which names are compared: lower case, without `_` and `-` (`filePath` and
/// `file_path` are one).
pub(super) fn plain_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
