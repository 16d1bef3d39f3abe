//! Requests and grants: what is asked stands until it is answered once, what is granted is used as often as granted
//! (oneringai cases 88 to 112; openclaw cases 110 to 125).

use toolcrib_core::ContentHash;
use toolcrib_engine::{
    Principal, StoreError,
    approval::{
        AnswerOutcome, ApprovalRequest, Grant, MOST_GRANTS, Parked, Reach, RecordedAnswer, RequestFilter, RequestState,
        StoredRequest,
    },
    journal::{JournalRecord, Kind},
};

use crate::samples::{everything, grant, holds, no, principal, request, yes};

use super::{Store, at_once};

type Change = fn(&mut ApprovalRequest);
type Listing<'c> = (Option<&'c str>, Option<RequestState>, usize, &'c [&'c str]);

fn all(state: Option<RequestState>) -> RequestFilter {
    RequestFilter { tenant: None, state, limit: 100 }
}

async fn ids(store: &impl Store, filter: RequestFilter, now_ms: u64) -> Vec<String> {
    store.requests(filter, now_ms).await.unwrap().into_iter().map(|stored| stored.request.id).collect()
}

async fn grant_ids(store: &impl Store, tenant: Option<&str>, now_ms: u64) -> Vec<String> {
    store.grants(tenant, 100, now_ms).await.unwrap().into_iter().map(|grant| grant.id).collect()
}

pub(crate) async fn a_request_comes_back_as_it_was_asked(store: impl Store) {
    assert_eq!(store.request("a", 2_000).await.unwrap(), None);
    assert_eq!(store.park(request("a"), 10, 2_000).await.unwrap(), Parked::New);
    let asked = store.request("a", 2_000).await.unwrap().unwrap();
    let pending =
        StoredRequest { request: request("a"), state: RequestState::Pending, answered_at_ms: None, answered_by: None };
    assert_eq!(asked, pending);
    store.answer("a", no(), 3_000).await.unwrap();
    let denied = StoredRequest {
        state: RequestState::Denied,
        answered_at_ms: Some(3_000),
        answered_by: Some("http:key".to_owned()),
        ..pending
    };
    assert_eq!(store.request("a", u64::MAX).await.unwrap(), Some(denied), "an answer does not expire");
    let again = ApprovalRequest { arguments_digest: ContentHash::of_bytes(b"other"), ..request("a") };
    assert!(store.park(again, 10, 2_000).await.is_err(), "an id is used once");
}

pub(crate) async fn the_same_question_stands_once(store: impl Store) {
    store.park(request("a"), 10, 2_000).await.unwrap();
    let same = |id: &str| ApprovalRequest { id: id.to_owned(), ..request("a") };
    assert_eq!(store.park(same("b"), 10, 2_000).await.unwrap(), Parked::Standing("a".to_owned()));
    assert_eq!(store.park(same("b"), 1, 2_000).await.unwrap(), Parked::Standing("a".to_owned()), "also at the quota");
    let different: [(&str, Change); 7] = [
        ("tenant", |r| r.principal.tenant = "u".into()),
        ("user", |r| r.principal.user = None),
        ("agent", |r| r.principal.agent = None),
        ("session", |r| r.principal.session = Some("other".to_owned())),
        ("tool", |r| r.tool.name = "read".into()),
        ("definition", |r| r.definition = ContentHash::of_bytes(b"changed")),
        ("arguments", |r| r.arguments_digest = ContentHash::of_bytes(b"changed")),
    ];
    for (what, change) in different {
        let mut other = same(what);
        change(&mut other);
        assert_eq!(store.park(other, 10, 2_000).await.unwrap(), Parked::New, "another {what} is another question");
    }
    store.answer("a", no(), 2_000).await.unwrap();
    assert_eq!(store.park(same("c"), 10, 2_000).await.unwrap(), Parked::New, "an answered one does not stand");
}

