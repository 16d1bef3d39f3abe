//! Work that outlives its call: finished once, delivered once, given up or lost in the end (oneringai §2.10).

use serde_json::json;
use toolcrib_engine::{
    StoreError,
    pending::{Pending, PendingFilter, PendingKind, PendingState},
};

use crate::samples::{piece, principal};

use super::{Store, at_once};

use PendingKind::{Background, Suspended};

pub(crate) async fn a_piece_of_work_comes_back_as_it_was(store: impl Store) {
    assert_eq!(store.pending("a", 2_000).await.unwrap(), None);
    let opened = piece("a", Suspended);
    store.open(opened.clone(), 10, 2_000).await.unwrap();
    let read = store.pending("a", 2_000).await.unwrap().unwrap();
    assert_eq!(read, opened);
    assert_eq!(read.metadata.to_string(), opened.metadata.to_string(), "key order");
    assert!(store.open(opened, 10, 2_000).await.is_err(), "a handle is used once");
    let large = Pending { metadata: json!("x".repeat(16 * 1024)), ..piece("b", Suspended) };
    assert!(matches!(store.open(large, 10, 2_000).await, Err(StoreError::Quota(_))));
}

pub(crate) async fn a_piece_is_settled_once_and_delivered_once(store: impl Store) {
    store.open(piece("a", Background), 10, 2_000).await.unwrap();
    assert!(!store.deliver("a", 2_000).await.unwrap(), "nothing is there yet");
    for (handle, result, first) in [("a", "1", true), ("a", "2", false), ("x", "3", false)] {
        assert_eq!(store.settle(handle, result.to_owned(), 2_000).await.unwrap(), first, "{handle} {result}");
    }
    let there = store.pending("a", u64::MAX).await.unwrap().unwrap();
    assert_eq!((there.state, there.result.as_deref()), (PendingState::Ready, Some("1")), "a result does not expire");
    for first in [true, false] {
        assert_eq!(store.deliver("a", 3_000).await.unwrap(), first);
    }
    assert!(!store.deliver("x", 3_000).await.unwrap());
    assert_eq!(store.pending("a", 3_000).await.unwrap().unwrap().state, PendingState::Delivered);
}

pub(crate) async fn what_comes_too_late_is_not_taken(store: impl Store) {
    store.open(Pending { expires_at_ms: 5_000, ..piece("a", Suspended) }, 10, 2_000).await.unwrap();
    assert_eq!(store.pending("a", 4_999).await.unwrap().unwrap().state, PendingState::Waiting);
    assert_eq!(store.pending("a", 5_000).await.unwrap().unwrap().state, PendingState::Expired);
    assert!(!store.settle("a", "{}".to_owned(), 5_000).await.unwrap());
    let found = store.by_correlation("t", "c-a", 5_000).await.unwrap().unwrap();
    assert_eq!(found.state, PendingState::Expired, "whoever comes late can be told why");
    assert!(store.settle("a", "{}".to_owned(), 4_999).await.unwrap());
}

pub(crate) async fn a_piece_is_found_by_what_the_outside_calls_it(store: impl Store) {
    for (handle, tenant, created) in [("newer", "t", 2), ("older", "t", 1), ("other", "u", 0)] {
        let one = Pending {
            principal: principal(tenant, "ann"),
            correlation: Some("order 7".to_owned()),
            created_at_ms: created,
            ..piece(handle, Suspended)
        };
        store.open(one, 10, 2_000).await.unwrap();
    }
    let found = async |tenant: &str, correlation: &str| {
        store.by_correlation(tenant, correlation, 2_000).await.unwrap().map(|piece| piece.handle)
    };
    assert_eq!(found("t", "order 7").await.as_deref(), Some("older"));
    store.settle("older", "{}".to_owned(), 2_000).await.unwrap();
    assert_eq!(found("t", "order 7").await.as_deref(), Some("newer"), "the oldest that waits");
    store.settle("newer", "{}".to_owned(), 2_000).await.unwrap();
    assert_eq!(found("t", "order 7").await.as_deref(), Some("newer"), "none waits: the latest");
    store.deliver("newer", 2_000).await.unwrap();
    assert_eq!(found("t", "order 7").await.as_deref(), Some("newer"), "whatever became of it");
    let again = Pending {
        correlation: Some("order 7".to_owned()),
        created_at_ms: 1,
        expires_at_ms: 2_001,
        ..piece("again", Suspended)
    };
    store.open(again, 10, 2_000).await.unwrap();
    assert_eq!(found("t", "order 7").await.as_deref(), Some("again"), "one waits once more");
    let late = store.by_correlation("t", "order 7", 2_001).await.unwrap().unwrap();
    assert_eq!(late.handle, "newer", "the latest by when it began");
    for (tenant, correlation) in [("t", "order 8"), ("v", "order 7"), ("t", "")] {
        assert_eq!(found(tenant, correlation).await, None, "{tenant} {correlation}");
    }
}

