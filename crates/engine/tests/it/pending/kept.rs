//! A store in memory that does what [`PendingStore`] promises, and can be made to fail.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;
use toolcrib_engine::{
    BoxFuture, StoreError,
    pending::{Pending, PendingFilter, PendingKind, PendingState, PendingStore},
};

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) pieces: Mutex<Vec<Pending>>,
    /// Runs whose process is gone.
    pub(crate) dead: Mutex<HashSet<String>>,
    /// How many settlements fail before one works.
    pub(crate) failing_settlements: AtomicUsize,
    /// Lets others go first before each step; by default the runtime's other tasks.
    pub(crate) pause: Option<fn() -> BoxFuture<'static, ()>>,
}

impl Kept {
    fn now<T>(&self, now_ms: u64, act: impl FnOnce(&mut Vec<Pending>) -> T) -> T {
        let mut pieces = self.pieces.lock();
        for piece in &mut *pieces {
            if piece.state == PendingState::Waiting && piece.expires_at_ms <= now_ms {
                piece.state = PendingState::Expired;
            }
        }
        act(&mut pieces)
    }

    fn change(
        &self,
        handle: &str,
        now_ms: u64,
        from: &[PendingState],
        to: PendingState,
        result: Option<String>,
    ) -> bool {
        self.now(now_ms, |pieces| {
            let Some(piece) = pieces.iter_mut().find(|piece| piece.handle == handle && from.contains(&piece.state))
            else {
                return false;
            };
            piece.state = to;
            piece.result = result.or(piece.result.take());
            true
        })
    }
}

impl Kept {
    /// The answer of a step, which lets others go first before it is heard.
    fn ready<'a, T: Send + 'a>(&'a self, value: T) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            match self.pause {
                Some(pause) => pause().await,
                None => tokio::task::yield_now().await,
            }
            Ok(value)
        })
    }
}

impl PendingStore for Kept {
    fn open(&self, pending: Pending, most: usize, now_ms: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        let opened = self.now(now_ms, |pieces| {
            let owner = |piece: &Pending| (piece.principal.tenant.clone(), piece.principal.user.clone());
            let mine =
                pieces.iter().filter(|piece| owner(piece) == owner(&pending) && piece.state == PendingState::Waiting);
            if mine.count() >= most {
                return Err(StoreError::Quota("too much pending".into()));
            }
            pieces.push(pending);
            Ok(())
        });
        // It is done before whoever asked for it hears of that.
        Box::pin(async move {
            tokio::task::yield_now().await;
            opened
        })
    }

    fn pending<'a>(&'a self, handle: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<Pending>, StoreError>> {
        self.ready(self.now(now_ms, |pieces| pieces.iter().find(|piece| piece.handle == handle).cloned()))
    }

    fn by_correlation<'a>(
        &'a self,
        tenant: &'a str,
        correlation: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Option<Pending>, StoreError>> {
        self.ready(self.now(now_ms, |pieces| {
            let matching = |piece: &&Pending| {
                piece.principal.tenant == tenant && piece.correlation.as_deref() == Some(correlation)
            };
            let waiting = pieces.iter().filter(matching).find(|piece| piece.state == PendingState::Waiting);
            waiting.or_else(|| pieces.iter().rfind(matching)).cloned()
        }))
    }

    fn settle<'a>(&'a self, handle: &'a str, result: String, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        if self.failing_settlements.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        {
            let failed = StoreError::Failed { operation: "settle", cause: "locked".into() };
            return Box::pin(std::future::ready(Err(failed)));
        }
        if result.len() > 1_000_000 {
            return Box::pin(std::future::ready(Err(StoreError::Quota("too large".into()))));
        }
        self.ready(self.change(handle, now_ms, &[PendingState::Waiting], PendingState::Ready, Some(result)))
    }

    fn deliver<'a>(&'a self, handle: &'a str, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        let from = [PendingState::Ready, PendingState::Lost];
        self.ready(self.change(handle, now_ms, &from, PendingState::Delivered, None))
    }

    fn list_pending(&self, filter: PendingFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>> {
        self.ready(self.now(now_ms, |pieces| {
            let matching = |piece: &&Pending| {
                filter
                    .owner
                    .as_ref()
                    .is_none_or(|(tenant, user)| *tenant == piece.principal.tenant && *user == piece.principal.user)
                    && filter.state.is_none_or(|state| state == piece.state)
                    && filter.kind.is_none_or(|kind| kind == piece.kind)
            };
            pieces.iter().filter(matching).take(filter.limit).cloned().collect()
        }))
    }

    fn lose_dead(&self, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>> {
        let dead = self.dead.lock().clone();
        self.ready(self.now(now_ms, |pieces| {
            let lost = pieces.iter_mut().filter(|piece| {
                piece.state == PendingState::Waiting
                    && piece.kind == PendingKind::Background
                    && dead.contains(&piece.run)
            });
            lost.map(|piece| {
                piece.state = PendingState::Lost;
                piece.clone()
            })
            .collect()
        }))
    }

    fn prune_pending(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.ready(self.now(0, |pieces| {
            let before = pieces.len();
            pieces.retain(|piece| piece.state == PendingState::Waiting || piece.created_at_ms >= before_ms);
            (before - pieces.len()) as u64
        }))
    }
}
