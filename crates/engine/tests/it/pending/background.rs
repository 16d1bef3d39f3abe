use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolResult;
use toolcrib_engine::{
    Outcome,
    pending::{Deliveries, Finished, PendingError, PendingSettings, PendingState, PendingWork, Read, ResumeAs},
};

use super::{World, origin, principal, process};

const SECOND: Duration = Duration::from_secs(1);

/// The texts of the next batch.
async fn texts(deliveries: &mut Deliveries) -> Vec<String> {
    deliveries.next().await.unwrap().iter().map(|delivery| delivery.result.to_text()).collect()
}

/// oneringai case 123: a placeholder now, one pending, the result as a follow-up.
#[tokio::test(start_paused = true)]
async fn case_123_a_placeholder_now_and_the_result_later() {
    let world = World::new();
    let ann = principal("ann", None);
    let mut deliveries = world.work.deliveries(ann.clone());
    let started = world.start(origin("slow"), 5 * SECOND, Outcome::Ok).await.unwrap();
    let placeholder = started.placeholder.to_text();
    assert!(placeholder.contains("slow has started") && placeholder.contains(&started.pending.handle), "{placeholder}");
    assert!(!started.placeholder.is_error() && PendingWork::is_handle(&started.pending.handle));
    assert_eq!(world.work.list(&ann).await.unwrap().len(), 1);
    assert!(matches!(world.work.read(&started.pending.handle, &ann).await.unwrap(), Some(Read::Waiting(_))));

    let batch = deliveries.next().await.unwrap();
    let [delivery] = &batch[..] else { panic!("{batch:?}") };
    assert_eq!((delivery.result.to_text().as_str(), delivery.failed), ("slow", false));
    assert_eq!((delivery.call, delivery.resume_as), (7, ResumeAs::UserMessage));
    assert!(delivery.message().contains("slow has finished"), "{}", delivery.message());
    assert!(world.work.list(&ann).await.unwrap().is_empty());
}

/// (who listens) → whether the model is told that the result comes by itself. It can be read by its handle either way.
#[tokio::test(start_paused = true)]
async fn only_where_somebody_listens_the_result_is_said_to_come() {
    for (listener, comes) in [
        (None, false),
        (Some(principal("ann", None)), true),
        (Some(principal("ann", Some("a"))), true),
        (Some(principal("ann", Some("b"))), false),
        (Some(principal("bob", None)), false),
    ] {
        let world = World::new();
        let deliveries = listener.clone().map(|listener| world.work.deliveries(listener));
        let mut of = origin("t");
        of.principal = principal("ann", Some("a"));
        let told = |placeholder: &ToolResult| placeholder.to_text().contains("by itself");
        let started = world.start(of.clone(), SECOND, Outcome::Ok).await.unwrap();
        assert_eq!(told(&started.placeholder), comes, "{listener:?}");
        assert!(started.placeholder.to_text().contains("tool_result_read"));
        drop(deliveries);
        assert_eq!(world.work.listeners(), 0);
        assert!(!told(&world.start(of, SECOND, Outcome::Ok).await.unwrap().placeholder), "after {listener:?} is gone");
    }
}

/// Waiting within a time: what is there comes without any, and nothing is taken that is not given.
#[tokio::test(start_paused = true)]
async fn a_wait_within_a_time_ends_with_it() {
    let world = World::new();
    world.start(origin("t"), 10 * SECOND, Outcome::Ok).await.unwrap();
    let mut deliveries = world.work.deliveries(principal("ann", None));
    for wait in [Duration::ZERO, 3 * SECOND] {
        let began = Instant::now();
        assert!(deliveries.within(wait).await.unwrap().is_empty());
        assert_eq!(began.elapsed().as_secs(), wait.as_secs());
    }
    let began = Instant::now();
    assert_eq!(deliveries.within(30 * SECOND).await.unwrap().len(), 1);
    assert_eq!(began.elapsed().as_secs(), 7);
    world.start(origin("t"), Duration::ZERO, Outcome::Ok).await.unwrap();
    world.work.wait(SECOND).await;
    assert_eq!(deliveries.within(Duration::ZERO).await.unwrap().len(), 1);
}

/// Another process finishes something: whoever waits here hears of it within a second or so.
#[tokio::test(start_paused = true)]
async fn results_of_other_processes_come_too() {
    let world = World::new();
    let other = process(&world.kept, &world.clock, PendingSettings::default());
    let mut deliveries = world.work.deliveries(principal("ann", None));
    let work = Box::pin(async {
        tokio::time::sleep(3 * SECOND).await;
        Finished { result: ToolResult::text("x"), outcome: Outcome::Ok }
    });
    other.start(origin("t"), CancellationToken::new(), None, work).await.unwrap();
    let began = Instant::now();
    assert_eq!(deliveries.within(30 * SECOND).await.unwrap().len(), 1);
    assert!(began.elapsed() < 5 * SECOND);
}

