//! Tools that do not block, and tools that wait for something outside.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use toolcrib_core::{ToolResult, name::MergeRule};
use toolcrib_engine::{
    BoxFuture, CallReport, Cause, Door, EngineSettings, Outcome, Principal,
    approval::{Answer, ApprovalRequest, AskError, Asker, Reach},
    intercept::{Before, Stage},
    journal::Kind,
    pending::{Delivery, PendingKind, Suspender},
    permission::{Question, RateRule, Verdict},
};

use super::rig::{Act, MS, ONCE, Person, Rig, SECOND, Said, Setup, asking, paused, request, text};

fn ann() -> Principal {
    Principal { user: Some("ann".into()), session: Some("s1".into()), ..Principal::default() }
}

async fn delivered(rig: &Rig) -> Vec<Delivery> {
    rig.engine.pending().unwrap().deliveries(ann()).next().await.unwrap()
}

/// A background call that ends like this: what is delivered.
#[track_caller]
fn check(setup: Setup, act: Act, want: Outcome, want_text: &str, want_runs: usize) {
    let want_failed = want != Outcome::Ok;
    paused(async {
        let rig = setup.build().await;
        rig.tools.order("later", [act.clone()]);
        let report = rig.call("later", json!({"n": 1})).await;
        // O123: a placeholder with a handle at once, one piece pending, nothing run yet.
        assert_eq!((report.outcome, report.attempts, rig.tools.entered()), (Outcome::Ok, 0, 0));
        let handle = report.pending.clone().unwrap();
        assert!(text(&report).contains(&handle), "{}", text(&report));
        assert_eq!(rig.engine.pending().unwrap().list(&ann()).await.unwrap().len(), 1);
        let got = delivered(&rig).await;
        assert_eq!((got.len(), got[0].handle.as_str(), got[0].failed), (1, handle.as_str(), want_failed), "{act:?}");
        assert!(got[0].result.to_text().contains(want_text), "{act:?}: {}", got[0].result.to_text());
        assert_eq!(rig.tools.entered(), want_runs);
        // It is one call: one event, one outcome in the journal, under the number that was given.
        let records = rig.records().await;
        let ends: Vec<_> = records
            .iter()
            .filter(|record| record.kind == Kind::Outcome)
            .map(|record| (record.call, record.outcome))
            .collect();
        assert_eq!(ends, [(report.call_id, Some(want))], "{act:?}");
        let events: Vec<_> = rig.events.0.lock().iter().map(|event| (event.call_id, Some(event.outcome))).collect();
        assert_eq!((events, got[0].call), (ends, report.call_id), "{act:?}");
        assert_eq!(records.iter().filter(|record| record.kind == Kind::Intent).count(), want_runs);
        rig.check_settled(&records);
    });
}

#[test]
fn o123_o124_a_result_or_a_failure_comes_as_a_follow_up() {
    check(Setup::trusting(), Act::Say("done"), Outcome::Ok, "done", 1);
    check(Setup::trusting(), Act::After(5 * SECOND, Box::new(Act::Say("done"))), Outcome::Ok, "done", 1);
    check(Setup::trusting(), Act::Fail, Outcome::ToolError, "disk on fire", 1);
    check(Setup::trusting(), Act::Lost, Outcome::Unknown, "may or may not have taken effect", 1);
    check(Setup::trusting(), Act::Panics, Outcome::Unknown, "may or may not have taken effect", 1);
    check(Setup::trusting(), Act::Hangs, Outcome::TimedOut, "did not answer", 1);
}

/// What stands against a call is told in the caller's own call: nothing is kept, and it is one call with one record.
#[track_caller]
fn check_refused(setup: Setup, calls_before: usize, want: &str) {
    paused(async {
        let rig = setup.build().await;
        for n in 0..calls_before {
            assert_eq!(rig.call("later", json!({"n": n})).await.outcome, Outcome::Ok);
            delivered(&rig).await;
        }
        let report = rig.call("later", json!({"n": 100})).await;
        assert_eq!((report.outcome, &report.pending), (Outcome::Denied, &None), "{want}: {}", text(&report));
        assert!(text(&report).contains(want), "{want}: {}", text(&report));
        assert_eq!((rig.tools.entered(), rig.kept.pieces.lock().len()), (calls_before, calls_before), "{want}");
        let denied = |outcomes: Vec<Outcome>| outcomes.into_iter().filter(|one| *one == Outcome::Denied).count();
        assert_eq!(denied(rig.outcomes().await), 1, "{want}");
        assert_eq!(denied(rig.events.0.lock().iter().map(|event| event.outcome).collect()), 1, "{want}");
    });
}

