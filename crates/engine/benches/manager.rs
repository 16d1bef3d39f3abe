//! What the tool manager costs with 10,000 registrations: `cargo bench -p toolcrib-engine --bench manager`.
//!
//! Every figure stands beside what a manager does that keeps nothing ready: sort all registrations for every listing, look
//! through all texts for every word, write every schema anew to count its tokens. The last column is the CPU median that
//! was recorded of OneRingAI's ToolManager 0.6.0 with 1,000 tools (Node 20, another machine), times ten where its work
//! grows with the number of tools: not a ratio of one run, but the order of size.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark may stop at the first surprise, and printing is its job"
)]

use std::{cmp::Reverse, hint::black_box, sync::Arc};

use serde_json::{Value, json};
use toolcrib_core::{
    Source, ToolId, ToolResult,
    shortlist::{Recent, Situation},
};
use toolcrib_engine::{
    Backend, BoxFuture, Hub, HubLimits, Invocation, InvokeError,
    manager::{Filter, Manager, OnConflict, Registration, State},
};

const TOOLS: usize = 10_000;

struct Nothing;

impl Backend for Nothing {
    fn invoke<'a>(&'a self, _invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async { Ok(ToolResult::text("done")) })
    }
}

/// As in the recorded run: about 500 bytes of schema, one of five capabilities.
fn definition(number: usize) -> Value {
    let capability = ["file", "mail", "search", "calendar", "database"][number % 5];
    let property = |name: &str| json!({"type": "string", "description": format!("The {name} that the {capability} needs, in plain text.")});
    json!({
        "name": format!("{capability}_tool_{number}"),
        "description": format!("Works on a {capability}, number {number}, and says what came of it."),
        "inputSchema": {
            "type": "object",
            "properties": {"path": property("path"), "content": property("content"), "owner": property("owner"), "mode": {"type": "string", "enum": ["a", "b", "c"]}, "count": {"type": "integer", "minimum": 0}},
            "required": ["path"]
        }
    })
}

fn id(number: usize) -> ToolId {
    let capability = ["file", "mail", "search", "calendar", "database"][number % 5];
    ToolId::new(Source::Custom("bench".into()), format!("{capability}_tool_{number}"))
}

fn priority(number: usize) -> i32 {
    i32::try_from(number * 7 % 10).unwrap_or_default()
}

fn registrations() -> Vec<Registration> {
    let backend: Arc<dyn Backend> = Arc::new(Nothing);
    let one = |number| {
        Registration::new(Source::Custom("bench".into()), definition(number), backend.clone())
            .priority(priority(number))
            .namespace(["a", "b", "c"][number % 3])
    };
    (0..TOOLS).map(one).collect()
}

/// What keeps nothing ready.
struct Naive {
    name: String,
    definition: Value,
    priority: i32,
    enabled: bool,
}

fn naive() -> Vec<Naive> {
    let one = |number| {
        let definition = definition(number);
        let name = definition["name"].as_str().expect("a name").to_owned();
        Naive { name, definition, priority: priority(number), enabled: true }
    };
    (0..TOOLS).map(one).collect()
}

fn sorted(all: &[Naive]) -> Vec<&Naive> {
    let mut on: Vec<&Naive> = all.iter().filter(|tool| tool.enabled).collect();
    on.sort_by_key(|tool| Reverse(tool.priority));
    on
}

fn naive_search(all: &[Naive], text: &str) -> usize {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let hit = |tool: &&Naive| {
        let description = tool.definition["description"].as_str().unwrap_or_default().to_lowercase();
        let name = tool.name.to_lowercase();
        words.iter().any(|word| name.contains(word) || description.contains(word))
    };
    sorted(all).into_iter().filter(hit).count()
}

fn naive_budget(all: &[Naive], budget: usize) -> usize {
    let mut used = 0;
    let mut kept = 0;
    for tool in sorted(all) {
        let text = tool.definition["description"].as_str().unwrap_or_default();
        let schema = tool.definition["inputSchema"].to_string();
        let tokens = tool.name.len().div_ceil(4) + text.len().div_ceil(4) + schema.len().div_ceil(4) + 20;
        if used + tokens <= budget {
            used += tokens;
            kept += 1;
        }
    }
    kept
}

/// Processor time of this thread in nanoseconds.
fn cpu() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap_or_default() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// Nanoseconds of processor time.
fn once(run: impl FnOnce()) -> f64 {
    let begun = cpu();
    run();
    (cpu() - begun) as f64
}

/// The median of some rounds.
fn median(rounds: usize, mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..rounds).map(|_| once(&mut run)).collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