/// Case 124: so is a failure, whatever its kind.
#[tokio::test(start_paused = true)]
async fn case_124_a_failure_is_delivered_too() {
    for outcome in [Outcome::ToolError, Outcome::Unavailable, Outcome::Unknown] {
        let world = World::new();
        let mut deliveries = world.work.deliveries(principal("ann", None));
        world.start(origin("slow"), SECOND, outcome).await.unwrap();
        let batch = deliveries.next().await.unwrap();
        assert!(batch[0].failed && batch[0].message().contains("slow failed"), "{batch:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_delivered_as_a_failure() {
    let world = World::new();
    let mut deliveries = world.work.deliveries(principal("ann", None));
    let work = Box::pin(async { panic!("scripted") });
    world.work.start(origin("slow"), CancellationToken::new(), None, work).await.unwrap();
    let batch = deliveries.next().await.unwrap();
    assert!(batch[0].failed && batch[0].result.to_text().contains("failed inside the gateway"));
}

/// A result marked as a failure by its outcome only is a failure.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_is_not_ok_makes_a_failure() {
    let world = World::new();
    let mut deliveries = world.work.deliveries(principal("ann", None));
    let work = Box::pin(async { Finished { result: ToolResult::text("x"), outcome: Outcome::Unknown } });
    world.work.start(origin("slow"), CancellationToken::new(), None, work).await.unwrap();
    assert!(deliveries.next().await.unwrap()[0].result.is_error());
}

/// Set when dropped: work that is over is gone, not only ignored.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Work that heeds no token.
fn deaf(gone: &Arc<AtomicBool>) -> toolcrib_engine::BoxFuture<'static, Finished> {
    let gone = Gone(gone.clone());
    Box::pin(async move {
        let _gone = gone;
        std::future::pending().await
    })
}

