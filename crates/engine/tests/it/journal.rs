//! The journal: what is durable when, what happens when the store fails, what a dead process leaves behind.

mod late;

use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{ContentHash, ToolResult};
use toolcrib_engine::{
    BoxFuture, InvokeError, Outcome,
    journal::{
        ChainFault, Claim, ClaimResult, Delivery, Earlier, EvidenceSink, Journal, JournalFilter, JournalRecord,
        JournalSettings, JournalStore, Kind, Opening, StoredRecord, Unsettled, VerifyError, export, follow, verify,
    },
};

use crate::faults::{LONGEST, Shelf};

fn settings() -> JournalSettings {
    JournalSettings { retry_every: Duration::from_millis(5), keep: None, ..JournalSettings::default() }
}

async fn open(shelf: &Arc<Shelf>, settings: JournalSettings) -> Journal {
    Journal::open(shelf.clone(), settings).await.unwrap()
}

fn record(journal: &Journal, kind: Kind, call: u64) -> JournalRecord {
    JournalRecord {
        call,
        mutating: kind == Kind::Intent,
        outcome: matches!(kind, Kind::Outcome | Kind::Late).then_some(Outcome::Ok),
        tool: Some("mcp:s/echo".into()),
        ..journal.record(kind)
    }
}

/// A call that may leave.
async fn started(journal: &Journal, intent: JournalRecord, claim: Option<Claim>) -> Unsettled {
    match journal.begin(intent, claim).await.unwrap() {
        Opening::Started(unsettled) => unsettled,
        Opening::Duplicate(earlier) => panic!("the key was taken: {earlier:?}"),
    }
}

/// The same by number. As a process that is killed leaves it behind unless something is done with it.
async fn begun(journal: &Journal, call: u64, claim: Option<Claim>) -> std::mem::ManuallyDrop<Unsettled> {
    std::mem::ManuallyDrop::new(started(journal, record(journal, Kind::Intent, call), claim).await)
}

/// What is known of the call that has the key.
async fn taken(journal: &Journal, call: u64, claim: Option<Claim>) -> Earlier {
    match journal.begin(record(journal, Kind::Intent, call), claim).await.unwrap() {
        Opening::Started(_) => panic!("the key was free"),
        Opening::Duplicate(earlier) => earlier,
    }
}

/// Time stands still but for timers, which fire as soon as nothing else can be done.
fn paused<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(test)
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("never: {what}");
}

#[test]
fn a_run_is_26_characters_and_never_the_same() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let (a, b) = (open(&shelf, settings()).await, open(&shelf, settings()).await);
        assert_eq!(a.run().len(), 26);
        assert!(a.run().bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'v').contains(&c)));
        assert_ne!(a.run(), b.run());
    });
}

#[test]
fn intent_and_outcome_are_durable_when_their_call_returns() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, settings()).await;
        let call = started(&journal, record(&journal, Kind::Intent, 1), None).await;
        assert_eq!(shelf.story(), [(Kind::Intent, 1)]);
        call.finish(record(&journal, Kind::Outcome, 1), None).await.unwrap();
        assert_eq!(shelf.story(), [(Kind::Intent, 1), (Kind::Outcome, 1)]);
        assert!(journal.health().is_ok());
    });
}

#[test]
fn a_claimed_key_lets_nothing_run_twice() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, settings()).await;
        let claim = || Some(journal.claim("ann", "k1", "digest"));
        let kept =
            |release| Some(ClaimResult { owner: "ann".into(), key: "k1".into(), result: Some("{}".into()), release });
        let call = started(&journal, record(&journal, Kind::Intent, 1), claim()).await;
        let earlier = taken(&journal, 2, claim()).await;
        assert_eq!((earlier.call, earlier.outcome, earlier.result), (1, None, None));
        call.finish(record(&journal, Kind::Outcome, 1), kept(false)).await.unwrap();
        let earlier = taken(&journal, 3, claim()).await;
        assert_eq!((earlier.outcome, earlier.result.as_deref()), (Some(Outcome::Ok), Some("{}")));
        assert_eq!(shelf.story(), [(Kind::Intent, 1), (Kind::Outcome, 1)], "duplicates write nothing");
        // Nothing ran after all: the key is free again.
        journal.finish(record(&journal, Kind::Outcome, 1), kept(true)).await.unwrap();
        begun(&journal, 4, claim()).await;
    });
}

