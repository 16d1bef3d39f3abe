//! F12: a call given up at any point leaves nothing behind. Given up means its future is dropped, as when a connection
//! breaks, or its token is cancelled.
//!
//! What holds at every point:
//! - an intent has exactly one outcome;
//! - no place among the running calls, no probe of a circuit is kept;
//! - the tool is entered at most once for one approval and one key, and only with its intent durable;
//! - an approval is used up only by a call that is on record.
//!
//! The one order in which an approval is used up and the tool not entered: the approval's use is taken, the intent is
//! written, and the call is given up between that and the tool (while observers run). The record has it then, as cancelled
//! or unknown. The other order, entering the tool before the use is taken, could run a call twice on one approval.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use serde_json::json;
use toolcrib_core::breaker::BreakerPolicy;
use toolcrib_engine::{
    CallReport, CallRequest, Outcome, Trust,
    admit::ConcurrencyRule,
    intercept::{Before, Stage},
    journal::Kind,
    permission::Verdict,
};

use super::rig::{Act, MS, Rig, SECOND, Said, Setup, keyed, paused, raw, really, request, text};

/// How a call is given up.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Dropped,
    Cancelled,
}

/// What became of a call that was given up, or ended before.
struct Left {
    /// `None`: it was dropped.
    report: Option<CallReport>,
    given_up: bool,
    /// Whether the tool had been entered when it was given up.
    entered: usize,
}

