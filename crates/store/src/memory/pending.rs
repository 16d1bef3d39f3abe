//! Work that outlives its call, in memory.

use std::collections::BTreeMap;

use toolcrib_engine::{
    BoxFuture, StoreError,
    pending::{Pending, PendingFilter, PendingKind, PendingState, PendingStore},
};

use super::{MemoryStore, ready, result_too_large};
use crate::{DEFAULT_RESULT_BYTES, bounds, subject::state_at};

#[derive(Default)]
pub(super) struct Pieces {
    // By the order in which they came.
    pieces: BTreeMap<u64, Piece>,
    next: u64,
}

struct Piece {
    piece: Pending,
    ended_at_ms: Option<u64>,
}

impl Piece {
    fn at(&self, now_ms: u64) -> Pending {
        Pending { state: state_at(&self.piece, now_ms), ..self.piece.clone() }
    }

    fn waits(&self, now_ms: u64) -> bool {
        state_at(&self.piece, now_ms) == PendingState::Waiting
    }
}

impl Pieces {
    fn open(&mut self, piece: Pending, most: usize, now_ms: u64) -> Result<(), StoreError> {
        let metadata = serde_json::to_vec(&piece.metadata).map_or(0, |text| text.len());
        bounds::within("the notes of pending work", metadata, bounds::METADATA_BYTES)?;
        let owner = &piece.principal;
        let theirs = |kept: &&Piece| {
            let principal = &kept.piece.principal;
            principal.tenant == owner.tenant && principal.user == owner.user && kept.waits(now_ms)
        };
        if self.pieces.values().filter(theirs).count() >= most {
            return Err(bounds::too_much_pending(most));
        }
        let kept = serde_json::to_vec(&Pending { result: None, ..piece.clone() }).map_or(0, |text| text.len());
        bounds::within("pending work", kept, bounds::REQUEST_BYTES)?;
        if self.pieces.values().any(|kept| kept.piece.handle == piece.handle) {
            return Err(bounds::exists_already("keep pending work"));
        }
        self.pieces.insert(self.next, Piece { piece, ended_at_ms: None });
        self.next += 1;
        Ok(())
    }

    fn by_handle(&mut self, handle: &str) -> Option<&mut Piece> {
        self.pieces.values_mut().find(|kept| kept.piece.handle == handle)
    }

    /// Oldest first.
    fn list(&self, now_ms: u64, limit: usize, wanted: impl Fn(&Piece) -> bool) -> Vec<Pending> {
        let mut found: Vec<_> = self.pieces.values().filter(|kept| wanted(kept)).collect();
        found.sort_by_key(|kept| kept.piece.created_at_ms);
        let mut given = bounds::Given::default();
        found
            .into_iter()
            .take(limit.min(bounds::LIST))
            .take_while(|kept| given.takes(kept.piece.result.as_ref().map_or(0, String::len)))
            .map(|kept| kept.at(now_ms))
            .collect()
    }

    fn prune(&mut self, before_ms: u64) -> u64 {
        let pieces = self.pieces.len();
        self.pieces.retain(|_, kept| {
            let end = match kept.piece.state {
                PendingState::Waiting => kept.piece.expires_at_ms,
                PendingState::Ready | PendingState::Delivered | PendingState::Expired | PendingState::Lost => {
                    kept.ended_at_ms.unwrap_or(kept.piece.expires_at_ms)
                }
            };
            end >= before_ms
        });
        (pieces - self.pieces.len()) as u64
    }
}

impl PendingStore for MemoryStore {
    fn open(&self, pending: Pending, most: usize, now_ms: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(self.pending.lock().open(pending, most, now_ms))
    }

    fn pending<'a>(&'a self, handle: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<Pending>, StoreError>> {
        ready(Ok(self.pending.lock().by_handle(handle).map(|kept| kept.at(now_ms))))
    }

    fn by_correlation<'a>(
        &'a self,
        tenant: &'a str,
        correlation: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Option<Pending>, StoreError>> {
        let pieces = self.pending.lock();
        let theirs = |kept: &Piece| {
            kept.piece.principal.tenant == tenant && kept.piece.correlation.as_deref() == Some(correlation)
        };
        // The oldest that waits; when none does, the latest, which tells whoever comes late why.
        let waiting = pieces.list(now_ms, 1, |kept| theirs(kept) && kept.waits(now_ms)).pop();
        let latest = || {
            // Of equally old ones the last is the latest.
            let found = pieces.pieces.values().filter(|kept| theirs(kept));
            found.max_by_key(|kept| kept.piece.created_at_ms).map(|kept| kept.at(now_ms))
        };
        ready(Ok(waiting.or_else(latest)))
    }

    fn settle<'a>(&'a self, handle: &'a str, result: String, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        if result.len() as u64 > DEFAULT_RESULT_BYTES {
            return ready(Err(result_too_large(result.len() as u64, DEFAULT_RESULT_BYTES)));
        }
        let mut pieces = self.pending.lock();
        let Some(kept) = pieces.by_handle(handle).filter(|kept| kept.waits(now_ms)) else { return ready(Ok(false)) };
        kept.piece.state = PendingState::Ready;
        kept.piece.result = Some(result);
        kept.ended_at_ms = Some(now_ms);
        ready(Ok(true))
    }

    fn deliver<'a>(&'a self, handle: &'a str, _now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut pieces = self.pending.lock();
        let there = |kept: &&mut Piece| matches!(kept.piece.state, PendingState::Ready | PendingState::Lost);
        let Some(kept) = pieces.by_handle(handle).filter(there) else { return ready(Ok(false)) };
        kept.piece.state = PendingState::Delivered;
        ready(Ok(true))
    }

    fn list_pending(&self, filter: PendingFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>> {
        let wanted = |kept: &Piece| {
            let principal = &kept.piece.principal;
            filter.owner.as_ref().is_none_or(|(tenant, user)| *tenant == principal.tenant && *user == principal.user)
                && filter.state.is_none_or(|state| state == state_at(&kept.piece, now_ms))
                && filter.kind.is_none_or(|kind| kind == kept.piece.kind)
        };
        ready(Ok(self.pending.lock().list(now_ms, filter.limit, wanted)))
    }

    fn lose_dead(&self, now_ms: u64) -> BoxFuture<'_, Result<Vec<Pending>, StoreError>> {
        let alive = |run: &str| self.is_run_open(run);
        let mut pieces = self.pending.lock();
        let mut lost = Vec::new();
        for kept in pieces.pieces.values_mut() {
            if kept.piece.kind == PendingKind::Background && kept.waits(now_ms) && !alive(&kept.piece.run) {
                kept.piece.state = PendingState::Lost;
                kept.ended_at_ms = Some(now_ms);
                lost.push(kept.piece.clone());
            }
        }
        lost.sort_by_key(|piece| piece.created_at_ms);
        ready(Ok(lost))
    }

    fn prune_pending(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(Ok(self.pending.lock().prune(before_ms)))
    }
}
