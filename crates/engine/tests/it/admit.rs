//! Admission: circuits, rates, turns and repetition (oneringai 36-45 and 104, reliability F26 and T26).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{json, value::RawValue};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use toolcrib_core::{
    ContentHash, IngestLimits, Source, Tool, args,
    breaker::{BreakerPolicy, BreakerState, Transition},
    ingest,
    permission::Effect,
    selector::Selector,
};
use toolcrib_engine::{
    Door, InvokeError, Outcome, Principal,
    admit::{
        Admission, AdmissionSettings, Asked, BreakerRule, Concurrency, ConcurrencyRule, RatePer, RateRule, Refused,
        RepeatSettings, Settled, Ticket,
    },
    journal::Kind,
};

mod repetition;

fn tool(source: &str, name: &str) -> Tool {
    let items = vec![json!({"name": name})];
    let (mut tools, _) = ingest::ingest(&source.parse().unwrap(), items, &IngestLimits::default(), 10, &|_| Ok(()));
    tools.pop().unwrap()
}

fn select(text: &str) -> Vec<Selector> {
    vec![text.parse().unwrap()]
}

fn digest(text: &str) -> ContentHash {
    ContentHash::of_bytes(text.as_bytes())
}

fn principal(user: &str, session: Option<&str>) -> Principal {
    Principal { tenant: "acme".into(), user: Some(user.into()), agent: None, session: session.map(str::to_owned) }
}

/// An admission with a clock that is set by hand, in milliseconds.
struct World {
    admission: Admission,
    now: Arc<AtomicU64>,
    calls: AtomicU64,
}

/// One call; arguments differ from call to call unless given.
#[derive(Clone, Copy)]
struct Call<'a> {
    source: &'a str,
    tool: &'a str,
    user: &'a str,
    session: Option<&'a str>,
    arguments: Option<&'a str>,
    credentials: Option<&'a str>,
    door: Door,
    effect: Effect,
    within: Duration,
}

const ECHO: Call<'static> = Call {
    source: "mcp:s",
    tool: "echo",
    user: "ann",
    session: Some("1"),
    arguments: None,
    credentials: None,
    door: Door::Bridge,
    effect: Effect::Mutating,
    within: Duration::from_mins(1),
};

impl World {
    fn new(settings: AdmissionSettings) -> Self {
        let now = Arc::new(AtomicU64::new(1_000_000));
        let clock = now.clone();
        let admission = Admission::with_clock(settings, Arc::new(move || clock.load(Ordering::SeqCst)));
        Self { admission, now, calls: AtomicU64::new(0) }
    }

    fn pass(&self, ms: u64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    async fn admit(&self, call: Call<'_>) -> Result<Ticket, Refused> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let cancel = CancellationToken::new();
        self.admission
            .admit(Asked {
                tool: &tool(call.source, call.tool),
                exposed: call.tool,
                door: call.door,
                principal: &principal(call.user, call.session),
                credentials: call.credentials,
                digest: call.arguments.map_or_else(|| digest(&number.to_string()), digest),
                effect: call.effect,
                deadline: Instant::now() + call.within,
                cancel: &cancel,
            })
            .await
    }

    /// Runs a call to its end; its outcome as one word.
    async fn run(&self, call: Call<'_>, end: &str) -> String {
        match self.admit(call).await {
            Ok(ticket) => {
                ticket.settle(settled(end));
                "ran".to_owned()
            }
            Err(refused) => word(&refused).to_owned(),
        }
    }

    fn state(&self, key: &str) -> Option<BreakerState> {
        let found = self.admission.breakers().into_iter().find(|report| report.key.to_string() == key);
        found.map(|report| report.snapshot.state)
    }
}

fn word(refused: &Refused) -> &'static str {
    match refused {
        Refused::BreakerOpen { .. } => "open",
        Refused::TooFast { .. } => "too fast",
        Refused::TooMany { .. } => "too many",
        Refused::Repeated { .. } => "repeated",
        Refused::Cancelled => "cancelled",
    }
}

