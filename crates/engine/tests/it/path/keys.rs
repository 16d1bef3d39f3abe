//! One call however often it is sent: keys of callers, and what may destroy something sent twice in a row.

use std::sync::atomic::Ordering;

use serde_json::json;
use toolcrib_engine::{CallReport, CallRequest, Outcome, journal::Kind};

use super::rig::{Act, MS, ONCE, Person, Rig, SECOND, Setup, asking, keyed, paused, really, request, text};

/// The same key twice, the first call ending as `first`: what the second is told, and how many ran.
#[track_caller]
fn check(tool: &str, first: Option<Act>, want: Outcome, want_text: &str, want_runs: usize) -> CallReport {
    paused(async {
        let rig = Setup::trusting().build().await;
        let own = tool.trim_start_matches("s__");
        rig.tools.order(own, first.clone());
        rig.tools.order(own, [Act::Say("second run")]);
        let mut call = keyed(tool, &json!({"n": 1}), "k");
        call.timeout = Some(SECOND);
        rig.run(call.clone()).await;
        let report = rig.run(call).await;
        assert_eq!(report.outcome, want, "{tool} {first:?}: {}", text(&report));
        assert!(text(&report).contains(want_text), "{first:?}: {}", text(&report));
        assert_eq!(rig.tools.entered(), want_runs, "{tool} {first:?}");
        assert_eq!(report.attempts, u32::from(want_runs == 2), "{tool} {first:?}");
        let records = rig.records().await;
        assert_eq!(records.iter().filter(|record| record.kind == Kind::Intent).count(), want_runs);
        rig.check_settled(&records);
        report
    })
}

#[test]
fn the_same_key_is_one_call_with_one_result() {
    for tool in ["s__write", "s__look", "s__delete"] {
        let report = check(
            tool,
            Some(Act::Give(json!({"content": [{"type": "text", "text": "one"}], "structuredContent": {"x": 1}}))),
            Outcome::Ok,
            "one",
            1,
        );
        assert_eq!(super::rig::value(&report)["structuredContent"], json!({"x": 1}));
        check(tool, Some(Act::Fail), Outcome::ToolError, "disk on fire", 1);
        // How it ended is not known: that is said, and it does not run again.
        check(tool, Some(Act::Lost), Outcome::Unknown, "may or may not have taken effect", 1);
        check(tool, Some(Act::Panics), Outcome::Unknown, "may or may not have taken effect", 1);
        check(tool, Some(Act::Hangs), Outcome::Unknown, "timed_out", 1);
        // It certainly did not run: the key is free.
        check(tool, Some(Act::Down), Outcome::Ok, "second run", 2);
    }
}

#[test]
fn too_many_keys_are_told_as_what_they_are() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.shelf.most_keys.store(1, Ordering::SeqCst);
        assert_eq!(rig.run(keyed("s__write", &json!({"n": 1}), "k1")).await.outcome, Outcome::Ok);
        let report = rig.run(keyed("s__write", &json!({"n": 2}), "k2")).await;
        assert_eq!(report.outcome, Outcome::Unavailable);
        let said = text(&report);
        assert!(said.contains("was not run: this caller has 1 idempotency keys already."), "{said}");
        assert!(!said.contains("record of calls"), "the record is well: {said}");
        assert_eq!(rig.run(request("s__write", &json!({"n": 2}))).await.outcome, Outcome::Ok, "without a key it runs");
        assert_eq!(rig.tools.entered(), 2);
        rig.check_settled(&rig.records().await);
    });
}