/// A time limit of the tool or of the settings (300 s) ends the work, also work that does not listen.
#[tokio::test(start_paused = true)]
async fn a_time_limit_really_ends_the_work() {
    for (own, expected) in [(None, 300), (Some(2 * SECOND), 2)] {
        let world = World::new();
        let mut deliveries = world.work.deliveries(principal("ann", None));
        let (gone, cancel, began) = (Arc::new(AtomicBool::new(false)), CancellationToken::new(), Instant::now());
        world.work.start(origin("slow"), cancel.clone(), own, deaf(&gone)).await.unwrap();
        let batch = deliveries.next().await.unwrap();
        assert!(batch[0].failed && batch[0].result.to_text().contains("which is its limit"), "{batch:?}");
        // Work that does not listen is given two seconds more.
        assert_eq!(began.elapsed().as_secs(), expected + 2);
        assert!(cancel.is_cancelled() && gone.load(Ordering::SeqCst));
        assert_eq!(world.work.running(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_work_may_take_its_time() {
    let world = World::with(PendingSettings { timeout: Duration::ZERO, ..PendingSettings::default() });
    let mut deliveries = world.work.deliveries(principal("ann", None));
    world.start(origin("slow"), 3_600 * SECOND, Outcome::Ok).await.unwrap();
    assert_eq!(texts(&mut deliveries).await, ["slow"]);
}

/// What the work still finishes while it is being stopped counts.
#[tokio::test(start_paused = true)]
async fn a_result_at_the_last_moment_counts() {
    let world = World::new();
    let mut deliveries = world.work.deliveries(principal("ann", None));
    let token = CancellationToken::new();
    let heard = token.clone();
    let work = Box::pin(async move {
        heard.cancelled().await;
        Finished { result: ToolResult::text("done after all"), outcome: Outcome::Ok }
    });
    world.work.start(origin("slow"), token, Some(SECOND), work).await.unwrap();
    assert_eq!(texts(&mut deliveries).await, ["done after all"]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_work_ends_and_says_so() {
    let world = World::new();
    let ann = principal("ann", None);
    let mut deliveries = world.work.deliveries(ann.clone());
    let gone = Arc::new(AtomicBool::new(false));
    let started = world.work.start(origin("slow"), CancellationToken::new(), None, deaf(&gone)).await.unwrap();
    let handle = started.pending.handle;
    assert!(!world.work.cancel(&handle, &principal("bob", None)).await.unwrap());
    assert!(world.work.cancel(&handle, &ann).await.unwrap());
    let batch = deliveries.next().await.unwrap();
    assert!(batch[0].failed && batch[0].result.to_text().contains("was cancelled"), "{batch:?}");
    assert!(gone.load(Ordering::SeqCst));
    assert!(!world.work.cancel(&handle, &ann).await.unwrap());
}

/// (when calls end, in ms) → (when batches come, and what is in them).
#[tokio::test(start_paused = true)]
async fn results_are_gathered_for_half_a_second_unless_nothing_runs_any_more() {
    async fn check(ends: &[u64], expected: &[(u64, &[&str])]) {
        let world = World::new();
        let mut deliveries = world.work.deliveries(principal("ann", None));
        let began = Instant::now();
        for (at, end) in ends.iter().enumerate() {
            world.start(origin(&format!("t{at}")), Duration::from_millis(*end), Outcome::Ok).await.unwrap();
        }
        for (when, tools) in expected {
            assert_eq!(texts(&mut deliveries).await, *tools, "{ends:?}");
            let late = began.elapsed().as_millis().abs_diff(u128::from(*when));
            assert!(late <= 5, "{ends:?}: {} instead of {when}", began.elapsed().as_millis());
        }
    }
    check(&[1_000], &[(1_000, &["t0"])]).await;
    check(&[1_000, 1_200], &[(1_200, &["t0", "t1"])]).await;
    check(&[1_000, 1_200, 9_000], &[(1_500, &["t0", "t1"]), (9_000, &["t2"])]).await;
    check(&[1_000, 2_000], &[(1_500, &["t0"]), (2_000, &["t1"])]).await;
}

/// Each result goes to exactly one of several listeners, and none to a listener of somebody else.
#[tokio::test(start_paused = true)]
async fn a_result_is_delivered_exactly_once() {
    let world = World::new();
    let calls = 20;
    for at in 0..calls {
        world.start(origin(&format!("t{at}")), Duration::from_millis(at * 37), Outcome::Ok).await.unwrap();
    }
    let mut seen = Vec::new();
    let (mut one, mut two) =
        (world.work.deliveries(principal("ann", None)), world.work.deliveries(principal("ann", None)));
    let mut other = world.work.deliveries(principal("bob", None));
    while seen.len() < usize::try_from(calls).unwrap() {
        tokio::select! {
            batch = one.next() => seen.extend(batch.unwrap()),
            batch = two.next() => seen.extend(batch.unwrap()),
            batch = other.next() => panic!("{batch:?}"),
            () = tokio::time::sleep(Duration::from_mins(1)) => break,
        }
    }
    let mut tools: Vec<String> = seen.iter().map(|delivery| delivery.exposed.clone()).collect();
    tools.sort();
    tools.dedup();
    assert_eq!((seen.len(), tools.len()), (20, 20));
    assert!(world.kept.pieces.lock().iter().all(|piece| piece.state == PendingState::Delivered));
}

/// (session of the call, session of the listener) → whether it hears of it.
#[tokio::test(start_paused = true)]
async fn a_session_hears_of_its_own_calls_only() {
    for (call, listener, hears) in
        [(Some("a"), Some("a"), true), (Some("a"), Some("b"), false), (Some("a"), None, true), (None, Some("a"), false)]
    {
        let world = World::new();
        let mut of = origin("t");
        of.principal = principal("ann", call);
        world.start(of, SECOND, Outcome::Ok).await.unwrap();
        let mut deliveries = world.work.deliveries(principal("ann", listener));
        let heard = tokio::time::timeout(Duration::from_mins(1), deliveries.next()).await.is_ok();
        assert_eq!(heard, hears, "{call:?} {listener:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_waits_for_somebody_to_listen() {
    let world = World::new();
    world.start(origin("t"), SECOND, Outcome::Ok).await.unwrap();
    assert!(world.work.wait(10 * SECOND).await);
    assert_eq!(texts(&mut world.work.deliveries(principal("ann", None))).await, ["t"]);
}

/// Whoever reads a result by its handle has it; it does not come once more, and can be read again.
#[tokio::test(start_paused = true)]
async fn what_was_read_is_not_delivered() {
    let world = World::new();
    let ann = principal("ann", None);
    let handle = world.start(origin("t"), SECOND, Outcome::Ok).await.unwrap().pending.handle;
    world.work.wait(10 * SECOND).await;
    for _ in 0..2 {
        let read = world.work.read(&handle, &ann).await.unwrap().unwrap();
        assert_eq!(read.into_result().to_text(), "t");
    }
    assert!(world.work.read(&handle, &principal("bob", None)).await.unwrap().is_none());
    assert!(world.work.read("work-unknown", &ann).await.unwrap().is_none());
    let mut deliveries = world.work.deliveries(ann);
    assert!(tokio::time::timeout(SECOND, deliveries.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ended_loses_its_work_and_says_so_once() {
    let world = World::new();
    let ann = principal("ann", None);
    let handle = world.start(origin("slow"), 60 * SECOND, Outcome::Ok).await.unwrap().pending.handle;
    let world = world.restarted();
    assert_eq!(world.work.recover().await.unwrap().len(), 1);
    assert_eq!(world.work.recover().await.unwrap().len(), 0);
    let batch = world.work.deliveries(ann.clone()).next().await.unwrap();
    assert!(batch[0].failed && batch[0].result.to_text().contains("may or may not have taken effect"), "{batch:?}");
    let read = world.work.read(&handle, &ann).await.unwrap().unwrap().into_result();
    assert!(read.is_error() && read.to_text().contains("lost"));
    let mut deliveries = world.work.deliveries(ann);
    assert!(tokio::time::timeout(SECOND, deliveries.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn limits_refuse_before_anything_runs() {
    let world = World::with(PendingSettings { most: 1, most_running: 2, ..PendingSettings::default() });
    let of = |user: &str| {
        let mut origin = origin("t");
        origin.principal = principal(user, None);
        origin
    };
    world.start(of("ann"), SECOND, Outcome::Ok).await.unwrap();
    assert!(matches!(world.start(of("ann"), SECOND, Outcome::Ok).await, Err(PendingError::Store(_))));
    assert_eq!(world.work.running(), 1);
    world.start(of("bob"), SECOND, Outcome::Ok).await.unwrap();
    assert!(matches!(world.start(of("eve"), SECOND, Outcome::Ok).await, Err(PendingError::Full(2))));
    assert_eq!(world.kept.pieces.lock().len(), 2);
}

/// A store that is locked for a moment is tried again; one that refuses the size gets a text that says so.
#[tokio::test(start_paused = true)]
async fn results_survive_a_store_that_refuses() {
    let world = World::new();
    let mut deliveries = world.work.deliveries(principal("ann", None));
    world.kept.failing_settlements.store(3, Ordering::SeqCst);
    world.start(origin("t"), SECOND, Outcome::Ok).await.unwrap();
    assert_eq!(texts(&mut deliveries).await, ["t"]);

    for bytes in [2_000_000, 9_000_000] {
        let work =
            Box::pin(async move { Finished { result: ToolResult::text("x".repeat(bytes)), outcome: Outcome::Ok } });
        world.work.start(origin("t"), CancellationToken::new(), None, work).await.unwrap();
        let batch = deliveries.next().await.unwrap();
        assert!(batch[0].failed && batch[0].result.to_text().contains("too large to keep"));
    }
}

/// `next` may be dropped at any point; nothing is lost by it.
#[tokio::test(start_paused = true)]
async fn a_dropped_wait_loses_nothing() {
    for polls in 0..12 {
        let world = World::new();
        world.start(origin("t"), Duration::ZERO, Outcome::Ok).await.unwrap();
        world.work.wait(SECOND).await;
        let mut deliveries = world.work.deliveries(principal("ann", None));
        let first = {
            let mut left = polls;
            let mut next = std::pin::pin!(deliveries.next());
            std::future::poll_fn(|context| {
                use std::task::Poll;
                if left == 0 {
                    return Poll::Ready(None);
                }
                left -= 1;
                context.waker().wake_by_ref();
                next.as_mut().poll(context).map(Some)
            })
            .await
        };
        let batch = match first {
            Some(batch) => batch.unwrap(),
            None => tokio::time::timeout(SECOND, deliveries.next()).await.expect("lost").unwrap(),
        };
        assert_eq!(batch.len(), 1, "after {polls} polls");
    }
}

#[tokio::test(start_paused = true)]
async fn shutting_down_is_bounded_and_starts_nothing_more() {
    let world = World::new();
    let gone = Arc::new(AtomicBool::new(false));
    world.start(origin("quick"), SECOND, Outcome::Ok).await.unwrap();
    world.work.start(origin("deaf"), CancellationToken::new(), None, deaf(&gone)).await.unwrap();
    let began = Instant::now();
    assert!(!world.work.wait(SECOND / 2).await);
    assert_eq!(world.work.shutdown(5 * SECOND).await, 1);
    assert!(began.elapsed() < 8 * SECOND && gone.load(Ordering::SeqCst));
    assert!(matches!(world.start(origin("t"), SECOND, Outcome::Ok).await, Err(PendingError::Closed)));
    let states: Vec<_> = world.kept.pieces.lock().iter().map(|piece| piece.state).collect();
    assert_eq!(states, [PendingState::Ready, PendingState::Ready]);
}

#[tokio::test(start_paused = true)]
async fn old_results_are_pruned() {
    let world = World::new();
    world.start(origin("t"), SECOND, Outcome::Ok).await.unwrap();
    world.work.wait(10 * SECOND).await;
    assert_eq!(world.work.prune().await.unwrap(), 0);
    world.later(Duration::from_hours(25));
    assert_eq!(world.work.prune().await.unwrap(), 1);
}
