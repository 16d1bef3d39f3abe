use std::fmt::Write;

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn refused(schema: &Value, expected: &str) {
    let error = check(schema, &SchemaLimits::default()).expect_err("the schema must be refused").to_string();
    assert!(error.contains(expected), "'{error}' does not say '{expected}'");
    assert!(Validator::compile(schema).is_err(), "what is refused at ingestion must not compile either");
}

#[track_caller]
fn accepted(schema: &Value) -> Validator {
    check(schema, &SchemaLimits::default()).unwrap();
    Validator::compile(schema).unwrap()
}

#[track_caller]
fn violated(schema: &Value, value: &Value, expected: &[(&str, &str, &str)]) {
    let violations = accepted(schema).validate(value).expect_err("the value must be refused");
    let found: Vec<_> = violations.iter().map(|v| (v.path.as_str(), v.keyword.as_str(), v.message.as_str())).collect();
    assert_eq!(found, expected);
}

/// `d0` refers to `d1` `width` times, and so on.
fn chain(keyword: &str, length: usize, width: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..length {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), json!({keyword: vec![next; width]}));
    }
    defs.insert(format!("d{length}"), json!({"type": "string", "minLength": 2}));
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

fn nested(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({"type": "string"}), |inner, _| wrap(inner))
}

// The bomb set of threat T15. Each is either refused by `check`, whose work is in proportion to the text, or its
// validation takes a bounded number of steps.

