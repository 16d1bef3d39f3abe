//! Every interleaving the checker comes up with: a half-open circuit has one probe at a time, and its place never leaks.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use toolcrib_core::{
    Source, ToolId,
    breaker::{BreakerPolicy, BreakerState, Settlement},
};

use super::{Circuits, Lock, Path, Table};
use crate::admit::{BreakerKey, Guarded};

impl<T> Lock<T> for shuttle::sync::Mutex<T> {
    fn around(value: T) -> Self {
        Self::new(value)
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.lock().unwrap())
    }
}

type Checked = Circuits<shuttle::sync::Mutex<Table>>;

fn path() -> Arc<Path> {
    let source = Source::Mcp("s".into());
    let policy = BreakerPolicy { failures: 3, window_ms: 300_000, open_ms: 60_000, successes: 2 };
    let circuit = |guarded| Some((BreakerKey { guarded, credentials: None }, policy));
    Arc::new(Path {
        source: circuit(Guarded::Source(source.clone())),
        tool: circuit(Guarded::Tool(ToolId::new(source, "t"))),
    })
}

/// Circuits that opened and whose wait is over.
fn half_open(path: &Arc<Path>) -> Arc<Checked> {
    let now = Arc::new(AtomicU64::new(1_000));
    let clock = now.clone();
    let circuits: Arc<Checked> = Arc::new(Circuits::new(Arc::new(move || clock.load(Ordering::SeqCst))));
    for _ in 0..3 {
        let fault = || Settlement::fault("down");
        circuits.enter(path.clone()).unwrap().settle(fault(), fault());
    }
    assert!(circuits.enter(path.clone()).is_err(), "open");
    now.fetch_add(60_000, Ordering::SeqCst);
    circuits
}

/// How a racing call ends.
#[derive(Clone, Copy)]
enum End {
    Dropped,
    Neutral,
    Good,
}

fn race(ends: &'static [End]) {
    shuttle::check_random(
        move || {
            let path = path();
            let circuits = half_open(&path);
            let (probes, passed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let tasks: Vec<_> = ends
                .iter()
                .map(|&end| {
                    let (circuits, path, probes, passed) =
                        (circuits.clone(), path.clone(), probes.clone(), passed.clone());
                    shuttle::thread::spawn(move || {
                        let Ok(pass) = circuits.enter(path) else { return };
                        passed.fetch_add(1, Ordering::SeqCst);
                        if pass.is_probe() {
                            assert_eq!(probes.fetch_add(1, Ordering::SeqCst), 0, "two probes at once");
                            shuttle::thread::yield_now();
                            probes.fetch_sub(1, Ordering::SeqCst);
                        }
                        match end {
                            End::Dropped => drop(pass),
                            End::Neutral => pass.settle(Settlement::Neutral, Settlement::Neutral),
                            End::Good => pass.settle(Settlement::Success, Settlement::Success),
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.join().unwrap();
            }
            assert!(passed.load(Ordering::SeqCst) >= 1, "somebody is the probe");
            // Whatever happened, the place of the probe is free again.
            let closed = circuits.reports().iter().all(|report| report.snapshot.state == BreakerState::Closed);
            let pass = circuits.enter(path.clone()).unwrap_or_else(|refused| panic!("leaked: {refused}"));
            assert_eq!(pass.is_probe(), !closed);
        },
        300,
    );
}

#[test]
fn five_racing_calls_are_one_probe_at_a_time() {
    use End::{Dropped, Good, Neutral};
    race(&[Good, Good, Good, Good, Good]);
    race(&[Dropped, Dropped, Dropped, Dropped, Dropped]);
    race(&[Good, Dropped, Neutral, Good, Dropped]);
}

#[test]
fn a_tool_that_is_open_does_not_keep_the_probe_of_its_source() {
    shuttle::check_random(
        || {
            let path = path();
            let circuits = half_open(&path);
            // The tool fails again as a probe; its source answers.
            circuits.enter(path.clone()).unwrap().settle(Settlement::Neutral, Settlement::fault("down"));
            let other = Arc::new(Path { source: path.source.clone(), tool: None });
            let tasks: Vec<_> = (0..3)
                .map(|_| {
                    let (circuits, path) = (circuits.clone(), path.clone());
                    shuttle::thread::spawn(move || assert!(circuits.enter(path).is_err(), "the tool is open"))
                })
                .collect();
            for task in tasks {
                task.join().unwrap();
            }
            assert!(circuits.enter(other).unwrap().is_probe());
        },
        200,
    );
}