#[test]
fn what_nobody_waits_for_is_written_in_batches_and_in_order() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, settings()).await;
        for call in 1..=1_000 {
            journal.note(record(&journal, Kind::Outcome, call)).await.unwrap();
        }
        journal.flush().await.unwrap();
        let want: Vec<_> = (1..=1_000).map(|call| (Kind::Outcome, call)).collect();
        assert_eq!(shelf.story(), want);
        assert_eq!(shelf.largest.load(Ordering::SeqCst), 256);
        assert!(shelf.writes.load(Ordering::SeqCst) <= 10, "one write for many records");
        assert_eq!(journal.status().queued, 0);
    });
}

#[test]
fn a_full_queue_makes_callers_wait_and_drops_nothing() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, JournalSettings { queue: 4, batch: 2, ..settings() }).await;
        shelf.stuck.store(true, Ordering::SeqCst);
        let writer = journal.clone();
        let noting = tokio::spawn(async move {
            for call in 1..=20 {
                writer.note(record(&writer, Kind::Outcome, call)).await.unwrap();
            }
        });
        until("the queue is full", || journal.status().queued >= 6).await;
        assert!(!noting.is_finished(), "callers wait");
        shelf.stuck.store(false, Ordering::SeqCst);
        noting.await.unwrap();
        journal.flush().await.unwrap();
        assert_eq!(shelf.story().len(), 20);
        assert_eq!(journal.status().lost, 0);
    });
}

#[test]
fn a_failing_store_stops_what_changes_something_and_nothing_else() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, JournalSettings { queue: 8, batch: 4, ..settings() }).await;
        shelf.full.store(true, Ordering::SeqCst);
        let refused = journal.begin(record(&journal, Kind::Intent, 1), None).await.err().unwrap();
        assert!(refused.to_string().contains("disk full"), "{refused}");
        assert!(journal.health().is_err());
        // Calls that only look go on, and are told that they are not on record.
        for call in 2..40 {
            assert!(journal.note(record(&journal, Kind::Outcome, call)).await.is_err());
        }
        let status = journal.status();
        assert!(status.lost > 0 && status.queued <= 12, "the backlog is bounded: {status:?}");
        shelf.full.store(false, Ordering::SeqCst);
        until("the store is back", || journal.health().is_ok()).await;
        journal.flush().await.unwrap();
        begun(&journal, 50, None).await;
        let story = shelf.all();
        let gap = story.iter().find(|record| record.kind == Kind::Gap).expect("the gap is on record");
        assert!(gap.detail.as_deref().unwrap().starts_with(&format!("{} records were lost", status.lost)));
        let written = story.iter().filter(|record| record.kind == Kind::Outcome).count() as u64;
        assert_eq!(written + status.lost, 38);
        verify(shelf.as_ref()).await.unwrap();
    });
}

#[test]
fn a_store_that_hangs_counts_as_failing() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, JournalSettings { queue: 2, batch: 1, ..settings() }).await;
        shelf.stuck.store(true, Ordering::SeqCst);
        let mut last = Ok(());
        for call in 1..=5 {
            last = journal.note(record(&journal, Kind::Outcome, call)).await;
        }
        assert!(last.unwrap_err().to_string().contains("no answer within 5000 ms"));
        shelf.stuck.store(false, Ordering::SeqCst);
        until("written after all", || journal.health().is_ok() && journal.status().queued == 0).await;
    });
}

