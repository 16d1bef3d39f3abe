//! How long a tool has, and how often it is tried.

use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib_core::Source;
use toolcrib_engine::Outcome;

use super::rig::{Act, MS, ONCE, Person, SECOND, Setup, asking, paused, request, text};

/// The time the tool is told that it has, in milliseconds.
#[track_caller]
fn check(tool: Option<u64>, source: Option<u64>, caller: Option<u64>, most: u64, want: u64) {
    paused(async {
        let rig = Setup::trusting()
            .with(|settings| {
                let limits = &mut settings.limits;
                let of = Duration::from_millis;
                limits.tool_timeouts.extend(tool.map(|ms| ("mcp:s/write".parse().unwrap(), of(ms))));
                limits.source_timeouts.extend(source.map(|ms| (Source::Mcp("s".into()), of(ms))));
                limits.max_timeout = of(most);
            })
            .build()
            .await;
        rig.tools.order("write", [Act::Hangs]);
        let mut call = request("s__write", &json!({}));
        call.timeout = caller.map(Duration::from_millis);
        let report = rig.run(call).await;
        assert_eq!(report.outcome, Outcome::TimedOut);
        assert!(text(&report).contains(&format!("within {want} ms")), "{}", text(&report));
        assert_eq!(rig.tools.seen.lock()[0].left, Duration::from_millis(want));
        // It is really stopped, not only forgotten (O34).
        rig.check_settled(&rig.records().await);
    });
}

#[test]
fn o34_deadlines_are_the_tools_or_the_sources_and_less_where_the_caller_wants_less() {
    let most = 600_000;
    check(None, None, None, most, 60_000);
    check(None, Some(3_000), None, most, 3_000);
    check(Some(2_000), Some(3_000), None, most, 2_000);
    check(Some(2_000), Some(3_000), Some(100), most, 100);
    check(Some(2_000), None, Some(9_000), most, 2_000);
    check(None, Some(3_000), Some(9_000), most, 3_000);
    check(Some(9_000), None, None, 5_000, 5_000);
    check(None, None, None, 5_000, 5_000);
}

#[test]
fn o35_a_tool_within_its_time_is_not_touched() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("write", [Act::After(50 * MS, Box::new(Act::Say("done")))]);
        let mut call = request("s__write", &json!({}));
        call.timeout = Some(51 * MS);
        let report = rig.run(call).await;
        assert_eq!((report.outcome, text(&report).as_str()), (Outcome::Ok, "done"));
        assert!(report.timings.backend >= 50 * MS);
    });
}

/// The person takes 90 s; the tool has a second of its own, and uses nearly all of it.
#[test]
fn waiting_for_a_person_does_not_use_up_the_tools_time() {
    paused(async {
        let rig = Setup::default().build().await;
        rig.tools.order("delete", [Act::After(900 * MS, Box::new(Act::Say("done")))]);
        let mut call = asking("s__delete", &json!({}), &Person::saying(ONCE));
        call.timeout = Some(SECOND);
        let report = rig.run(call).await;
        assert_eq!(report.outcome, Outcome::Ok, "{}", text(&report));
        assert_eq!(rig.tools.seen.lock()[0].left, SECOND);
        assert!(report.timings.total >= 90 * SECOND && report.timings.backend < SECOND);
        assert!(report.timings.asking >= 90 * SECOND, "{:?}", report.timings);
    });
}