pub(crate) async fn an_owner_has_a_quota_of_unfinished_work(store: impl Store) {
    store.open(Pending { expires_at_ms: 5_000, ..piece("a", Background) }, 2, 2_000).await.unwrap();
    store.open(piece("b", Background), 2, 2_000).await.unwrap();
    let refused = store.open(piece("c", Suspended), 2, 2_000).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Quota(text) if text.contains("2 unfinished")), "{refused}");
    let other = Pending { principal: principal("t", ""), ..piece("d", Background) };
    store.open(other, 2, 2_000).await.unwrap();
    store.open(piece("c", Suspended), 2, 5_000).await.unwrap();
    store.settle("b", "{}".to_owned(), 5_000).await.unwrap();
    store.open(piece("e", Suspended), 2, 5_000).await.unwrap();
}

pub(crate) async fn work_is_listed_oldest_first_by_owner_state_and_kind(store: impl Store) {
    for (handle, kind, user, created, expires) in [
        ("a", Background, "ann", 3, 90_000),
        ("b", Suspended, "ann", 1, 90_000),
        ("c", Background, "", 2, 90_000),
        ("d", Suspended, "ann", 4, 5_000),
    ] {
        let one = Pending {
            principal: principal("t", user),
            created_at_ms: created,
            expires_at_ms: expires,
            ..piece(handle, kind)
        };
        store.open(one, 10, 10).await.unwrap();
    }
    store.settle("a", "{}".to_owned(), 20).await.unwrap();
    let owner = |user: Option<&str>| Some(("t".to_owned(), user.map(str::to_owned)));
    let all = || PendingFilter { limit: 100, ..PendingFilter::default() };
    let cases: &[(PendingFilter, &[&str])] = &[
        (all(), &["b", "c", "a", "d"]),
        (PendingFilter { limit: 1, ..all() }, &["b"]),
        (PendingFilter::default(), &[]),
        (PendingFilter { owner: owner(Some("ann")), ..all() }, &["b", "a", "d"]),
        (PendingFilter { owner: owner(None), ..all() }, &["c"]),
        (PendingFilter { owner: Some(("u".to_owned(), None)), ..all() }, &[]),
        (PendingFilter { kind: Some(Background), ..all() }, &["c", "a"]),
        (PendingFilter { state: Some(PendingState::Waiting), ..all() }, &["b", "c"]),
        (PendingFilter { state: Some(PendingState::Ready), ..all() }, &["a"]),
        (PendingFilter { state: Some(PendingState::Expired), ..all() }, &["d"]),
        (PendingFilter { state: Some(PendingState::Lost), ..all() }, &[]),
        (PendingFilter { state: Some(PendingState::Waiting), owner: owner(Some("ann")), ..all() }, &["b"]),
    ];
    for (filter, expected) in cases {
        let found = store.list_pending(filter.clone(), 5_000).await.unwrap();
        let handles: Vec<_> = found.iter().map(|piece| piece.handle.as_str()).collect();
        assert_eq!(handles, *expected, "{filter:?}");
    }
}

