//! The call path in process, assembling and indexing. `cargo bench -p toolcrib-engine`. Every figure stands beside a
//! baseline measured in the same run.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark may stop at the first surprise, and printing is its job"
)]

use std::{hint::black_box, sync::Arc, time::Instant};

use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{Scope, Source, SourceState, ToolResult, assemble::assemble};
use toolcrib_engine::{
    Backend, BoxFuture, CallContext, CallEvent, CallRequest, Door, Engine, EngineSettings, EventSink, Hub, HubLimits,
    Invocation, InvokeError, SourceOptions,
};

struct Nothing(ToolResult);

impl Backend for Nothing {
    fn invoke<'a>(&'a self, _invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

struct Count(std::sync::atomic::AtomicU64);

impl EventSink for Count {
    fn record(&self, event: &CallEvent) {
        self.0.fetch_add(black_box(event.result_bytes as u64), std::sync::atomic::Ordering::Relaxed);
    }
}

fn tool(number: usize) -> Value {
    json!({
        "name": format!("tool_{number}"),
        "description": format!("Does the thing number {number} of a service, with a sentence of description that says when to use it."),
        "inputSchema": {"type": "object", "properties": {
            "text": {"type": "string", "description": "What to give back."},
            "count": {"type": "integer", "minimum": 0, "description": "How often."},
            "mode": {"type": "string", "enum": ["plain", "loud", "quiet"]}
        }, "required": ["text"], "additionalProperties": false}
    })
}

fn world(servers: usize, tools: usize) -> (Engine, Vec<toolcrib_engine::Publisher>) {
    let hub = Hub::new(HubLimits::default());
    let publishers = (0..servers)
        .map(|server| {
            let backend = Arc::new(Nothing(ToolResult::text("done")));
            let publisher = hub.register(Source::Mcp(format!("s{server}")), SourceOptions::default(), backend);
            publisher.tools(SourceState::Ready, (0..tools).map(tool).collect(), None, false);
            publisher
        })
        .collect();
    let sink: Arc<dyn EventSink> = Arc::new(Count(0.into()));
    (Engine::new(hub, EngineSettings::default(), None, vec![sink]), publishers)
}

/// Median microseconds of one run, over `rounds` rounds of `each` runs.
fn median(rounds: usize, each: usize, mut run: impl FnMut()) -> f64 {
    let mut samples: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..each {
                run();
            }
            start.elapsed().as_secs_f64() * 1e6 / each as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    samples[rounds / 2]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    call_path(&runtime);
    assembling();
}

fn call_path(runtime: &tokio::runtime::Runtime) {
    let (engine, _publishers) = world(10, 100);
    let arguments = RawValue::from_string(r#"{"text":"hello","count":3,"mode":"plain"}"#.to_owned()).expect("JSON");
    let backend = Nothing(ToolResult::text("done"));
    let tool = engine.hub().catalog().tools().next().expect("a tool").clone();
    let bare = median(51, 2_000, || {
        let context = CallContext::new(1, std::time::Duration::from_secs(1));
        let call = backend.invoke(Invocation { tool: &tool, arguments: &arguments, context: &context });
        black_box(runtime.block_on(call)).expect("done");
    });
    let full = median(51, 2_000, || {
        let request = CallRequest::new("s3__tool_7", Some(arguments.clone()), Scope::default(), Door::Library);
        black_box(runtime.block_on(engine.call_report(request)));
    });
    println!("call path in process: {full:.2} µs a call, bare call {bare:.2} µs, ratio {:.1}", full / bare);
}

fn assembling() {
    let (engine, publishers) = world(100, 100);
    let scope = Scope::default();
    let settings = engine.settings();
    let catalog = engine.hub().catalog();
    let cold = median(11, 1, || drop(black_box(assemble(&catalog, &scope, &settings.assemble))));
    let warm = median(51, 1_000, || drop(black_box(engine.view(&scope))));
    println!("assemble 10,000 tools: cold {:.1} ms, unchanged {warm:.2} µs, ratio {:.0}", cold / 1e3, cold / warm);
    let view = engine.view(&scope).expect("a view");
    let index = median(5, 1, || drop(black_box(view.set.build_index())));
    println!("index of 10,000 tools: {:.0} ms", index / 1e3);
    let mut number = 0;
    let publish = median(11, 1, || {
        number += 1;
        let mut tools: Vec<Value> = (0..100).map(tool).collect();
        tools[0]["description"] = format!("changed {number}").into();
        publishers[0].tools(SourceState::Ready, tools, None, false);
    });
    println!(
        "publish one changed source of 100: {:.2} ms, ratio to a cold assembly {:.2}",
        publish / 1e3,
        publish / cold
    );
}