fn settled(end: &str) -> Settled {
    let (kind, text) = end.split_once(' ').unwrap_or((end, ""));
    match kind {
        "ok" => Settled::Answered { result_digest: digest(text) },
        "error" => Settled::ToolError { result_digest: digest(text) },
        "fault" => Settled::Fault(text.to_owned()),
        "broken" => Settled::ToolFault(text.to_owned()),
        "neutral" => Settled::Neutral,
        other => panic!("no such end: {other}"),
    }
}

fn paused<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(test)
}

/// A script of steps: an end (`ok`, `error`, `fault`, `broken`, `neutral`) runs a call, `+N` lets N ms pass. What became
/// of the calls must be `want`, one letter each: `r`an, refused by an `o`pen circuit.
#[track_caller]
fn check_circuit(steps: &str, want: &str, want_tool: BreakerState, want_source: BreakerState) {
    paused(async {
        let world = World::new(AdmissionSettings::default());
        let mut got = String::new();
        for step in steps.split_whitespace() {
            match step.strip_prefix('+') {
                Some(ms) => world.pass(ms.parse().unwrap()),
                None => got.push_str(&world.run(ECHO, step).await[..1]),
            }
        }
        assert_eq!(got, want, "{steps}");
        assert_eq!(world.state("mcp:s/echo").unwrap(), want_tool, "{steps}");
        assert_eq!(world.state("mcp:s").unwrap(), want_source, "{steps}");
    });
}

#[test]
fn only_faults_open_a_circuit() {
    use BreakerState::{Closed, HalfOpen, Open};
    // Case 36, ours: failures count, and the fourth call is refused. Case 40: without being run.
    check_circuit("broken broken broken broken broken broken", "rrrooo", Open, Closed);
    // Case 38, ours: time-outs count as any other fault.
    check_circuit("fault fault fault fault fault", "rrroo", Open, Closed);
    // Case 44 and F26: what says nothing about the upstream never opens it.
    check_circuit("error error error error error error error error error error error", "rrrrrrrrrrr", Closed, Closed);
    check_circuit("neutral neutral neutral neutral neutral", "rrrrr", Closed, Closed);
    check_circuit("ok ok ok ok ok", "rrrrr", Closed, Closed);
    check_circuit("fault error ok neutral fault error ok neutral fault ok", "rrrrrrrrro", Open, Closed);
    // Faults are remembered for 300 s.
    check_circuit("fault fault +300000 fault ok", "rrrr", Closed, Closed);
    // Case 41: after the wait half-open, and one good call is not enough.
    check_circuit("fault fault fault +59999 ok +1 ok", "rrror", HalfOpen, Closed);
    // Case 42: closed after two, open again after one fault. A tool's own error is an answer.
    check_circuit("fault fault fault +60000 ok ok ok", "rrrrrr", Closed, Closed);
    check_circuit("fault fault fault +60000 error error", "rrrrr", Closed, Closed);
    check_circuit("fault fault fault +60000 ok fault ok", "rrrrro", Open, Closed);
    // A probe that says nothing gives its place to the next.
    check_circuit("fault fault fault +60000 neutral neutral ok ok", "rrrrrrr", Closed, Closed);
}

#[test]
fn what_counts_as_a_fault() {
    #[track_caller]
    fn check(error: InvokeError, want: &str) {
        let got = match Settled::of_error(&error) {
            Settled::Answered { .. } => "answered",
            Settled::ToolError { .. } => "tool error",
            Settled::Fault(_) => "fault",
            Settled::ToolFault(_) => "tool fault",
            Settled::Neutral => "neutral",
        };
        assert_eq!(got, want, "{error:?}");
    }
    check(InvokeError::Unavailable("refused".into()), "fault");
    check(InvokeError::TimedOut(Duration::from_secs(1)), "fault");
    check(InvokeError::Unknown("broken pipe".into()), "fault");
    check(InvokeError::Broken(7), "tool fault");
    check(InvokeError::BadAnswer("no object".into()), "tool fault");
    check(InvokeError::Refused { code: -32_000, message: "no".into(), data: None }, "tool error");
    check(InvokeError::Refused { code: -32_001, message: "unauthorised".into(), data: None }, "tool error");
    check(InvokeError::Cancelled, "neutral");
}

