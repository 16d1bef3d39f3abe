//! The call path in process, assembling and indexing. `cargo bench -p toolcrib-engine`. Every figure stands beside a
//! baseline measured in the same run.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark may stop at the first surprise, and printing is its job"
)]

use std::{hint::black_box, sync::Arc};

use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{
    Scope, Source, SourceState, ToolResult,
    assemble::assemble,
    permission::{Action, Rule, RuleSet},
    redact::Redactor,
};
use toolcrib_engine::{
    Backend, BoxFuture, CallContext, CallEvent, CallRequest, Door, Engine, EngineBuilder, EngineSettings, EventSink,
    Hub, HubLimits, Invocation, InvokeError, Outcome, PermissionSettings, ResultSettings, SourceOptions, StoreError,
    Trust, Untrusted,
    admit::{AdmissionSettings, Concurrency, RepeatSettings},
    journal::{
        Begun, Claim, ClaimResult, GENESIS, Journal, JournalFilter, JournalRecord, JournalSettings, JournalStore,
        StoredRecord,
    },
    stats::Statistics,
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

fn tool_definition(number: usize) -> Value {
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
            publisher.tools(SourceState::Ready, (0..tools).map(tool_definition).collect(), None, false);
            publisher
        })
        .collect();
    let sink: Arc<dyn EventSink> = Arc::new(Count(0.into()));
    (Engine::new(hub, EngineSettings::default(), None, vec![sink]), publishers)
}

/// Nanoseconds that this thread has had on a processor: what others do on the machine does not count.
fn cpu() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap_or_default() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// Median microseconds of CPU time of one run, over `rounds` rounds of `each` runs.
fn median(rounds: usize, each: usize, mut run: impl FnMut()) -> f64 {
    // Fewer for a profiler that makes everything slow.
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(rounds);
    let mut samples: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = cpu();
            for _ in 0..each {
                run();
            }
            (cpu() - start) as f64 / 1e3 / each as f64
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

/// A journal that takes everything and keeps nothing: what is measured is the engine's part.
struct Forgetful;

impl JournalStore for Forgetful {
    fn open_run<'a>(&'a self, _run: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
    fn unfinished(&self, _limit: usize) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn begin(
        &self,
        intent: Arc<JournalRecord>,
        _claim: Option<Claim>,
        _now_ms: u64,
    ) -> BoxFuture<'_, Result<Begun, StoreError>> {
        black_box(intent);
        Box::pin(async { Ok(Begun::Started) })
    }
    fn finish(
        &self,
        outcome: Arc<JournalRecord>,
        _claim: Option<ClaimResult>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        black_box(outcome);
        Box::pin(async { Ok(()) })
    }
    fn append(&self, records: Vec<Arc<JournalRecord>>) -> BoxFuture<'_, Result<(), StoreError>> {
        black_box(records);
        Box::pin(async { Ok(()) })
    }
    fn records(&self, _filter: JournalFilter) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn anchor(&self) -> BoxFuture<'_, Result<(u64, String), StoreError>> {
        Box::pin(async { Ok((0, GENESIS.to_owned())) })
    }
    fn prune_journal(&self, _before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async { Ok(0) })
    }
}

/// Everything that can be switched off.
fn nothing_on() -> EngineSettings {
    EngineSettings {
        permissions: PermissionSettings { trust: Trust::All, ..PermissionSettings::default() },
        admission: AdmissionSettings {
            breaker: None,
            source_breaker: None,
            concurrency: Concurrency { source: None, ..Concurrency::default() },
            repeat: RepeatSettings { warn_after: 0, refuse_after: 0, ..RepeatSettings::default() },
            ..AdmissionSettings::default()
        },
        results: ResultSettings { untrusted: Untrusted::Off, ..ResultSettings::default() },
        ..EngineSettings::default()
    }
}

/// The permissions of a careful user, and nothing else that can be switched off.
fn permissions_on() -> EngineSettings {
    EngineSettings { permissions: everything_on().permissions, ..nothing_on() }
}

/// What a careful user has: lists, a rule with a condition, breakers, limits, masking.
fn everything_on() -> EngineSettings {
    let patterns = |list: &[&str]| list.iter().map(|text| text.parse().expect("a pattern")).collect();
    let condition = serde_json::from_value(json!({"argument": "text", "op": "starts_with", "value": "secret"}));
    let mut rule = Rule::new("mcp:s1/*".parse().expect("a pattern"), Action::Deny, "bench");
    let redactor = Redactor::builder().values((0..20).map(|number| format!("secret-value-{number:04}"))).build();
    let redactor = redactor.expect("a redactor");
    rule.when.push(condition.expect("a condition"));
    EngineSettings {
        permissions: PermissionSettings {
            allow: patterns(&["mcp:s2/tool_1", "mcp:s3/*"]),
            deny: patterns(&["mcp:*/delete_*", "run_command(rm:*)", "tag:forbidden"]),
            ask: patterns(&["mcp:s9/*"]),
            rules: RuleSet::new(vec![rule]),
            ..PermissionSettings::default()
        },
        results: ResultSettings { redactor: Some(Arc::new(redactor)), ..ResultSettings::default() },
        ..EngineSettings::default()
    }
}