#[test]
fn a_refusal_is_told_at_once() {
    let later = || "later".parse().unwrap();
    let refuse = |_: &Question<'_>| Verdict::Deny { rule: "x".into(), reason: "not on Mondays".into(), hard: false };
    let ask = |_: &Question<'_>| Verdict::Ask { rule: "x".into(), reason: "x".into() };
    check_refused(Setup::trusting().with(|settings| settings.permissions.deny.push(later())), 0, "was not run");
    check_refused(Setup::trusting().judge(60, refuse), 0, "not on Mondays");
    check_refused(
        Setup::trusting().hook("g", Stage::Guard, |hook| hook.before = |_| Said::Is(Before::Deny("not here".into()))),
        0,
        "not here",
    );
    let rate = RateRule { tools: "later".parse().unwrap(), calls: 2, per: 60 * SECOND };
    check_refused(Setup::trusting().with(|settings| settings.permissions.rates.push(rate)), 2, "was not run");
    // Parked, because nobody can be asked.
    check_refused(Setup::default().judge(60, ask), 0, "approv");
}

/// A call that was parked runs in the background once it is approved, and the approval is used once.
#[test]
fn an_approval_that_was_given_counts_in_the_background() {
    let ask = |_: &Question<'_>| Verdict::Ask { rule: "x".into(), reason: "x".into() };
    paused(async {
        let rig = Setup::default().judge(60, ask).build().await;
        rig.approve("later", json!({"n": 1})).await;
        assert!(rig.call("later", json!({"n": 1})).await.pending.is_some());
        assert!(!delivered(&rig).await[0].failed);
        assert_eq!(rig.call("later", json!({"n": 1})).await.outcome, Outcome::Denied);
        assert_eq!(rig.tools.entered(), 1);
    });
}

/// A way to a person that ends with the call.
struct Bound(Arc<Person>);

impl Asker for Bound {
    fn route(&self) -> &'static str {
        "client"
    }

    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, AskError>> {
        self.0.ask(request)
    }

    fn outlives_call(&self) -> bool {
        false
    }
}

#[test]
fn a_way_to_a_person_that_ends_with_the_call_is_used_before_that() {
    let ask = |_: &Question<'_>| Verdict::Ask { rule: "x".into(), reason: "x".into() };
    paused(async {
        for (answer, runs) in [(ONCE, 1), (Answer::Deny { reach: Reach::Once }, 0)] {
            let rig = Setup::default().judge(60, ask).build().await;
            let person = Person::saying(answer);
            let mut call = request("later", &json!({}));
            call.asker = Some(Arc::new(Bound(person.clone())));
            let report = rig.run(call).await;
            assert!(report.timings.asking > SECOND);
            assert_eq!((report.outcome == Outcome::Ok, report.pending.is_some()), (runs == 1, runs == 1));
            if runs == 1 {
                assert!(!delivered(&rig).await[0].failed);
            }
            assert_eq!((person.questions(), rig.tools.entered()), (1, runs));
            assert_eq!(rig.events.0.lock().len(), 1);
        }
    });
}

/// (time of the tool by configuration, how long it takes) → how it ends. The person takes 90 s to answer, which does not
/// count; the usual limit of a call, 60 s, does not hold.
#[test]
fn the_time_of_the_background_begins_when_the_tool_does() {
    #[track_caller]
    fn check(configured: Option<Duration>, takes: Duration, want: Outcome) {
        let ask = |_: &Question<'_>| Verdict::Ask { rule: "x".into(), reason: "x".into() };
        let set = |settings: &mut EngineSettings| {
            settings.limits.tool_timeouts.extend(configured.map(|time| ("later".parse().unwrap(), time)));
        };
        paused(async {
            let rig = Setup::default().judge(60, ask).with(set).build().await;
            rig.tools.order("later", [Act::After(takes, Box::new(Act::Say("done")))]);
            rig.run(asking("later", &json!({}), &Person::saying(ONCE))).await;
            let failed = delivered(&rig).await[0].failed;
            assert_eq!((rig.outcomes().await, failed), (vec![want], want != Outcome::Ok), "{configured:?} {takes:?}");
        });
    }
    check(None, 250 * SECOND, Outcome::Ok);
    check(None, 310 * SECOND, Outcome::TimedOut);
    check(Some(5 * SECOND), 4 * SECOND, Outcome::Ok);
    check(Some(5 * SECOND), 6 * SECOND, Outcome::TimedOut);
}

