//! The map of what is pending under every interleaving of the store's atomic steps that a scheduler comes up with: each
//! piece is settled once and delivered once, and nothing is left behind.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use shuttle::future::{block_on, spawn, yield_now};
use toolcrib_core::ToolResult;
use toolcrib_engine::{
    Principal,
    pending::{
        Pending, PendingKind, PendingSettings, PendingState, PendingStore, PendingWork, Read, ResumeAs, Suspension,
    },
};

use super::{kept::Kept, origin, principal};

/// Runs the futures of `scenario` in `times` random orders of their steps.
fn explore<F: Future<Output = ()> + 'static>(times: usize, scenario: fn() -> F) {
    let mut config = shuttle::Config::new();
    // The default is too little for code that is not optimised.
    config.stack_size = 1 << 20;
    let scheduler = shuttle::scheduler::RandomScheduler::new(times);
    shuttle::Runner::new(scheduler, config).run(move || block_on(scenario()));
}

const NOW: u64 = 1_000_000;

/// A process over a store that lets others go first.
fn process() -> (Arc<Kept>, PendingWork) {
    let kept = Arc::new(Kept { pause: Some(|| Box::pin(yield_now())), ..Kept::default() });
    (kept.clone(), PendingWork::with_clock(kept, PendingSettings::default(), || NOW))
}

fn ann() -> Principal {
    principal("ann", None)
}

/// What several tasks counted.
type Count = Arc<AtomicUsize>;

/// A listener that looks a few times.
fn listen(work: &PendingWork, got: &Count) -> shuttle::future::JoinHandle<()> {
    let (work, got) = (work.clone(), got.clone());
    spawn(async move {
        let mut deliveries = work.deliveries(ann()).with_replies();
        for _ in 0..3 {
            got.fetch_add(deliveries.within(Duration::ZERO).await.unwrap().len(), Ordering::SeqCst);
            yield_now().await;
        }
    })
}

/// Whatever was left over is taken now, and then nothing is there any more.
async fn check_empty(kept: &Kept, work: &PendingWork, got: &Count) {
    let mut deliveries = work.deliveries(ann()).with_replies();
    got.fetch_add(deliveries.within(Duration::ZERO).await.unwrap().len(), Ordering::SeqCst);
    assert!(deliveries.within(Duration::ZERO).await.unwrap().is_empty());
    drop(deliveries);
    assert_eq!((work.listeners(), work.running()), (0, 0));
    assert!(work.list(&ann()).await.unwrap().is_empty());
    assert!(kept.pieces.lock().iter().all(|piece| piece.state == PendingState::Delivered));
}

#[test]
fn of_replies_and_a_cancellation_one_counts_and_is_delivered_once() {
    explore(300, || async {
        let (kept, work) = process();
        let handle = work.suspend(origin("ask"), Suspension::new("x")).await.unwrap().handle;
        let (got, replied, cancelled) = (Count::default(), Count::default(), Count::default());
        let mut tasks = vec![listen(&work, &got), listen(&work, &got)];
        for at in 0..2 {
            let (work, replied) = (work.clone(), replied.clone());
            tasks.push(spawn(async move {
                let end = work.reply("", "x", ToolResult::text(at.to_string())).await;
                replied.fetch_add(usize::from(end.is_ok()), Ordering::SeqCst);
            }));
        }
        let (canceller, done, which) = (work.clone(), cancelled.clone(), handle);
        tasks.push(spawn(async move {
            let end = canceller.cancel(&which, &ann()).await.unwrap();
            done.fetch_add(usize::from(end), Ordering::SeqCst);
        }));
        for task in tasks {
            task.await.unwrap();
        }
        check_empty(&kept, &work, &got).await;
        let (replied, cancelled) = (replied.load(Ordering::SeqCst), cancelled.load(Ordering::SeqCst));
        assert_eq!(replied + cancelled, 1);
        // Whoever cancels may see the cancellation come to a listener in its place, but nobody sees it twice.
        let got = got.load(Ordering::SeqCst);
        assert!(got == replied || (cancelled == 1 && got <= 1), "{got} {replied} {cancelled}");
    });
}

#[test]
fn of_resumers_and_listeners_one_gets_the_answer() {
    explore(300, || async {
        let (kept, work) = process();
        work.suspend(origin("ask"), Suspension::new("x")).await.unwrap();
        let (heard, resumed) = (Count::default(), Count::default());
        let mut tasks = vec![listen(&work, &heard)];
        for _ in 0..3 {
            let (work, resumed) = (work.clone(), resumed.clone());
            tasks.push(spawn(async move {
                let end = work.resume("", "x", ToolResult::text("yes")).await;
                resumed.fetch_add(usize::from(end.is_ok()), Ordering::SeqCst);
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        check_empty(&kept, &work, &heard).await;
        assert_eq!(heard.load(Ordering::SeqCst) + resumed.load(Ordering::SeqCst), 1);
    });
}

fn running() -> Pending {
    let of = origin("slow");
    Pending {
        handle: "work-1".into(),
        kind: PendingKind::Background,
        principal: of.principal,
        run: of.run,
        call: of.call,
        tool: of.tool,
        exposed: of.exposed,
        correlation: None,
        resume_as: ResumeAs::UserMessage,
        state: PendingState::Waiting,
        result: None,
        created_at_ms: NOW,
        expires_at_ms: NOW + 1_000,
        metadata: serde_json::Value::Null,
    }
}

/// A result, a process that is found dead, two listeners and a reader: the piece ends once and is delivered at most once,
/// and not at all only if the reader has it.
#[test]
fn a_background_result_is_delivered_once_whatever_races() {
    explore(300, || async {
        let (kept, work) = process();
        kept.dead.lock().insert("run".into());
        kept.open(running(), 10, NOW).await.unwrap();
        let (got, settled, lost, read) = (Count::default(), Count::default(), Count::default(), Count::default());
        let mut tasks = vec![listen(&work, &got), listen(&work, &got)];
        let (store, ended) = (kept.clone(), settled.clone());
        tasks.push(spawn(async move {
            let text = ToolResult::text("done").raw().get().to_owned();
            ended.fetch_add(usize::from(store.settle("work-1", text, NOW).await.unwrap()), Ordering::SeqCst);
        }));
        let (recovering, found) = (work.clone(), lost.clone());
        tasks.push(spawn(async move {
            found.fetch_add(recovering.recover().await.unwrap().len(), Ordering::SeqCst);
        }));
        let (reading, has) = (work.clone(), read.clone());
        tasks.push(spawn(async move {
            if let Some(Read::Done(_)) = reading.read("work-1", &ann()).await.unwrap() {
                has.fetch_add(1, Ordering::SeqCst);
            }
        }));
        for task in tasks {
            task.await.unwrap();
        }
        check_empty(&kept, &work, &got).await;
        assert_eq!(settled.load(Ordering::SeqCst) + lost.load(Ordering::SeqCst), 1);
        let got = got.load(Ordering::SeqCst);
        assert!(got == 1 || (got == 0 && read.load(Ordering::SeqCst) == 1), "{got}");
    });
}
