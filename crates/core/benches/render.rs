//! Rendering per target, 1,000 tools of the kinds that servers publish, as time and as a ratio to serialising the same
//! definitions once in the same run: `cargo bench -p toolcrib-core --bench render`.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use toolcrib_core::{
    provider::{ReadOptions, WriteOptions, calls_from, results_into},
    render::{Item, RenderOptions, Target, render, render_set},
    result::ToolResult,
};

const TOOLS: usize = 1000;

/// Schemas of the kinds that are common: flat, nested, unions, references, odd keys.
fn definitions() -> Vec<Value> {
    let kinds = [
        json!({"type": "object", "properties": {"owner": {"type": "string"}, "repo": {"type": "string"}, "page": {"type": "integer", "minimum": 1, "default": 1}}, "required": ["owner", "repo"]}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false, "properties": {
            "baseId": {"type": "string", "minLength": 1}, "sort": {"type": "array", "items": {"type": "object", "properties": {"field": {"type": "string"}, "direction": {"enum": ["asc", "desc"]}}, "required": ["field"]}},
            "since": {"type": "string", "format": "date-time"}}}),
        json!({"type": "object", "properties": {"id": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "kind": {"oneOf": [{"const": "a"}, {"const": "b"}]}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}}}),
        json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": {"type": "object", "properties": {"value": {"type": "number"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}}),
        json!({"type": "object", "properties": {"filter[status]": {"type": "string"}, "$top": {"type": "integer"}}, "required": ["filter[status]"]}),
    ];
    (0..TOOLS)
        .map(|n| {
            json!({
                "name": format!("server{}__tool_{n}", n % 40),
                "description": "Does one thing with a record of the service, and tells what it did.".repeat(1 + n % 4),
                "inputSchema": kinds[n % kinds.len()],
            })
        })
        .collect()
}

/// Processor time of this thread.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The least processor time of some runs: what others do on the machine only adds.
fn least(mut work: impl FnMut()) -> Duration {
    let times = (0..25).map(|_| {
        let start = cpu();
        work();
        cpu().saturating_sub(start)
    });
    times.min().unwrap_or_default()
}

fn per_target(criterion: &mut Criterion) {
    let definitions = definitions();
    let base = least(|| {
        for definition in &definitions {
            black_box(definition.to_string());
        }
    });
    println!("{TOOLS} definitions written as JSON: {base:?}");
    for target in Target::ALL {
        let time = least(|| drop(black_box(render(target, &definitions))));
        println!("{target}: {time:?}, {:.1} times that", time.as_secs_f64() / base.as_secs_f64());
        criterion.bench_function(&format!("render/{target}"), |b| b.iter(|| render(target, black_box(&definitions))));
    }
    let strict = definitions.iter().filter_map(|definition| definition["name"].as_str().map(str::to_owned)).collect();
    let options = RenderOptions { strict_model: true, strict, ..RenderOptions::default() };
    let time = least(|| {
        drop(black_box(render_set(Target::OpenAiResponses, definitions.iter().map(Item::direct), &options)));
    });
    println!("openai-responses, all to be strict: {time:?}, {:.1} times that", time.as_secs_f64() / base.as_secs_f64());
}

fn turns(criterion: &mut Criterion) {
    let definitions = definitions();
    let way = render(Target::Anthropic, &definitions).way_back();
    let calls: Vec<Value> = (0..8)
        .map(|n| json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": definitions[n]["name"], "input": {"owner": "a", "_top": n}}))
        .collect();
    let response = json!({"role": "assistant", "content": calls});
    let results = vec![Some(ToolResult::text("done")); 8];
    criterion.bench_function("turn/anthropic, 8 calls", |b| {
        b.iter(|| {
            let turn = calls_from(&way, black_box(&response), &ReadOptions::default()).unwrap();
            results_into(&way, &turn, &results, &WriteOptions::default())
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(200));
    targets = per_target, turns
}
criterion_main!(benches);
