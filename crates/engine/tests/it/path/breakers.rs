//! Circuits as callers meet them.

use serde_json::json;
use toolcrib_core::{
    ToolResult,
    breaker::{BreakerPolicy, BreakerState},
};
use toolcrib_engine::{
    Outcome,
    intercept::{OnError, Stage},
    journal::Kind,
};

use super::rig::{Act, MS, Rig, Said, Setup, keyed, paused, really, request, text};

fn policy(open_ms: u64) -> BreakerPolicy {
    BreakerPolicy { open_ms, ..BreakerPolicy::default() }
}

fn state(rig: &Rig) -> BreakerState {
    let reports = rig.engine.admission().breakers();
    reports.iter().find(|report| report.key.to_string().contains("write")).unwrap().snapshot.state
}

/// Six calls in a row of a tool that always ends like this: what each is told, and how many reach the tool.
#[track_caller]
fn check_six(act: &Act, want: Outcome, want_entered: usize, recover: bool) {
    paused(async {
        let mut setup = Setup::default().with(|settings| settings.limits.default_timeout = 100 * MS);
        if recover {
            setup = setup.hook("saves", Stage::Transform, |hook| {
                hook.on_error = |_| Said::Is(OnError::Recover(ToolResult::text("saved")));
            });
        }
        let rig = setup.build().await;
        rig.tools.order("write", vec![act.clone(); 6]);
        for at in 0..6 {
            let report = rig.run(request("s__write", &json!({"n": at}))).await;
            let want = if at < want_entered { want } else { Outcome::Unavailable };
            assert_eq!(report.outcome, want, "{act:?}, call {at}: {}", text(&report));
            assert_eq!(report.attempts, u32::from(at < want_entered), "{act:?}, call {at}");
            if recover && at < want_entered {
                assert_eq!(text(&report), "saved");
            }
            if at >= want_entered {
                assert!(text(&report).contains("keeps failing"), "{}", text(&report));
            }
        }
        assert_eq!(rig.tools.entered(), want_entered, "{act:?}");
        let open = want_entered < 6;
        assert_eq!(state(&rig), if open { BreakerState::Open } else { BreakerState::Closed }, "{act:?}");
        // The breaker, the events and the journal tell the same.
        let told: Vec<_> = rig.events.0.lock().iter().map(|event| event.outcome).collect();
        let outcomes = rig.outcomes().await;
        let wanted: Vec<_> = (0..6).map(|at| if at < want_entered { want } else { Outcome::Unavailable }).collect();
        assert_eq!((told, outcomes), (wanted.clone(), wanted), "{act:?}");
        let reports = rig.engine.admission().breakers();
        let rejected: u64 = reports.iter().map(|report| report.snapshot.totals.rejected).sum();
        assert_eq!(rejected, 6 - want_entered as u64);
        let records = rig.records().await;
        let opened =
            records.iter().any(|record| record.kind == Kind::Breaker && record.detail.as_deref() == Some("opened"));
        assert_eq!(opened, open, "{act:?}");
        rig.check_settled(&records);
    });
}

#[test]
fn o36_o38_o40_o44_faults_open_a_circuit_at_the_fourth_call_and_answers_do_not() {
    check_six(&Act::Panics, Outcome::Unknown, 3, false);
    check_six(&Act::Hangs, Outcome::TimedOut, 3, false);
    check_six(&Act::Down, Outcome::Unavailable, 3, false);
    check_six(&Act::Lost, Outcome::Unknown, 3, false);
    check_six(&Act::Bad, Outcome::Unknown, 3, false);
    check_six(&Act::Fail, Outcome::ToolError, 6, false);
    check_six(&Act::Refuse, Outcome::ToolError, 6, false);
    check_six(&Act::Say("fine"), Outcome::Ok, 6, false);
}

/// Otherwise any caller could switch a tool off for everybody by giving it no time.
#[test]
fn running_out_of_the_callers_own_time_says_nothing_about_the_tool() {
    #[track_caller]
    fn check(callers: u32, operators: u32, want: BreakerState) {
        paused(async {
            let rig = Setup::default().with(|settings| settings.limits.default_timeout = operators * MS).build().await;
            rig.tools.order("write", vec![Act::Hangs; 4]);
            for at in 0..4 {
                let mut request = request("s__write", &json!({"n": at}));
                request.timeout = Some(callers * MS);
                rig.run(request).await;
            }
            assert_eq!(state(&rig), want, "{callers} ms of {operators} ms");
        });
    }
    check(100, 200, BreakerState::Closed);
    check(200, 200, BreakerState::Open);
    check(300, 200, BreakerState::Open);
}

