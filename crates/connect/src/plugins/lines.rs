//! Plugins that are processes speaking the line protocol: started, asked what they offer, called, brought back.
//!
//! The protocol is docs/plugin-protocol.md. One task looks after each plugin; calls go straight to the present connection.
//! A call that was written is never sent again: if the process ends before it answers, what became of the call is not known.

mod frame;
mod link;

use std::{
    hash::RandomState,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolcrib_core::{ToolResult, backoff::Backoff};
use toolcrib_engine::{Backend, BoxFuture, Invocation, InvokeError};

use self::{frame::Said, link::Link};
use super::{
    process::{self, NotStarted},
    running::{Launcher, News, Running, Start, Vitals},
    voice::Voice,
};

/// A call would rather fail than wait longer than this for a process that rests.
const WORTH_WAITING: Duration = Duration::from_secs(1);
/// A process that cannot be started at all is tried again for a call no sooner than this.
const SOONEST: Duration = Duration::from_secs(5);
/// Characters of a reason.
const REASON: usize = 600;

/// Starts plugins that speak the line protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinesLauncher;

impl Launcher for LinesLauncher {
    fn launch(&self, start: Start) -> Arc<dyn Running> {
        let core = Arc::new(Core {
            voice: Arc::new(Voice::new(&start.manifest.id, &start.settings)),
            phase: watch::Sender::new(Phase::Starting),
            wanted: Notify::new(),
            cancel: CancellationToken::new(),
            tracker: TaskTracker::new(),
            pid: Mutex::default(),
            restarts: AtomicU64::new(0),
            bad_lines: AtomicU64::new(0),
            served: AtomicBool::new(false),
            start,
        });
        core.tracker.spawn(supervise(core.clone()));
        core.tracker.close();
        Arc::new(Lines { core })
    }
}

struct Lines {
    core: Arc<Core>,
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.core.cancel.cancel();
    }
}

pub(super) struct Core {
    start: Start,
    voice: Arc<Voice>,
    phase: watch::Sender<Phase>,
    wanted: Notify,
    cancel: CancellationToken,
    tracker: TaskTracker,
    pid: Mutex<Option<u32>>,
    restarts: AtomicU64,
    bad_lines: AtomicU64,
    /// Whether a call was answered since the flag was last looked at.
    served: AtomicBool,
}

#[derive(Clone)]
enum Phase {
    Starting,
    Ready(Arc<Link>),
    Down {
        reason: String,
        /// Before this a call does not bring on another attempt.
        retry_from: Instant,
    },
    Stopped,
}

impl Backend for Lines {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let link = self.core.ready(&invocation).await?;
            let ended = link.call(&invocation).await;
            if ended.is_ok() {
                self.core.served.store(true, Ordering::Relaxed);
            }
            ended
        })
    }
}

impl Running for Lines {
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.core.cancel.cancel();
            self.core.tracker.wait().await;
        })
    }

    fn wake(&self) -> bool {
        let wakes = match &*self.core.phase.borrow() {
            Phase::Down { retry_from, .. } => *retry_from <= Instant::now() + WORTH_WAITING,
            Phase::Starting | Phase::Ready(_) | Phase::Stopped => false,
        };
        if wakes {
            self.core.wanted.notify_one();
        }
        wakes
    }

    fn vitals(&self) -> Vitals {
        let core = &self.core;
        Vitals {
            pid: *core.pid.lock(),
            restarts: core.restarts.load(Ordering::Relaxed),
            bad_lines: core.bad_lines.load(Ordering::Relaxed),
            stderr: core.voice.tail(),
        }
    }
}

impl Core {
    fn tell(&self, news: News) {
        self.start.listener.hear(news);
    }

    fn id(&self) -> &str {
        &self.start.manifest.id
    }

    /// Something that is odd about what it said.
    fn odd(&self, problem: &str) {
        let problem = self.voice.mask(problem);
        self.tell(News::Odd(problem.chars().take(REASON).collect()));
    }

    /// A connection to call on. Waits while the process starts, and wakes one that is down; never beyond the time to start.
    async fn ready(&self, invocation: &Invocation<'_>) -> Result<Arc<Link>, InvokeError> {
        let context = invocation.context;
        let give_up = context.deadline.min(Instant::now() + self.start.manifest.start_timeout);
        let unavailable = |text: &str| InvokeError::Unavailable(format!("plugin '{}': {text}", self.id()));
        let mut phase = self.phase.subscribe();
        let mut woken = false;
        loop {
            let now = phase.borrow_and_update().clone();
            match now {
                Phase::Ready(link) if !link.is_closed() => return Ok(link),
                // It has just ended; whoever looks after it is about to say so.
                Phase::Ready(_) | Phase::Starting => {}
                Phase::Down { reason, retry_from } => {
                    if woken || retry_from > Instant::now() + WORTH_WAITING {
                        return Err(unavailable(&reason));
                    }
                    woken = true;
                    self.wanted.notify_one();
                }
                Phase::Stopped => return Err(unavailable("it was stopped")),
            }
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(InvokeError::Cancelled),
                changed = phase.changed() => if changed.is_err() {
                    return Err(unavailable("it was stopped"));
                },
                () = tokio::time::sleep_until(give_up) => {
                    return Err(unavailable("it is still starting; try again in a moment"));
                }
            }
        }
    }
}

