//! Properties over generated and over realistic schemas.

use proptest::prelude::*;

use super::{walker::refused, *};
use crate::schema::{Validator, Violation};

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec!["a", "b", "id", "type", "properties", "$ref"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["a b", "a_b", "$x", "x[]", "ü", "", "@id", "_id"]).prop_map(str::to_owned),
        1 => "[ -~]{1,8}",
        1 => Just("k".repeat(80)),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_i64..9).prop_map(Value::from),
        prop::sample::select(vec!["string", "a", "object", "", "#/$defs/a"]).prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
    ]
}

fn types() -> impl Strategy<Value = Value> {
    let word =
        || prop::sample::select(vec!["object", "array", "string", "number", "integer", "boolean", "null", "file"]);
    prop_oneof![word().prop_map(Value::from), prop::collection::vec(word(), 0..3).prop_map(|words| json!(words))]
}

/// Keywords with values that fit.
fn keyword(inner: BoxedStrategy<Value>) -> impl Strategy<Value = (String, Value)> {
    let map = prop::collection::btree_map(key(), inner.clone(), 0..4).prop_map(|map| json!(map));
    let list = prop::collection::vec(inner.clone(), 0..4).prop_map(|list| json!(list));
    let pair = |names: &'static [&'static str], value: BoxedStrategy<Value>| {
        (prop::sample::select(names), value).prop_map(|(name, value)| (name.to_owned(), value))
    };
    prop_oneof![
        3 => pair(&["type"], types().boxed()),
        4 => pair(&["properties", "$defs", "patternProperties", "dependentSchemas"], map.boxed()),
        3 => pair(&["anyOf", "oneOf", "allOf", "prefixItems", "items"], list.boxed()),
        3 => pair(
            &["items", "additionalProperties", "not", "if", "then", "contains", "propertyNames", "unevaluatedProperties"],
            inner,
        ),
        1 => pair(&["required"], prop::collection::vec(key(), 0..4).prop_map(|names| json!(names)).boxed()),
        1 => pair(
            &["dependentRequired", "dependencies"],
            prop::collection::btree_map(key(), prop::collection::vec(key(), 0..3), 0..3).prop_map(|map| json!(map)).boxed(),
        ),
        1 => pair(&["enum", "examples"], prop::collection::vec(scalar(), 0..4).prop_map(|list| json!(list)).boxed()),
        1 => pair(
            &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxItems", "multipleOf"],
            (-3_i64..9).prop_map(Value::from).boxed(),
        ),
        1 => pair(&["description", "title", "format", "pattern", "$schema", "$id"], "[a-z-]{0,9}".prop_map(Value::from).boxed()),
        2 => pair(&["$ref"], prop::sample::select(vec!["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "x.json", "#/no"]).prop_map(Value::from).boxed()),
        1 => pair(&["const", "default", "nullable", "uniqueItems", "x-y", "readOnly", "enum", "type", "anyOf", "required"], scalar().boxed()),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![scalar(), types().prop_map(|types| json!({"type": types}))].boxed();
    leaf.prop_recursive(5, 48, 5, |inner| {
        prop::collection::vec(keyword(inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect())).boxed()
    })
}

/// Arguments that often touch what the schemas speak of.
fn instance() -> impl Strategy<Value = Value> {
    let value = scalar().prop_recursive(3, 12, 3, |inner| {
        let map = prop::collection::btree_map(key(), inner.clone(), 0..3).prop_map(|map| json!(map));
        prop_oneof![map, prop::collection::vec(inner, 0..3).prop_map(|list| json!(list))]
    });
    prop::collection::btree_map(prop::sample::select(vec!["a", "b"]), value, 1..3).prop_map(|map| json!(map))
}

/// Everything that holds for any schema and target.
fn holds(target: Target, schema: &Value) -> Result<(), TestCaseError> {
    let Ok(once) = lower_schema(target, schema) else { return Ok(()) };
    prop_assert_eq!(lower_schema(target, schema), Ok(once.clone()), "{} is deterministic", target);
    let found = refused(target, &once);
    prop_assert!(found.is_empty(), "{target}: {found:?} in {once}");
    let twice = lower_schema(target, &once);
    prop_assert_eq!(twice.as_ref().map(ToString::to_string), Ok(once.to_string()), "{} twice", target);
    Ok(())
}

/// The schema of the one tool in a payload.
fn schema_in(target: Target, rendered: &Rendered) -> Value {
    let tool = &rendered.tools[0];
    let place = match target {
        Target::Anthropic => "/input_schema",
        Target::Bedrock => "/toolSpec/inputSchema/json",
        Target::OpenAiResponses => "/parameters",
        Target::Gemini => "/functionDeclarations/0/parametersJsonSchema",
        Target::GeminiParameters => "/functionDeclarations/0/parameters",
        _ => "/function/parameters",
    };
    // Gemini's `parameters` are left out where there are none.
    tool.pointer(place).cloned().unwrap_or_else(|| json!({"type": "object"}))
}

/// What strict modes refuse: objects that are open, and with OpenAI keys that may be left out.
fn loose(target: Target, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let object = schema["type"] == "object"
            || schema["type"].as_array().is_some_and(|types| types.contains(&"object".into()));
        let properties = schema["properties"].as_object();
        if object {
            if schema["additionalProperties"] != false {
                found.push(format!("open: {schema}"));
            }
            let required = schema["required"].as_array().map_or(0, Vec::len);
            let openai = matches!(target, Target::OpenAiChat | Target::OpenAiResponses);
            if openai && required != properties.map_or(0, serde_json::Map::len) {
                found.push(format!("optional: {schema}"));
            }
        }
        open.extend(properties.into_iter().flat_map(serde_json::Map::values));
        open.extend(schema["anyOf"].as_array().into_iter().flatten());
        open.extend(schema.get("items"));
    }
    found
}

/// One step into a value.
enum Step {
    Key(String),
    Any,
}

/// The place in a value that a place in a schema speaks of.
fn steps(path: &str) -> Vec<Step> {
    let mut words = path.split('/').skip(1).map(|word| word.replace("~1", "/").replace("~0", "~")).peekable();
    let mut steps = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "properties" => steps.extend(words.next().map(Step::Key)),
            "patternProperties" => steps.extend(words.next().map(|_| Step::Any)),
            "prefixItems" => steps.extend(words.next().map(|_| Step::Any)),
            "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" | "additionalItems" | "contains"
                if words.peek().is_some() =>
            {
                steps.push(Step::Any);
            }
            "items" if words.peek().is_some() => {
                steps.push(Step::Any);
                // A list of schemas, as older drafts wrote it.
                words.next_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
            }
            "anyOf" | "oneOf" | "allOf" | "dependentSchemas" | "dependencies" | "$defs" | "definitions" => {
                words.next();
            }
            _ => {}
        }
    }
    steps
}

