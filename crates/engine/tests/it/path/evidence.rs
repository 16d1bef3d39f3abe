//! What is on record of calls, and what may run while nothing can be recorded.

use std::sync::atomic::Ordering;

use serde_json::json;
use toolcrib_engine::{
    Outcome,
    journal::{Kind, verify},
};

use super::rig::{Act, MS, ONCE, Person, SECOND, Setup, asking, keyed, paused, request, text};

/// The story of one call of a tool that ends like this. (The backend itself looks whether its intent is there.)
#[track_caller]
fn check(tool: &str, act: Act, want: &[(Kind, Option<Outcome>)]) {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order(tool.trim_start_matches("s__"), [act.clone()]);
        let report = rig.call(tool, json!({"n": 1})).await;
        let records = rig.records().await;
        let story: Vec<_> = records.iter().map(|record| (record.kind, record.outcome)).collect();
        assert_eq!(story, want, "{tool} {act:?}");
        for record in &records {
            assert_eq!((record.call, record.principal.user.as_deref()), (report.call_id, Some("ann")));
            assert_eq!(record.arguments, report.evidence.arguments.map(|digest| digest.to_string()));
            assert_eq!(record.definition, report.evidence.definition.map(|digest| digest.to_string()));
            assert_eq!(record.authority.as_deref(), Some("trust all"));
        }
        let last = records.last().unwrap();
        let answered = matches!(last.outcome, Some(Outcome::Ok)) || matches!(act, Act::Fail);
        assert_eq!(last.output.is_some(), answered, "no result is something else than an empty one");
        assert_eq!(rig.events.0.lock().len(), 1);
        rig.check_settled(&records);
        verify(rig.shelf.as_ref()).await.unwrap();
    });
}

#[test]
fn intent_before_outcome_after_and_one_record_of_what_only_looks() {
    let both = |outcome| [(Kind::Intent, None), (Kind::Outcome, Some(outcome))];
    for tool in ["s__write", "s__delete", "s__again"] {
        check(tool, Act::Say("fine"), &both(Outcome::Ok));
        check(tool, Act::Fail, &both(Outcome::ToolError));
        check(tool, Act::Refuse, &both(Outcome::ToolError));
        check(tool, Act::Panics, &both(Outcome::Unknown));
        check(tool, Act::Bad, &both(Outcome::Unknown));
        check(tool, Act::Hangs, &both(Outcome::TimedOut));
    }
    check("s__look", Act::Say("fine"), &[(Kind::Outcome, Some(Outcome::Ok))]);
    check("s__look", Act::Fail, &[(Kind::Outcome, Some(Outcome::ToolError))]);
    check("s__look", Act::Hangs, &[(Kind::Outcome, Some(Outcome::TimedOut))]);
}

/// The record holds no argument and no result, whatever way the call took.
#[test]
fn o107_the_record_holds_nothing_of_arguments_and_results() {
    paused(async {
        let rig = Setup::default().build().await;
        let canary = "canary-7f3a";
        let arguments = json!({"path": format!("/{canary}"), "password": canary});
        rig.tools.order("look", [Act::Say("canary-7f3a")]);
        let mut ends = vec![rig.call("s__look", arguments.clone()).await];
        ends.push(rig.call("s__write", arguments.clone()).await);
        ends.push(rig.call("s__delete", arguments.clone()).await);
        ends.push(rig.run(asking("s__delete", &arguments, &Person::saying(ONCE))).await);
        ends.push(rig.run(keyed("s__write", &arguments, "k")).await);
        ends.push(rig.call("s__write", json!({"path": canary, "n": canary})).await);
        ends.push(rig.call("later", arguments).await);
        rig.engine.pending().unwrap().wait(SECOND).await;
        let records = format!("{:?}", rig.records().await);
        let events = format!("{:?}", rig.events.0.lock());
        assert!(ends.iter().any(|end| text(end).contains(canary)), "the caller gets it");
        assert!(!records.contains(canary), "{records}");
        assert!(!events.contains(canary), "{events}");
    });
}

/// What an upstream says when it fails is on record only without secrets.
#[test]
fn reasons_are_masked() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("write", [Act::LeaksAndFails]);
        let report = rig.call("s__write", json!({})).await;
        assert!(!text(&report).contains(super::rig::SECRET), "{}", text(&report));
        assert!(!format!("{:?}", rig.records().await).contains(super::rig::SECRET));
        assert!(!format!("{:?}", rig.events.0.lock()).contains(super::rig::SECRET));
    });
}

