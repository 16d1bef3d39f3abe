//! What schemas, arguments and results cost: the check of every tool at start, compilation at first use, and the steps of a
//! call (read, repair, validate), beside plain parsing in the same run as the yardstick.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{
    ToolResult,
    args::{self, canonical},
    redact::Redactor,
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
    if let Some(raw) = &right {
        criterion.bench_function("args/digest", |bencher| bencher.iter(|| canonical::digest(black_box(raw))));
    }
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

fn secrets(criterion: &mut Criterion) {
    let values: Vec<String> =
        (0..50_u64).map(|i| format!("secret-{:016x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    criterion.bench_function("redact/build", |bencher| {
        bencher.iter(|| Redactor::builder().values(&values).build());
    });
    let Ok(redactor) = Redactor::builder().values(&values).build() else { return };
    criterion.bench_function("redact/new_values", |bencher| bencher.iter(|| redactor.with_values(&values)));
    let schema = typical();
    let value =
        json!({"owner": "acme", "repo": "rocket", "title": "It leaks", "labels": ["bug", "p1"], "assignee": {"id": 7}});
    criterion.bench_function("redact/arguments", |bencher| {
        bencher.iter(|| redactor.redact_value(black_box(&value), Some(&schema)));
    });
    let small = ToolResult::structured(&value);
    criterion
        .bench_function("redact/small_result", |bencher| bencher.iter(|| redactor.redact_result(black_box(&small))));
    let lines = "a line of text: with a token, and C:\\path\\to, 100 % of it\n".repeat(5_000);
    let large = ToolResult::text(lines.as_str());
    criterion
        .bench_function("redact/300_kB_result", |bencher| bencher.iter(|| redactor.redact_result(black_box(&large))));
    criterion
        .bench_function("redact/300_kB_log", |bencher| bencher.iter(|| redactor.redact_text(black_box(&lines)).len()));
    criterion.bench_function("shape/mark_untrusted", |bencher| {
        bencher.iter(|| shape::mark_untrusted(black_box(&small), "mcp:x"));
    });
}

criterion_group!(benches, schemas, calls, results, secrets);
criterion_main!(benches);