/// How a process ended, or why there was none.
struct End {
    reason: String,
    permanent: bool,
}

async fn supervise(core: Arc<Core>) {
    let timing = core.start.timing;
    let mut backoff = Backoff::new(timing.backoff_min, timing.backoff_max, RandomState::new());
    let mut failures = 0;
    loop {
        let began = Instant::now();
        let end = run_once(&core).await;
        *core.pid.lock() = None;
        if core.cancel.is_cancelled() {
            core.phase.send_replace(Phase::Stopped);
            return;
        }
        if core.served.swap(false, Ordering::Relaxed) || began.elapsed() >= timing.healthy_after {
            backoff.reset();
            failures = 0;
        }
        failures += 1;
        let now = Instant::now();
        let parked = end.permanent || failures >= timing.failures;
        let (until, retry_from, reason) = if parked {
            let rest = timing.park;
            let often = if end.permanent { String::new() } else { format!(", {failures} times in a row") };
            let again = format!("{}{often}; it is tried again in {} s", end.reason, rest.as_secs().max(1));
            // What only a person can mend may be mended at any time: a call looks again, though not every one.
            let retry_from = if end.permanent { now + rest.min(SOONEST) } else { now + rest };
            (now + rest, retry_from, again)
        } else {
            (now + backoff.wait(), now + timing.backoff_min, end.reason)
        };
        if parked {
            // The circuit half opens: one attempt, and it rests again if that fails.
            failures = timing.failures.saturating_sub(1);
        }
        core.phase.send_replace(Phase::Down { reason: reason.clone(), retry_from });
        core.tell(News::Down(reason));
        tokio::select! {
            () = core.cancel.cancelled() => {
                core.phase.send_replace(Phase::Stopped);
                return;
            }
            () = tokio::time::sleep_until(until) => {}
            () = core.wanted.notified() => tokio::select! {
                () = core.cancel.cancelled() => {
                    core.phase.send_replace(Phase::Stopped);
                    return;
                }
                () = tokio::time::sleep_until(retry_from.min(until)) => {}
            },
        }
        core.restarts.fetch_add(1, Ordering::Relaxed);
        core.phase.send_replace(Phase::Starting);
        core.tell(News::Starting);
    }
}

/// One life of the process: started, greeted, served, ended.
async fn run_once(core: &Arc<Core>) -> End {
    let (mut process, stdin, stdout) = match process::start(&core.start, &core.voice) {
        Ok(started) => started,
        Err(NotStarted { reason, permanent }) => return End { reason: core.voice.mask(&reason), permanent },
    };
    *core.pid.lock() = process.pid;
    let (link, mut offers) = Link::start(core, stdin, stdout);
    link.say(&Said::Hello {
        protocol: frame::PROTOCOL,
        plugin: frame::Named { id: core.id(), version: &core.start.manifest.version },
        config: &core.start.settings.config,
        auth: &core.start.settings.auth,
    });
    let began = Instant::now();
    let patience = core.start.manifest.start_timeout;
    let reason = loop {
        let greeted = matches!(&*core.phase.borrow(), Phase::Ready(_));
        tokio::select! {
            biased;
            () = core.cancel.cancelled() => break "it is being stopped".to_owned(),
            Ok(()) = offers.changed() => {
                let items = offers.borrow_and_update().clone();
                let listener = core.start.listener.clone();
                // Schemas are checked on the way.
                let _ = tokio::task::spawn_blocking(move || listener.hear(News::Ready(items))).await;
                core.phase.send_replace(Phase::Ready(link.clone()));
            }
            reason = link.closed() => break reason,
            status = process.ended() => {
                // What it wrote before is still to be read.
                let _ = tokio::time::timeout(link::LAST_WORDS, link.drained()).await;
                break format!("it {status}");
            }
            () = tokio::time::sleep_until(began + patience), if !greeted => {
                break format!(
                    "it did not say what it offers within {:.1} s{}",
                    patience.as_secs_f32(),
                    link.first_oddity().map_or_else(String::new, |odd| format!(" ({odd})"))
                );
            }
        }
    };
    // The streams close with this, which is how a process is told to end.
    link.close(&reason);
    if !core.cancel.is_cancelled() {
        // While this one is being ended calls wait.
        core.phase.send_replace(Phase::Starting);
    }
    process.end().await;
    let mut reason = core.voice.mask(&reason);
    if let Some(last) = core.voice.tail().last() {
        reason = format!("{reason}; the last it said: {last}");
    }
    End { reason: reason.chars().take(REASON).collect(), permanent: false }
}
