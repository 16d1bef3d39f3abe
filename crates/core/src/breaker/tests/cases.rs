//! Numbered cases as scripts.
//!
//! Words: `ok`, `fault`, `neutral` make a call that must be let through and end so; `no` is a call that must be refused;
//! `take:x` starts call `x` (which must be let through), `x=ok` ends it; `+5`, `-5` move the clock; `closed`, `open`,
//! `half-open` claim the state; `!opened`, `!closed`, `!nothing` claim the transition of the last settlement.

use std::collections::BTreeMap;

use super::*;
use crate::rate::Idle;

struct Script {
    breaker: Breaker,
    now: u64,
    open: BTreeMap<String, Permit>,
    last: Option<Transition>,
}

fn settlement(word: &str) -> Settlement {
    match word {
        "ok" => Settlement::Success,
        "fault" => Settlement::fault("connection refused"),
        "neutral" => Settlement::Neutral,
        _ => panic!("no settlement: {word}"),
    }
}

impl Script {
    fn new(policy: BreakerPolicy) -> Self {
        Self { breaker: Breaker::new(policy), now: START, open: BTreeMap::new(), last: None }
    }

    #[track_caller]
    fn run(&mut self, script: &str) -> &mut Self {
        for (step, word) in script.split_whitespace().enumerate() {
            let at = format!("step {step} ({word}) of: {script}\n{:?}", self.breaker);
            if let Some(ms) = word.strip_prefix('+') {
                self.now += ms.parse::<u64>().expect(&at);
            } else if let Some(ms) = word.strip_prefix('-') {
                self.now -= ms.parse::<u64>().expect(&at);
            } else if let Some(name) = word.strip_prefix("take:") {
                let permit = self.breaker.admit(self.now).expect(&at);
                self.open.insert(name.to_owned(), permit);
            } else if let Some((name, end)) = word.split_once('=') {
                let permit = self.open.remove(name).expect(&at);
                self.last = self.breaker.settle(permit, settlement(end), self.now);
            } else if let Some(want) = word.strip_prefix('!') {
                let got = match self.last {
                    None => "nothing",
                    Some(Transition::Opened) => "opened",
                    Some(Transition::HalfOpened) => "half-opened",
                    Some(Transition::Closed) => "closed",
                };
                assert_eq!(got, want, "{at}");
            } else if word == "no" {
                let rejection = self.breaker.admit(self.now).expect_err(&at);
                assert!(rejection.retry_at_ms > self.now, "{at}");
            } else if ["closed", "open", "half-open"].contains(&word) {
                assert_eq!(self.breaker.state(self.now).word(), word, "{at}");
            } else {
                let permit = self.breaker.admit(self.now).expect(&at);
                self.last = self.breaker.settle(permit, settlement(word), self.now);
            }
        }
        self
    }
}

#[track_caller]
fn check(script: &str) {
    Script::new(BreakerPolicy::default()).run(script);
}

#[test]
fn faults_open_the_circuit() {
    // 36, 38 (ours): the fourth call is refused.
    check("closed fault fault !nothing closed fault !opened open no no no");
    // Successes between do not take faults back.
    check("fault ok fault ok ok fault open");
    // 44, F26: what does not count never opens it.
    check("neutral neutral neutral neutral neutral neutral closed");
    check("fault fault neutral ok closed fault open");
    // Faults leave the window: its end is not part of it.
    check("fault +150000 fault +149999 fault open");
    check("fault +150000 fault +150000 fault closed +150000 fault closed +149999 fault open");
}

#[test]
fn open_becomes_half_open_lazily() {
    // 40: refused without a call until the wait is over.
    check("fault fault fault no +59999 open no +1 half-open");
    // 41: one success below the threshold stays half-open.
    check("fault fault fault +60000 ok !nothing half-open");
    // 42: enough successes close; the count of faults starts afresh.
    check("fault fault fault +60000 ok ok !closed closed fault fault closed fault open");
    // 42: one failure opens again, for the whole wait, and the streak starts afresh.
    check("fault fault fault +60000 ok fault !opened open no +59999 no +1 ok half-open ok closed");
    // A long silence does not change that a probe comes first.
    check("fault fault fault +9999999999 half-open take:a no a=fault open");
}