#[test]
fn bomb_reference_diamonds() {
    refused(&chain("allOf", 28, 2), "unfold to more than 10000 subschemas");
    refused(&chain("anyOf", 18, 2), "unfold to more than 10000 subschemas");
    refused(&chain("oneOf", 4, 20), "unfold to more than 10000 subschemas");
    let diamond = json!({"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}});
    accepted(&diamond);
}

#[test]
fn bomb_long_reference_chains() {
    refused(&chain("allOf", 200, 1), "more than 64 nested subschemas");
    let validator = accepted(&chain("allOf", 30, 1));
    assert!(validator.validate(&json!("x")).is_err());
    assert!(validator.validate(&json!("xy")).is_ok());
}

#[test]
fn bomb_deep_nesting() {
    let property = |inner| Value::Object([("not".to_owned(), inner)].into_iter().collect());
    refused(&nested(1_000, property), "nested deeper than 32 levels");
    refused(&nested(10, |inner| json!({"anyOf": [inner.clone(), {"not": inner}]})), "more than 2000 objects and lists");
    refused(&json!({"default": nested(40, |inner| json!([inner]))}), "/default/0/0");
    accepted(&nested(15, |inner| json!({"properties": {"a": inner}})));
}

#[test]
fn bomb_many_values() {
    refused(&json!({"enum": (0..200_000).collect::<Vec<_>>()}), "/enum has 200000 entries, more than 1000");
    let properties: serde_json::Map<_, _> = (0..1_001).map(|i| (format!("p{i}"), json!({}))).collect();
    refused(&json!({"properties": properties}), "/properties has 1001 entries");
    let wide: Vec<_> = (0..3).map(|_| json!({"anyOf": vec![json!({}); 900]})).collect();
    refused(&json!({"allOf": wide}), "more than 2000 objects and lists");
}

#[test]
fn bomb_patterns() {
    refused(&json!({"pattern": r"(a*)*\1b"}), "/pattern refers back to a group");
    refused(&json!({"pattern": "(a{1000}){1000}"}), "unfolds to more than 20000 characters");
    refused(&json!({"pattern": "((a{99}){99}){99}"}), "unfolds to more than 20000 characters");
    refused(&json!({"patternProperties": {"(?<n>x)\\k<n>": {}}}), "refers back to a group");
    refused(&json!({"properties": {"a": {"pattern": "a".repeat(513)}}}), "/properties/a/pattern is longer than 512");
    let many: Vec<_> = (0..101).map(|i| json!({"pattern": format!("a{i}")})).collect();
    refused(&json!({"anyOf": many}), "more than 100 patterns");
    // Catastrophic for a backtracking engine, linear here.
    let validator = accepted(&json!({"pattern": "(a+)+$"}));
    let evil = json!(format!("{}b", "a".repeat(100_000)));
    assert!(validator.unchecked().is_empty());
    assert!(validator.validate(&evil).is_err());
    assert!(accepted(&json!({"pattern": r"^[0-9a-f]{40}\.(x|y)[\]1]$"})).unchecked().is_empty());
}

#[test]
fn bomb_references_out_of_the_schema() {
    for target in ["https://example.com/s.json", "file:///etc/passwd", "other.json#/a", "//host/x", "urn:x", ""] {
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            refused(&json!({"properties": {"a": {key: target}}}), "only references inside the schema");
        }
    }
    refused(&json!({"$ref": "#/$defs/gone"}), "refers to '#/$defs/gone', which the schema does not hold");
    refused(&json!({"$ref": "#gone"}), "does not hold");
    refused(&json!({"$ref": "#/%zz"}), "does not hold");
    // With its own base, a pointer still counts from the root, and nothing is fetched.
    let based = json!({"$id": "https://example.com/a", "$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}});
    assert!(accepted(&based).validate(&json!(1)).is_err());
}

#[test]
fn bomb_cycles_are_harmless() {
    let loops = [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$recursiveRef": "#", "$schema": "https://json-schema.org/draft/2019-09/schema"}),
    ];
    for schema in loops {
        let validator = accepted(&schema);
        assert!(validator.validate(&json!({"a": [1]})).is_ok(), "{schema}");
    }
    let not = accepted(&json!({"not": {"$ref": "#"}}));
    let _ = not.validate(&json!({})); // a paradox; it only has to end
}

#[test]
fn bomb_trees_of_alternatives_multiply_with_the_depth_of_the_value() {
    let branch = |name: &str| json!({"properties": {"a": {"$ref": "#"}}, "required": [name]});
    let validator = accepted(&json!({"anyOf": [branch("x"), branch("y")]}));
    let deep = |levels| (0..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    assert!(validator.steps(&deep(5)).unwrap() < 1_000);
    assert_eq!(validator.validate(&deep(5)).unwrap_err()[0].keyword, "anyOf");
    // 2^50 steps are never begun.
    let violations = validator.validate(&deep(50)).unwrap_err();
    assert_eq!((violations.len(), violations[0].keyword.as_str()), (1, "limits"));
}

#[test]
fn bomb_deep_values_do_not_overflow_the_stack() {
    let validator = accepted(&json!({"items": {"$ref": "#"}}));
    let deep = |levels| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    assert!(validator.validate(&deep(250)).is_ok());
    assert_eq!(validator.validate(&deep(600)).unwrap_err()[0].keyword, "limits");
}

#[test]
fn bomb_large_values_give_few_violations() {
    let validator = accepted(&json!({"items": {"type": "string"}}));
    assert_eq!(validator.validate(&json!(vec![1; 1_000])).unwrap_err().len(), 20);
    assert_eq!(validator.validate(&json!(vec![1; 200_000])).unwrap_err().len(), 1);
    let choice = accepted(&json!({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}));
    let violations = choice.validate(&json!(vec![1; 200_000])).unwrap_err();
    assert_eq!(violations[0].keyword, "schema");
}

#[test]
fn keywords_without_sense_are_refused_with_their_place() {
    let cases = [
        (json!({"properties": []}), "/properties must be an object of schemas"),
        (json!({"properties": {"a/b": "string"}}), "/properties/a~1b must be a schema"),
        (json!({"type": "int"}), "/type must be one of null, boolean, integer"),
        (json!({"type": []}), "/type must be one of"),
        (json!({"anyOf": {}}), "/anyOf must be a list of schemas"),
        (json!({"anyOf": [1]}), "/anyOf/0 must be a schema"),
        (json!({"items": "x"}), "/items must be a schema"),
        (json!({"enum": "a"}), "/enum must be a list of values"),
        (json!({"minimum": "1"}), "/minimum must be a number"),
        (json!({"multipleOf": 0}), "/multipleOf must be a number above 0"),
        (json!({"maxLength": -1}), "/maxLength must be a whole number"),
        (json!({"uniqueItems": 1}), "/uniqueItems must be true or false"),
        (json!({"pattern": 1}), "/pattern must be a regular expression"),
        (json!({"$ref": 1}), "/$ref must be a reference"),
        (json!({"dependentRequired": {"a": "b"}}), "/dependentRequired must be"),
        (json!([]), "/ must be a schema"),
        (json!({"$defs": {"x": {"$ref": "#/title"}}, "title": "t"}), "/title must be a schema"),
    ];
    for (schema, expected) in cases {
        refused(&schema, expected);
    }
}

#[test]
fn names_of_properties_are_not_keywords() {
    let schema = json!({"type": "object", "properties": {
        "$ref": {"type": "string"}, "type": {"type": "string"}, "enum": {"type": "string"}, "pattern": {}, "items": {}
    }, "default": {"$ref": "https://example.com/"}, "examples": {"$ref": 1}});
    accepted(&schema).validate(&json!({"$ref": "http://x", "type": "y"})).unwrap();
}

/// What servers in the field send although their draft has it otherwise.
#[test]
fn plain_mistakes_are_read_kindly() {
    let cases = [
        (json!({"properties": {"a": {"required": true}}}), json!({}), true),
        (json!({"exclusiveMinimum": true, "minimum": 1}), json!(1), false),
        (json!({"exclusiveMinimum": true, "minimum": 1}), json!(2), true),
        (json!({"exclusiveMaximum": false, "maximum": 1}), json!(1), true),
        (json!({"exclusiveMinimum": 1, "$schema": "http://json-schema.org/draft-04/schema#"}), json!(1), false),
        (json!({"items": [{"type": "string"}], "additionalItems": false}), json!(["a"]), true),
        (json!({"items": [{"type": "string"}], "additionalItems": false}), json!(["a", "b"]), false),
        (json!({"type": "string", "nullable": true}), json!(null), true),
        (json!({"type": "string", "nullable": true, "enum": ["a"]}), json!(null), true),
        (json!({"type": "string", "nullable": true}), json!(1), false),
        (json!({"anyOf": [], "type": "string"}), json!("a"), true),
        (json!({"enum": []}), json!("a"), true),
        (json!({"examples": "x", "title": 1, "description": null, "deprecated": "no"}), json!(1), true),
        (json!({"$schema": "https://example.com/own", "type": "string"}), json!(1), false),
        (json!({"type": ["string", "string"], "enum": ["a", "a"]}), json!("a"), true),
    ];
    for (schema, value, valid) in cases {
        assert_eq!(accepted(&schema).validate(&value).is_ok(), valid, "{schema} with {value}");
    }
}

#[test]
fn patterns_that_need_backtracking_are_left_to_the_tool() {
    let validator = accepted(&json!({"properties": {"mail": {"type": "string", "pattern": "^(?!\\.)[a-z]+@x$"}}}));
    validator.validate(&json!({"mail": "anything"})).unwrap();
    assert!(validator.validate(&json!({"mail": 1})).is_err());
    assert_eq!(validator.unchecked()[0].place, "/properties/mail");
    let open = accepted(&json!({"patternProperties": {"^(?=a)": {}}, "additionalProperties": false}));
    open.validate(&json!({"ab": 1})).unwrap();
}

/// OpenClaw case 67.
#[test]
fn the_declared_draft_counts() {
    let date = |draft: &str| json!({"$schema": draft, "type": "string", "format": "date"});
    let old = accepted(&date("http://json-schema.org/draft-07/schema#"));
    let new = accepted(&date("https://json-schema.org/draft/2020-12/schema"));
    assert!(old.validate(&json!("no date")).is_err(), "asserted up to draft 7");
    assert!(new.validate(&json!("no date")).is_ok(), "an annotation since 2019-09");
    accepted(&json!({"type": "string", "format": "uint32"})).validate(&json!("x")).unwrap();
    let tuple = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]});
    assert!(accepted(&tuple).validate(&json!([1])).is_err());
}

#[test]
fn violations_name_the_place_and_what_would_be_right() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["id", "level"], "properties": {
        "id": {"type": "integer", "minimum": 1}, "level": {"enum": ["low", "high"]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}}
    }});
    violated(&schema, &json!({"level": "low"}), &[("", "required", "the required property \"id\" is missing")]);
    violated(
        &schema,
        &json!({"id": 0, "level": "mid"}),
        &[
            ("/id", "minimum", "must be at least 1, but is the integer 0"),
            ("/level", "enum", "must be one of \"low\", \"high\", but is the string \"mid\""),
        ],
    );
    violated(
        &schema,
        &json!({"id": 1, "level": "low", "tags": ["a", 5]}),
        &[("/tags/1", "type", "must be string, but is the integer 5")],
    );
    violated(
        &schema,
        &json!({"id": 1, "level": "low", "x": 1}),
        &[("", "additionalProperties", "holds properties that the schema does not know: \"x\"")],
    );
    violated(&schema, &json!([]), &[("", "type", "must be object, but is an array")]);
}

