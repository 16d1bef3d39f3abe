//! What assembling costs: `cargo bench -p toolcrib-engine --bench assemble`. Every figure stands beside what a host does
//! that keeps nothing: filter, sort, drop doubles and write all definitions anew for every turn.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark may stop at the first surprise, and printing is its job"
)]

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use globset::GlobBuilder;
use serde_json::{Value, json};
use toolcrib_core::{
    Catalog, Scope, Source, SourceState, ToolResult,
    assemble::{AssembleSettings, assemble},
    name::exposed_name,
    select::{Allow, Cap, Layer, Lists, Model, ModelRule, Named, Policy, Sender, SubAgents},
    selector::Selector,
};
use toolcrib_engine::{
    Backend, BoxFuture, Engine, EngineSettings, Hub, HubLimits, Invocation, InvokeError, Publisher, SourceOptions,
};

struct Nothing;

impl Backend for Nothing {
    fn invoke<'a>(&'a self, _invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async { Ok(ToolResult::text("done")) })
    }
}

fn definition(number: usize) -> Value {
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

fn selectors(texts: &[&str]) -> Vec<Selector> {
    texts.iter().map(|text| text.parse().expect("a selector")).collect()
}

/// Twelve stages with lists of the usual kinds, none of which names much.
fn policy() -> Policy {
    let lists = || Lists {
        allow: Allow::Only(selectors(&["s1*__*", "s2*__*", "mcp:*", "group:fs", "group:web", "*__tool_7*"])),
        deny: selectors(&[
            "*__delete_*",
            "drop_*",
            "*_danger",
            "mcp:none",
            "mcp:s3/tool_3",
            "mcp:s4/tool_9*",
            "group:runtime",
            "evil",
            "s5__tool_5",
            "s6__tool_6*",
            "tag:off",
            "[xyz]_*",
        ]),
        origins: "bench".into(),
        ..Lists::default()
    };
    let layer = || Layer {
        lists: lists(),
        models: BTreeMap::from([("maker".to_owned(), ModelRule { profile: Some("bench".into()), lists: lists() })]),
        channels: BTreeMap::from([("chat".to_owned(), lists())]),
        senders: BTreeMap::from([("*".to_owned(), lists())]),
        sandbox: Some(lists()),
        sub_agents: Some(SubAgents { lists: lists(), ..SubAgents::default() }),
        ..Layer::default()
    };
    let mut policy = Policy::default();
    policy.profiles.insert("bench".into(), lists());
    policy.everyone = Layer { profile: Some("bench".into()), ..layer() };
    policy.agents.insert("a".into(), layer());
    policy.optional = Named { selectors: selectors(&["mcp:s8/*", "*__rare_*"]), origin: "bench".into() };
    policy.owner_only = Named { selectors: selectors(&["mcp:s9/tool_9", "*__owner_*"]), origin: "bench".into() };
    policy
}

fn scope() -> Scope {
    let cap = || Cap { allow: Allow::All, deny: selectors(&["*__never*", "mcp:s7/tool_7"]), origin: "bench".into() };
    Scope {
        agent: Some("a".into()),
        model: Some(Model::new("maker/one")),
        channel: Some("chat:1".into()),
        sender: Some(Sender::default()),
        sandbox: true,
        caps: vec![cap(), cap()],
        ..Scope::default()
    }
}

fn world(servers: usize, policy: Policy) -> (Engine, Vec<Publisher>) {
    let hub = Hub::new(HubLimits::default());
    let publishers = (0..servers)
        .map(|server| {
            let source = Source::Mcp(format!("s{server}"));
            let publisher = hub.register(source, SourceOptions::default(), Arc::new(Nothing));
            publisher.tools(SourceState::Ready, (0..100).map(definition).collect(), None, false);
            publisher
        })
        .collect();
    let mut settings = EngineSettings::default();
    settings.assemble.policy = policy;
    (Engine::new(hub, settings, None, vec![]), publishers)
}

/// A turn of a host that keeps nothing.
fn rebuild(catalog: &Catalog, denied: &[&str], settings: &AssembleSettings) -> usize {
    let globs: Vec<_> = denied
        .iter()
        .map(|text| GlobBuilder::new(text).literal_separator(false).build().expect("a glob").compile_matcher())
        .collect();
    let mut pool: Vec<(bool, String, Value)> = catalog
        .tools()
        .map(|tool| {
            let name = exposed_name(tool.id(), &settings.names);
            let mut definition = Value::clone(tool.definition());
            definition["name"] = Value::from(name.as_str());
            (*tool.source() != Source::Builtin, name, definition)
        })
        .filter(|(_, name, _)| !globs.iter().any(|glob| glob.is_match(name)))
        .collect();
    pool.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    pool.dedup_by(|a, b| a.1 == b.1);
    pool.iter().map(|(_, _, definition)| definition.to_string().len()).sum()
}

/// Processor time of this thread in nanoseconds.
fn cpu() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap_or_default() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// Microseconds of processor time of one run, the least of some: what others do on the machine only adds.
fn least(rounds: usize, each: usize, mut run: impl FnMut()) -> f64 {
    let samples = (0..rounds).map(|_| {
        let start = cpu();
        for _ in 0..each {
            run();
        }
        (cpu() - start) as f64 / 1e3 / each as f64
    });
    samples.fold(f64::INFINITY, f64::min)
}

fn main() {
    println!(
        "tools  policy      cold ms  unchanged µs  one server changed ms  rebuild ms  rebuild/cold  rebuild/unchanged"
    );
    for servers in [10, 100, 500] {
        for (label, policy, scope) in [("none", Policy::default(), Scope::default()), ("12 stages", policy(), scope())]
        {
            measure(servers, label, policy, &scope);
        }
    }
}

fn measure(servers: usize, label: &str, policy: Policy, scope: &Scope) {
    let (engine, publishers) = world(servers, policy);
    let settings = engine.settings();
    let rounds = if servers > 100 { 7 } else { 15 };
    let catalog = engine.hub().catalog();
    let cold = least(rounds, 1, || drop(black_box(assemble(&catalog, scope, &settings.assemble))));
    let warm = least(51, 1_000, || drop(black_box(engine.view(scope))));
    let denied = ["*__delete_*", "drop_*", "*_danger", "evil", "s5__tool_5", "s6__tool_6*"];
    let again = least(rounds, 1, || {
        black_box(rebuild(&catalog, &denied, &settings.assemble));
    });
    let mut number = 0;
    let changed = least(rounds, 1, || {
        number += 1;
        let mut tools: Vec<Value> = (0..100).map(definition).collect();
        tools[0]["description"] = format!("changed {number}").into();
        publishers[0].tools(SourceState::Ready, tools, None, false);
        drop(black_box(engine.view(scope)));
    });
    println!(
        "{:>5}  {label:<10}  {:>7.2}  {warm:>12.2}  {:>21.2}  {:>10.2}  {:>12.2}  {:>17.0}",
        servers * 100,
        cold / 1e3,
        changed / 1e3,
        again / 1e3,
        again / cold,
        again / warm
    );
}