#[test]
fn one_probe_at_a_time() {
    // 45 (ours): five at once, one goes through.
    check("fault fault fault +60000 take:a no no no no a=ok half-open take:b no b=ok closed take:c take:d");
    // A cancelled probe gives its place back and counts for nothing.
    check("fault fault fault +60000 take:a no a=neutral !nothing half-open take:b no b=ok half-open ok closed");
    // A lost probe does not block the circuit for ever.
    check("fault fault fault +60000 take:a +59999 no +1 take:b no b=ok half-open take:c no c=ok closed");
    // Nor does it give away the place of its successor when it comes back late, and it has its say.
    check("fault fault fault +60000 take:a +60000 take:b a=ok half-open no b=ok closed");
    check("fault fault fault +60000 take:a +60000 take:b a=fault !opened open b=ok !nothing open");
    check("fault fault fault +60000 take:a +60000 take:b a=neutral no b=ok half-open");
}

#[test]
fn calls_of_an_earlier_generation_prove_nothing() {
    // Begun before the trip, ended while open or half-open.
    check("take:a take:b fault fault fault a=ok !nothing open b=ok open no +60000 ok half-open ok closed");
    check("take:a take:b fault fault fault +60000 half-open ok a=ok !nothing half-open b=fault half-open ok closed");
    // Begun before the trip, ended after recovery.
    check(
        "take:a take:b take:c fault fault fault +60000 ok ok closed a=fault b=fault c=fault closed fault fault closed",
    );
}

#[test]
fn a_clock_set_back_neither_blocks_nor_hurries() {
    check("fault fault fault -3600000 open no +59999 no +1 half-open");
    check("fault fault fault -1 no +1 no +59999 no +1 half-open");
    check("fault fault -86400000 fault open no");
    check("fault fault fault +60000 take:a -9000000 no +60000 take:b no");
    // Seen again and again out of order, time does not run faster.
    check("fault fault fault +30000 no -1 no +1 no -1 no +1 no +29999 no +1 half-open");
}

#[test]
fn refusals_say_when_and_why() {
    let mut script = Script::new(BreakerPolicy::default());
    script.run("fault +1000 fault +1000 fault +10000");
    let rejection = script.breaker.admit(script.now).expect_err("open");
    let want = Rejection {
        state: BreakerState::Open,
        retry_at_ms: START + 2_000 + 60_000,
        failures: 3,
        last_error: Some("connection refused".into()),
    };
    assert_eq!(rejection, want);
    assert_eq!(rejection.to_string(), format!("circuit is open after 3 recent failures; retry at {}", START + 62_000));

    // While a probe is out: soon, but not after it counts as lost.
    script.run("+50000 take:a");
    let probing = script.breaker.admit(script.now).expect_err("probe is out");
    assert_eq!((probing.state, probing.retry_at_ms), (BreakerState::HalfOpen, script.now + 1_000));
    script.run("+59500");
    assert_eq!(script.breaker.admit(script.now).expect_err("probe is out").retry_at_ms, script.now + 500);

    // After the clock was set back, in terms of the new one.
    let mut script = Script::new(BreakerPolicy::default());
    script.run("fault fault fault +20000 no -7200000");
    assert_eq!(script.breaker.admit(script.now).expect_err("open").retry_at_ms, script.now + 40_000);
}

#[test]
fn half_opening_can_be_heard_of() {
    let mut script = Script::new(BreakerPolicy::default());
    script.run("fault fault fault");
    assert_eq!(script.breaker.advance(START + 59_999), None);
    // Looking does not use the transition up.
    assert_eq!(script.breaker.state(START + 60_000), BreakerState::HalfOpen);
    assert_eq!(script.breaker.snapshot(START + 60_000).state, BreakerState::HalfOpen);
    assert_eq!(script.breaker.advance(START + 60_000), Some(Transition::HalfOpened));
    assert_eq!(script.breaker.advance(START + 60_000), None);
    let permit = script.breaker.admit(START + 60_000).expect("probe");
    assert!(permit.is_probe());
}

