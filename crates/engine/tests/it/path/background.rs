//! Tools that do not block, and tools that wait for something outside.

use std::time::Duration;

use serde_json::json;
use toolcrib_core::ToolResult;
use toolcrib_engine::{
    CallReport, Door, Outcome, Principal,
    approval::{Answer, Reach},
    journal::Kind,
    pending::{Delivery, PendingKind, Suspender},
};

use super::rig::{Act, MS, ONCE, Person, Rig, SECOND, Setup, asking, paused, request, text};

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

#[test]
fn a_denial_in_the_background_is_delivered() {
    let denied = || Setup::trusting().with(|settings| settings.permissions.deny.push("later".parse().unwrap()));
    paused(async {
        let rig = denied().build().await;
        let report = rig.call("later", json!({"n": 1})).await;
        assert_eq!(report.outcome, Outcome::Ok);
        let got = delivered(&rig).await;
        assert!(got[0].failed && got[0].result.to_text().contains("was not run"), "{got:?}");
        assert_eq!(rig.tools.entered(), 0);
        assert_eq!(rig.outcomes().await, [Outcome::Denied]);
        assert_eq!(rig.events.0.lock().len(), 1);
    });
}

#[test]
fn a_person_is_asked_from_the_background() {
    paused(async {
        let ask = |_: &toolcrib_engine::permission::Question<'_>| toolcrib_engine::permission::Verdict::Ask {
            rule: "x".into(),
            reason: "x".into(),
        };
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
        assert_eq!((report.outcome, text(&report).as_str()), (Outcome::Ok, "waits: Ok(true)"));
        let piece = rig.kept.pieces.lock()[0].clone();
        assert_eq!(
            (piece.kind, piece.call, Some(&piece.handle)),
            (PendingKind::Suspended, report.call_id, report.pending.as_ref())
        );
        assert_eq!(piece.expires_at_ms - piece.created_at_ms, 7 * 86_400_000);
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