pub(crate) async fn a_user_has_a_quota_of_open_questions(store: impl Store) {
    let brief = ApprovalRequest { expires_at_ms: 5_000, ..request("a") };
    store.park(brief, 2, 2_000).await.unwrap();
    store.park(request("b"), 2, 2_000).await.unwrap();
    let refused = store.park(request("c"), 2, 2_000).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Quota(text) if text.contains("2 unanswered")), "{refused}");
    for (id, user) in [("d", "bob"), ("e", "")] {
        let other = ApprovalRequest { principal: principal("t", user), ..request(id) };
        assert_eq!(store.park(other, 2, 2_000).await.unwrap(), Parked::New, "'{user}' has one of his own");
    }
    store.park(request("c"), 2, 5_000).await.unwrap();
    store.answer("b", no(), 5_000).await.unwrap();
    store.park(request("f"), 2, 5_000).await.unwrap();
    let huge = ApprovalRequest { arguments: "x".repeat(100_000), ..request("g") };
    assert!(matches!(store.park(huge, 10, 5_000).await, Err(StoreError::Quota(_))));
}

pub(crate) async fn requests_are_listed_newest_first_by_tenant_and_state(store: impl Store) {
    for (id, tenant, created, expires) in
        [("a", "t", 1, 9_000), ("b", "t", 3, 90_000), ("c", "u", 2, 90_000), ("d", "u", 3, 90_000)]
    {
        let asked = ApprovalRequest {
            principal: principal(tenant, "ann"),
            created_at_ms: created,
            expires_at_ms: expires,
            ..request(id)
        };
        store.park(asked, 10, 10).await.unwrap();
    }
    store.answer("b", yes(None), 20).await.unwrap();
    store.answer("c", no(), 20).await.unwrap();
    let cases: &[Listing<'_>] = &[
        (None, None, 10, &["d", "b", "c", "a"]),
        (Some("t"), None, 10, &["b", "a"]),
        (None, None, 2, &["d", "b"]),
        (None, None, 0, &[]),
        (None, None, usize::MAX, &["d", "b", "c", "a"]),
        (None, Some(RequestState::Pending), 10, &["d"]),
        (None, Some(RequestState::Approved), 10, &["b"]),
        (None, Some(RequestState::Denied), 10, &["c"]),
        (None, Some(RequestState::Expired), 10, &["a"]),
        (Some("u"), Some(RequestState::Expired), 10, &[]),
    ];
    for (tenant, state, limit, expected) in cases {
        let filter = RequestFilter { tenant: tenant.map(str::to_owned), state: *state, limit: *limit };
        assert_eq!(ids(&store, filter, 9_000).await, *expected, "{tenant:?} {state:?} {limit}");
    }
    assert_eq!(ids(&store, all(Some(RequestState::Pending)), 8_999).await, ["d", "a"], "until its very end");
}

pub(crate) async fn an_answer_counts_once_and_in_time(store: impl Store) {
    let brief = ApprovalRequest { expires_at_ms: 5_000, ..request("a") };
    store.park(brief, 10, 2_000).await.unwrap();
    store.park(request("b"), 10, 2_000).await.unwrap();
    let approve = |id: &str| yes(Some(grant(id, Some(1))));
    assert_eq!(store.answer("x", approve("g"), 3_000).await.unwrap(), AnswerOutcome::Unknown);
    let late = store.answer("a", approve("g"), 5_000).await.unwrap();
    assert_eq!(late, AnswerOutcome::Settled(RequestState::Expired));
    assert_eq!(store.answer("b", approve("g"), 3_000).await.unwrap(), AnswerOutcome::Recorded);
    for second in [approve("h"), no()] {
        let outcome = store.answer("b", second, 3_000).await.unwrap();
        assert_eq!(outcome, AnswerOutcome::Settled(RequestState::Approved), "the first one stands");
    }
    assert_eq!(grant_ids(&store, None, 3_000).await, ["g"], "only the answer that counts grants");
}

pub(crate) async fn an_answer_and_its_grant_are_kept_together_or_not_at_all(store: impl Store) {
    for id in ["a", "b"] {
        store.park(request(id), 10, 2_000).await.unwrap();
    }
    store.answer("a", yes(Some(grant("g", None))), 3_000).await.unwrap();
    store.answer("b", yes(Some(grant("g", None))), 3_000).await.unwrap_err();
    assert_eq!(store.request("b", 3_000).await.unwrap().unwrap().state, RequestState::Pending);
}

