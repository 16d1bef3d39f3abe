//! Every interleaving of the store's atomic steps that a scheduler comes up with: one approval, many calls.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use shuttle::future::{block_on, spawn, yield_now};
use toolcrib_engine::approval::{
    Answer, AnswerOutcome, ApprovalSettings, Approvals, Asked, Covered, Reach, RequestState, Responder,
};

use super::{Desk, ONCE, ledger::Ledger};
use crate::judged::{Judged, NOW};

/// A desk whose store lets others go first before each of its steps.
fn desk() -> Desk {
    let ledger = Arc::new(Ledger::pausing(|| Box::pin(yield_now())));
    Desk { approvals: Approvals::new(ledger.clone(), ApprovalSettings::default()), ledger }
}

fn call() -> Judged {
    Judged::new("mcp:s/pay", json!({"amount": 1}))
}

/// Runs the futures of `scenario` in `times` random orders of their steps.
fn explore<F: Future<Output = ()> + 'static>(times: usize, scenario: fn() -> F) {
    let mut config = shuttle::Config::new();
    // The default is too little for code that is not optimised.
    config.stack_size = 1 << 20;
    let scheduler = shuttle::scheduler::RandomScheduler::new(times);
    shuttle::Runner::new(scheduler, config).run(move || block_on(scenario()));
}

async fn parked(desk: &Desk) -> String {
    match desk.ask(&call(), None).await {
        Asked::Parked { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_approval_is_one_run_however_calls_race() {
    explore(200, || async {
        let desk = Arc::new(desk());
        let id = parked(&desk).await;
        desk.approvals.answer(&id, &ONCE, &Responder::owner("terminal"), NOW).await.unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let (desk, ran) = (desk.clone(), ran.clone());
                spawn(async move {
                    if desk.runs(&call()).await {
                        ran.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn one_answer_counts_however_answers_race() {
    explore(150, || async {
        let desk = Arc::new(desk());
        let id = parked(&desk).await;
        let answers = [ONCE, Answer::Deny { reach: Reach::Once }, ONCE].map(|answer| {
            let (desk, id) = (desk.clone(), id.clone());
            spawn(async move {
                let by = Responder::owner("somebody");
                let answered = desk.approvals.answer(&id, &answer, &by, NOW).await.unwrap();
                answered.outcome == AnswerOutcome::Recorded
            })
        });
        let mut recorded = 0;
        for answer in answers {
            recorded += usize::from(answer.await.unwrap());
        }
        assert_eq!(recorded, 1);
        let approved = desk.ledger.states() == [RequestState::Approved];
        assert_eq!(desk.runs(&call()).await, approved);
        assert!(!desk.runs(&call()).await);
    });
}

#[test]
fn a_revoked_approval_runs_before_or_not_at_all() {
    explore(150, || async {
        let desk = Arc::new(desk());
        let id = parked(&desk).await;
        let by = Responder::owner("terminal");
        let grant = desk.approvals.answer(&id, &ONCE, &by, NOW).await.unwrap().grant.unwrap();
        let running = {
            let desk = desk.clone();
            spawn(async move { desk.runs(&call()).await })
        };
        let revoked = desk.approvals.revoke(&grant.id, &by, NOW).await.unwrap();
        assert_ne!(running.await.unwrap(), revoked);
        assert_eq!(desk.covered(&call()).await, Covered::No);
    });
}