/// F17: a store that fails stops what may change something and nothing else, and says so; it comes back by itself.
#[test]
fn f17_a_failing_store_stops_what_may_change_something() {
    paused(async {
        let rig = Setup::default().build().await;
        rig.shelf.full.store(true, Ordering::SeqCst);
        for tool in ["s__write", "s__again", "later"] {
            let report = rig.call(tool, json!({})).await;
            if tool == "later" {
                assert_eq!(report.outcome, Outcome::Ok, "it is told in the background");
                continue;
            }
            assert_eq!((report.outcome, report.attempts), (Outcome::Unavailable, 0), "{tool}");
            assert!(text(&report).contains("Tools that only read still work"), "{}", text(&report));
        }
        assert_eq!(rig.call("s__look", json!({})).await.outcome, Outcome::Ok);
        assert_eq!(
            rig.run(keyed("s__look", &json!({}), "k")).await.outcome,
            Outcome::Unavailable,
            "a key is a promise"
        );
        rig.engine.pending().unwrap().wait(SECOND).await;
        assert_eq!(rig.tools.entered(), 1);
        rig.shelf.full.store(false, Ordering::SeqCst);
        tokio::time::sleep(SECOND).await;
        assert_eq!(rig.call("s__write", json!({})).await.outcome, Outcome::Ok);
        // What was refused and what was read in between is on record now.
        assert_eq!(rig.outcomes().await.iter().filter(|outcome| **outcome == Outcome::Unavailable).count(), 4);
        rig.check_settled(&rig.records().await);
    });
}

/// The tool ran: its reply is given, and the record is owed until the store takes it.
#[test]
fn f17_a_store_that_fails_at_the_end_keeps_back_no_reply() {
    paused(async {
        let rig = Setup::default().build().await;
        rig.tools.order("write", [Act::After(10 * MS, Box::new(Act::Say("done")))]);
        let (report, ()) = tokio::join!(rig.call("s__write", json!({})), async {
            tokio::time::sleep(5 * MS).await;
            rig.shelf.full.store(true, Ordering::SeqCst);
        });
        assert_eq!((report.outcome, text(&report).as_str()), (Outcome::Ok, "done"));
        tokio::time::sleep(100 * MS).await;
        let journal = rig.engine.journal().unwrap();
        assert_eq!((journal.status().queued, journal.health().is_err()), (1, true));
        rig.shelf.full.store(false, Ordering::SeqCst);
        tokio::time::sleep(SECOND).await;
        assert_eq!((journal.status().queued, journal.health().is_ok()), (0, true));
        assert_eq!(rig.outcomes().await, [Outcome::Ok]);
        rig.check_settled(&rig.records().await);
    });
}

/// A store that hangs holds no caller: neither past the deadline nor after it gave up.
#[test]
fn f16_a_store_that_hangs_holds_no_caller() {
    for cancels in [false, true] {
        paused(async {
            let rig = Setup::default().build().await;
            rig.shelf.stuck.store(true, Ordering::SeqCst);
            let mut call = request("s__write", &json!({}));
            call.timeout = Some(SECOND);
            let cancel = call.cancel.clone();
            let (report, ()) = tokio::join!(rig.run(call), async {
                tokio::time::sleep(100 * MS).await;
                if cancels {
                    cancel.cancel();
                }
            });
            let (want, at) = if cancels { (Outcome::Cancelled, 100 * MS) } else { (Outcome::Unavailable, SECOND) };
            assert_eq!((report.outcome, rig.tools.entered()), (want, 0));
            assert!(report.timings.total <= at + 2 * MS, "{:?}", report.timings);
            assert_eq!(rig.call("s__look", json!({})).await.outcome, Outcome::Ok);
            rig.shelf.stuck.store(false, Ordering::SeqCst);
            tokio::time::sleep(SECOND).await;
            // The intent was written after all, and closed as what never left.
            let records = rig.records().await;
            assert!(records.iter().any(|record| record.kind == Kind::Intent));
            rig.check_settled(&records);
            assert_eq!(rig.outcomes().await[0], Outcome::Cancelled);
        });
    }
}

/// Without a journal, calls run and nothing promises a record.
#[test]
fn without_a_journal_calls_run_unrecorded() {
    paused(async {
        let rig = Setup { journal: false, ..Setup::default() }.build().await;
        let report = rig.call("s__write", json!({})).await;
        assert_eq!((report.outcome, report.evidence.journaled), (Outcome::Ok, false));
        assert!(rig.shelf.all().is_empty());
        // A key is a promise that nobody could keep.
        let keyed = rig.run(keyed("s__write", &json!({}), "k")).await;
        assert_eq!((keyed.outcome, rig.tools.entered()), (Outcome::Unavailable, 1), "{}", text(&keyed));
    });
}