#[test]
fn a_failing_tool_does_not_take_others_along_and_a_failing_source_is_left_alone() {
    paused(async {
        let world = World::new(AdmissionSettings::default());
        let call = |tool| Call { tool, ..ECHO };
        // One tool that always times out, called once a second for an hour.
        for _ in 0..3_600 {
            world.run(call("bad"), "fault slow").await;
            world.pass(1_000);
            assert_eq!(world.run(call("good"), "ok").await, "ran");
        }
        assert_eq!(world.state("mcp:s/good"), Some(BreakerState::Closed));
        // Ten faults of several tools within five minutes: the source is the trouble.
        let world = World::new(AdmissionSettings::default());
        for name in ["a", "b", "c", "d", "e"] {
            world.run(call(name), "fault down").await;
            world.run(call(name), "fault down").await;
        }
        assert_eq!(world.state("mcp:s"), Some(BreakerState::Open));
        assert_eq!(world.run(call("fresh"), "ok").await, "open");
        assert_eq!(world.run(Call { source: "mcp:t", ..ECHO }, "ok").await, "ran", "other sources go on");
    });
}

#[test]
fn circuits_are_kept_apart_by_credentials() {
    paused(async {
        let world = World::new(AdmissionSettings::default());
        let call = |credentials| Call { credentials, ..ECHO };
        for _ in 0..3 {
            world.run(call(Some("ann")), "fault down").await;
        }
        assert_eq!(world.run(call(Some("ann")), "ok").await, "open");
        assert_eq!(world.run(call(Some("bob")), "ok").await, "ran");
        assert_eq!(world.run(call(None), "ok").await, "ran");
        assert_eq!(world.state("mcp:s/echo with credentials ann"), Some(BreakerState::Open));
        assert_eq!(world.admission.reset(&"mcp:s/echo".parse().unwrap()), 3, "whatever the credentials");
        assert_eq!(world.run(call(Some("ann")), "ok").await, "ran");
    });
}

#[test]
fn five_calls_at_once_on_a_half_open_circuit_are_one_probe() {
    paused(async {
        // Case 45, ours.
        let world = World::new(AdmissionSettings::default());
        for _ in 0..3 {
            world.run(ECHO, "fault down").await;
        }
        world.pass(60_000);
        let mut calls = Vec::new();
        for _ in 0..5 {
            calls.push(world.admit(ECHO).await);
        }
        let passed: Vec<_> = calls.iter().filter_map(|call| call.as_ref().ok()).collect();
        assert_eq!(passed.len(), 1);
        assert!(passed[0].is_probe());
        let refused = calls.iter().find_map(|call| call.as_ref().err()).unwrap();
        assert!(refused.retry_ms().is_some_and(|ms| ms > 0 && ms <= 1_000), "{refused:?}");
        // The probe's future is dropped: its place goes to the next.
        drop(calls);
        assert!(world.admit(ECHO).await.unwrap().is_probe());
    });
}

#[test]
fn an_open_circuit_says_what_is_wrong_and_when_to_come_back() {
    paused(async {
        let world = World::new(AdmissionSettings::default());
        for _ in 0..3 {
            world.run(ECHO, "fault connection refused").await;
        }
        world.pass(18_500);
        let refused = world.admit(ECHO).await.err().unwrap();
        assert_eq!(refused.outcome(), Outcome::Unavailable);
        let told = refused.told("s__echo");
        assert!(told.starts_with("s__echo keeps failing"), "{told}");
        assert!(told.contains("nothing was run. Try again in 42 s"), "{told}");
        assert!(told.contains("connection refused"), "{told}");
        let operator = refused.to_string();
        assert!(operator.contains("mcp:s/echo is open after 3 faults, next try in 41500 ms"), "{operator}");
    });
}

