//! What each keyword of JSON Schema (draft 4 to 2020-12) may hold, as far as safety and compilation depend on it.

use serde_json::Value;

/// Which part of the value a subschema speaks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The value itself.
    Same,
    /// Every property of an object, or its name.
    EachProperty,
    /// Every item of a list.
    EachItem,
    /// Nothing by itself; reached by reference only.
    Nothing,
}

/// The form of a keyword's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A subschema.
    Schema(Part),
    /// A list of subschemas.
    List(Part),
    /// A subschema or a list of them.
    SchemaOrList(Part),
    /// An object of subschemas.
    Map(Part),
    /// `properties`: each subschema speaks about the property of its name.
    Properties,
    /// `patternProperties`: an object of subschemas under regular expressions.
    PatternProperties,
    /// `dependencies`: an object of subschemas or lists of names.
    Dependencies,
    /// `$ref` and its relatives.
    Reference,
    /// `type`.
    Type,
    /// `enum`.
    Values,
    /// A regular expression.
    Pattern,
    /// A number.
    Number,
    /// A number above zero.
    Positive,
    /// A number, or the draft-4 boolean.
    NumberOrBool,
    /// A count: a whole number from zero.
    Count,
    /// A boolean.
    Bool,
    /// An object of lists of names.
    NameLists,
}

/// The form of `key`, for the keywords that matter.
pub(super) fn form(key: &str) -> Option<Form> {
    use Form::{
        Bool, Count, Dependencies, List, Map, NameLists, Number, NumberOrBool, Pattern, PatternProperties, Positive,
        Properties, Reference, Schema, SchemaOrList, Type, Values,
    };
    Some(match key {
        "$ref" | "$dynamicRef" | "$recursiveRef" => Reference,
        "type" => Type,
        "properties" => Properties,
        "patternProperties" => PatternProperties,
        "additionalProperties" | "unevaluatedProperties" | "propertyNames" => Schema(Part::EachProperty),
        "items" => SchemaOrList(Part::EachItem),
        "additionalItems" | "unevaluatedItems" | "contains" => Schema(Part::EachItem),
        "prefixItems" => List(Part::EachItem),
        "allOf" | "anyOf" | "oneOf" => List(Part::Same),
        "not" | "if" | "then" | "else" => Schema(Part::Same),
        "dependentSchemas" => Map(Part::Same),
        "dependencies" => Dependencies,
        "dependentRequired" => NameLists,
        "$defs" | "definitions" => Map(Part::Nothing),
        "enum" => Values,
        "pattern" => Pattern,
        "minimum" | "maximum" => Number,
        "exclusiveMinimum" | "exclusiveMaximum" => NumberOrBool,
        "multipleOf" => Positive,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => Count,
        "uniqueItems" => Bool,
        _ => return None,
    })
}

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Whether `value` has a scalar form (one without subschemas); the words say what it must be.
pub(super) fn fits(form: Form, value: &Value) -> Result<(), &'static str> {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let (ok, expected) = match form {
        Form::Type => (
            is_type(value) || value.as_array().is_some_and(|names| !names.is_empty() && names.iter().all(is_type)),
            "one of null, boolean, integer, number, string, array, object, or a list of them",
        ),
        Form::Values => (value.is_array(), "a list of values"),
        Form::Number => (value.is_number(), "a number"),
        Form::Positive => (value.as_f64().is_some_and(|number| number > 0.0), "a number above 0"),
        Form::NumberOrBool => (value.is_number() || value.is_boolean(), "a number"),
        Form::Count => (
            value.as_u64().is_some() || value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            "a whole number from 0",
        ),
        Form::Bool => (value.is_boolean(), "true or false"),
        Form::NameLists => (
            value.as_object().is_some_and(|map| {
                map.values().all(|names| names.as_array().is_some_and(|names| names.iter().all(Value::is_string)))
            }),
            "an object of lists of property names",
        ),
        Form::Pattern => (value.is_string(), "a regular expression as text"),
        Form::Reference => (value.is_string(), "a reference as text"),
        _ => (true, ""),
    };
    if ok { Ok(()) } else { Err(expected) }
}