#[test]
fn an_outcome_the_store_did_not_take_is_written_when_it_is_back() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, JournalSettings { owed: 2, ..settings() }).await;
        for call in 1..=3 {
            begun(&journal, call, None).await;
        }
        shelf.full.store(true, Ordering::SeqCst);
        for call in 1..=3 {
            assert!(journal.finish(record(&journal, Kind::Outcome, call), None).await.is_err());
        }
        let status = journal.status();
        assert_eq!((status.owed, status.lost), (2, 1), "bounded, and what does not fit is counted");
        shelf.full.store(false, Ordering::SeqCst);
        until("paid", || journal.status().owed == 0).await;
        journal.flush().await.unwrap();
        let outcomes: Vec<_> = shelf.story().into_iter().filter(|(kind, _)| *kind == Kind::Outcome).collect();
        assert_eq!(outcomes, [(Kind::Outcome, 1), (Kind::Outcome, 2)]);
        assert!(journal.health().is_ok());
    });
}

#[test]
fn a_record_that_is_too_long_is_shortened_and_holds_up_nothing() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, settings()).await;
        let long = |kind, call| JournalRecord { reason: Some("x".repeat(LONGEST + 1)), ..record(&journal, kind, call) };
        assert!(journal.begin(long(Kind::Intent, 1), None).await.is_err(), "what is not on record does not run");
        let call = started(&journal, record(&journal, Kind::Intent, 2), None).await;
        assert!(call.finish(long(Kind::Outcome, 2), None).await.is_err());
        journal.note(record(&journal, Kind::Outcome, 3)).await.unwrap();
        journal.note(long(Kind::Outcome, 4)).await.unwrap();
        journal.note(record(&journal, Kind::Outcome, 5)).await.unwrap();
        journal.flush().await.unwrap();
        assert!(journal.health().is_ok(), "the store is not to blame");
        assert_eq!((journal.status().lost, journal.status().owed), (0, 0));
        let mut calls: Vec<_> = shelf.all().iter().map(|record| (record.kind, record.call)).collect();
        calls.sort_by_key(|(_, call)| *call);
        let outcome = |call| (Kind::Outcome, call);
        assert_eq!(calls, [(Kind::Intent, 2), outcome(2), outcome(3), outcome(4), outcome(5)]);
        assert!(shelf.all().iter().all(|record| record.reason.as_ref().is_none_or(|reason| reason.len() == 200)));
    });
}

#[test]
fn a_call_whose_task_is_dropped_ends_as_unknown() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, settings()).await;
        let intent = record(&journal, Kind::Intent, 7);
        let claim = journal.claim("ann", "k", "d");
        drop(started(&journal, intent, Some(claim.clone())).await);
        journal.flush().await.unwrap();
        let last = shelf.all().pop().unwrap();
        assert_eq!((last.kind, last.call, last.outcome), (Kind::Outcome, 7, Some(Outcome::Unknown)));
        assert_eq!(taken(&journal, 8, Some(claim)).await.outcome, Some(Outcome::Unknown));
        // Finished in the ordinary way, nothing is added.
        let intent = record(&journal, Kind::Intent, 9);
        started(&journal, intent, None).await.finish(record(&journal, Kind::Outcome, 9), None).await.unwrap();
        journal.flush().await.unwrap();
        assert_eq!(shelf.story()[2..], [(Kind::Intent, 9), (Kind::Outcome, 9)]);
    });
}

#[test]
fn a_caller_gone_while_its_intent_is_written_has_a_cancelled_call_and_a_free_key() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, settings()).await;
        shelf.stuck.store(true, Ordering::SeqCst);
        let claim = journal.claim("ann", "k", "d");
        let begin = journal.begin(record(&journal, Kind::Intent, 1), Some(claim.clone()));
        assert!(tokio::time::timeout(Duration::from_millis(2), begin).await.is_err());
        shelf.stuck.store(false, Ordering::SeqCst);
        until("both are written", || shelf.story().len() == 2).await;
        assert_eq!(shelf.all()[1].outcome, Some(Outcome::Cancelled));
        begun(&journal, 2, Some(claim)).await;
    });
}

