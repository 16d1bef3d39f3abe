//! Work that outlives its call: background calls, and calls that wait to be resumed.

mod background;
pub(crate) mod kept;
mod race;
mod suspended;
mod user_input;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolResult;
use toolcrib_engine::{
    Outcome, Principal,
    pending::{Finished, Origin, PendingError, PendingSettings, PendingWork, Started},
};

use kept::Kept;

/// A store, the time, and the work of one process.
struct World {
    kept: Arc<Kept>,
    clock: Arc<AtomicU64>,
    work: PendingWork,
}

impl World {
    fn new() -> Self {
        Self::with(PendingSettings::default())
    }

    fn with(settings: PendingSettings) -> Self {
        let (kept, clock) = (Arc::new(Kept::default()), Arc::new(AtomicU64::new(1_000_000)));
        Self { work: process(&kept, &clock, settings), kept, clock }
    }

    /// The same store after a restart.
    fn restarted(self) -> Self {
        self.kept.dead.lock().insert("run".into());
        Self { work: process(&self.kept, &self.clock, PendingSettings::default()), kept: self.kept, clock: self.clock }
    }

    fn later(&self, by: Duration) {
        self.clock.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Starts work that ends with `outcome` after `after`, unless it is cancelled.
    async fn start(&self, of: Origin, after: Duration, outcome: Outcome) -> Result<Started, PendingError> {
        let cancel = CancellationToken::new();
        let (token, name) = (cancel.clone(), of.exposed.clone());
        let running = async move {
            tokio::select! {
                () = tokio::time::sleep(after) => {
                    let result = if outcome == Outcome::Ok { ToolResult::text(name) } else { ToolResult::error(name) };
                    Finished { result, outcome }
                }
                () = token.cancelled() => Finished { result: ToolResult::error("stopped"), outcome: Outcome::Cancelled },
            }
        };
        self.work.start(of, cancel, None, Box::pin(running)).await
    }
}

fn process(kept: &Arc<Kept>, clock: &Arc<AtomicU64>, settings: PendingSettings) -> PendingWork {
    let clock = clock.clone();
    PendingWork::with_clock(kept.clone(), settings, move || clock.load(Ordering::SeqCst))
}

fn principal(user: &str, session: Option<&str>) -> Principal {
    Principal { user: Some(user.into()), session: session.map(Into::into), ..Principal::default() }
}

/// A call of `tool` by ann.
fn origin(tool: &str) -> Origin {
    Origin {
        principal: principal("ann", None),
        run: "run".into(),
        call: 7,
        tool: format!("mcp:s/{tool}"),
        exposed: tool.into(),
    }
}
