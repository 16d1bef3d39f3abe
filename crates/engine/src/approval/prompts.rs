//! How often a person may be asked: a model that asks again and again wears out whoever answers (T21).

use parking_lot::Mutex;
use toolcrib_core::rate::{Keyed, RetryAfterMs, SlidingWindow};

use crate::identity::Principal;

/// Most tenants and users remembered.
const MOST_OWNERS: usize = 10_000;
const MINUTE_MS: u64 = 60_000;

/// Whose questions count together: tenant and user. Agent and session are not in it: a caller names them as it likes,
/// and would have as many questions as it has names. A tenant's callers without a user share one count.
type Owner = (String, Option<String>);

/// Counts questions by tenant and user.
pub(super) struct Prompts(Mutex<Keyed<Owner, SlidingWindow>>);

impl Prompts {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Keyed::new(MOST_OWNERS)))
    }

    /// Counts a question, or says after how long there is room for one.
    pub(super) fn take(&self, principal: &Principal, per_minute: u32, now_ms: u64) -> Result<(), RetryAfterMs> {
        let owner = (principal.tenant.clone(), principal.user.clone());
        let mut windows = self.0.lock();
        let window = windows.entry(&owner, now_ms, || SlidingWindow::new(per_minute, MINUTE_MS));
        if window.limit() != per_minute.min(SlidingWindow::MAX_LIMIT) {
            *window = SlidingWindow::new(per_minute, MINUTE_MS);
        }
        window.try_take(now_ms).map(|_| ())
    }
}