#[test]
fn failed_alternatives_name_the_closest() {
    let schema = json!({"properties": {"to": {"anyOf": [
        {"type": "string"},
        {"type": "object", "required": ["mail"], "properties": {"mail": {"type": "string"}}}
    ]}}});
    violated(
        &schema,
        &json!({"to": {"mail": 1}}),
        &[(
            "/to",
            "anyOf",
            "fits none of the alternatives; for the closest: /to/mail must be string, but is the integer 1",
        )],
    );
}

#[test]
fn violations_are_short_and_clean() {
    let schema = json!({"properties": {"a": {"const": "x".repeat(5_000)}, "b": {"enum": ["\u{202E}\u{1b}[2Jx"]}}});
    let violations = accepted(&schema).validate(&json!({"a": "y".repeat(5_000), "b": "\u{1b}]0;t\u{7}z"})).unwrap_err();
    for violation in violations {
        assert!(violation.message.chars().count() <= 301, "{}", violation.message);
        assert!(!violation.message.chars().any(|char| char.is_control() || char == '\u{202E}'), "{violation:?}");
    }
}

#[test]
fn secrets_are_not_repeated() {
    let secret = "hunter2-canary";
    let schema = json!({"properties": {
        "password": {"type": "string", "format": "password", "minLength": 99, "pattern": "^x"},
        "token": {"$ref": "#/$defs/secret"},
        "keys": {"type": "array", "items": {"$ref": "#/$defs/secret"}},
        "auth": {"anyOf": [{"type": "null"}, {"properties": {"pin": {"writeOnly": true, "enum": ["1"]}}}]}
    }, "$defs": {"secret": {"type": "string", "writeOnly": true, "const": "z"}}});
    let validator = accepted(&schema);
    let value = json!({"password": secret, "token": secret, "keys": [secret], "auth": {"pin": secret}});
    let violations = validator.validate(&value).unwrap_err();
    assert!(violations.len() >= 5, "{violations:#?}");
    assert!(!format!("{violations:?}").contains(secret), "{violations:#?}");
    assert_eq!(validator.secret_names().collect::<Vec<_>>(), ["keys", "password", "pin", "token"]);
    let root = accepted(&json!({"writeOnly": true, "const": 1})).validate(&json!(secret)).unwrap_err();
    assert!(!format!("{root:?}").contains(secret));
}