#[test]
fn changes_are_reported_once_with_their_journal_record() {
    paused(async {
        let world = World::new(AdmissionSettings::default());
        world.run(ECHO, "ok").await;
        assert!(world.admission.take_changes().is_empty());
        for end in ["fault down", "fault down", "fault gone"] {
            world.run(ECHO, end).await;
        }
        world.pass(60_000);
        world.run(ECHO, "ok").await;
        world.run(ECHO, "ok").await;
        let changes = world.admission.take_changes();
        let story: Vec<_> = changes.iter().map(|change| change.transition).collect();
        assert_eq!(story, [Transition::Opened, Transition::HalfOpened, Transition::Closed]);
        let record = changes[0].record("run");
        assert_eq!((record.kind, record.tool.as_deref()), (Kind::Breaker, Some("mcp:s/echo")));
        assert_eq!((record.detail.as_deref(), record.reason.as_deref()), (Some("opened"), Some("gone")));
        assert!(world.admission.take_changes().is_empty(), "only once");
    });
}

#[test]
fn circuits_are_listed_reset_and_configured() {
    paused(async {
        let world = World::new(AdmissionSettings::default());
        let (tool, source) = ("mcp:s/echo".parse().unwrap(), "mcp:s".parse().unwrap());
        for _ in 0..4 {
            world.run(ECHO, "fault down").await;
        }
        let reports = world.admission.breakers();
        assert_eq!(reports[0].key.to_string(), "mcp:s/echo", "what is not closed comes first");
        let totals = reports[0].snapshot.totals;
        assert_eq!((totals.admitted, totals.failed, totals.rejected), (3, 3, 1));
        let json = serde_json::to_value(&reports).unwrap();
        assert_eq!((&json[0]["guarded"], &json[0]["state"]), (&json!("mcp:s/echo"), &json!("open")));
        assert_eq!(world.admission.reset(&tool), 1);
        assert_eq!(world.run(ECHO, "ok").await, "ran");
        assert_eq!(world.admission.reset(&"mcp:nowhere".parse().unwrap()), 0);
        // A policy put in force at run time holds against the settings, until it is taken back.
        assert!(world.admission.configure(&tool, Some(BreakerPolicy { failures: 1, ..BreakerPolicy::default() })));
        assert_eq!([world.run(ECHO, "fault x").await, world.run(ECHO, "ok").await], ["ran", "open"]);
        assert!(world.admission.configure(&tool, None));
        assert_eq!([world.run(ECHO, "fault x").await, world.run(ECHO, "ok").await], ["ran", "ran"]);
        assert!(world.admission.configure(&source, None));
        // Case 39: without anything there is nothing.
        assert!(World::new(AdmissionSettings::default()).admission.breakers().is_empty());
    });
}

#[test]
fn settings_can_switch_breakers_off_or_tune_them_and_reloads_keep_state() {
    paused(async {
        let rules = |policy| AdmissionSettings {
            breakers: vec![BreakerRule { pattern: select("mcp:s/echo"), policy }],
            source_breakers: [(Source::Mcp("s".into()), None)].into(),
            ..AdmissionSettings::default()
        };
        let world = World::new(rules(None));
        for _ in 0..20 {
            assert_eq!(world.run(ECHO, "fault x").await, "ran");
        }
        assert!(world.admission.breakers().is_empty());
        let strict = Some(BreakerPolicy { failures: 1, ..BreakerPolicy::default() });
        world.admission.replace_settings(rules(strict));
        assert_eq!([world.run(ECHO, "fault x").await, world.run(ECHO, "ok").await], ["ran", "open"]);
        world.admission.replace_settings(rules(strict));
        assert_eq!(world.run(ECHO, "ok").await, "open", "the same policy: still open");
        world.admission.replace_settings(rules(Some(BreakerPolicy::default())));
        assert_eq!(world.run(ECHO, "ok").await, "ran", "another policy starts anew");
    });
}

