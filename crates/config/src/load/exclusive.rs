//! `allow` and `also_allow` in one place of one file: which was meant is not known (openclaw case 28). In two files they
//! are what they are for: the later one adds to the earlier one.

use serde_json::{Map, Value, json};

/// Where lists may stand.
const SECTIONS: [&str; 3] = ["policy", "profiles", "agents"];

/// Closes each place that has both, and gives the key paths of the latter.
pub(super) fn settle(tree: &mut Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for section in SECTIONS {
        if let Some(Value::Object(map)) = tree.get_mut(section) {
            walk(map, section, &mut found);
        }
    }
    found
}

fn walk(map: &mut Map<String, Value>, path: &str, found: &mut Vec<String>) {
    // `allow: null` is none at all.
    if map.get("allow").is_some_and(|allow| !allow.is_null()) && map.shift_remove("also_allow").is_some() {
        map.insert("allow".to_owned(), json!([]));
        found.push(format!("{path}.also_allow"));
    }
    for (key, value) in map {
        if let Value::Object(inner) = value {
            walk(inner, &format!("{path}.{key}"), found);
        }
    }
}