/// Golden cases val-*: the required-key probe, by full validation after coercion. Cases listed in `quirks.json` are
/// where full validation is better.
#[test]
fn golden_validate() {
    let calls: Value = serde_json::from_str(include_str!("../../tests/data/hermes/calls.json")).unwrap();
    let quirks: Value = serde_json::from_str(include_str!("../../tests/data/hermes/quirks.json")).unwrap();
    let quirky = |id: &str, topic: &str| {
        quirks["quirks"].as_array().unwrap().iter().any(|quirk| {
            quirk["topic"].as_str().unwrap().starts_with(topic)
                && quirk["ids"].as_array().unwrap().contains(&Value::from(id))
        })
    };
    let mut failures = String::new();
    for case in calls["validate"].as_array().unwrap() {
        let (id, name) = (case["id"].as_str().unwrap(), &case["name"]);
        let entry = calls["registry"].as_array().unwrap().iter().find(|entry| entry["name"] == *name);
        let schema = entry.map(|entry| {
            let function =
                if entry["schema"]["function"].is_object() { &entry["schema"]["function"] } else { &entry["schema"] };
            function["parameters"].clone()
        });
        // No usable schema: nothing to check against.
        let found = match schema.filter(Value::is_object) {
            None => Ok(()),
            Some(schema) => {
                let raw = serde_json::value::to_raw_value(&case["args"]).unwrap();
                let arguments = crate::args::prepare(Some(&raw), &schema).unwrap();
                accepted(&schema).validate(&arguments.value)
            }
        };
        let missing: Option<Vec<String>> =
            found.as_ref().err().map(|found| found.iter().filter_map(|v| v.missing.clone()).collect());
        let mut wanted: Vec<String> = serde_json::from_value(case["want"]["missing"].clone()).unwrap_or_default();
        if quirky(id, "duplicate entries") {
            let mut seen = std::collections::HashSet::new();
            wanted.retain(|name| seen.insert(name.clone()));
        }
        let ok = if quirky(id, "only missing top-level keys") {
            found.is_err()
        } else if case["want"]["class"] == "dispatch" {
            found.is_ok()
        } else {
            missing.as_deref() == Some(wanted.as_slice())
        };
        if !ok {
            writeln!(failures, "{id}: wanted {}, found {found:?}", case["want"]).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
