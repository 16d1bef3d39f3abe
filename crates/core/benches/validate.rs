//! What schemas and arguments cost: the check of every tool at start, compilation at first use, and the steps of a
//! call (read, repair, validate), beside plain parsing in the same run as the yardstick.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{
    ToolResult, args,
    schema::{self, SchemaLimits, Validator},
    shape::{self, ShapeLimits},
};

/// About the size of the median tool of public servers.
fn typical() -> Value {
    json!({"type": "object", "required": ["owner", "repo", "title"], "additionalProperties": false, "properties": {
        "owner": {"type": "string", "description": "Owner of the repository"},
        "repo": {"type": "string", "description": "Name of the repository"},
        "title": {"type": "string", "minLength": 1},
        "body": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"enum": ["open", "closed"]},
        "milestone": {"type": ["integer", "null"]},
        "assignee": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}]}
    }})
}

/// Near the limits, referring to itself.
fn large() -> Value {
    let properties: serde_json::Map<String, Value> = (0..150)
        .map(|i| {
            (
                format!("field_{i}"),
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"type": "string"}}}),
            )
        })
        .collect();
    json!({"type": "object", "properties": properties, "$defs": {
        "tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
    }})
}

fn schemas(criterion: &mut Criterion) {
    for (name, schema) in [("typical", typical()), ("large", large())] {
        criterion.bench_function(&format!("schema/check/{name}"), |bencher| {
            bencher.iter(|| schema::check(black_box(&schema), &SchemaLimits::default()));
        });
        criterion.bench_function(&format!("schema/compile/{name}"), |bencher| {
            bencher.iter(|| Validator::compile(black_box(&schema)));
        });
    }
}

fn calls(criterion: &mut Criterion) {
    let schema = typical();
    let Ok(validator) = Validator::compile(&schema) else { return };
    let right = r#"{"owner":"acme","repo":"rocket","title":"It leaks","labels":["bug","p1"],"assignee":{"id":7}}"#;
    let wrong = r#"{"owner":"acme","repo":"rocket","title":"It leaks","labels":"bug","milestone":"3"}"#;
    let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
    let (right, wrong) = (raw(right), raw(wrong));
    criterion.bench_function("args/serde_json_alone", |bencher| {
        let text = right.as_ref().map_or("", |raw| raw.get());
        bencher.iter(|| serde_json::from_str::<Value>(black_box(text)));
    });
    criterion.bench_function("args/parse", |bencher| bencher.iter(|| args::parse(black_box(right.as_deref()))));
    criterion.bench_function("args/prepare", |bencher| {
        bencher.iter(|| args::prepare(black_box(right.as_deref()), &schema));
    });
    criterion.bench_function("args/prepare_with_repairs", |bencher| {
        bencher.iter(|| args::prepare(black_box(wrong.as_deref()), &schema));
    });
    let Ok(arguments) = args::parse(right.as_deref()) else { return };
    criterion.bench_function("schema/validate", |bencher| {
        bencher.iter(|| validator.validate(black_box(&arguments.value)));
    });
    criterion.bench_function("schema/validate_with_violations", |bencher| {
        let value = json!({"owner": 1, "labels": [1], "state": "x", "assignee": {}});
        bencher.iter(|| validator.validate(black_box(&value)));
    });
}

fn results(criterion: &mut Criterion) {
    let small = ToolResult::text("ok");
    let large = ToolResult::text("a line of text\n".repeat(20_000));
    let limits = ShapeLimits::default();
    criterion.bench_function("shape/small", |bencher| bencher.iter(|| shape::is_over(black_box(&small), &limits)));
    criterion.bench_function("shape/300_kB", |bencher| {
        bencher.iter(|| shape::shape(black_box(&large), &limits, Some("r")));
    });
}

criterion_group!(benches, schemas, calls, results);
criterion_main!(benches);
