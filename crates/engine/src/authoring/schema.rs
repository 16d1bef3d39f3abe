//! Schemas of Rust types, in the form that models read best: flat, and without what says nothing.

use schemars::{JsonSchema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

/// The schema of a type's JSON as it is read: JSON Schema 2020-12 with parts in place (only what contains itself is referred
/// to), without the Rust name of the type and without formats that only name a width of numbers.
pub fn schema_of<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12())
}

/// The same as it is written.
pub(super) fn schema_of_output<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.transforms.push(Box::new(RecursiveTransform(plain)));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}

/// Formats that validators do not know: what they say is in `type`, `minimum` and `maximum` already.
fn plain(schema: &mut schemars::Schema) {
    let of_rust = schema.get("format").and_then(Value::as_str).is_some_and(|format| {
        let width = format.strip_prefix("uint").or_else(|| format.strip_prefix("int"));
        width.is_some_and(|width| width.is_empty() || width.bytes().all(|byte| byte.is_ascii_digit()))
            || matches!(format, "float" | "double")
    });
    if of_rust {
        schema.remove("format");
    }
}

/// Whether the schema is that of an object and of nothing else.
pub(super) fn is_object(schema: &Value) -> bool {
    schema["type"] == "object"
}