fn row(what: &str, ours: f64, naive: Option<f64>, recorded: Option<f64>) {
    let naive_text = naive.map_or_else(|| "-".to_owned(), |naive| format!("{:.1}", naive / 1e3));
    let ratio = naive.map_or_else(|| "-".to_owned(), |naive| format!("{:.1}", naive / ours));
    let recorded = recorded.map_or_else(|| "-".to_owned(), |recorded| format!("{:.1}", recorded / 1e3));
    println!("{what:<44} {:>12.1} {naive_text:>12} {ratio:>8} {recorded:>14}", ours / 1e3);
}

fn main() {
    println!("{:<44} {:>12} {:>12} {:>8} {:>14}", "10,000 tools", "ours us", "naive us", "ratio", "recorded us");
    let manager = Manager::new(Hub::new(HubLimits::default()));
    let all = registrations();
    let ours = once(|| {
        for registration in all {
            manager.insert(registration, OnConflict::Error).expect("a place");
        }
    });
    row("register one of 10,000 (checked, hashed)", ours / TOOLS as f64, None, Some(4_463.0));
    let ours = once(|| assert_eq!(manager.hub().catalog().len(), TOOLS));
    row("first catalog after 10,000 registrations", ours, None, None);
    let others = naive();

    let some = id(4_711);
    let ours = median(200, || drop(black_box(manager.get(&some))));
    row("get by identity", ours, None, Some(49.0));

    let ours = median(50, || drop(black_box(manager.query(&Filter::enabled()).expect("in use"))));
    let theirs = median(20, || drop(black_box(sorted(&others))));
    row("everything switched on, by priority", ours, Some(theirs), Some(2_354_360.0));

    let ours = median(50, || {
        let entries = manager.entries().expect("in use");
        black_box(entries.iter().map(|entry| entry.compact().description.len()).sum::<usize>());
    });
    row("compact rows", ours, None, Some(1_054_130.0));

    let filter = Filter { namespace: Some("b".into()), ..Filter::enabled() };
    let ours = median(50, || drop(black_box(manager.query(&filter).expect("in use"))));
    row("one namespace of three", ours, None, None);

    // The view and its index are built at first use, as for every view.
    let ours = once(|| drop(manager.select().expect("in use").matching("calendar").pick()));
    row("first selection (view and index are built)", ours, None, None);
    let ours = median(20, || drop(black_box(manager.select().expect("in use").matching("calendar").most(10).pick())));
    let theirs = median(20, || {
        black_box(naive_search(&others, "calendar"));
    });
    row("select by task, 2,000 hits, the best ten", ours, Some(theirs), Some(6_144_850.0));
    let ours = median(20, || drop(black_box(manager.select().expect("in use").matching("zeppelin").pick())));
    let theirs = median(20, || {
        black_box(naive_search(&others, "zeppelin"));
    });
    row("select by task, no hit", ours, Some(theirs), Some(5_264_530.0));
    let ours = median(20, || {
        let selecting = manager.select().expect("in use").when(Situation::default(), Recent::Exclude);
        drop(black_box(selecting.pick()));
    });
    let theirs = median(20, || drop(black_box(sorted(&others))));
    row("select for a situation", ours, Some(theirs), Some(2_427_420.0));
    let ours = median(20, || drop(black_box(manager.select().expect("in use").within(8_000).pick())));
    let theirs = median(5, || {
        black_box(naive_budget(&others, 8_000));
    });
    row("select within 8,000 tokens", ours, Some(theirs), Some(40_327_600.0));

    let mut number = 0;
    let ours = median(200, || {
        number = (number + 13) % TOOLS;
        manager.set_enabled(&id(number), false).expect("there");
    });
    row("switch one off", ours, None, None);
    let ours = median(20, || {
        number = (number + 13) % TOOLS;
        manager.set_enabled(&id(number), false).expect("there");
        black_box(manager.hub().catalog());
    });
    row("switch one off, and the catalog anew", ours, None, None);
    let ids: Vec<ToolId> = (0..1_000).map(|number| id(number * 10)).collect();
    let mut on = false;
    let ours = median(10, || {
        on = !on;
        manager.set_enabled_many(&ids, on).expect("in use");
    });
    row("switch 1,000 together", ours, None, None);

    let ours = median(10, || drop(black_box(manager.state().expect("in use"))));
    row("state", ours, None, Some(3_576_250.0));
    let saved = serde_json::to_string(&manager.state().expect("in use")).expect("JSON");
    let ours = median(10, || drop(black_box(serde_json::to_string(&manager.state().expect("in use")))));
    row(&format!("state as text ({} KB)", saved.len() / 1_000), ours, None, None);
    let ours = median(10, || {
        let state: State = serde_json::from_str(&saved).expect("JSON");
        black_box(manager.apply(&state).expect("in use"));
    });
    row("state read and applied, all as it was", ours, None, None);
}