pub(crate) async fn an_answer_and_its_evidence_are_one_step(store: impl Store) {
    let evidence = |kind, detail: &str| {
        Some(JournalRecord { detail: Some(detail.to_owned()), ..JournalRecord::new(kind, 3_000, "terminal") })
    };
    let answer = |detail: &str, given: &str| RecordedAnswer {
        evidence: evidence(Kind::Answered, detail),
        ..yes(Some(grant(given, None)))
    };
    for id in ["a", "b", "c"] {
        store.park(request(id), 10, 2_000).await.unwrap();
    }
    store.answer("a", answer("first", "g"), 3_000).await.unwrap();
    store.answer("a", answer("too late", "h"), 3_000).await.unwrap();
    store.answer("x", answer("of nothing", "h"), 3_000).await.unwrap();
    store.answer("b", answer("refused", "g"), 3_000).await.unwrap_err();
    // Evidence that cannot be written keeps the answer from counting.
    store.answer("c", answer(&"x".repeat(100_000), "h"), 3_000).await.unwrap_err();
    assert_eq!(store.request("c", 3_000).await.unwrap().unwrap().state, RequestState::Pending);
    assert_eq!(grant_ids(&store, None, 3_000).await, ["g"]);
    for (id, detail) in [("g", "taken back"), ("g", "again"), ("x", "of nothing")] {
        store.revoke(id, evidence(Kind::Grant, detail), 3_000).await.unwrap();
    }
    let records = store.records(everything()).await.unwrap();
    holds(store.anchor().await.unwrap(), &records);
    let told: Vec<_> = records.iter().map(|stored| (stored.record.kind, stored.record.detail.as_deref())).collect();
    assert_eq!(told, [(Kind::Answered, Some("first")), (Kind::Grant, Some("taken back"))]);
}

pub(crate) async fn more_grants_than_the_engine_holds_show(store: impl Store) {
    for number in 0..=MOST_GRANTS {
        give(&store, grant(&number.to_string(), None)).await;
    }
    assert_eq!(store.grants(None, MOST_GRANTS, 2_000).await.unwrap().len(), MOST_GRANTS);
    assert_eq!(store.grants(None, MOST_GRANTS + 1, 2_000).await.unwrap().len(), MOST_GRANTS + 1);
}

/// However many approvals come after it, and whatever the limit, a refusal is there.
pub(crate) async fn a_refusal_is_never_crowded_out(store: impl Store, approvals: usize) {
    let refusal = |id: &str, change: fn(&mut Grant)| {
        let mut refusal = Grant { allow: false, reach: Reach::Always, ..grant(id, None) };
        change(&mut refusal);
        refusal
    };
    for one in [
        refusal("never", |_| {}),
        refusal("bob", |g| g.principal.user = Some("bob".to_owned())),
        refusal("nobody", |g| g.principal.user = None),
        refusal("elsewhere", |g| "u".clone_into(&mut g.principal.tenant)),
        refusal("other tool", |g| "mcp:files/read".clone_into(&mut g.tool)),
        refusal("this session", |g| (g.reach, g.principal.session) = (Reach::Session, Some("one".to_owned()))),
    ] {
        give(&store, one).await;
    }
    for number in 0..approvals {
        give(&store, Grant { created_at_ms: 1_500, ..grant(&number.to_string(), None) }).await;
    }
    let listed = store.grants(None, 6, 2_000).await.unwrap();
    assert!(listed.len() == 6 && listed.iter().all(|grant| !grant.allow), "{listed:?}");
    assert_eq!(store.grants(Some("u"), 1, 2_000).await.unwrap()[0].id, "elsewhere");
    let who = |tenant: &str, user: &str, session: &str| Principal {
        session: (!session.is_empty()).then(|| session.to_owned()),
        ..principal(tenant, user)
    };
    let (write, read) = ("mcp:files/write/deep", "mcp:files/read");
    let cases: &[(Principal, &str, &[&str])] = &[
        (who("t", "ann", "two"), write, &["never"]),
        (who("t", "ann", ""), write, &["never"]),
        (who("t", "ann", "one"), write, &["this session", "never"]),
        (who("t", "ann", "one"), read, &["other tool"]),
        (who("t", "bob", "one"), write, &["bob"]),
        (who("t", "", "one"), write, &["nobody"]),
        (who("u", "ann", "one"), write, &["elsewhere"]),
        (who("u", "bob", "one"), write, &[]),
        (who("t", "ann", "one"), "mcp:files/write", &[]),
    ];
    for (principal, tool, expected) in cases {
        let found = store.grants_for(principal, tool, 2_000).await.unwrap();
        let refusing: Vec<_> = found.iter().take_while(|grant| !grant.allow).map(|grant| grant.id.as_str()).collect();
        assert_eq!(refusing, *expected, "{principal:?} {tool}");
        assert!(found.len() <= MOST_GRANTS && found.iter().skip(refusing.len()).all(|grant| grant.allow));
    }
    assert_eq!(store.grant("never", 2_000).await.unwrap().map(|grant| grant.allow), Some(false));
    assert!(store.revoke("never", None, 2_000).await.unwrap());
    assert_eq!(store.grant("never", 2_000).await.unwrap(), None);
}