#[test]
fn a_call_given_up_at_any_point_of_beginning_is_closed_and_its_key_free() {
    use std::{future::Future, pin::pin, task::Poll};

    /// Drops the call's future after so many polls, `turns` turns of everybody else later; false when there was nothing
    /// left to poll. The answer may be under way then, and is dropped unread.
    #[track_caller]
    fn check(polls: usize, turns: usize) -> bool {
        paused(async {
            let shelf = Arc::new(Shelf::default());
            let journal = open(&shelf, settings()).await;
            let claim = journal.claim("ann", "k", "d");
            let left = {
                let mut begin = pin!(journal.begin(record(&journal, Kind::Intent, 1), Some(claim.clone())));
                let mut left = true;
                for poll in 0..polls {
                    if poll > 0 {
                        tokio::task::yield_now().await;
                    }
                    match std::future::poll_fn(|context| Poll::Ready(begin.as_mut().poll(context))).await {
                        Poll::Pending => {}
                        // Whoever got it and drops it may have sent the call.
                        Poll::Ready(opening) => {
                            assert!(matches!(opening, Ok(Opening::Started(_))));
                            left = false;
                            break;
                        }
                    }
                }
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                left
            };
            if polls == 0 {
                assert!(shelf.all().is_empty(), "what was never asked for is not there");
                return left;
            }
            until("both are written", || shelf.story().len() == 2).await;
            let last = shelf.all().pop().unwrap();
            assert_eq!((last.kind, last.call), (Kind::Outcome, 1), "{polls} polls, {turns} turns");
            if left {
                assert_eq!(last.outcome, Some(Outcome::Cancelled), "{polls} polls, {turns} turns");
                begun(&journal, 2, Some(claim)).await;
            } else {
                assert_eq!(last.outcome, Some(Outcome::Unknown), "{polls} polls, {turns} turns");
                assert_eq!(taken(&journal, 2, Some(claim)).await.outcome, Some(Outcome::Unknown));
            }
            left
        })
    }
    for turns in 0..6 {
        let mut polls = 0;
        while check(polls, turns) {
            polls += 1;
            assert!(polls < 20, "it never begins");
        }
        assert!(polls > 1, "nothing was waited for");
    }
}

#[test]
fn a_store_that_panics_loses_no_outcome_and_takes_nothing_along() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, settings()).await;
        let call = started(&journal, record(&journal, Kind::Intent, 1), None).await;
        shelf.panics.store(3, Ordering::SeqCst);
        let refused = journal.begin(record(&journal, Kind::Intent, 2), None).await.err().unwrap();
        assert!(refused.to_string().contains("panicked"), "{refused}");
        let error = call.finish(record(&journal, Kind::Outcome, 1), None).await.unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        // The attempt to write what is owed panics as well; the one after that does not.
        until("paid", || journal.status().owed == 0).await;
        journal.note(record(&journal, Kind::Outcome, 3)).await.unwrap();
        journal.flush().await.unwrap();
        assert_eq!(shelf.story(), [(Kind::Intent, 1), (Kind::Outcome, 1), (Kind::Outcome, 3)]);
        assert_eq!(journal.status().lost, 0);
    });
}

#[test]
fn what_a_process_that_died_meanwhile_left_open_does_not_hold_up_retention() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let dead = open(&shelf, settings()).await;
        let journal = open(&shelf, JournalSettings { keep: Some(Duration::from_hours(24)), ..settings() }).await;
        begun(&dead, 1, None).await;
        shelf.kill(dead.run());
        assert_eq!(journal.status().recovered, 0, "it lived when this one started");
        tokio::time::sleep(Duration::from_hours(25)).await;
        until("closed", || shelf.holds(Kind::Recovered, 1)).await;
    });
}

#[test]
fn a_store_known_to_fail_counts_as_failing_from_the_start() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        shelf.hopeless.store(true, Ordering::SeqCst);
        let journal = open(&shelf, settings()).await;
        assert!(journal.health().unwrap_err().to_string().contains("no such folder"));
        assert!(journal.status().error.is_some());
    });
}

