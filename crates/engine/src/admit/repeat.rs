//! The guard against models that go in circles (T26).

use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_core::{
    ContentHash, ToolId,
    rate::{Idle, Keyed},
};

use super::{Asked, plan::Plan, refused::Refused};
use crate::identity::Principal;

/// Sessions watched at a time.
const MAX_WATCHED: usize = 4_096;

/// The last call of a session.
struct Last {
    tool: Arc<ToolId>,
    digest: ContentHash,
    /// What it gave.
    result: Option<ContentHash>,
    /// How often in a row it gave that.
    count: u32,
    at_ms: u64,
    idle_ms: u64,
}

impl Idle for Last {
    fn is_idle(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.at_ms) > self.idle_ms
    }
}

pub(super) struct Repeats(Mutex<Keyed<Principal, Last>>);

impl Default for Repeats {
    fn default() -> Self {
        Self(Mutex::new(Keyed::new(MAX_WATCHED)))
    }
}

/// The call whose result is to be compared.
pub(super) struct Watched {
    principal: Principal,
    tool: Arc<ToolId>,
    digest: ContentHash,
    warn_after: u32,
}

impl Repeats {
    /// Any other call of the same session starts the count anew, and so does a long pause. Without a session, calls are
    /// watched by user and agent.
    pub(super) fn look(&self, plan: &Plan, asked: &Asked<'_>, now: u64) -> Result<Option<Watched>, Refused> {
        let settings = &plan.repeat;
        if settings.warn_after == 0 && settings.refuse_after == 0 {
            return Ok(None);
        }
        let (tool, digest) = (&plan.tool, asked.digest);
        let fresh =
            || Last { tool: tool.clone(), digest, result: None, count: 0, at_ms: now, idle_ms: settings.idle_ms };
        let mut table = self.0.lock();
        let last = table.entry(asked.principal, now, fresh);
        if last.digest != digest || last.tool != *tool || last.is_idle(now) {
            *last = fresh();
        }
        last.at_ms = now;
        let count = last.count;
        drop(table);
        if settings.refuse_after > 0 && count.saturating_add(1) >= settings.refuse_after.max(2) {
            return Err(Refused::Repeated { count });
        }
        let principal = asked.principal.clone();
        Ok(Some(Watched { principal, tool: tool.clone(), digest, warn_after: settings.warn_after }))
    }

    /// Counts what the call gave; returns what the model should be told.
    pub(super) fn ended(&self, watched: &Watched, result: ContentHash) -> Option<String> {
        let mut table = self.0.lock();
        let last = table.get_mut(&watched.principal)?;
        if last.digest != watched.digest || last.tool != watched.tool {
            return None;
        }
        last.count = if last.result == Some(result) { last.count.saturating_add(1) } else { 1 };
        last.result = Some(result);
        let count = last.count;
        drop(table);
        (watched.warn_after > 0 && count >= watched.warn_after.max(2)).then(|| {
            format!(
                "This is the same result for the same call {count} times in a row. Calling again will hardly help: use it, change the arguments, or take another way."
            )
        })
    }
}