#[test]
fn a_key_belongs_to_its_user_and_its_call() {
    paused(async {
        let rig = Setup::trusting().build().await;
        assert_eq!(rig.run(keyed("s__write", &json!({"n": 1}), "k")).await.outcome, Outcome::Ok);
        for (tool, arguments) in
            [("s__write", json!({"n": 2})), ("s__look", json!({"n": 1})), ("write_file", json!({"n": 1}))]
        {
            let report = rig.run(keyed(tool, &arguments, "k")).await;
            assert_eq!(report.outcome, Outcome::Invalid, "{tool}");
            assert!(text(&report).contains("idempotency key was used for another call"));
        }
        assert_eq!(rig.tools.entered(), 1);
        // The order of keys in the arguments is no difference, and neither is the session.
        let mut again = keyed("s__write", &json!({"n": 1}), "k");
        again.identity = std::sync::Arc::default();
        assert_eq!((rig.run(again).await.outcome, rig.tools.entered()), (Outcome::Ok, 1));
        let changes: [fn(&mut CallRequest); 2] =
            [|call| call.scope.user = Some("bob".into()), |call| call.scope.tenant = "b".into()];
        for change in changes {
            let mut other = keyed("s__write", &json!({"n": 1}), "k");
            change(&mut other);
            assert_eq!(rig.run(other).await.outcome, Outcome::Ok);
        }
        assert_eq!(rig.tools.entered(), 3);
    });
}

#[test]
fn a_key_in_flight_is_told_so() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("write", [Act::After(SECOND, Box::new(Act::Say("one")))]);
        let (one, two) = tokio::join!(rig.run(keyed("s__write", &json!({}), "k")), async {
            tokio::time::sleep(10 * MS).await;
            rig.run(keyed("s__write", &json!({}), "k")).await
        });
        assert_eq!((one.outcome, two.outcome), (Outcome::Ok, Outcome::Unknown));
        assert!(text(&two).contains("still running"), "{}", text(&two));
        assert_eq!(text(&rig.run(keyed("s__write", &json!({}), "k")).await), "one");
        assert_eq!(rig.tools.entered(), 1);
    });
}

#[test]
fn twenty_racing_calls_with_one_key_run_once() {
    paused(async {
        let rig = Setup::trusting().build().await;
        let calls = (0..20).map(|_| rig.run(keyed("s__write", &json!({}), "k")));
        let ends = futures_util::future::join_all(calls).await;
        assert_eq!(rig.tools.entered(), 1);
        assert!(ends.iter().all(|end| matches!(end.outcome, Outcome::Ok | Outcome::Unknown)));
        rig.check_settled(&rig.records().await);
    });
}

/// A result over the budget is kept under the key as it was shown, with the handle.
#[test]
fn a_large_result_is_the_same_the_second_time() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("write", [Act::Give(json!({"content": [{"type": "text", "text": "line\n".repeat(100_000)}]}))]);
        let one = text(&rig.run(keyed("s__write", &json!({}), "k")).await);
        let two = text(&rig.run(keyed("s__write", &json!({}), "k")).await);
        assert!(one.contains("whole-1"));
        assert_eq!((one, rig.tools.entered()), (two, 1));
    });
}

async fn twice(rig: &Rig, tool: &str, change: fn(&mut CallRequest)) -> CallReport {
    rig.call(tool, json!({"n": 1})).await;
    let mut again = request(tool, &json!({"n": 1}));
    change(&mut again);
    rig.run(again).await
}

