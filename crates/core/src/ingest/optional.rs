//! Optional fields of the wrong type. Clients refuse a whole list over one of them, and a tool can be used without any,
//! so such a field is left out. Fields that are as MCP says, and unknown ones, are not touched.

use serde_json::{Map, Value, json};

/// Leaves out what is not of the type that MCP gives it (schema of 2025-11-25, `Tool`).
pub(super) fn mend(definition: &mut Map<String, Value>) {
    keep_if(definition, &["title", "description"], Value::is_string);
    keep_if(definition, &["annotations", "_meta", "execution", "outputSchema"], Value::is_object);
    keep_if(definition, &["icons"], |icons| {
        icons.as_array().is_some_and(|icons| icons.iter().all(|icon| icon["src"].is_string() && icon_is_sound(icon)))
    });
    if let Some(Value::Object(annotations)) = definition.get_mut("annotations") {
        keep_if(annotations, &["title"], Value::is_string);
        keep_if(
            annotations,
            &["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"],
            Value::is_boolean,
        );
    }
    if let Some(Value::Object(execution)) = definition.get_mut("execution") {
        keep_if(execution, &["taskSupport"], |word| {
            word.as_str().is_some_and(|word| ["forbidden", "optional", "required"].contains(&word))
        });
    }
    for schema in ["inputSchema", "outputSchema"] {
        if let Some(Value::Object(schema)) = definition.get_mut(schema) {
            keep_if(schema, &["required"], |names| {
                names.as_array().is_some_and(|names| names.iter().all(Value::is_string))
            });
            keep_if(schema, &["properties"], Value::is_object);
            // Legal JSON Schema, but widely deployed clients want an object here; these mean the same.
            if let Some(Value::Object(properties)) = schema.get_mut("properties") {
                for property in properties.values_mut() {
                    match property {
                        Value::Bool(true) => *property = json!({}),
                        Value::Bool(false) => *property = json!({"not": {}}),
                        _ => {}
                    }
                }
            }
        }
    }
}

fn icon_is_sound(icon: &Value) -> bool {
    let text_or_absent = |key: &str| icon.get(key).is_none_or(Value::is_string);
    let sizes =
        icon.get("sizes").is_none_or(|sizes| sizes.as_array().is_some_and(|sizes| sizes.iter().all(Value::is_string)));
    text_or_absent("mimeType") && text_or_absent("theme") && sizes
}

fn keep_if(map: &mut Map<String, Value>, keys: &[&str], is_sound: impl Fn(&Value) -> bool) {
    for key in keys {
        if map.get(*key).is_some_and(|value| !is_sound(value)) {
            map.shift_remove(*key);
        }
    }
}