async fn give(store: &impl Store, given: toolcrib_engine::approval::Grant) {
    let id = format!("request of {}", given.id);
    store.park(request(&id), usize::MAX, 1_000).await.unwrap();
    let answer = RecordedAnswer { approved: given.allow, ..yes(Some(given)) };
    assert_eq!(store.answer(&id, answer, 1_000).await.unwrap(), AnswerOutcome::Recorded);
}

pub(crate) async fn a_grant_is_used_as_often_as_granted(store: impl Store) {
    for (id, uses) in [("none", Some(0)), ("once", Some(1)), ("thrice", Some(3)), ("always", None)] {
        give(&store, grant(id, uses)).await;
    }
    for (id, uses) in [("none", 0), ("once", 1), ("thrice", 3), ("always", 5), ("unknown", 0)] {
        let mut taken = 0;
        for _ in 0..5 {
            taken += u32::from(store.take(id, 2_000).await.unwrap());
        }
        assert_eq!(taken, uses, "{id}");
    }
    assert_eq!(store.grants(None, 100, 2_000).await.unwrap(), [grant("always", None)], "used up is gone");
}

pub(crate) async fn grants_in_force_are_listed_with_the_uses_they_have_left(store: impl Store) {
    let mut brief = grant("brief", Some(2));
    brief.expires_at_ms = Some(5_000);
    let mut newer = grant("newer", None);
    (newer.created_at_ms, newer.principal, newer.allow) = (2_000, principal("u", ""), false);
    for one in [grant("a", Some(2)), newer.clone(), brief, grant("b", None)] {
        give(&store, one).await;
    }
    assert!(store.take("a", 3_000).await.unwrap());
    assert_eq!(grant_ids(&store, None, 3_000).await, ["newer", "b", "brief", "a"], "newest first");
    assert_eq!(grant_ids(&store, Some("t"), 3_000).await, ["b", "brief", "a"]);
    assert_eq!(grant_ids(&store, Some(""), 3_000).await, [""; 0]);
    assert_eq!(store.grants(Some("u"), 100, 3_000).await.unwrap(), [newer]);
    assert_eq!(store.grants(None, 1, 3_000).await.unwrap().len(), 1);
    assert_eq!(store.grants(Some("t"), 100, 3_000).await.unwrap()[2], grant("a", Some(1)));
    for (id, now, ended) in [("b", 3_000, true), ("b", 3_000, false), ("x", 3_000, false), ("brief", 5_000, false)] {
        assert_eq!(store.revoke(id, None, now).await.unwrap(), ended, "{id}");
    }
    assert!(!store.take("brief", 5_000).await.unwrap(), "its time is over");
    assert!(!store.take("b", 3_000).await.unwrap(), "revoked");
    assert_eq!(grant_ids(&store, None, 5_000).await, ["newer", "a"]);
}