/// What may destroy something is not run twice within the window, unless a person said so twice.
#[test]
fn what_may_destroy_something_is_not_run_twice_in_a_row() {
    #[track_caller]
    fn check(tool: &str, window_ms: u64, change: fn(&mut CallRequest), want_runs: usize) {
        paused(async {
            let rig = Setup::trusting()
                .with(|settings| settings.limits.duplicates = std::time::Duration::from_millis(window_ms))
                .build()
                .await;
            let report = twice(&rig, tool, change).await;
            assert_eq!((report.outcome, rig.tools.entered()), (Outcome::Ok, want_runs), "{tool}");
            assert_eq!(text(&report).contains("it was not run again"), want_runs == 1, "{}", text(&report));
            rig.check_settled(&rig.records().await);
        });
    }
    check("s__delete", 60_000, |_| {}, 1);
    check("s__delete", 0, |_| {}, 2);
    check("s__write", 60_000, |_| {}, 2);
    check("s__delete", 60_000, |call| call.arguments = Some(super::rig::raw(r#"{"n":2}"#)), 2);
    check("s__delete", 60_000, |call| call.identity = std::sync::Arc::default(), 2);
    check("s__delete", 60_000, |call| call.scope.user = Some("bob".into()), 2);
    check("s__delete", 60_000, |call| call.idempotency_key = Some("k".into()), 2);
    check("s__delete", 30, |_| really(40), 2);
    // Whoever was asked twice and said yes twice means twice.
    paused(async {
        let rig = Setup::default().build().await;
        let person = Person::saying(ONCE);
        for _ in 0..2 {
            assert_eq!(rig.run(asking("s__delete", &json!({"n": 1}), &person)).await.outcome, Outcome::Ok);
        }
        assert_eq!(rig.tools.entered(), 2);
    });
}

/// A key whose call ran is answered without asking anybody, and an approval is not used up for it.
#[test]
fn nobody_is_asked_about_a_key_that_ran_already() {
    #[track_caller]
    fn check(first: Act, want: Outcome, want_text: &str, want_questions: usize) {
        paused(async {
            let rig = Setup::default().build().await;
            rig.tools.order("delete", [first.clone()]);
            let person = Person::saying(ONCE);
            let call = || {
                let mut call = keyed("s__delete", &json!({"n": 1}), "k");
                call.asker = Some(person.clone());
                call
            };
            rig.run(call()).await;
            rig.approve("s__delete", json!({"n": 1})).await;
            let report = rig.run(call()).await;
            assert_eq!(report.outcome, want, "{first:?}: {}", text(&report));
            assert!(text(&report).contains(want_text), "{}", text(&report));
            assert_eq!(person.questions(), want_questions, "{first:?}");
            let ran = matches!(first, Act::Down);
            assert_eq!((rig.tools.entered(), rig.grants().await.len()), (1 + usize::from(ran), usize::from(!ran)));
            rig.check_settled(&rig.records().await);
        });
    }
    check(Act::Say("one"), Outcome::Ok, "one", 1);
    check(Act::Fail, Outcome::ToolError, "disk on fire", 1);
    check(Act::Lost, Outcome::Unknown, "may or may not have taken effect", 1);
    check(Act::Down, Outcome::Ok, r#"{"n":1}"#, 1);
}

/// A caller that broke off and comes again: with what was destroyed unknown, it is told and nothing runs.
#[test]
fn a_duplicate_of_a_lost_call_is_told_that_nobody_knows() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("delete", [Act::Lost]);
        let report = twice(&rig, "s__delete", |_| {}).await;
        assert_eq!((report.outcome, rig.tools.entered()), (Outcome::Unknown, 1));
        assert!(text(&report).contains("Check what happened"), "{}", text(&report));
    });
}

/// The reply of a call with a key waits until its end is durable; a store that fails does not keep it back.
#[test]
fn a_keyed_reply_is_given_also_when_its_end_cannot_be_written() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("write", [Act::After(10 * MS, Box::new(Act::Say("one")))]);
        let (report, ()) = tokio::join!(rig.run(keyed("s__write", &json!({}), "k")), async {
            tokio::time::sleep(5 * MS).await;
            rig.shelf.full.store(true, Ordering::SeqCst);
        });
        assert_eq!(text(&report), "one");
        assert_eq!(rig.engine.journal().unwrap().status().owed, 1);
        rig.shelf.full.store(false, Ordering::SeqCst);
        tokio::time::sleep(SECOND).await;
        assert_eq!(text(&rig.run(keyed("s__write", &json!({}), "k")).await), "one");
        assert_eq!(rig.tools.entered(), 1);
        rig.check_settled(&rig.records().await);
    });
}