pub(crate) async fn a_list_of_large_results_ends_early(store: impl Store) {
    let large = "x".repeat(30 << 20);
    for handle in ["a", "b", "c"] {
        store.open(piece(handle, Background), 10, 1_000).await.unwrap();
        store.settle(handle, large.clone(), 2_000).await.unwrap();
    }
    let filter = PendingFilter { limit: 10, ..PendingFilter::default() };
    assert_eq!(store.list_pending(filter, 2_000).await.unwrap().len(), 2);
}

pub(crate) async fn background_work_of_a_dead_process_is_lost(store: impl Store) {
    store.open_run("alive").await.unwrap();
    for (handle, kind, run, expires) in [
        ("a", Background, "dead", 90_000),
        ("b", Suspended, "dead", 90_000),
        ("c", Background, "alive", 90_000),
        ("d", Background, "dead", 5_000),
        ("e", Background, "dead", 90_000),
    ] {
        let one = Pending { run: run.to_owned(), expires_at_ms: expires, ..piece(handle, kind) };
        store.open(one, 10, 10).await.unwrap();
    }
    store.settle("e", "{}".to_owned(), 20).await.unwrap();
    let lost = store.lose_dead(6_000).await.unwrap();
    let expected =
        Pending { run: "dead".to_owned(), expires_at_ms: 90_000, state: PendingState::Lost, ..piece("a", Background) };
    assert_eq!(lost, [expected], "what waits for the outside, lives, expired or is ready is not lost");
    assert!(store.lose_dead(6_000).await.unwrap().is_empty(), "told once");
    assert!(!store.settle("a", "{}".to_owned(), 6_000).await.unwrap());
    for first in [true, false] {
        assert_eq!(store.deliver("a", 6_000).await.unwrap(), first, "that it was lost is told once");
    }
    assert_eq!(store.pending("a", 6_000).await.unwrap().unwrap().state, PendingState::Delivered);
    for handle in ["b", "c", "d"] {
        assert!(!store.deliver(handle, 6_000).await.unwrap(), "{handle} waits or expired");
    }
    assert_eq!(store.pending("c", 6_000).await.unwrap().unwrap().state, PendingState::Waiting);
}

pub(crate) async fn finished_work_is_dropped_in_time(store: impl Store) {
    for (handle, expires) in [("ready", 9_000), ("delivered", 9_000), ("expired", 3_000), ("waiting", 9_000)] {
        store.open(Pending { expires_at_ms: expires, ..piece(handle, Suspended) }, 10, 1_000).await.unwrap();
    }
    for handle in ["ready", "delivered"] {
        store.settle(handle, "{}".to_owned(), 2_000).await.unwrap();
    }
    store.deliver("delivered", 2_500).await.unwrap();
    store.open(Pending { run: "dead".to_owned(), ..piece("lost", Background) }, 10, 1_000).await.unwrap();
    store.lose_dead(6_000).await.unwrap();
    for (before, dropped) in [(2_000, 0), (3_001, 3), (6_001, 1), (9_000, 0), (9_001, 1)] {
        assert_eq!(store.prune_pending(before).await.unwrap(), dropped, "before {before}");
    }
}

/// `stores` are one or two ways to the same content.
pub(crate) async fn racing_deliveries_are_one<S: Store>(stores: &[S]) {
    for round in 0..10 {
        let handle = round.to_string();
        stores[0].open(piece(&handle, Background), usize::MAX, 1_000).await.unwrap();
        let won = at_once(stores, 6, |store, racer| {
            let handle = handle.clone();
            async move {
                let settled = store.settle(&handle, racer.to_string(), 2_000).await.unwrap();
                (settled, store.deliver(&handle, 2_000).await.unwrap())
            }
        });
        assert_eq!(won.iter().filter(|(settled, _)| *settled).count(), 1, "{won:?}");
        assert_eq!(won.iter().filter(|(_, delivered)| *delivered).count(), 1, "{won:?}");
    }
}