pub(crate) async fn every_change_of_approvals_shows_in_the_version(store: impl Store) {
    let mut before = store.version().await.unwrap();
    let mut changed = async |what: &str, expected: bool| {
        let now = store.version().await.unwrap();
        assert_eq!(now != before, expected, "{what}");
        before = now;
    };
    changed("nothing", false).await;
    store.park(request("a"), 10, 1_000).await.unwrap();
    changed("a question", true).await;
    store.park(request("a"), 10, 1_000).await.unwrap();
    store.request("a", 1_000).await.unwrap();
    store.set("n", "k", "v", 10).await.unwrap();
    changed("what changes nothing here", false).await;
    store.answer("a", yes(Some(grant("g", Some(2)))), 1_000).await.unwrap();
    changed("an answer", true).await;
    store.take("g", 1_000).await.unwrap();
    changed("a use", true).await;
    store.revoke("g", None, 1_000).await.unwrap();
    changed("a revocation", true).await;
    store.prune(2_000).await.unwrap();
    changed("tidying up", true).await;
}

pub(crate) async fn old_requests_and_grants_are_dropped_open_ones_stay(store: impl Store) {
    for (id, expires) in [("answered", 9_000), ("expired", 4_000), ("open", 9_000), ("fresh", 9_000)] {
        store.park(ApprovalRequest { expires_at_ms: expires, ..request(id) }, 10, 1_000).await.unwrap();
    }
    store.answer("answered", yes(Some(grant("used", Some(1)))), 2_000).await.unwrap();
    store.answer("fresh", yes(Some(grant("always", None))), 5_000).await.unwrap();
    store.take("used", 2_000).await.unwrap();
    assert_eq!(store.prune(1_000).await.unwrap(), 0);
    assert_eq!(store.prune(5_000).await.unwrap(), 3);
    assert_eq!(ids(&store, all(None), 5_000).await, ["fresh", "open"]);
    assert_eq!(grant_ids(&store, None, 5_000).await, ["always"]);
}

/// `stores` are one or two ways to the same content.
pub(crate) async fn of_racing_answers_one_counts<S: Store>(stores: &[S]) {
    for round in 0..20 {
        let id = format!("r{round}");
        stores[0].park(request(&id), usize::MAX, 1_000).await.unwrap();
        let outcomes = at_once(stores, 4, |store, racer| {
            let id = format!("r{round}");
            async move {
                let answer = if racer % 2 == 0 { yes(Some(grant(&format!("{id}/{racer}"), Some(1)))) } else { no() };
                (racer, store.answer(&id, answer, 2_000).await.unwrap())
            }
        });
        let winners: Vec<_> = outcomes.iter().filter(|(_, outcome)| *outcome == AnswerOutcome::Recorded).collect();
        let [(winner, _)] = winners[..] else { panic!("{outcomes:?}") };
        let state = if winner % 2 == 0 { RequestState::Approved } else { RequestState::Denied };
        for (racer, outcome) in &outcomes {
            assert!(racer == winner || *outcome == AnswerOutcome::Settled(state), "{outcomes:?}");
        }
        let last = stores.last().unwrap();
        assert_eq!(last.request(&id, 2_000).await.unwrap().unwrap().state, state);
        let granted = grant_ids(last, None, 2_000).await;
        let theirs: Vec<_> = granted.iter().filter(|grant| grant.starts_with(&format!("{id}/"))).collect();
        assert_eq!(theirs.len(), usize::from(winner % 2 == 0), "{theirs:?}");
    }
}

/// `stores` are one or two ways to the same content.
pub(crate) async fn racing_uses_of_a_grant_are_as_many_as_granted<S: Store>(stores: &[S]) {
    for uses in [1, 3] {
        for round in 0..10 {
            let id = format!("{uses}/{round}");
            give(&stores[0], grant(&id, Some(uses))).await;
            let taken = at_once(stores, 8, |store, _| {
                let id = id.clone();
                async move { store.take(&id, 2_000).await.unwrap() }
            });
            assert_eq!(taken.iter().filter(|taken| **taken).count(), uses as usize, "{taken:?}");
        }
    }
}