#[test]
fn snapshot_shows_the_books() {
    let mut script = Script::new(BreakerPolicy::default());
    assert_eq!(script.breaker.snapshot(START).retry_at_ms, None);
    script.run("take:a ok +10 neutral +10 fault fault fault no no +5 a=fault");
    let snapshot = script.breaker.snapshot(script.now);
    assert_eq!(
        serde_json::to_value(&snapshot).expect("json"),
        serde_json::json!({
            "state": "open",
            "totals": {"admitted": 6, "succeeded": 1, "failed": 4, "neutral": 1, "rejected": 2},
            "recent_failures": 3,
            "streak": 0,
            "opened_at_ms": START + 20,
            "retry_at_ms": START + 20 + 60_000,
            "last_error": "connection refused",
            "last_failure_at_ms": START + 25,
            "last_success_at_ms": START,
        })
    );
    script.run("+60000 ok");
    let snapshot = script.breaker.snapshot(script.now);
    assert_eq!((snapshot.state, snapshot.streak, snapshot.retry_at_ms), (BreakerState::HalfOpen, 1, None));
    script.run("ok");
    let snapshot = script.breaker.snapshot(script.now);
    assert_eq!((snapshot.state, snapshot.streak, snapshot.recent_failures), (BreakerState::Closed, 0, 0));
    assert_eq!(snapshot.opened_at_ms, None);
}

#[test]
fn reset_closes_and_forgets() {
    let mut script = Script::new(BreakerPolicy::default());
    script.run("take:a take:b fault fault fault no");
    assert_eq!(script.breaker.reset(), Some(Transition::Closed));
    assert_eq!(script.breaker.snapshot(START).totals, BreakerTotals::default());
    // Calls from before do not even count.
    script.run("closed a=fault b=ok !nothing");
    assert_eq!(script.breaker.snapshot(START).totals, BreakerTotals::default());
    assert_eq!(script.breaker.snapshot(START).last_error, None);
    script.run("fault fault closed");
    assert_eq!(script.breaker.reset(), None);

    let strict = BreakerPolicy { failures: 1, ..BreakerPolicy::default() };
    script.run("fault fault take:old");
    assert_eq!(script.breaker.reconfigure(strict), None);
    assert_eq!(script.breaker.policy(), strict);
    script.run("old=fault closed fault open");
}

#[test]
fn policy_is_made_sensible() {
    #[track_caller]
    fn check(json: &str, want: [u64; 4]) {
        let policy: BreakerPolicy = serde_json::from_str(json).expect(json);
        let got = Breaker::new(policy).policy();
        assert_eq!([u64::from(got.failures), got.window_ms, got.open_ms, u64::from(got.successes)], want, "{json}");
    }
    check("{}", [3, 300_000, 60_000, 2]);
    check(r#"{"failures": 0, "window_ms": 0, "open_ms": 0, "successes": 0}"#, [3, 300_000, 60_000, 2]);
    check(r#"{"failures": 5, "window_ms": 1, "open_ms": 7, "successes": 1}"#, [5, 1, 7, 1]);
    check(r#"{"failures": 4294967295, "successes": 1001}"#, [1_000, 300_000, 60_000, 1_000]);
    assert!(serde_json::from_str::<BreakerPolicy>(r#"{"fails": 1}"#).is_err());
}

#[test]
fn errors_are_kept_short() {
    #[track_caller]
    fn check(text: &str, want: &str) {
        let mut breaker = Breaker::new(BreakerPolicy::default());
        let permit = breaker.admit(START).expect("closed");
        breaker.settle(permit, Settlement::Fault(text.to_owned()), START);
        assert_eq!(breaker.snapshot(START).last_error.as_deref(), Some(want));
        assert_eq!(Settlement::fault(text), Settlement::Fault(want.to_owned()));
    }
    check("", "");
    check(&"x".repeat(200), &"x".repeat(200));
    check(&"x".repeat(201), &"x".repeat(200));
    check(&"日".repeat(5_000), &"日".repeat(200));
}

#[test]
fn remembers_a_bounded_number_of_faults() {
    // Half-open again and again within one window: each failed probe is remembered, up to the cap.
    let mut script = Script::new(BreakerPolicy { open_ms: 1, window_ms: 1_000_000, ..BreakerPolicy::default() });
    script.run("fault fault fault");
    for _ in 0..100 {
        script.run("+1 fault open");
    }
    assert_eq!(script.breaker.snapshot(script.now).recent_failures, 20);
    assert!(script.breaker.failures.capacity() <= 64);
}

#[test]
fn idle_means_nothing_to_lose() {
    let mut script = Script::new(BreakerPolicy::default());
    assert!(script.breaker.is_idle(START));
    script.run("ok fault");
    assert!(!script.breaker.is_idle(START + 299_999));
    assert!(script.breaker.is_idle(START + 300_000));
    script.run("fault fault");
    assert!(!script.breaker.is_idle(START + 9_000_000));
}