/// Completes an engine.
type Make<'m> = Box<dyn Fn(EngineBuilder) -> Engine + 'm>;

fn call_path(runtime: &tokio::runtime::Runtime) {
    // Different from call to call, or the guard against repetition would rightly step in.
    let arguments: Vec<Box<RawValue>> = (0..64)
        .map(|number| format!(r#"{{"text":"hello {number}","count":3,"mode":"plain"}}"#))
        .map(|text| RawValue::from_string(text).expect("JSON"))
        .collect();
    let next = std::cell::Cell::new(0);
    let argument = || {
        next.set((next.get() + 1) % arguments.len());
        arguments[next.get()].clone()
    };
    let (engine, _publishers) = world(10, 100);
    let backend = Nothing(ToolResult::text("done"));
    let tool = engine.hub().catalog().tools().next().expect("a tool").clone();
    let bare = median(51, 2_000, || {
        let context = CallContext::new(1, std::time::Duration::from_secs(1));
        let arguments = argument();
        let call = backend.invoke(Invocation { tool: &tool, arguments: &arguments, context: &context });
        black_box(runtime.block_on(call)).expect("done");
    });
    let measure = |engine: &Engine, name: &str| {
        median(51, 2_000, || {
            let request = CallRequest::new(name, Some(argument()), Scope::default(), Door::Library);
            let report = black_box(runtime.block_on(engine.call_report(request)));
            assert_eq!(report.outcome, Outcome::Ok, "{:?}", report.reply);
        })
    };
    engine.replace_settings(nothing_on());
    let off = measure(&engine, "s3__tool_7");
    println!(
        "call path in process, everything off: {off:.2} µs a call; bare call {bare:.2} µs, ratio {:.1}",
        off / bare
    );
    let journal =
        || runtime.block_on(Journal::open(Arc::new(Forgetful), JournalSettings::default())).expect("a journal");
    let event = || Arc::new(Count(0.into()));
    // Each with what the one before has.
    let configurations: [(&str, Make<'_>); 3] = [
        (
            "permissions, validation and an audit event",
            Box::new(|builder| builder.settings(permissions_on()).sink(event()).build()),
        ),
        (
            "and a journal record",
            Box::new(|builder| builder.settings(permissions_on()).sink(event()).journal(journal()).build()),
        ),
        (
            "and everything else",
            Box::new(|builder| {
                builder.settings(everything_on()).sink(Arc::new(Statistics::default())).journal(journal()).build()
            }),
        ),
    ];
    for (what, trusted) in [("reading", true), ("changing", false)] {
        let hub = Hub::new(HubLimits::default());
        let options = SourceOptions { trust_hints: trusted, ..SourceOptions::default() };
        let publisher = hub.register(Source::Mcp("s3".into()), options, Arc::new(Nothing(ToolResult::text("done"))));
        let mut definition = tool_definition(7);
        definition["annotations"] = json!({"readOnlyHint": true});
        publisher.tools(SourceState::Ready, vec![definition], None, false);
        println!("  a {what} call");
        for (name, make) in &configurations {
            let engine = make(Engine::builder(hub.clone()));
            let on = measure(&engine, "s3__tool_7");
            println!("    {name}: {on:.2} µs, ratio to off {:.1}, to bare {:.1}", on / off, on / bare);
            if *name == "and everything else" {
                memory(&engine, runtime, &argument);
            }
        }
    }
}

/// Resident memory must not grow with the number of calls.
fn memory(engine: &Engine, runtime: &tokio::runtime::Runtime, argument: &impl Fn() -> Box<RawValue>) {
    let calls: usize = std::env::var("CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(1_000_000);
    let run = |count: usize| {
        for _ in 0..count {
            let request = CallRequest::new("s3__tool_7", Some(argument()), Scope::default(), Door::Library);
            black_box(runtime.block_on(engine.call_report(request)));
        }
    };
    run(calls / 20);
    let before = resident();
    run(calls);
    let after = resident();
    println!("      resident after {} calls {before} KiB, after {calls} more {after} KiB", calls / 20);
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
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
        let mut tools: Vec<Value> = (0..100).map(tool_definition).collect();
        tools[0]["description"] = format!("changed {number}").into();
        publishers[0].tools(SourceState::Ready, tools, None, false);
    });
    println!(
        "publish one changed source of 100: {:.2} ms, ratio to a cold assembly {:.2}",
        publish / 1e3,
        publish / cold
    );
}