#[test]
fn a_person_is_asked_from_the_background() {
    paused(async {
        let ask = |_: &Question<'_>| Verdict::Ask { rule: "x".into(), reason: "x".into() };
        for (answer, runs) in [(ONCE, 1), (Answer::Deny { reach: Reach::Once }, 0)] {
            let rig = Setup::default().judge(60, ask).build().await;
            let person = Person::saying(answer);
            let report = rig.run(asking("later", &json!({}), &person)).await;
            assert_eq!(report.outcome, Outcome::Ok);
            assert!(report.timings.total < SECOND, "the caller does not wait for the person");
            assert_eq!(delivered(&rig).await[0].failed, runs == 0);
            assert_eq!((person.questions(), rig.tools.entered()), (1, runs));
        }
    });
}

#[test]
fn what_is_wrong_with_the_call_is_told_at_once() {
    paused(async {
        let rig = Setup::trusting().build().await;
        let report = rig.call("later", json!({"n": "x"})).await;
        assert_eq!((report.outcome, report.pending), (Outcome::Invalid, None));
        assert!(rig.kept.pieces.lock().is_empty());
    });
}

#[test]
fn settings_send_tools_to_the_background_and_commands_stay() {
    paused(async {
        let rig = Setup::trusting()
            .with(|settings| settings.limits.background.push("mcp:s/write".parse().unwrap()))
            .build()
            .await;
        assert!(rig.call("s__write", json!({})).await.pending.is_some());
        assert!(rig.call("tool_call", json!({"name": "s__write", "arguments": {"n": 1}})).await.pending.is_some());
        assert!(rig.call("s__look", json!({})).await.pending.is_none());
        let mut command = request("s__write", &json!({"n": 2}));
        command.door = Door::Cli;
        let report = rig.run(command).await;
        assert_eq!((&report.pending, text(&report).as_str()), (&None, r#"{"n":2}"#));
    });
}

/// What is known under a key is told to whoever asks, not found out behind a handle.
#[test]
fn a_key_that_is_known_starts_no_work() {
    paused(async {
        let rig = Setup::trusting()
            .with(|settings| settings.limits.background.push("mcp:s/write".parse().unwrap()))
            .build()
            .await;
        let keyed = |n: u64| {
            let mut call = request("s__write", &json!({"n": n}));
            call.idempotency_key = Some("k".into());
            call
        };
        assert!(rig.run(keyed(1)).await.pending.is_some());
        tokio::time::sleep(SECOND).await;
        let again = rig.run(keyed(1)).await;
        assert_eq!((&again.pending, text(&again).as_str()), (&None, r#"{"n":1}"#));
        let other = rig.run(keyed(2)).await;
        assert_eq!((&other.pending, other.cause), (&None, Some(Cause::KeyTaken)));
        assert_eq!(rig.tools.entered(), 1);
    });
}

/// The caller's own cancellation ends the call, which is over; the work goes on until it is cancelled by its handle.
#[test]
fn work_outlives_its_call_and_is_cancelled_by_its_handle() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("later", [Act::Hangs]);
        let call = request("later", &json!({}));
        let cancel = call.cancel.clone();
        let handle = rig.run(call).await.pending.unwrap();
        cancel.cancel();
        tokio::time::sleep(SECOND).await;
        assert_eq!((rig.tools.entered(), rig.engine.pending().unwrap().running()), (1, 1));
        assert!(rig.engine.pending().unwrap().cancel(&handle, &ann()).await.unwrap());
        assert!(delivered(&rig).await[0].failed);
        assert_eq!(rig.outcomes().await, [Outcome::Cancelled]);
        rig.check_settled(&rig.records().await);
    });
}

#[test]
fn a_background_result_is_read_by_its_handle() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("later", [Act::After(SECOND, Box::new(Act::Say("done")))]);
        let handle = rig.call("later", json!({})).await.pending.unwrap();
        let read = || rig.call("tool_result_read", json!({"handle": handle}));
        assert!(!text(&read().await).contains("done"));
        rig.engine.pending().unwrap().wait(5 * SECOND).await;
        assert_eq!(text(&read().await), "done");
        let mut other = request("tool_result_read", &json!({"handle": handle}));
        other.scope.user = Some("bob".into());
        assert!(!text(&rig.run(other).await).contains("done"));
    });
}