#[test]
fn what_a_dead_process_left_open_is_closed_as_unknown() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let dead = open(&shelf, settings()).await;
        let claim = dead.claim("ann", "k", "d");
        for call in 1..=700 {
            begun(&dead, call, (call == 1).then(|| claim.clone())).await;
        }
        dead.finish(record(&dead, Kind::Outcome, 2), None).await.unwrap();
        // A living process beside it keeps its calls.
        let beside = open(&shelf, settings()).await;
        assert_eq!(beside.status().recovered, 0, "runs of living processes are not touched");
        begun(&beside, 1, None).await;
        shelf.kill(dead.run());
        let journal = open(&shelf, settings()).await;
        assert_eq!(journal.status().recovered, 699);
        let recovered: Vec<_> = shelf.all().into_iter().filter(|record| record.kind == Kind::Recovered).collect();
        assert_eq!(recovered.len(), 699);
        assert!(recovered.iter().all(|record| record.outcome == Some(Outcome::Unknown) && record.run == dead.run()));
        assert_eq!(taken(&journal, 1, Some(claim)).await.outcome, Some(Outcome::Unknown));
        assert_eq!(open(&shelf, settings()).await.status().recovered, 0, "only once");
        verify(shelf.as_ref()).await.unwrap();
    });
}

#[test]
fn a_late_result_is_on_record_beside_the_outcome() {
    /// What comes 5 s after the caller was told that there is nothing, while the process is already ending.
    #[track_caller]
    fn check(late: Result<ToolResult, InvokeError>, want: Option<(Outcome, Option<&str>)>) {
        paused(async {
            let shelf = Arc::new(Shelf::default());
            let journal = open(&shelf, settings()).await;
            let intent = record(&journal, Kind::Intent, 1);
            let call = started(&journal, intent.clone(), None).await;
            let mut outcome = intent.after(Kind::Outcome, intent.at_ms + 60_000);
            outcome.outcome = Some(Outcome::TimedOut);
            call.finish(outcome.clone(), None).await.unwrap();
            let running = async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                late
            };
            assert!(journal.await_late(outcome, running));
            // Shutting down waits for it.
            journal.shutdown(Duration::from_secs(20)).await.unwrap();
            let last = shelf.all().pop().unwrap();
            match want {
                Some((outcome, text)) => {
                    assert_eq!((last.kind, last.call, last.outcome), (Kind::Late, 1, Some(outcome)));
                    let digest = text.map(|text| ContentHash::of_bytes(text.as_bytes()).to_string());
                    assert_eq!(last.output, digest);
                    assert_eq!(last.result_bytes, text.map_or(0, |text| text.len() as u64));
                }
                None => assert_eq!(last.kind, Kind::Outcome, "nothing new"),
            }
        });
    }
    let (good, bad) = (ToolResult::text("done"), ToolResult::error("no"));
    let text = |result: &ToolResult| result.raw().get().to_owned();
    let (good_text, bad_text) = (text(&good), text(&bad));
    check(Ok(good), Some((Outcome::Ok, Some(&good_text))));
    check(Ok(bad), Some((Outcome::ToolError, Some(&bad_text))));
    check(Err(InvokeError::Unavailable("refused".into())), Some((Outcome::Unavailable, None)));
    check(Err(InvokeError::Unknown("broken pipe".into())), None);
    check(Err(InvokeError::Cancelled), None);
}

#[test]
fn a_normal_end_loses_nothing_and_a_stuck_one_is_bounded_and_says_so() {
    paused(async {
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, settings()).await;
        for call in 1..=3_000 {
            journal.note(record(&journal, Kind::Outcome, call)).await.unwrap();
        }
        journal.shutdown(Duration::from_secs(5)).await.unwrap();
        assert_eq!(shelf.story().len(), 3_000);
        assert!(journal.begin(record(&journal, Kind::Intent, 1), None).await.is_err(), "nothing begins any more");
        assert!(journal.note(record(&journal, Kind::Outcome, 1)).await.is_err());
        assert!(!journal.observe_work(async {}));

        let journal = open(&shelf, settings()).await;
        shelf.stuck.store(true, Ordering::SeqCst);
        for call in 1..=10 {
            journal.note(record(&journal, Kind::Outcome, call)).await.unwrap();
        }
        let started = tokio::time::Instant::now();
        let left = journal.shutdown(Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(left.records, 10);
        assert!(started.elapsed() <= Duration::from_millis(5_100), "{:?}", started.elapsed());
    });
}