#[test]
fn a_hook_that_recovers_leaves_the_call_a_failure_for_breaker_event_and_journal() {
    check_six(&Act::Panics, Outcome::Unknown, 3, true);
    check_six(&Act::Lost, Outcome::Unknown, 3, true);
    check_six(&Act::Hangs, Outcome::TimedOut, 3, true);
}

/// What the circuit of a tool did, in order, after three faults and these further ends of calls.
#[track_caller]
fn check_half_open(acts: &[Act], want: &[&str]) {
    paused(async {
        let rig = Setup::default().with(|settings| settings.admission.breaker = Some(policy(20))).build().await;
        rig.tools.order("write", vec![Act::Lost; 3]);
        rig.tools.order("write", acts.to_vec());
        for at in 0..3 {
            rig.call("s__write", json!({"n": at})).await;
        }
        for at in 0..acts.len() {
            really(25);
            rig.call("s__write", json!({"n": 10 + at})).await;
        }
        assert_eq!(rig.tools.entered(), 3 + acts.len());
        let records = rig.records().await;
        let told: Vec<_> = records
            .iter()
            .filter(|record| record.kind == Kind::Breaker)
            .filter_map(|record| record.detail.clone())
            .collect();
        assert_eq!(told, want, "{acts:?}");
    });
}

#[test]
fn o41_o42_a_half_open_circuit_closes_after_two_good_probes_and_opens_at_one_fault() {
    let fine = || Act::Say("fine");
    check_half_open(&[], &["opened"]);
    check_half_open(&[fine()], &["opened", "half-open"]);
    check_half_open(&[fine(), fine()], &["opened", "half-open", "closed"]);
    check_half_open(&[Act::Fail, Act::Fail], &["opened", "half-open", "closed"]);
    check_half_open(&[Act::Lost], &["opened", "half-open", "opened"]);
    check_half_open(&[fine(), Act::Panics], &["opened", "half-open", "opened"]);
}

#[test]
fn o45_five_calls_at_once_on_a_half_open_circuit_are_one_probe() {
    paused(async {
        let rig = Setup::default().with(|settings| settings.admission.breaker = Some(policy(20))).build().await;
        rig.tools.order("write", vec![Act::Lost; 3]);
        rig.tools.order("write", [Act::After(50 * MS, Box::new(Act::Say("back")))]);
        for at in 0..3 {
            rig.call("s__write", json!({"n": at})).await;
        }
        really(25);
        let calls = (10..15).map(|at| rig.call("s__write", json!({"n": at})));
        let ends: Vec<_> = futures_util::future::join_all(calls).await.iter().map(|report| report.outcome).collect();
        assert_eq!(rig.tools.entered(), 4);
        assert_eq!(ends.iter().filter(|end| **end == Outcome::Ok).count(), 1);
        assert_eq!(ends.iter().filter(|end| **end == Outcome::Unavailable).count(), 4);
        rig.check_settled(&rig.records().await);
    });
}

#[test]
fn a_circuit_is_of_its_tool_and_frees_the_key_of_what_it_refuses() {
    paused(async {
        let rig = Setup::default().build().await;
        rig.tools.order("write", vec![Act::Lost; 3]);
        for at in 0..3 {
            rig.call("s__write", json!({"n": at})).await;
        }
        assert_eq!(rig.run(keyed("s__write", &json!({}), "k")).await.outcome, Outcome::Unavailable);
        assert_eq!(rig.call("s__look", json!({})).await.outcome, Outcome::Ok);
        for report in rig.engine.admission().breakers() {
            rig.engine.admission().reset(&report.key.guarded);
        }
        assert_eq!(rig.run(keyed("s__write", &json!({}), "k")).await.outcome, Outcome::Ok);
    });
}

/// What a circuit remembers of its last fault is told to models and written down, so it holds no secret.
#[test]
fn the_last_fault_is_told_without_secrets() {
    paused(async {
        let rig = Setup::default().build().await;
        rig.tools.order("write", vec![Act::LeaksAndFails; 3]);
        for at in 0..3 {
            rig.call("s__write", json!({"n": at})).await;
        }
        let told = text(&rig.call("s__write", json!({})).await);
        assert!(told.contains("The last failure was"), "{told}");
        assert!(!told.contains(super::rig::SECRET), "{told}");
        assert!(!format!("{:?}", rig.records().await).contains(super::rig::SECRET));
    });
}