async fn suspended(rig: &Rig, turn: &Suspender, n: u32) -> CallReport {
    let mut call = request("s__write", &json!({"n": n}));
    call.suspender = turn.clone();
    rig.run(call).await
}

/// O127: the call is kept for seven days and resumed exactly once.
#[test]
fn o127_a_suspended_call_is_resumed_once() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("write", [Act::Suspends("mail-1")]);
        let report = suspended(&rig, &Suspender::accepting(), 1).await;
        let told = text(&report);
        assert!(report.outcome == Outcome::Ok && told.contains("waits: Ok(true)"), "{told}");
        let piece = rig.kept.pieces.lock()[0].clone();
        assert_eq!(
            (piece.kind, piece.call, Some(&piece.handle)),
            (PendingKind::Suspended, report.call_id, report.pending.as_ref())
        );
        assert_eq!(piece.expires_at_ms - piece.created_at_ms, 7 * 86_400_000);
        // The model is told how it gets the rest.
        assert!(told.contains("tool_result_read") && told.contains(&piece.handle), "{told}");
        let pending = rig.engine.pending().unwrap();
        let delivery = pending.resume("", "mail-1", ToolResult::text("yes")).await.unwrap();
        assert_eq!((delivery.call, delivery.result.to_text().as_str()), (report.call_id, "yes"));
        assert!(pending.resume("", "mail-1", ToolResult::text("no")).await.is_err());
        rig.check_settled(&rig.records().await);
    });
}

/// O125: of two tools of one turn the first that signals is kept, under its own call, whichever ends first.
#[test]
fn o125_the_first_signal_of_a_turn_belongs_to_its_call() {
    for (first_ends, second_ends) in [(10, 20), (20, 10)] {
        paused(async {
            let rig = Setup::trusting().build().await;
            let turn = Suspender::accepting();
            let wait = |ms, act| Act::After(Duration::from_millis(ms), Box::new(act));
            // The second one signals too late, or does not signal at all and ends while the first still has the cell.
            rig.tools.order(
                "write",
                [Act::SuspendsFor("one", Duration::from_millis(first_ends)), wait(second_ends, Act::Suspends("two"))],
            );
            let (first, second) = tokio::join!(suspended(&rig, &turn, 1), async {
                tokio::time::sleep(MS).await;
                suspended(&rig, &turn, 2).await
            });
            assert!(first.pending.is_some(), "{first_ends} {second_ends}");
            assert_eq!(second.pending, None, "{first_ends} {second_ends}");
            let pieces = rig.kept.pieces.lock();
            assert_eq!(pieces.len(), 1);
            assert_eq!((pieces[0].correlation.as_deref(), pieces[0].call), (Some("one"), first.call_id));
        });
    }
}

#[test]
fn where_nobody_can_resume_a_tool_is_told() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("write", [Act::Suspends("x")]);
        let report = rig.call("s__write", json!({})).await;
        assert!(text(&report).contains("Refused") && report.pending.is_none(), "{}", text(&report));
    });
}

#[test]
fn a_tool_that_stands_for_several_runs_in_the_background_as_the_one_that_is_named() {
    let merge = MergeRule { label: "m".into(), servers: vec!["s".into()], argument: "which".into() };
    let setup = Setup::trusting().with(|settings| {
        settings.assemble.merge.push(merge);
        settings.limits.background.push("mcp:s/write".parse().unwrap());
    });
    paused(async {
        let rig = setup.build().await;
        let report = rig.call("m__write", json!({"which": "s", "n": 1})).await;
        assert!(report.pending.is_some(), "{}", text(&report));
        let got = delivered(&rig).await;
        assert_eq!((got[0].failed, got[0].result.to_text().as_str()), (false, r#"{"n":1}"#));
    });
}
