//! The journal: one chain, intents that stay open until their outcome, keys that are used once (reliability reference
//! §2.2 to 2.4).

use toolcrib_engine::{
    Outcome, StoreError,
    journal::{Begun, Claim, ClaimResult, Earlier, GENESIS, JournalFilter, JournalRecord, Kind},
};

use crate::samples::{claim, everything, holds, intent, kept, outcome, principal, shared};

use super::{LATER, Store, at_once};

async fn verified(store: &impl Store) -> Vec<toolcrib_engine::journal::StoredRecord> {
    let records = store.records(everything()).await.unwrap();
    holds(store.anchor().await.unwrap(), &records);
    records
}

pub(crate) async fn records_are_chained_in_the_order_of_their_writing(store: impl Store) {
    assert_eq!(store.anchor().await.unwrap(), (0, GENESIS.to_owned()));
    let written =
        [intent("r", 1), outcome("r", 1, Outcome::Ok), JournalRecord::new(Kind::Breaker, 5, "r"), intent("r", 2)];
    store.begin(written[0].clone().into(), None, 1).await.unwrap();
    store.finish(written[1].clone().into(), None).await.unwrap();
    store.append(shared(written[2..].to_vec())).await.unwrap();
    let records = verified(&store).await;
    assert_eq!(records.iter().map(|stored| stored.record.clone()).collect::<Vec<_>>(), written);
    assert_eq!(records.iter().map(|stored| stored.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

pub(crate) async fn several_records_are_appended_all_or_none(store: impl Store) {
    let huge = JournalRecord { detail: Some("x".repeat(100_000)), ..intent("r", 2) };
    let refused = store.append(shared(vec![intent("r", 1), huge.clone(), intent("r", 3)])).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Quota(text) if text.contains("journal record")), "{refused}");
    store.begin(huge.clone().into(), Some(claim("k")), 1).await.unwrap_err();
    store.finish(huge.into(), None).await.unwrap_err();
    assert!(verified(&store).await.is_empty());
    assert!(store.unfinished(10).await.unwrap().is_empty());
    assert_eq!(
        store.begin(intent("r", 1).into(), Some(claim("k")), 1).await.unwrap(),
        Begun::Started,
        "the key is free"
    );
    store.append(Vec::new()).await.unwrap();
}

pub(crate) async fn an_intent_is_unfinished_until_its_outcome(store: impl Store) {
    for call in 1..=6 {
        store.begin(intent("r", call).into(), None, 1).await.unwrap();
    }
    store.begin(intent("s", 1).into(), None, 1).await.unwrap();
    store.finish(outcome("r", 2, Outcome::Unknown).into(), None).await.unwrap();
    store
        .append(shared(vec![JournalRecord { kind: Kind::Recovered, ..outcome("r", 4, Outcome::Unknown) }]))
        .await
        .unwrap();
    // A result that comes late ends nothing, neither do records about questions.
    for kind in [Kind::Late, Kind::Asked, Kind::Answered, Kind::Grant] {
        store.append(shared(vec![JournalRecord { kind, ..outcome("r", 5, Outcome::Ok) }])).await.unwrap();
    }
    let open = async |limit| -> Vec<(String, u64)> {
        let found = store.unfinished(limit).await.unwrap();
        assert!(found.iter().all(|stored| stored.record.kind == Kind::Intent));
        found.into_iter().map(|stored| (stored.record.run, stored.record.call)).collect()
    };
    let expected =
        |calls: &[(&str, u64)]| calls.iter().map(|(run, call)| ((*run).to_owned(), *call)).collect::<Vec<_>>();
    assert_eq!(open(10).await, expected(&[("r", 1), ("r", 3), ("r", 5), ("r", 6), ("s", 1)]));
    assert_eq!(open(2).await, expected(&[("r", 1), ("r", 3)]));
    store.open_run("r").await.unwrap();
    assert_eq!(open(10).await, expected(&[("s", 1)]), "a living run's calls are under way");
}

pub(crate) async fn a_call_has_one_outcome(store: impl Store) {
    let recovered = |call| JournalRecord { kind: Kind::Recovered, ..outcome("r", call, Outcome::Unknown) };
    let late = |call| JournalRecord { kind: Kind::Late, ..outcome("r", call, Outcome::Ok) };
    let looking = |call| JournalRecord { mutating: false, ..outcome("r", call, Outcome::Ok) };
    // As when the first attempt was committed and its caller did not learn of it.
    store.begin(intent("r", 1).into(), Some(claim("k")), 1).await.unwrap();
    for _ in 0..2 {
        store.finish(outcome("r", 1, Outcome::Ok).into(), Some(kept("k", Some("{}")))).await.unwrap();
    }
    store.append(shared(vec![outcome("r", 1, Outcome::Unknown)])).await.unwrap();
    for _ in 0..2 {
        store.append(shared(vec![looking(2), looking(3)])).await.unwrap();
    }
    // Neither what another process closed by mistake nor what came late is the call's own outcome.
    store.begin(intent("r", 4).into(), None, 1).await.unwrap();
    store.append(shared(vec![recovered(4), late(4)])).await.unwrap();
    for _ in 0..2 {
        store.finish(outcome("r", 4, Outcome::Ok).into(), None).await.unwrap();
    }
    store.finish(outcome("s", 1, Outcome::Ok).into(), None).await.unwrap();
    let found = verified(&store).await;
    let story: Vec<_> =
        found.iter().map(|stored| (stored.record.kind, &*stored.record.run, stored.record.call)).collect();
    let expected = [
        (Kind::Intent, "r", 1),
        (Kind::Outcome, "r", 1),
        (Kind::Outcome, "r", 2),
        (Kind::Outcome, "r", 3),
        (Kind::Intent, "r", 4),
        (Kind::Recovered, "r", 4),
        (Kind::Late, "r", 4),
        (Kind::Outcome, "r", 4),
        (Kind::Outcome, "s", 1),
    ];
    assert_eq!(story, expected);
    let Begun::Duplicate(earlier) = store.begin(intent("r", 9).into(), Some(claim("k")), 1).await.unwrap() else {
        panic!("the key was used")
    };
    assert_eq!((earlier.outcome, earlier.result.as_deref()), (Some(Outcome::Ok), Some("{}")));
}

pub(crate) async fn one_owner_cannot_use_up_the_keys_of_all(store: impl Store) {
    let of = |owner: &str, number: u64, end| Claim {
        owner: owner.to_owned(),
        expires_at_ms: end,
        ..claim(&number.to_string())
    };
    for number in 0..10_000 {
        let end = if number == 7 { 61_000 } else { 90_000 };
        assert_eq!(
            store.begin(intent("r", number).into(), Some(of("ann", number, end)), 1_000).await.unwrap(),
            Begun::Started
        );
    }
    let refused = store.begin(intent("r", 10_000).into(), Some(of("ann", 10_000, 90_000)), 1_000).await.unwrap_err();
    let StoreError::Quota(text) = &refused else { panic!("{refused}") };
    for said in ["10000 idempotency keys", "'ann'", "ends in 60 s"] {
        assert!(text.contains(said), "{text}");
    }
    let again = store.begin(intent("r", 10_000).into(), Some(of("ann", 3, 90_000)), 1_000).await.unwrap();
    assert!(matches!(again, Begun::Duplicate(earlier) if earlier.call == 3), "a known key is still known");
    assert_eq!(
        store.begin(intent("r", 10_001).into(), Some(of("bob", 1, 90_000)), 1_000).await.unwrap(),
        Begun::Started
    );
    assert_eq!(
        store.begin(intent("r", 10_002).into(), None, 1_000).await.unwrap(),
        Begun::Started,
        "calls without a key go on"
    );
    // One expires, one is given back: so many are free.
    let release = ClaimResult { owner: "ann".to_owned(), release: true, ..kept("5", None) };
    store.finish(outcome("r", 5, Outcome::Unavailable).into(), Some(release)).await.unwrap();
    for (number, free) in [(10_003, true), (10_004, true), (10_005, false)] {
        let begun = store.begin(intent("r", number).into(), Some(of("ann", number, 90_000)), 61_000).await;
        assert_eq!(begun.is_ok(), free, "{number}: {begun:?}");
    }
}

pub(crate) async fn a_runs_name_is_plain(store: impl Store) {
    for run in ["", "../up", "a/b"] {
        assert!(store.open_run(run).await.is_err(), "{run}");
    }
    store.open_run("0123456789abcdefghijklmnop").await.unwrap();
    store.open_run("0123456789abcdefghijklmnop").await.unwrap();
}

pub(crate) async fn a_key_is_used_once(store: impl Store) {
    assert_eq!(store.begin(intent("r", 1).into(), Some(claim("k")), 1).await.unwrap(), Begun::Started);
    let running =
        Earlier { run: "r".to_owned(), call: 1, digest: "digest of k".to_owned(), outcome: None, result: None };
    let again = |call| {
        let other = Claim { digest: "another".to_owned(), ..claim("k") };
        store.begin(intent("r", call).into(), Some(other), 1)
    };
    assert_eq!(again(2).await.unwrap(), Begun::Duplicate(running.clone()));
    // Looking claims nothing.
    assert_eq!(store.claimed(&claim("k"), 1).await.unwrap(), Some(running.clone()));
    assert_eq!(store.claimed(&claim("other"), 1).await.unwrap(), None);
    store.finish(outcome("r", 1, Outcome::Ok).into(), Some(kept("k", Some("{}")))).await.unwrap();
    let done = Earlier { outcome: Some(Outcome::Ok), result: Some("{}".to_owned()), ..running };
    assert_eq!(again(3).await.unwrap(), Begun::Duplicate(done));
    for (owner, key) in [("t/bob", "k"), ("t/ann", "K")] {
        let other = Claim { owner: owner.to_owned(), ..claim(key) };
        assert_eq!(store.begin(intent("r", 4).into(), Some(other), 1).await.unwrap(), Begun::Started, "{owner} {key}");
    }
    assert_eq!(verified(&store).await.len(), 4, "a duplicate leaves no record");
}

pub(crate) async fn an_expired_key_is_free_and_its_late_outcome_harms_nobody(store: impl Store) {
    let brief = Claim { expires_at_ms: 5_000, ..claim("k") };
    store.begin(intent("r", 1).into(), Some(brief.clone()), 1_000).await.unwrap();
    assert!(store.claimed(&brief, 4_999).await.unwrap().is_some());
    assert_eq!(store.claimed(&brief, 5_000).await.unwrap(), None);
    assert!(matches!(store.begin(intent("r", 2).into(), Some(brief), 4_999).await.unwrap(), Begun::Duplicate(_)));
    assert_eq!(store.begin(intent("r", 2).into(), Some(claim("k")), 5_000).await.unwrap(), Begun::Started);
    store.finish(outcome("r", 1, Outcome::Ok).into(), Some(kept("k", Some("old")))).await.unwrap();
    store
        .finish(outcome("r", 1, Outcome::Ok).into(), Some(ClaimResult { release: true, ..kept("k", None) }))
        .await
        .unwrap();
    let Begun::Duplicate(earlier) = store.begin(intent("r", 3).into(), Some(claim("k")), 5_000).await.unwrap() else {
        panic!("the second call has the key")
    };
    assert_eq!((earlier.call, earlier.outcome, earlier.result), (2, None, None));
}

pub(crate) async fn a_key_of_a_call_that_did_not_run_is_free_again(store: impl Store) {
    store.begin(intent("r", 1).into(), Some(claim("k")), 1).await.unwrap();
    let release = ClaimResult { release: true, ..kept("k", None) };
    store.finish(outcome("r", 1, Outcome::Unavailable).into(), Some(release)).await.unwrap();
    assert_eq!(store.begin(intent("r", 2).into(), Some(claim("k")), 1).await.unwrap(), Begun::Started);
}

pub(crate) async fn a_key_learns_of_an_outcome_that_another_process_wrote(store: impl Store) {
    let recovered = |call| JournalRecord { kind: Kind::Recovered, ..outcome("r", call, Outcome::Unknown) };
    store.begin(intent("r", 1).into(), Some(claim("appended")), 1).await.unwrap();
    store.append(shared(vec![recovered(1)])).await.unwrap();
    store.begin(intent("r", 2).into(), Some(claim("finished")), 1).await.unwrap();
    store.finish(recovered(2).into(), None).await.unwrap();
    // A call that ended is not found unfinished afterwards.
    store.begin(intent("r", 3).into(), Some(claim("ended")), 1).await.unwrap();
    store.finish(outcome("r", 3, Outcome::Ok).into(), Some(kept("ended", None))).await.unwrap();
    store.finish(recovered(3).into(), None).await.unwrap();
    for (key, how) in [("appended", Outcome::Unknown), ("finished", Outcome::Unknown), ("ended", Outcome::Ok)] {
        let Begun::Duplicate(earlier) = store.begin(intent("s", 1).into(), Some(claim(key)), 1).await.unwrap() else {
            panic!("{key} was used")
        };
        assert_eq!(earlier.outcome, Some(how), "{key}");
    }
}

pub(crate) async fn a_result_too_large_to_keep_leaves_its_key(store: impl Store) {
    for (call, key, bytes, is_kept) in [(1, "fits", 1 << 20, true), (2, "not", (1 << 20) + 1, false)] {
        store.begin(intent("r", call).into(), Some(claim(key)), 1).await.unwrap();
        let result = "x".repeat(bytes);
        store.finish(outcome("r", call, Outcome::Ok).into(), Some(kept(key, Some(&result)))).await.unwrap();
        let Begun::Duplicate(earlier) = store.begin(intent("r", 9).into(), Some(claim(key)), 1).await.unwrap() else {
            panic!("{key} was used")
        };
        assert_eq!((earlier.outcome, earlier.result.is_some()), (Some(Outcome::Ok), is_kept), "{key}");
    }
}

pub(crate) async fn the_oldest_results_of_keys_make_room(store: impl Store) {
    let result = "x".repeat(1 << 20);
    for call in 0..66 {
        let key = call.to_string();
        store.begin(intent("r", call).into(), Some(claim(&key)), 1).await.unwrap();
        store.finish(outcome("r", call, Outcome::Ok).into(), Some(kept(&key, Some(&result)))).await.unwrap();
    }
    for (key, is_kept) in [("0", false), ("1", false), ("2", true), ("65", true)] {
        let Begun::Duplicate(earlier) = store.begin(intent("r", 99).into(), Some(claim(key)), 1).await.unwrap() else {
            panic!("{key} was used")
        };
        assert_eq!((earlier.outcome, earlier.result.is_some()), (Some(Outcome::Ok), is_kept), "{key}");
    }
}

pub(crate) async fn records_are_found_by_every_filter(store: impl Store) {
    let mut written = vec![
        intent("r", 1),
        outcome("r", 1, Outcome::Ok),
        outcome("r", 2, Outcome::Denied),
        outcome("s", 1, Outcome::Ok),
        JournalRecord::new(Kind::Breaker, 9_000, "s"),
    ];
    written[2].tool = Some("mcp:files2/write".to_owned());
    written[2].at_ms = 5_000;
    written[3].tool = Some("mcp:files/read".to_owned());
    written[3].at_ms = 6_000;
    written[3].principal = principal("u", "bob");
    store.append(shared(written)).await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let all = everything;
    let cases: &[(&str, JournalFilter, &[u64])] = &[
        ("all", all(), &[1, 2, 3, 4, 5]),
        ("none", JournalFilter::default(), &[]),
        ("the first", JournalFilter { limit: 2, ..all() }, &[1, 2]),
        ("the last", JournalFilter { limit: 2, newest: true, ..all() }, &[4, 5]),
        ("after a place", JournalFilter { after: 3, ..all() }, &[4, 5]),
        ("the last after a place", JournalFilter { after: 1, limit: 1, newest: true, ..all() }, &[5]),
        ("since", JournalFilter { since_ms: Some(5_000), ..all() }, &[3, 4, 5]),
        ("until", JournalFilter { until_ms: Some(6_000), ..all() }, &[1, 2, 3]),
        ("a tool", JournalFilter { tool: text("mcp:files/write"), ..all() }, &[1, 2]),
        ("a source", JournalFilter { tool: text("mcp:files/"), ..all() }, &[1, 2, 4]),
        ("the last of a source", JournalFilter { tool: text("mcp:files/"), newest: true, limit: 1, ..all() }, &[4]),
        ("no such tool", JournalFilter { tool: text("mcp:files/%"), ..all() }, &[]),
        ("an outcome", JournalFilter { outcome: Some(Outcome::Ok), ..all() }, &[2, 4]),
        ("a user", JournalFilter { user: text("bob"), ..all() }, &[4]),
        ("a tenant", JournalFilter { tenant: text("t"), ..all() }, &[1, 2, 3]),
        ("the empty tenant", JournalFilter { tenant: text(""), ..all() }, &[5]),
        ("a run", JournalFilter { run: text("s"), ..all() }, &[4, 5]),
        ("a call", JournalFilter { run: text("r"), call: Some(1), ..all() }, &[1, 2]),
        (
            "several at once",
            JournalFilter { run: text("r"), outcome: Some(Outcome::Ok), since_ms: Some(1_001), ..all() },
            &[2],
        ),
    ];
    for (what, filter, expected) in cases {
        let found: Vec<u64> =
            store.records(filter.clone()).await.unwrap().into_iter().map(|stored| stored.seq).collect();
        assert_eq!(found, *expected, "{what}");
    }
    // Few records are looked through one by one; of many the same are found in another way.
    let others = (0..10_500).map(|call| JournalRecord {
        call,
        principal: principal("others", ""),
        ..JournalRecord::new(Kind::Breaker, 8_000, "z")
    });
    store.append(shared(others)).await.unwrap();
    let between = JournalFilter { since_ms: Some(5_000), until_ms: Some(8_000), ..all() };
    let cases = cases.iter().filter(|(_, filter, _)| {
        filter.tool.is_some() || filter.outcome.is_some() || filter.user.is_some() || filter.tenant.is_some()
    });
    for (what, filter, expected) in cases.chain([&("between two times", between, &[3, 4][..])]) {
        let found: Vec<u64> =
            store.records(filter.clone()).await.unwrap().into_iter().map(|stored| stored.seq).collect();
        assert_eq!(found, *expected, "{what}, among many");
    }
}

pub(crate) async fn a_list_has_an_end_whatever_was_asked_for(store: impl Store) {
    let records: Vec<_> =
        (0..10_500).map(|call| JournalRecord { call, ..JournalRecord::new(Kind::Breaker, 1, "r") }).collect();
    store.append(shared(records)).await.unwrap();
    let first = store.records(everything()).await.unwrap();
    assert_eq!(first.len(), 10_000);
    holds(store.anchor().await.unwrap(), &first);
    let rest = store.records(JournalFilter { after: first[9_999].seq, ..everything() }).await.unwrap();
    assert_eq!(rest.len(), 500);
    holds((first[9_999].seq, first[9_999].hash.clone()), &rest);
}

pub(crate) async fn old_records_are_dropped_from_the_front_and_the_chain_holds(store: impl Store) {
    for call in 1..=4 {
        store.begin(intent("r", call).into(), None, 1).await.unwrap();
        if call != 3 {
            store.finish(outcome("r", call, Outcome::Ok).into(), None).await.unwrap();
        }
    }
    for (before, dropped, left) in [(1_000, 0, 7), (1_002, 2, 5), (LATER, 2, 3), (LATER, 0, 3)] {
        assert_eq!(store.prune_journal(before).await.unwrap(), dropped, "before {before}");
        assert_eq!(verified(&store).await.len(), left, "before {before}: an open intent and what follows it stay");
    }
    store.finish(outcome("r", 3, Outcome::Ok).into(), None).await.unwrap();
    assert_eq!(store.prune_journal(LATER).await.unwrap(), 4);
    assert!(verified(&store).await.is_empty());
    let (seq, hash) = store.anchor().await.unwrap();
    assert_eq!(seq, 8);
    store.append(shared(vec![intent("r", 5)])).await.unwrap();
    let records = verified(&store).await;
    assert_eq!(records[0].seq, 9, "places go on");
    assert_ne!(hash, GENESIS);
    assert_eq!(store.unfinished(10).await.unwrap().len(), 1);
}

pub(crate) async fn retention_takes_many_records(store: impl Store) {
    let records: Vec<_> = (0..5_001).map(|at| JournalRecord::new(Kind::Breaker, at, "r")).collect();
    store.append(shared(records)).await.unwrap();
    assert_eq!(store.prune_journal(4_500).await.unwrap(), 4_500);
    assert_eq!(verified(&store).await.len(), 501);
}

/// `stores` are one or two ways to the same content.
pub(crate) async fn racing_writers_make_one_chain_and_share_no_key<S: Store>(stores: &[S]) {
    let started = at_once(stores, 6, |store, racer| async move {
        let run = format!("run{racer}");
        let mut started = Vec::new();
        for call in 0..15 {
            let key = format!("k{call}");
            if store.begin(intent(&run, call).into(), Some(claim(&key)), 1).await.unwrap() == Begun::Started {
                started.push(call);
                store.finish(outcome(&run, call, Outcome::Ok).into(), Some(kept(&key, Some("{}")))).await.unwrap();
            }
            store.append(shared(vec![JournalRecord::new(Kind::Breaker, 1, &*run); 2])).await.unwrap();
        }
        started
    });
    let mut started = started.concat();
    started.sort_unstable();
    assert_eq!(started, (0..15).collect::<Vec<_>>(), "each key once");
    let records = verified(stores.last().unwrap()).await;
    assert_eq!(records.len(), 6 * 15 * 2 + 15 * 2);
    assert!(stores[0].unfinished(10).await.unwrap().is_empty());
}

/// `stores` are one or two ways to the same content.
pub(crate) async fn of_racing_recoveries_one_is_recorded<S: Store>(stores: &[S]) {
    for call in 0..10 {
        stores[0].begin(intent("dead", call).into(), None, 1).await.unwrap();
    }
    at_once(stores, 4, |store, _| async move {
        for left in store.unfinished(10).await.unwrap() {
            let call = left.record.call;
            let recovered = JournalRecord { kind: Kind::Recovered, ..outcome("dead", call, Outcome::Unknown) };
            store.finish(recovered.into(), None).await.unwrap();
        }
    });
    assert_eq!(verified(stores.last().unwrap()).await.len(), 20);
    assert!(stores[0].unfinished(10).await.unwrap().is_empty());
}