#[test]
fn a_retry_is_for_what_may_run_twice() {
    #[track_caller]
    fn check(tool: &str, acts: &[Act], want: Outcome, want_attempts: u32) {
        paused(async {
            let rig = Setup::trusting()
                .with(|settings| settings.limits.idempotent.push("builtin/write_file".parse().unwrap()))
                .build()
                .await;
            rig.tools.order(tool.trim_start_matches("s__"), acts.to_vec());
            let report = rig.call(tool, json!({})).await;
            assert_eq!((report.outcome, report.attempts), (want, want_attempts), "{tool} {acts:?}: {}", text(&report));
            assert_eq!(rig.tools.entered(), want_attempts as usize);
            assert_eq!(rig.outcomes().await, [want], "one call, one record");
        });
    }
    let fine = || Act::Say("fine");
    // Declared by a server whose hints are believed, and by local configuration.
    for tool in ["s__again", "write_file"] {
        check(tool, &[fine()], Outcome::Ok, 1);
        check(tool, &[Act::Lost, fine()], Outcome::Ok, 2);
        check(tool, &[Act::Down, fine()], Outcome::Ok, 2);
        check(tool, &[Act::Lost, Act::Lost, fine()], Outcome::Unknown, 2);
        check(tool, &[Act::Down, Act::Down, fine()], Outcome::Unavailable, 2);
        // That the second attempt never left says nothing about the first.
        check(tool, &[Act::Lost, Act::Down, fine()], Outcome::Unknown, 2);
        check(tool, &[Act::Down, Act::Lost, fine()], Outcome::Unknown, 2);
        check(tool, &[Act::Fail, fine()], Outcome::ToolError, 1);
        check(tool, &[Act::Refuse, fine()], Outcome::ToolError, 1);
        check(tool, &[Act::Panics, fine()], Outcome::Unknown, 1);
        check(tool, &[Act::Bad, fine()], Outcome::Unknown, 1);
        check(tool, &[Act::Hangs, fine()], Outcome::TimedOut, 1);
    }
    for tool in ["s__write", "s__look", "s__delete"] {
        check(tool, &[Act::Lost, fine()], Outcome::Unknown, 1);
        check(tool, &[Act::Down, fine()], Outcome::Unavailable, 1);
    }
}

#[test]
fn no_retry_after_the_time_is_up_or_nobody_waits() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("again", vec![Act::After(SECOND, Box::new(Act::Lost)); 2]);
        let mut call = request("s__again", &json!({}));
        call.timeout = Some(SECOND);
        assert_eq!(rig.run(call).await.attempts, 1);
        let cancel = CancellationToken::new();
        let mut call = request("s__again", &json!({"n": 1}));
        call.cancel = cancel.clone();
        let (report, ()) = tokio::join!(rig.run(call), async {
            tokio::time::sleep(900 * MS).await;
            cancel.cancel();
        });
        assert_eq!((report.attempts, report.outcome), (1, Outcome::Unknown));
    });
}

/// C123: cancelling is told as such, and the tool is stopped even if it does not listen.
#[test]
fn c123_a_cancelled_call_ends() {
    paused(async {
        let rig = Setup::trusting().build().await;
        rig.tools.order("write", [Act::Hangs]);
        let mut call = request("s__write", &json!({}));
        let cancel = call.cancel.clone();
        call.idempotency_key = Some("k".into());
        let (report, ()) = tokio::join!(rig.run(call.clone()), async {
            tokio::time::sleep(SECOND).await;
            cancel.cancel();
        });
        assert_eq!(report.outcome, Outcome::Cancelled);
        assert!(report.timings.total < 2 * SECOND);
        rig.check_settled(&rig.records().await);
        // It had begun, so the key does not let it run again.
        call.cancel = CancellationToken::new();
        let again = rig.run(call).await;
        assert_eq!((again.outcome, rig.tools.entered()), (Outcome::Unknown, 1), "{}", text(&again));
    });
}

/// Cancelled before it left, nothing runs, and the record says so.
#[test]
fn a_call_cancelled_before_it_leaves_runs_nothing() {
    paused(async {
        let rig = Setup::trusting().build().await;
        let call = request("s__write", &json!({}));
        call.cancel.cancel();
        let report = rig.run(call).await;
        assert_eq!((report.outcome, report.attempts, rig.tools.entered()), (Outcome::Cancelled, 0, 0));
        let look = request("s__look", &json!({}));
        look.cancel.cancel();
        assert_eq!((rig.run(look).await.outcome, rig.tools.entered()), (Outcome::Cancelled, 0));
        assert_eq!(rig.outcomes().await, [Outcome::Cancelled, Outcome::Cancelled]);
        rig.check_settled(&rig.records().await);
    });
}