#[test]
fn rates_count_what_they_say_together() {
    /// Calls as `tool@user/session`, one letter each in `want`: `r`an or `t`oo fast.
    #[track_caller]
    fn check(per: RatePer, calls: &str, want: &str) {
        paused(async {
            let rule = RateRule { pattern: select("mcp:s"), per, limit: 2, window_ms: 60_000 };
            let world = World::new(AdmissionSettings { rates: vec![rule], ..AdmissionSettings::default() });
            let mut got = String::new();
            for call in calls.split_whitespace() {
                if let Some(ms) = call.strip_prefix('+') {
                    world.pass(ms.parse().unwrap());
                    continue;
                }
                let (name, who) = call.split_once('@').unwrap();
                let (user, session) = who.split_once('/').unwrap();
                let call = Call { tool: name, user, session: Some(session), ..ECHO };
                got.push_str(&world.run(call, "ok").await[..1]);
            }
            assert_eq!(got, want, "{per:?} {calls}");
        });
    }
    // Case 104: the third call is denied, and no approval changes that.
    check(RatePer::Tool, "a@u/1 a@u/1 a@u/1 b@u/1", "rrtr");
    check(RatePer::Tool, "a@u/1 a@v/2 a@w/3", "rrt");
    check(RatePer::Source, "a@u/1 b@u/1 c@u/1", "rrt");
    check(RatePer::User, "a@u/1 a@u/2 a@u/3 a@v/1 b@u/1", "rrtrr");
    check(RatePer::Tenant, "a@u/1 a@v/1 a@w/1 b@u/1", "rrtr");
    check(RatePer::Session, "a@u/1 a@u/1 a@u/1 a@u/2", "rrtr");
    check(RatePer::Tool, "a@u/1 +59999 a@u/1 a@u/1 +1 a@u/1 a@u/1", "rrtrt");
}

/// Over the JSON API a caller names its sessions as it likes.
#[test]
fn sessions_that_a_caller_makes_up_gain_it_a_bounded_number_of_calls() {
    paused(async {
        let rule = RateRule { pattern: select("*"), per: RatePer::Session, limit: 1, window_ms: 60_000 };
        let world = World::new(AdmissionSettings { rates: vec![rule], ..AdmissionSettings::default() });
        let session = async |door, user, number: u32| {
            let session = number.to_string();
            world.run(Call { door, user, session: Some(&session), ..ECHO }, "ok").await == "ran"
        };
        let many = async |door, user| {
            let mut ran = 0;
            for number in 0..200 {
                ran += u32::from(session(door, user, number).await);
            }
            ran
        };
        assert_eq!(many(Door::Http, "ann").await, 65, "64 sessions, and one for all further ones");
        assert_eq!(many(Door::Http, "bob").await, 65, "others have their own");
        assert_eq!(many(Door::Direct, "cid").await, 200, "elsewhere sessions are the gateway's own");
        world.pass(59_000);
        assert!(!session(Door::Http, "ann", 3).await);
        world.pass(2_000);
        assert!(session(Door::Http, "ann", 3).await);
        assert!(session(Door::Http, "ann", 1_000).await);
    });
}

#[test]
fn a_used_up_rate_is_a_hard_denial_that_says_when() {
    paused(async {
        let rule = RateRule { pattern: select("*"), per: RatePer::Tool, limit: 2, window_ms: 60_000 };
        let world = World::new(AdmissionSettings { rates: vec![rule.clone()], ..AdmissionSettings::default() });
        world.run(ECHO, "ok").await;
        world.pass(10_000);
        world.run(ECHO, "ok").await;
        let refused = world.admit(ECHO).await.err().unwrap();
        assert_eq!((refused.outcome(), refused.retry_ms()), (Outcome::Denied, Some(50_000)));
        assert!(refused.told("s__echo").ends_with("no more than 2 such calls are allowed in 60 s. Try again in 50 s."));
        assert!(refused.to_string().contains("2 calls of * per 60000 ms and tool"), "{refused}");
        // A reload with the same rule forgets nothing.
        world.admission.replace_settings(AdmissionSettings { rates: vec![rule], ..AdmissionSettings::default() });
        assert_eq!(world.run(ECHO, "ok").await, "too fast");
    });
}

