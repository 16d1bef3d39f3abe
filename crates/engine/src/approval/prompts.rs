//! How often a person may be asked: a model that asks again and again wears out whoever answers (T21).

use parking_lot::Mutex;
use toolcrib_core::rate::{Keyed, RetryAfterMs, SlidingWindow};

use crate::identity::Principal;

/// Most principals remembered.
const MOST_PRINCIPALS: usize = 10_000;
const MINUTE_MS: u64 = 60_000;

/// Whose questions count together: tenant, user and agent.
type Owner = (String, Option<String>, Option<String>);

/// Counts questions by principal.
pub(super) struct Prompts(Mutex<Keyed<Owner, SlidingWindow>>);

impl Prompts {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Keyed::new(MOST_PRINCIPALS)))
    }

    /// Counts a question, or says after how long there is room for one.
    pub(super) fn take(&self, principal: &Principal, per_minute: u32, now_ms: u64) -> Result<(), RetryAfterMs> {
        let owner = (principal.tenant.clone(), principal.user.clone(), principal.agent.clone());
        let mut windows = self.0.lock();
        let window = windows.entry(&owner, now_ms, || SlidingWindow::new(per_minute, MINUTE_MS));
        if window.limit() != per_minute.min(SlidingWindow::MAX_LIMIT) {
            *window = SlidingWindow::new(per_minute, MINUTE_MS);
        }
        window.try_take(now_ms).map(|_| ())
    }
}