/// Polls a call so often and gives it up.
async fn give_up(rig: &Rig, request: CallRequest, how: How, polls: usize, entries: &dyn Fn() -> usize) -> Left {
    let cancel = request.cancel.clone();
    let mut call = pin!(rig.run(request));
    let mut left = polls;
    let first = std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match call.as_mut().poll(context) {
            Poll::Ready(report) => Poll::Ready(Some(report)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    let entered = entries();
    match (first, how) {
        (Some(report), _) => Left { report: Some(report), given_up: false, entered },
        (None, How::Dropped) => Left { report: None, given_up: true, entered },
        (None, How::Cancelled) => {
            cancel.cancel();
            Left { report: Some(call.await), given_up: true, entered }
        }
    }
}

/// Every part waits at least once: guard, policy, transform, approvals, a place, the store, observers, the tool.
async fn scene() -> Rig {
    let rig = Setup::default()
        .with(|settings| {
            settings.admission.breaker = Some(BreakerPolicy { failures: 1, open_ms: 1, ..BreakerPolicy::default() });
            settings.admission.concurrency.source = Some(1);
        })
        .hook("guard", Stage::Guard, |_| {})
        .hook("rewrites", Stage::Transform, |hook| {
            hook.before = |call| match call.arguments_value()["n"].as_i64() {
                Some(1) => Said::Is(Before::Replace(raw(r#"{"n":11}"#))),
                _ => Said::Is(Before::Continue),
            };
        })
        .hook("eye", Stage::Observe, |_| {})
        .hook("form", Stage::Normalise, |_| {})
        .judge(60, |_| Verdict::Abstain)
        .build()
        .await;
    // One fault: the circuit is half-open when the call comes.
    rig.approve("s__delete", json!({"n": 0})).await;
    rig.tools.order("delete", [Act::Lost]);
    assert_eq!(rig.call("s__delete", json!({"n": 0})).await.outcome, Outcome::Unknown);
    rig.approve("s__delete", json!({"n": 1})).await;
    rig.log.lock().clear();
    really(2);
    rig
}

/// Gives the call up after so many polls and looks at what is left. False once the call ended before.
async fn check(how: How, polls: usize) -> bool {
    let rig = scene().await;
    // Another call has the only place for a moment.
    rig.tools.order("look", [Act::After(5 * MS, Box::new(Act::Say("looked")))]);
    let engine = rig.engine.clone();
    let other = tokio::spawn(async move { engine.call_report(request("s__look", &json!({}))).await });
    tokio::time::sleep(MS).await;
    rig.tools.order("delete", [Act::After(3 * MS, Box::new(Act::Say("deleted")))]);
    let entries = || rig.tools.seen.lock().iter().filter(|seen| seen.arguments == json!({"n": 11})).count();

    let call = keyed("s__delete", &json!({"n": 1}), "k");
    let Left { report, given_up, entered: before } = give_up(&rig, call, how, polls, &entries).await;
    assert_eq!(other.await.unwrap().outcome, Outcome::Ok);
    tokio::time::sleep(SECOND).await;
    let records = rig.records().await;
    rig.check_settled(&records);
    let (entered, approved) = (entries(), !rig.grants().await.is_empty());
    let told = report.as_ref().map(|report| (report.outcome, text(report)));
    let at = format!("{how:?} after {polls} polls, {told:?}: entered {entered}, approval left {approved}");
    assert!(entered <= 1, "{at}");
    assert_eq!(entered, before.max(usize::from(!given_up)), "entered after it was given up: {at}");
    assert!(entered == 0 || !approved, "ran without taking the approval: {at}");
    if entered == 0 && !approved {
        let mine = records.iter().filter(|record| record.kind == Kind::Intent).map(|record| record.call).max().unwrap();
        let end = records.iter().find(|record| record.call == mine && record.kind == Kind::Outcome).unwrap();
        assert!(matches!(end.outcome, Some(Outcome::Cancelled | Outcome::Unknown)), "{at}: {end:?}");
    }
    if let Some(report) = &report {
        let want: &[Outcome] = if given_up { &[Outcome::Ok, Outcome::Cancelled] } else { &[Outcome::Ok] };
        assert!(want.contains(&report.outcome), "{at}");
        assert!(report.outcome != Outcome::Ok || entered == 1, "{at}");
    }

    // Sent again with the same key: never a second entry, and no probe of the half-open circuit is missing.
    let mut again = rig.run(keyed("s__delete", &json!({"n": 1}), "k")).await;
    if again.outcome == Outcome::Denied {
        rig.answer(&super::rig::ONCE).await;
        really(2);
        again = rig.run(keyed("s__delete", &json!({"n": 1}), "k")).await;
    }
    assert!(
        matches!(again.outcome, Outcome::Ok | Outcome::Unknown),
        "{at}, again: {:?} {}",
        again.outcome,
        text(&again)
    );
    assert!(entries() <= 1, "ran twice: {at}");
    // Another one is not held up by what was given up.
    rig.approve("s__delete", json!({"n": 5})).await;
    let next = rig.call("s__delete", json!({"n": 5})).await;
    assert_eq!(next.outcome, Outcome::Ok, "{at}, the next: {}", text(&next));
    rig.check_settled(&rig.records().await);
    given_up
}

#[test]
fn f12_a_call_given_up_at_any_await_leaves_nothing_behind() {
    for how in [How::Dropped, How::Cancelled] {
        let mut polls = 0;
        while paused(check(how, polls)) {
            polls += 1;
            assert!(polls < 200, "the call does not end");
        }
        assert!(polls > 15, "only {polls} points were seen: something does not wait any more");
    }
}

/// The same of calls that need no approval: one that looks, one that changes something, one that runs in the background.
async fn check_plain(tool: &str, how: How, polls: usize) -> bool {
    let rig = Setup::trusting()
        .with(|settings| settings.admission.concurrency.source = Some(1))
        .hook("guard", Stage::Guard, |_| {})
        .hook("eye", Stage::Observe, |_| {})
        .hook("form", Stage::Normalise, |_| {})
        .judge(60, |_| Verdict::Abstain)
        .build()
        .await;
    let entries = || rig.tools.entered();
    let call = request(tool, &json!({"n": 1}));
    let Left { report, given_up, entered } = give_up(&rig, call, how, polls, &entries).await;
    let at = format!("{tool} {how:?} after {polls} polls: {:?}", report.map(|report| report.outcome));
    assert!(rig.engine.pending().unwrap().wait(60 * SECOND).await, "{at}");
    tokio::time::sleep(SECOND).await;
    rig.check_settled(&rig.records().await);
    // Work in the background is not its caller's to give up once the placeholder is there.
    if tool != "later" && given_up {
        assert_eq!(rig.tools.entered(), entered, "entered after it was given up: {at}");
    }
    assert!(rig.tools.entered() <= 1, "{at}");
    let open =
        |piece: &toolcrib_engine::pending::Pending| piece.state == toolcrib_engine::pending::PendingState::Waiting;
    assert!(!rig.kept.pieces.lock().iter().any(open), "work that never ends: {at}");
    assert_eq!(rig.call(tool, json!({"n": 2})).await.outcome, Outcome::Ok, "{at}");
    given_up
}

#[test]
fn f12_plain_and_background_calls_given_up_leave_nothing_behind() {
    for (tool, least) in [("s__look", 5), ("s__write", 6), ("later", 0)] {
        for how in [How::Dropped, How::Cancelled] {
            let mut polls = 0;
            while paused(check_plain(tool, how, polls)) {
                polls += 1;
                assert!(polls < 200, "the call does not end");
            }
            assert!(polls > least, "{tool}: only {polls} points were seen");
        }
    }
}

/// A small generator of numbers, the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// F12: ten thousand calls under limits, most of them given up somewhere; then nobody runs, nobody waits, and everything
/// can be had again.
#[test]
fn f12_ten_thousand_calls_given_up_at_random_leak_nothing() {
    paused(async {
        let rig = Setup::default()
            .with(|settings| {
                settings.permissions.trust = Trust::All;
                settings.admission.breaker = None;
                settings.admission.source_breaker = None;
                settings.admission.repeat.refuse_after = 0;
                let concurrency = &mut settings.admission.concurrency;
                (concurrency.source, concurrency.user, concurrency.queue) = (Some(6), Some(5), 1_000);
                concurrency.tools =
                    vec![ConcurrencyRule { pattern: vec!["mcp:s/write".parse().unwrap()], limit: Some(3) }];
                settings.admission.exclusive = vec!["mcp:s/again".parse().unwrap()];
            })
            .build()
            .await;
        let rig = Arc::new(rig);
        let ended = Arc::new(AtomicUsize::new(0));
        let mut dice = Dice(0x2545_f491_4f6c_dd1d);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let mut dice = Dice(dice.roll(u64::MAX) | 1);
            let (rig, ended) = (rig.clone(), ended.clone());
            tasks.spawn(async move {
                for _ in 0..200 {
                    let tool = ["write", "look", "again"][usize::try_from(dice.roll(3)).unwrap()];
                    let time = Duration::from_micros(dice.roll(3_000));
                    rig.tools.order(
                        tool,
                        [match dice.roll(100) {
                            0 => Act::Fail,
                            1 => Act::Lost,
                            2 => Act::Panics,
                            _ => Act::After(time, Box::new(Act::Say("done"))),
                        }],
                    );
                    let mut call = request(&format!("s__{tool}"), &json!({"n": dice.roll(1_000)}));
                    call.scope.user = Some(format!("user {}", dice.roll(2)));
                    let cancel = call.cancel.clone();
                    let patience = Duration::from_micros(dice.roll(20_000));
                    match dice.roll(3) {
                        0 => drop(tokio::time::timeout(patience, rig.run(call)).await),
                        1 => {
                            let giving_up = async {
                                tokio::time::sleep(patience).await;
                                cancel.cancel();
                            };
                            tokio::join!(rig.run(call), giving_up);
                        }
                        _ => drop(rig.run(call).await),
                    }
                    ended.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while let Some(task) = tasks.join_next().await {
            task.unwrap();
        }
        assert_eq!(ended.load(Ordering::SeqCst), 10_000);
        assert!(rig.tools.most.load(Ordering::SeqCst) <= 6);
        let records = rig.records().await;
        rig.check_settled(&records);
        for tool in ["s__write", "s__look", "s__again"] {
            rig.tools.order(tool.trim_start_matches("s__"), []);
            let calls = (0..10).map(|at| rig.call(tool, json!({"n": 2_000 + at})));
            futures_util::future::join_all(calls).await;
        }
        assert_eq!(rig.engine.admission().occupancy(), (0, 0));
    });
}