/// Takes records as its switch says.
#[derive(Default)]
struct Watcher {
    seen: Mutex<Vec<(Kind, u64)>>,
    mood: &'static str,
}

impl EvidenceSink for Watcher {
    fn name(&self) -> &str {
        self.mood
    }

    fn record<'a>(&'a self, record: &'a JournalRecord) -> BoxFuture<'a, Delivery> {
        Box::pin(async move {
            self.seen.lock().push((record.kind, record.call));
            match self.mood {
                "fails" => Delivery::Failed("no".into()),
                "panics" => panic!("scripted"),
                "hangs" => std::future::pending().await,
                _ => Delivery::Kept,
            }
        })
    }
}

#[test]
fn sinks_see_everything_and_never_stop_a_call() {
    #[track_caller]
    fn check(mood: &'static str, calls: u64, want_kept: u64, want_failed: u64, want_dropped: u64) {
        paused(async {
            let shelf = Arc::new(Shelf::default());
            let journal = open(&shelf, settings()).await;
            let watcher = Arc::new(Watcher { mood, ..Watcher::default() });
            assert!(journal.attach(watcher.clone()));
            for call in 1..=calls {
                let begun = started(&journal, record(&journal, Kind::Intent, call), None).await;
                begun.finish(record(&journal, Kind::Outcome, call), None).await.unwrap();
            }
            journal.note(record(&journal, Kind::Outcome, 9_999)).await.unwrap();
            until(mood, || {
                let report = &journal.status().sinks[0];
                (report.kept, report.failed, report.dropped) == (want_kept, want_failed, want_dropped)
            })
            .await;
            assert_eq!(watcher.seen.lock()[..2], [(Kind::Intent, 1), (Kind::Outcome, 1)]);
            journal.shutdown(Duration::from_secs(1)).await.unwrap();
            assert_eq!(shelf.story().len() as u64, 2 * calls + 1, "the journal itself has them all");
        });
    }
    check("keeps", 20, 41, 0, 0);
    check("fails", 20, 0, 41, 0);
    check("panics", 3, 0, 7, 0);
    // A slow one holds 1,024 and the one in its hands; the rest is counted. Each is given up after 10 s.
    check("hangs", 600, 0, 1, 1_201 - 1_025);
}

#[test]
fn a_journal_takes_a_bounded_number_of_sinks() {
    paused(async {
        let journal = open(&Arc::default(), settings()).await;
        let attached = (0..20).filter(|_| journal.attach(Arc::new(Watcher::default()))).count();
        assert_eq!(attached, 16);
    });
}

async fn filled(calls: u64) -> Arc<Shelf> {
    let shelf = Arc::new(Shelf::default());
    let journal = open(&shelf, settings()).await;
    for call in 1..=calls {
        journal.note(JournalRecord { at_ms: call, ..record(&journal, Kind::Outcome, call) }).await.unwrap();
    }
    journal.shutdown(Duration::from_secs(5)).await.unwrap();
    shelf
}

