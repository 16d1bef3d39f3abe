//! Whatever code panics, it costs its own call and nothing else.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::breaker::BreakerState;
use toolcrib_engine::{
    BoxFuture, CallEvent, EventSink, Outcome,
    approval::{Answer, ApprovalRequest, AskError, Asker},
    intercept::Stage,
    journal::{Delivery, EvidenceSink, JournalRecord},
    permission::Verdict,
};

use super::rig::{Act, Cellar, Rig, Said, Setup, paused, request, text};

struct Sink;

impl EventSink for Sink {
    fn record(&self, event: &CallEvent) {
        assert!(event.name == "s__look", "scripted");
    }
}

struct Evidence;

impl EvidenceSink for Evidence {
    fn name(&self) -> &'static str {
        "evidence"
    }
    fn record<'a>(&'a self, _: &'a JournalRecord) -> BoxFuture<'a, Delivery> {
        panic!("scripted")
    }
}

struct Asks;

impl Asker for Asks {
    fn route(&self) -> &'static str {
        "client"
    }
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, AskError>> {
        panic!("scripted")
    }
}

/// A call of `write` with one thing around it that panics, and then one of `look`, which nothing panics at.
#[track_caller]
fn check(what: &str, setup: Setup, prepare: impl FnOnce(&Rig), want: Outcome, want_runs: usize) {
    paused(async {
        let rig = setup.build().await;
        prepare(&rig);
        let mut call = request("s__write", &json!({"n": 1}));
        call.asker = Some(Arc::new(Asks));
        let report = rig.run(call).await;
        assert_eq!(report.outcome, want, "{what}: {}", text(&report));
        assert_eq!(rig.tools.entered(), want_runs, "{what}");
        let other = rig.call("s__look", json!({})).await;
        assert_eq!(other.outcome, Outcome::Ok, "{what}: {}", text(&other));
        assert_eq!(rig.events.0.lock().len(), 2, "{what}: one event each");
        let outcomes = rig.outcomes().await;
        assert_eq!(outcomes, [want, Outcome::Ok], "{what}: one outcome each");
        rig.check_settled(&rig.records().await);
        assert!(rig.engine.admission().breakers().iter().all(|one| one.snapshot.state == BreakerState::Closed));
    });
}

#[test]
fn a_panic_costs_only_its_call() {
    let quiet = |_: &Rig| {};
    let of_write = |question: &toolcrib_engine::permission::Question<'_>| {
        assert!(question.exposed != "s__write", "scripted");
        Verdict::Abstain
    };
    check("nothing", Setup::trusting(), quiet, Outcome::Ok, 1);
    check("a policy", Setup::trusting().judge(60, of_write), quiet, Outcome::Denied, 0);
    for stage in [Stage::Guard, Stage::Transform, Stage::Observe] {
        let setup = Setup::trusting().hook("hook", stage, |hook| {
            hook.before = |call| {
                if call.exposed == "s__write" {
                    Said::Panics
                } else {
                    Said::Is(toolcrib_engine::intercept::Before::Continue)
                }
            };
        });
        let (want, runs) = match stage {
            Stage::Guard => (Outcome::Denied, 0),
            Stage::Transform => (Outcome::Unavailable, 0),
            _ => (Outcome::Ok, 1),
        };
        check(&format!("{stage:?} before"), setup, quiet, want, runs);
    }
    for stage in [Stage::Transform, Stage::Observe, Stage::Normalise] {
        let setup = Setup::trusting().hook("hook", stage, |hook| {
            hook.after = |call, _| {
                if call.exposed == "s__write" {
                    Said::Panics
                } else {
                    Said::Is(toolcrib_engine::intercept::After::Keep)
                }
            };
        });
        // It ran; a result that a transform or normaliser may have had to clean is withheld.
        let want = if stage == Stage::Observe { Outcome::Ok } else { Outcome::ToolError };
        check(&format!("{stage:?} after"), setup, quiet, want, 1);
    }
    check(
        "the way to a person",
        Setup::default().with(|settings| settings.permissions.ask.push("s__write".parse().unwrap())),
        quiet,
        Outcome::Denied,
        0,
    );
    check("the backend", Setup::trusting(), |rig| rig.tools.order("write", [Act::Panics]), Outcome::Unknown, 1);
    check("an observer of events", Setup { sinks: vec![Arc::new(Sink)], ..Setup::trusting() }, quiet, Outcome::Ok, 1);
    check(
        "an observer of the journal",
        Setup::trusting(),
        |rig| assert!(rig.engine.journal().unwrap().attach(Arc::new(Evidence))),
        Outcome::Ok,
        1,
    );
    // The tool ran, and what came of it is gone: nobody knows, and there is one record that says so.
    check(
        "the store of results",
        Setup { cellar: Cellar { panics: true, ..Cellar::default() }, ..Setup::trusting() },
        |rig| {
            let long = "line\n".repeat(100_000);
            rig.tools.order("write", [Act::Give(json!({"content": [{"type": "text", "text": long}]}))]);
        },
        Outcome::Unknown,
        1,
    );
}