#[test]
fn a_call_that_is_refused_further_on_is_not_charged() {
    paused(async {
        let rate = |limit| RateRule { pattern: select("*"), per: RatePer::Tool, limit, window_ms: 3_600_000 };
        let world = World::new(AdmissionSettings { rates: vec![rate(4), rate(2_000)], ..AdmissionSettings::default() });
        for _ in 0..3 {
            world.run(ECHO, "fault down").await;
        }
        for _ in 0..10 {
            assert_eq!(world.run(ECHO, "ok").await, "open");
        }
        world.pass(60_000);
        assert_eq!(world.run(ECHO, "ok").await, "ran", "the open circuit did not use the rate up");
        assert_eq!(world.run(ECHO, "ok").await, "too fast");
    });
}

impl World {
    /// Begins a call on a task of its own, which gives the ticket once it has it.
    fn spawn(self: &Arc<Self>, call: Call<'static>) -> JoinHandle<Result<Ticket, Refused>> {
        let world = self.clone();
        tokio::spawn(async move { world.admit(call).await })
    }
}

fn limited(concurrency: Concurrency) -> Arc<World> {
    Arc::new(World::new(AdmissionSettings { concurrency, ..AdmissionSettings::default() }))
}

async fn settle_down() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn each_limit_holds_and_nothing_is_held_while_waiting() {
    #[track_caller]
    fn check(concurrency: Concurrency, calls: &[Call<'static>], want_running: usize) {
        paused(async {
            let world = limited(concurrency);
            let tasks: Vec<_> = calls.iter().map(|call| world.spawn(*call)).collect();
            settle_down().await;
            let waiting = calls.len() - want_running;
            assert_eq!(world.admission.occupancy(), (want_running, waiting));
            for task in &tasks {
                task.abort();
            }
            drop(tasks);
            settle_down().await;
            assert_eq!(world.admission.occupancy(), (0, 0), "everything is given back");
        });
    }
    let none = || Concurrency { source: None, ..Concurrency::default() };
    let by = |tool, user| Call { tool, user, ..ECHO };
    check(none(), &[ECHO; 100], 100);
    check(Concurrency::default(), &[ECHO; 70], 64);
    check(Concurrency { tool: Some(2), ..none() }, &[ECHO, ECHO, ECHO, by("other", "ann")], 3);
    check(Concurrency { source: Some(2), ..none() }, &[ECHO, by("b", "ann"), by("c", "ann")], 2);
    check(Concurrency { user: Some(1), ..none() }, &[ECHO, ECHO, by("echo", "bob")], 2);
    check(Concurrency { tenant: Some(2), ..none() }, &[ECHO, by("b", "bob"), by("c", "cid")], 2);
    let own = ConcurrencyRule { pattern: select("mcp:s/echo"), limit: Some(1) };
    check(Concurrency { tools: vec![own], ..none() }, &[ECHO, ECHO, by("b", "ann"), by("b", "ann")], 3);
    let sources = [(Source::Mcp("s".into()), Some(1))].into();
    check(Concurrency { sources, ..none() }, &[ECHO, ECHO, Call { source: "mcp:t", ..ECHO }], 2);
    // Those that wait for the slow tool take none of the source's places.
    let both = Concurrency { tool: Some(1), source: Some(3), ..none() };
    check(both, &[ECHO, ECHO, ECHO, ECHO, by("b", "ann"), by("c", "ann")], 3);
}

#[test]
fn turns_come_in_the_order_of_asking() {
    paused(async {
        let world = limited(Concurrency { tool: Some(1), ..Concurrency::default() });
        let first = world.admit(ECHO).await.unwrap();
        let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..5 {
            let (world, order) = (world.clone(), order.clone());
            tasks.push(tokio::spawn(async move {
                let ticket = world.admit(ECHO).await.unwrap();
                assert!(ticket.waited() >= Duration::from_millis(5));
                order.lock().push(number);
            }));
            settle_down().await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn waiting_ends_with_the_deadline_the_limit_a_full_queue_or_a_cancellation() {
    #[track_caller]
    fn check(within_ms: u64, wait_ms: u64, want_waited_ms: u64) {
        paused(async {
            let world =
                limited(Concurrency { tool: Some(1), wait: Duration::from_millis(wait_ms), ..Concurrency::default() });
            let _first = world.admit(ECHO).await.unwrap();
            let call = Call { within: Duration::from_millis(within_ms), ..ECHO };
            let refused = world.admit(call).await.err().unwrap();
            assert_eq!(refused.outcome(), Outcome::Unavailable);
            let Refused::TooMany { what, limit, waited_ms, queue_full: false } = refused else { panic!("{refused:?}") };
            assert_eq!((what.as_str(), limit.as_str(), waited_ms), ("mcp:s/echo", "1 at once", want_waited_ms));
            assert_eq!(world.admission.occupancy(), (1, 0));
        });
    }
    check(40, 30_000, 40);
    check(60_000, 25, 25);
    check(0, 25, 0);

    paused(async {
        let world = limited(Concurrency { tool: Some(1), queue: 3, ..Concurrency::default() });
        let _first = world.admit(ECHO).await.unwrap();
        let waiting: Vec<_> = (0..3).map(|_| world.spawn(ECHO)).collect();
        settle_down().await;
        let refused = world.admit(ECHO).await.err().unwrap();
        assert!(matches!(&refused, Refused::TooMany { queue_full: true, .. }), "{refused:?}");
        assert!(refused.told("s__echo").contains("was not run: too many calls"));
        drop(waiting);
    });

    paused(async {
        let world = limited(Concurrency { tool: Some(1), ..Concurrency::default() });
        let _first = world.admit(ECHO).await.unwrap();
        let (cancel, tool, who) = (CancellationToken::new(), tool("mcp:s", "echo"), principal("ann", None));
        let asked = Asked {
            tool: &tool,
            exposed: "echo",
            door: Door::Direct,
            principal: &who,
            credentials: None,
            digest: digest("x"),
            effect: Effect::ReadOnly,
            deadline: Instant::now() + Duration::from_mins(1),
            cancel: &cancel,
        };
        let end = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            cancel.cancel();
        };
        let (refused, ()) = tokio::join!(world.admission.admit(asked), end);
        assert_eq!(refused.err().unwrap(), Refused::Cancelled);
        assert_eq!(world.admission.occupancy(), (1, 0));
    });
}

#[test]
fn who_waited_asks_the_circuits_again() {
    paused(async {
        let world = limited(Concurrency { tool: Some(3), ..Concurrency::default() });
        let running = [world.admit(ECHO).await, world.admit(ECHO).await, world.admit(ECHO).await];
        let waiting = world.spawn(ECHO);
        settle_down().await;
        for call in running {
            call.unwrap().settle(Settled::Fault("down".into()));
        }
        assert_eq!(waiting.await.unwrap().err().as_ref().map(word), Some("open"));
        assert_eq!(world.admission.occupancy(), (0, 0));
        // And none waits for a turn that it could not use.
        let world = limited(Concurrency { tool: Some(1), ..Concurrency::default() });
        for _ in 0..3 {
            world.run(ECHO, "fault down").await;
        }
        world.pass(60_000);
        let probe = world.admit(ECHO).await.unwrap();
        assert_eq!(world.admit(ECHO).await.err().as_ref().map(word), Some("open"));
        drop(probe);
    });
}

#[test]
fn exclusive_tools_run_alone_in_their_source_unless_all_only_look() {
    /// Calls as `x` (exclusive) or `p` (plain), `?` = only looks, `!` = may change something; all at once, in order.
    #[track_caller]
    fn check(calls: &[&'static str], want_running: usize) {
        paused(async {
            let settings = AdmissionSettings {
                exclusive: select("mcp:s/x"),
                concurrency: Concurrency { source: None, ..Concurrency::default() },
                ..AdmissionSettings::default()
            };
            let world = Arc::new(World::new(settings));
            let tasks: Vec<_> = calls
                .iter()
                .map(|call| {
                    let effect = if call.ends_with('?') { Effect::ReadOnly } else { Effect::Destructive };
                    world.spawn(Call { tool: &call[..1], effect, ..ECHO })
                })
                .collect();
            settle_down().await;
            assert_eq!(world.admission.occupancy(), (want_running, calls.len() - want_running), "{calls:?}");
            let elsewhere = world.admit(Call { source: "mcp:t", ..ECHO }).await;
            assert!(elsewhere.is_ok(), "other sources do not mind");
            drop(elsewhere);
            // In the end everybody has had a turn.
            for task in tasks {
                drop(task.await.unwrap().unwrap());
            }
            assert_eq!(world.admission.occupancy(), (0, 0));
        });
    }
    check(&["p!", "p!", "p?"], 3);
    check(&["x?", "x?", "p?"], 3);
    check(&["x!", "x!"], 1);
    check(&["x!", "p?"], 1);
    check(&["p?", "x!"], 1);
    check(&["p!", "x?"], 1);
    check(&["x?", "p!"], 1);
    // Who waits to be alone is not overtaken for ever.
    check(&["p?", "x!", "p?", "p?"], 1);
    check(&["p?", "p?", "x!", "x!", "p?"], 2);
}

#[test]
fn memory_stays_bounded_whoever_calls_whatever() {
    paused(async {
        let rule = RateRule { pattern: select("*"), per: RatePer::Session, limit: 5, window_ms: 1_000 };
        let world = World::new(AdmissionSettings { rates: vec![rule], ..AdmissionSettings::default() });
        for number in 0..10_000 {
            let (name, session) = (format!("t{number}"), format!("s{number}"));
            let call = Call { tool: &name, session: Some(&session), ..ECHO };
            assert_eq!(world.run(call, "ok").await, "ran");
        }
        assert!(world.admission.breakers().len() <= 8_192);
        assert_eq!(world.admission.occupancy(), (0, 0));
    });
}

/// One call that runs; no longer when it is dropped, also by an abort at a point of waiting.
struct Running<'a> {
    running: &'a AtomicU64,
    others: u64,
}

impl<'a> Running<'a> {
    fn count(running: &'a AtomicU64) -> Self {
        Self { running, others: running.fetch_add(1, Ordering::SeqCst) }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn limits_hold_and_nothing_leaks_under_racing_and_abandoned_calls() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let world = limited(Concurrency { tool: Some(3), source: Some(5), user: Some(4), ..Concurrency::default() });
        let running = Arc::new(AtomicU64::new(0));
        let mut tasks = Vec::new();
        for number in 0_u64..400 {
            let (world, running) = (world.clone(), running.clone());
            tasks.push(tokio::spawn(async move {
                let call = Call { tool: if number % 2 == 0 { "a" } else { "b" }, ..ECHO };
                let admitted = tokio::time::timeout(Duration::from_micros(number * 20), world.admit(call)).await;
                let Ok(Ok(ticket)) = admitted else { return };
                {
                    let one = Running::count(&running);
                    assert!(one.others < 4, "more than the user may");
                    tokio::task::yield_now().await;
                }
                if number % 3 == 0 { drop(ticket) } else { drop(ticket.settle(settled("ok"))) }
            }));
        }
        for (number, task) in tasks.into_iter().enumerate() {
            if number % 7 == 0 {
                task.abort();
            } else {
                task.await.unwrap();
            }
        }
        for _ in 0..1_000 {
            if world.admission.occupancy() == (0, 0) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("leaked: {:?}", world.admission.occupancy());
    });
}