/// Whether a loss explains a violation: at its place, below it, or above it where the loss is of a whole schema.
fn told(losses: &[Loss], violation: &Violation) -> bool {
    use Construct as C;
    let place: Vec<String> =
        violation.path.split('/').skip(1).map(|word| word.replace("~1", "/").replace("~0", "~")).collect();
    losses.iter().any(|loss| {
        let explains_nothing = matches!(
            loss.construct,
            C::Name
                | C::Description
                | C::PropertyKey
                | C::OutputSchema
                | C::Title
                | C::Default
                | C::Examples
                | C::Annotation
                | C::RootDescription
                | C::Marks
        );
        let leaf = matches!(
            loss.construct,
            C::Format
                | C::Pattern
                | C::Bounds
                | C::ExclusiveBounds
                | C::MultipleOf
                | C::TextLength
                | C::ItemCount
                | C::PropertyCount
                | C::UndeclaredRequired
        );
        let steps = steps(&loss.path);
        let along = steps.iter().zip(&place).all(|(step, word)| match step {
            Step::Key(key) => key == word,
            Step::Any => true,
        });
        !explains_nothing && along && (!leaf || place.len() <= steps.len())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lowering_is_total_deterministic_idempotent_and_accepted(schema in schema(), a in schema(), b in schema()) {
        let inside = json!({"type": "object", "properties": {"x": schema, "y": a}, "$defs": {"a": a, "b": b}});
        let beside = json!({"anyOf": [schema, a], "allOf": [b], "properties": {"x": schema}});
        for target in lowering() {
            holds(target, &schema)?;
            holds(target, &inside)?;
            holds(target, &beside)?;
        }
    }

    /// What the lowered schema accepts is, carried back, accepted by the original, unless the report names a loss at the
    /// place where it is not; in strict mode as well.
    #[test]
    fn nothing_more_is_accepted_than_the_report_says(schema in schema(), a in schema(), instance in instance()) {
        let schema = json!({"type": "object", "properties": {"a": schema, "b": a}, "$defs": {"a": a}});
        let Ok(original) = Validator::compile(&schema) else { return Ok(()) };
        let definition = definition(&schema);
        let strictly =
            RenderOptions { strict_model: true, strict: ["t".to_owned()].into(), ..RenderOptions::default() };
        for target in lowering() {
            for options in [RenderOptions::default(), strictly.clone()] {
                let rendered = render_set(target, [Item::direct(&definition)], &options);
                let strict = rendered.strict.iter().any(|verdict| verdict.strict);
                if !rendered.refused.is_empty() || strict == options.strict.is_empty() {
                    continue;
                }
                let lowered = schema_in(target, &rendered);
                // A mode of the whole request leaves the schemas as they are.
                if strict && StrictRules::of(target).is_some() {
                    let found = loose(target, &lowered);
                    prop_assert!(found.is_empty(), "{target}: {found:?} in {lowered}");
                }
                let Ok(accepts) = Validator::compile(&lowered) else { continue };
                let keys = rendered.key_maps.get("t").cloned().unwrap_or_default();
                for shown in [instance.clone(), map_arguments(&keys, &instance)] {
                    if !accepts.is_valid(&shown) {
                        continue;
                    }
                    let meant = unmap_arguments(&keys, &shown);
                    for violation in original.validate(&meant).err().unwrap_or_default() {
                        prop_assert!(
                            told(&rendered.losses, &violation),
                            "{target} {options:?}: {lowered} accepts {shown}, and {schema} says {violation:?}; losses {:?}",
                            rendered.losses
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn keys_come_back(names in prop::collection::btree_set(key(), 0..6), value in scalar()) {
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| (name.clone(), json!({"type": "object", "properties": {name: {}}}))).collect();
        let arguments: serde_json::Map<String, Value> =
            names.iter().map(|name| (name.clone(), json!({name: value}))).collect();
        let arguments = Value::Object(arguments);
        for target in lowering() {
            let rendered = render(target, [&definition(&json!({"type": "object", "properties": properties}))]);
            let keys = rendered.key_maps.get("t").cloned().unwrap_or_default();
            prop_assert_eq!(unmap_arguments(&keys, &map_arguments(&keys, &arguments)), arguments.clone());
        }
    }
}

/// Schemas as servers of many kinds write them.
fn kinds() -> Vec<Value> {
    vec![
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
            "properties": {"baseId": {"type": "string"}, "sort": {"type": "array", "items": {"type": "object",
                "properties": {"field": {"type": "string"}, "direction": {"type": "string", "enum": ["asc", "desc"]}},
                "required": ["field"], "additionalProperties": false}}, "maxRecords": {"type": "number", "exclusiveMinimum": 0},
                "fields": {"type": "object", "additionalProperties": {}, "propertyNames": {"type": "string"}}},
            "required": ["baseId"]}),
        json!({"type": "object", "title": "Fetch", "required": ["url"], "properties": {
            "url": {"type": "string", "format": "uri", "minLength": 1, "title": "Url"},
            "max_length": {"type": "integer", "default": 5000, "exclusiveMaximum": 1_000_000, "exclusiveMinimum": 0},
            "raw": {"type": "boolean", "default": false}}}),
        json!({"type": "object", "properties": {"state": {"anyOf": [{"type": "string", "enum": ["open"]}, {"type": "null"}],
            "default": null}, "labels": {"type": ["array", "null"], "items": {"type": "string"}}}}),
        json!({"type": "object", "properties": {"task_ids": {"oneOf": [{"type": "string"},
            {"type": "array", "items": {"type": "string"}, "maxItems": 25}]}}, "required": ["task_ids"]}),
        json!({"type": "object", "properties": {"data": {"type": "object", "required": ["parent"],
            "parent": {"type": "string", "description": "misplaced"}}}}),
        json!({"type": "object", "properties": {"filter[status]": {"type": "string"}, "$top": {"type": "integer"}},
            "required": ["filter[status]"]}),
        json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": {"type": "object",
            "properties": {"value": {}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}}),
        json!({"type": "object", "discriminator": {"propertyName": "kind"}, "oneOf": [
            {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"]},
            {"properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind", "y"]}]}),
        json!({"type": "object", "properties": {"size": {"enum": [1, 2, "big", null]}, "mode": {"const": true}}}),
    ]
}

#[test]
fn real_kinds_hold_for_every_target() {
    for schema in kinds() {
        for target in lowering() {
            holds(target, &schema).unwrap();
            assert!(lower_schema(target, &schema).is_ok(), "{target}: {schema}");
        }
    }
}