#[test]
fn a_chain_holds_until_somebody_touches_it() {
    #[track_caller]
    fn check(touch: impl FnOnce(&Shelf), want: Result<(u64, Option<u64>, Option<u64>), ChainFault>) {
        let got = paused(async {
            let shelf = filled(1_100).await;
            touch(&shelf);
            verify(shelf.as_ref()).await
        });
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!((got.records, got.first, got.last), want),
            (Err(VerifyError::Chain(got)), Err(want)) => assert_eq!(got, want),
            (got, want) => panic!("{got:?} instead of {want:?}"),
        }
    }
    check(|_| {}, Ok((1_100, Some(1), Some(1_100))));
    check(|shelf| shelf.tamper(1, |stored| stored.record.at_ms += 1), Err(ChainFault::Changed(1)));
    check(
        |shelf| shelf.tamper(1_001, |stored| stored.record.outcome = Some(Outcome::Denied)),
        Err(ChainFault::Changed(1_001)),
    );
    check(|shelf| shelf.tamper(1_100, |stored| stored.hash.replace_range(0..1, "x")), Err(ChainFault::Changed(1_100)));
    check(|shelf| shelf.tamper(7, |stored| stored.seq = 6), Err(ChainFault::Changed(6)));
    check(|shelf| shelf.cut(5), Err(ChainFault::Missing(5, 5)));
    check(|shelf| shelf.cut(1), Err(ChainFault::Missing(1, 1)));
    check(
        |shelf| {
            (1_000..1_010).for_each(|seq| shelf.cut(seq));
        },
        Err(ChainFault::Missing(1_000, 1_009)),
    );
    paused(async {
        let empty = verify(&Shelf::default()).await.unwrap();
        assert_eq!((empty.records, empty.first, empty.last), (0, None, None));
    });
}

#[test]
fn old_records_go_when_the_journal_is_opened_and_the_rest_verifies() {
    paused(async {
        // Recorded in 1970, so older than any rule.
        let shelf = filled(30).await;
        let journal = open(&shelf, JournalSettings { keep: Some(Duration::from_hours(24)), ..settings() }).await;
        until("pruned", || shelf.story().first().is_some_and(|(kind, _)| *kind == Kind::Pruned)).await;
        journal.note(record(&journal, Kind::Outcome, 31)).await.unwrap();
        journal.shutdown(Duration::from_secs(1)).await.unwrap();
        let verified = verify(shelf.as_ref()).await.unwrap();
        assert_eq!((verified.records, verified.first, verified.last), (2, Some(31), Some(32)));
        assert!(shelf.all()[0].detail.as_deref().unwrap().starts_with("30 records"));
    });
}

#[test]
fn an_export_is_one_object_a_line() {
    #[track_caller]
    fn check(filter: JournalFilter, want: std::ops::RangeInclusive<u64>) {
        let text = paused(async {
            let shelf = filled(1_100).await;
            let mut out = Vec::new();
            let count = export(shelf.as_ref(), filter, &mut out).await.unwrap();
            assert_eq!(count, want.clone().count() as u64);
            String::from_utf8(out).unwrap()
        });
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let places: Vec<_> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
        assert_eq!(places, want.collect::<Vec<_>>());
        assert_eq!(lines[0]["kind"], "outcome");
        assert_eq!(lines[0]["hash"].as_str().unwrap().len(), 64);
    }
    check(JournalFilter::default(), 1..=1_100);
    check(JournalFilter { after: 40, ..JournalFilter::default() }, 41..=1_100);
    check(JournalFilter { limit: 1_050, ..JournalFilter::default() }, 1..=1_050);
    check(JournalFilter { limit: 3, newest: true, ..JournalFilter::default() }, 1_098..=1_100);
}

#[test]
fn following_gives_what_is_there_and_then_what_comes() {
    paused(async {
        let shelf = filled(1_500).await;
        let journal = open(&shelf, settings()).await;
        let (seen, cancel) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
        let task = {
            let (store, seen, cancel): (Arc<dyn JournalStore>, _, _) = (shelf.clone(), seen.clone(), cancel.clone());
            tokio::spawn(async move {
                let filter = JournalFilter { limit: 2, newest: true, ..JournalFilter::default() };
                let take = |stored: StoredRecord| {
                    seen.lock().push(stored.seq);
                    ControlFlow::Continue(())
                };
                follow(store.as_ref(), filter, Duration::from_millis(20), &cancel, take).await
            })
        };
        until("the last ones", || seen.lock().len() == 2).await;
        for call in 1..=3 {
            journal.note(record(&journal, Kind::Outcome, call)).await.unwrap();
        }
        until("new ones", || seen.lock().len() == 5).await;
        cancel.cancel();
        task.await.unwrap().unwrap();
        assert_eq!(*seen.lock(), [1_499, 1_500, 1_501, 1_502, 1_503]);
    });
}
