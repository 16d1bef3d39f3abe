//! The approvals broker: an approval means exactly what the person saw, and nothing that goes wrong lets a call
//! through. Numbers are cases of the references: O = oneringai, C = openclaw; T21 is a threat of the security reference.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{json, value::RawValue};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::permission::{Effect, Risk};
use toolcrib_engine::{
    BoxFuture,
    approval::{
        Answer, AnswerOutcome, Answered, ApprovalRequest, ApprovalSettings, Approvals, AskError, Asked, Asker, Asking,
        Covered, GrantPattern, Reach, RequestFilter, RequestState, Responder,
    },
};

use crate::judged::{Judged, NOW};
use ledger::Ledger;

pub(crate) mod ledger;
mod many;
mod race;
mod shown;
mod wider;

const ONCE: Answer = Answer::Approve { reach: Reach::Once, pattern: None };

/// Masks nothing.
fn as_written(raw: &RawValue) -> String {
    raw.get().to_owned()
}

/// What the scripted person does.
#[derive(Clone)]
enum Person {
    Says(Answer),
    Fails(AskError),
    Panics,
    IsSilent,
}

/// A route to the scripted person.
struct Route {
    person: Person,
    asked: AtomicUsize,
    taken_back: AtomicUsize,
}

impl Route {
    fn to(person: Person) -> Arc<Self> {
        Arc::new(Self { person, asked: AtomicUsize::new(0), taken_back: AtomicUsize::new(0) })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Counts questions that were dropped unanswered.
struct TakenBack<'a>(&'a AtomicUsize);

impl Drop for TakenBack<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Asker for Route {
    fn route(&self) -> &'static str {
        "client"
    }

    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            match self.person.clone() {
                Person::Says(answer) => Ok(answer),
                Person::Fails(error) => Err(error),
                Person::Panics => panic!("scripted"),
                Person::IsSilent => {
                    let _open = TakenBack(&self.taken_back);
                    std::future::pending().await
                }
            }
        })
    }
}

/// A broker over a ledger.
struct Desk {
    ledger: Arc<Ledger>,
    approvals: Approvals,
}

impl Desk {
    fn new() -> Self {
        Self::with(ApprovalSettings::default())
    }

    fn with(settings: ApprovalSettings) -> Self {
        let ledger = Arc::new(Ledger::default());
        Self { approvals: Approvals::new(ledger.clone(), settings), ledger }
    }

    /// Another process over the same store.
    fn again(&self) -> Self {
        let settings = (*self.approvals.settings()).clone();
        Self { approvals: Approvals::new(self.ledger.clone(), settings), ledger: self.ledger.clone() }
    }

    async fn ask(&self, call: &Judged, route: Option<&Arc<Route>>) -> Asked {
        self.ask_until(call, route, &CancellationToken::new()).await
    }

    async fn ask_until(&self, call: &Judged, route: Option<&Arc<Route>>, cancel: &CancellationToken) -> Asked {
        let route = route.map(|route| route.clone() as Arc<dyn Asker>);
        let (question, principal) = (call.question(), call.principal());
        let asking = Asking {
            question: &question,
            principal: &principal,
            digest: call.digest(),
            reason: "it is dangerous",
            mask: &as_written,
            says: None,
            within: None,
        };
        self.approvals.ask(&asking, route.as_ref(), cancel).await
    }

    async fn covered(&self, call: &Judged) -> Covered {
        self.approvals.covered(&call.question(), &call.principal(), call.digest()).await
    }

    /// Whether the call gets through: covered, and the use is there to be taken.
    async fn runs(&self, call: &Judged) -> bool {
        match self.covered(call).await {
            Covered::Yes(used) => self.approvals.consume(&used, call.now_ms).await.unwrap(),
            Covered::Forbidden(_) | Covered::No => false,
        }
    }

    /// Parks the call's question and answers it as the machine's owner does at a terminal.
    async fn settle(&self, call: &Judged, answer: &Answer) -> Answered {
        let Asked::Parked { id, .. } = self.ask(call, None).await else { panic!("not parked") };
        self.approvals.answer(&id, answer, &Responder::owner("terminal"), call.now_ms).await.unwrap()
    }
}

fn delete() -> Judged {
    Judged::new("mcp:fs/delete", json!({"path": "/data/a", "n": 1}))
}

fn approve(reach: Reach) -> Answer {
    Answer::Approve { reach, pattern: None }
}

#[tokio::test(start_paused = true)]
async fn an_approval_lets_the_call_run_once() {
    let desk = Desk::new();
    let route = Route::to(Person::Says(ONCE));
    let Asked::Approved { used, authority, request } = desk.ask(&delete(), Some(&route)).await else { panic!() };
    assert!(used.must_take);
    assert_eq!(authority, format!("approval {} by client", used.grant));
    assert_eq!(desk.ledger.states(), [RequestState::Approved]);
    assert_ne!(request, used.grant);
    assert!(desk.approvals.consume(&used, NOW).await.unwrap());
    assert!(!desk.approvals.consume(&used, NOW).await.unwrap());
    assert_eq!(desk.covered(&delete()).await, Covered::No);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_no_approval_does_not_let_it_run() {
    // C120, O94: nobody there, nobody answering, nonsense, an answer that was not offered.
    for (person, word) in [
        (None, "nobody can be asked"),
        (Some(Person::IsSilent), "nobody answered in time"),
        (Some(Person::Fails(AskError::Unreachable("gone".into()))), "could not be shown: gone"),
        (Some(Person::Fails(AskError::Unusable("maybe".into()))), "cannot be used: maybe"),
        (Some(Person::Panics), "panicked"),
        (
            Some(Person::Says(Answer::Approve {
                reach: Reach::Session,
                pattern: Some(GrantPattern::Within { root: "/".into() }),
            })),
            "does not offer this pattern",
        ),
        (
            Some(Person::Says(Answer::Approve { reach: Reach::Once, pattern: Some(GrantPattern::Any) })),
            "for once covers",
        ),
    ] {
        let desk = Desk::new();
        let route = person.map(Route::to);
        let Asked::Parked { id, reason, sentence } = desk.ask(&delete(), route.as_ref()).await else {
            panic!("{word}: not parked")
        };
        assert!(reason.contains(word), "{reason:?}, not {word:?}");
        assert!(sentence.starts_with("fs__delete was not run"), "{sentence}");
        // Who it is refused to may be able to run commands: how it is approved is not for a model to know.
        assert!(
            sentence.contains(&format!("approval ({id})")) && !sentence.contains("toolcrib approvals"),
            "{sentence}"
        );
        assert_eq!(id.len(), 26);
        assert_eq!(desk.ledger.states(), [RequestState::Pending], "{word}");
        assert!(!desk.runs(&delete()).await, "{word}");
        // It can be approved afterwards, and then the same call runs once (O88 ours: unknown tools are no exception).
        let by = Responder::owner("terminal");
        let answered = desk.approvals.answer(&id, &ONCE, &by, NOW).await.unwrap();
        assert_eq!(answered.outcome, AnswerOutcome::Recorded);
        assert!(desk.runs(&delete()).await, "{word}");
        assert!(!desk.runs(&delete()).await, "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_lets_nothing_run() {
    let desk = Desk::new();
    desk.settle(&delete(), &ONCE).await;
    desk.ledger.broken.store(true, Ordering::SeqCst);
    assert_eq!(desk.covered(&delete()).await, Covered::No);
    let route = Route::to(Person::Says(ONCE));
    assert!(matches!(desk.ask(&delete(), Some(&route)).await, Asked::Denied { request: None, .. }));
    assert_eq!(route.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_denial_denies() {
    for reach in [Reach::Once, Reach::Session, Reach::Always] {
        let desk = Desk::new();
        let route = Route::to(Person::Says(Answer::Deny { reach }));
        let Asked::Denied { reason, sentence, request } = desk.ask(&delete(), Some(&route)).await else { panic!() };
        assert_eq!(reason, "a person refused it (client)");
        assert!(sentence.ends_with("Do not retry or work around this."));
        assert!(request.is_some());
        assert_eq!(desk.ledger.states(), [RequestState::Denied]);
        let forbidden = matches!(desk.covered(&delete()).await, Covered::Forbidden(_));
        assert_eq!(forbidden, reach != Reach::Once);
    }
}

#[tokio::test(start_paused = true)]
async fn three_calls_are_three_questions() {
    // O108, ours.
    let desk = Desk::new();
    let route = Route::to(Person::Says(ONCE));
    for _ in 0..3 {
        assert_eq!(desk.covered(&delete()).await, Covered::No);
        let Asked::Approved { used, .. } = desk.ask(&delete(), Some(&route)).await else { panic!() };
        assert!(desk.approvals.consume(&used, NOW).await.unwrap());
    }
    assert_eq!((route.asked(), desk.ledger.requests_made()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn whatever_changes_after_the_approval_voids_it() {
    // T21.
    type Change = fn(Judged) -> Judged;
    let changes: [(&str, Change); 7] = [
        ("an argument", |call| call.arguments(json!({"path": "/data/a", "n": 2}))),
        ("one more argument", |call| call.arguments(json!({"path": "/data/a", "n": 1, "force": true}))),
        ("the definition", |call| {
            let reworded = Judged::defined("mcp:fs/delete", json!({"description": "New."}), json!({}));
            call.with(|call| call.tool = reworded.tool)
        }),
        ("the tool", |call| call.with(|call| call.tool = Judged::new("mcp:fs/remove", json!({})).tool)),
        ("the source", |call| call.with(|call| call.tool = Judged::new("mcp:other/delete", json!({})).tool)),
        ("the tenant", |call| call.with(|call| call.scope.tenant = "evil".into())),
        ("the user", |call| call.with(|call| call.scope.user = Some("bob".into()))),
    ];
    for (what, change) in changes {
        for reach in [Reach::Once, Reach::Session] {
            let desk = Desk::new();
            desk.settle(&delete(), &approve(reach)).await;
            assert!(!desk.runs(&change(delete())).await, "{what}, {reach:?}");
            assert!(desk.runs(&delete()).await, "{what}: the call itself");
        }
    }
    // The order of keys is no change.
    let desk = Desk::new();
    desk.settle(&delete(), &ONCE).await;
    assert!(desk.runs(&delete().arguments(json!({"n": 1, "path": "/data/a"}))).await);
}

#[tokio::test(start_paused = true)]
async fn approvals_end_also_after_a_restart() {
    // O90 and O110, ours: the same end after saving and loading.
    let hours = |hours: u64| hours * 3_600_000;
    for (reach, lasts, ends) in [
        (Reach::Once, 600_000 - 1, Some(600_000)),
        (Reach::Session, hours(12) - 1, Some(hours(12))),
        (Reach::Always, hours(24 * 365), None),
    ] {
        let desk = Desk::new();
        desk.settle(&delete(), &approve(reach)).await;
        let desk = desk.again();
        let at = |after: u64| delete().with(|call| call.now_ms += after);
        assert!(matches!(desk.covered(&at(lasts)).await, Covered::Yes(_)), "{reach:?}");
        if let Some(ends) = ends {
            assert_eq!(desk.covered(&at(ends)).await, Covered::No, "{reach:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_question_cannot_be_answered() {
    let desk = Desk::new();
    let Asked::Parked { id, .. } = desk.ask(&delete(), None).await else { panic!() };
    let by = Responder::owner("terminal");
    let late = desk.approvals.answer(&id, &ONCE, &by, NOW + 3_600_000).await.unwrap();
    assert_eq!(late.outcome, AnswerOutcome::Settled(RequestState::Expired));
    assert!(!desk.runs(&delete()).await);
}

#[tokio::test(start_paused = true)]
async fn nobody_answers_for_another_tenant() {
    let desk = Desk::new();
    let Asked::Parked { id, .. } = desk.ask(&delete(), None).await else { panic!() };
    let stranger = Responder::of_tenant("http:k", "evil");
    let answered = desk.approvals.answer(&id, &ONCE, &stranger, NOW).await.unwrap();
    assert_eq!(answered.outcome, AnswerOutcome::Unknown);
    assert_eq!(desk.approvals.request(&id, Some("evil"), NOW).await.unwrap(), None);
    let own = Responder::of_tenant("http:k", "acme");
    let grant = desk.approvals.answer(&id, &ONCE, &own, NOW).await.unwrap().grant.unwrap();
    assert_eq!(grant.by, "http:k");
    assert!(!desk.approvals.revoke(&grant.id, &stranger, NOW).await.unwrap());
    assert!(desk.approvals.revoke(&grant.id, &own, NOW).await.unwrap());
    assert!(!desk.runs(&delete()).await);
    assert_eq!(desk.approvals.answer("nothing", &ONCE, &own, NOW).await.unwrap().outcome, AnswerOutcome::Unknown);
}

#[tokio::test(start_paused = true)]
async fn cancelling_takes_the_question_back() {
    // C122.
    let desk = Desk::new();
    let route = Route::to(Person::IsSilent);
    let cancel = CancellationToken::new();
    let call = delete();
    let (asked, ()) = tokio::join!(desk.ask_until(&call, Some(&route), &cancel), async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
    });
    assert!(matches!(asked, Asked::Cancelled { request: Some(_) }));
    assert_eq!(route.taken_back.load(Ordering::SeqCst), 1);
    assert_eq!(desk.ledger.states(), [RequestState::Pending]);
    assert!(!desk.runs(&delete()).await);
    // Cancelled before anything was asked.
    assert_eq!(desk.ask_until(&call, Some(&route), &cancel).await, Asked::Cancelled { request: None });
    assert_eq!(route.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_answers_first_counts() {
    // The same process wakes the waiting call at once, another one within the time of a poll.
    for other_process in [false, true] {
        for answer in [ONCE, Answer::Deny { reach: Reach::Once }] {
            let desk = Desk::new();
            let other = desk.again();
            let answering = if other_process { &other.approvals } else { &desk.approvals };
            let route = Route::to(Person::IsSilent);
            let call = delete();
            let began = Instant::now();
            let (asked, ()) = tokio::join!(desk.ask(&call, Some(&route)), async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let open = desk.approvals.list(RequestFilter { limit: 9, ..RequestFilter::default() }, NOW).await;
                let id = open.unwrap()[0].request.id.clone();
                answering.answer(&id, &answer, &Responder::owner("terminal"), NOW).await.unwrap();
            });
            let most = if other_process { 1_260 } else { 1_005 };
            assert!(began.elapsed() <= Duration::from_millis(most), "{:?}", began.elapsed());
            match &asked {
                Asked::Approved { authority, .. } => {
                    assert!(authority.ends_with("by terminal"), "{authority}");
                    assert!(desk.runs(&call).await);
                }
                Asked::Denied { reason, .. } => assert_eq!(reason, "a person refused it (terminal)"),
                other => panic!("{other:?}"),
            }
            assert_eq!(matches!(asked, Asked::Approved { .. }), answer == ONCE);
            assert_eq!(route.taken_back.load(Ordering::SeqCst), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_answers_one_counts() {
    let desk = Desk::new();
    let Asked::Parked { id, .. } = desk.ask(&delete(), None).await else { panic!() };
    let answers = [ONCE, Answer::Deny { reach: Reach::Once }, ONCE];
    let mut outcomes = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let by = Responder::owner(format!("person {at}"));
        outcomes.push(desk.approvals.answer(&id, answer, &by, NOW).await.unwrap().outcome);
    }
    let settled = AnswerOutcome::Settled(RequestState::Approved);
    assert_eq!(outcomes, [AnswerOutcome::Recorded, settled, settled]);
    assert!(desk.runs(&delete()).await);
    assert!(!desk.runs(&delete()).await);
}

#[tokio::test(start_paused = true)]
async fn identical_calls_share_a_question_but_not_its_approval() {
    let desk = Desk::new();
    let route = Route::to(Person::IsSilent);
    let call = delete();
    let answer = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let open = desk.approvals.list(RequestFilter { limit: 9, ..RequestFilter::default() }, NOW).await.unwrap();
        assert_eq!(open.len(), 1);
        desk.approvals.answer(&open[0].request.id, &ONCE, &Responder::owner("terminal"), NOW).await.unwrap();
    };
    let ((), a, b, c) = tokio::join!(
        answer,
        desk.ask(&call, Some(&route)),
        desk.ask(&call, Some(&route)),
        desk.ask(&call, Some(&route))
    );
    let mut ran = 0;
    for asked in [a, b, c] {
        if let Asked::Approved { used, .. } = asked {
            ran += usize::from(desk.approvals.consume(&used, NOW).await.unwrap());
        }
    }
    assert_eq!((ran, desk.ledger.requests_made()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_come_with_the_next_call() {
    let desk = Desk::new();
    let route = Route::to(Person::Fails(AskError::Later));
    let Asked::Later { request } = desk.ask(&delete(), Some(&route)).await else { panic!() };
    let answered = desk.approvals.answer(&request.id, &ONCE, &Responder::owner("client"), NOW).await.unwrap();
    assert_eq!(answered.outcome, AnswerOutcome::Recorded);
    assert!(desk.runs(&delete()).await);
}

#[tokio::test(start_paused = true)]
async fn only_ways_that_lead_to_a_person_are_told() {
    for (reachable, says, says_not) in
        [(true, "where toolcrib runs", "store.path"), (false, "store.path", "where toolcrib runs")]
    {
        let desk = Desk::with(ApprovalSettings { reachable, ..ApprovalSettings::default() });
        for route in
            [None, Some(Route::to(Person::IsSilent)), Some(Route::to(Person::Fails(AskError::Unusable("x".into()))))]
        {
            let Asked::Parked { sentence, .. } = desk.ask(&delete(), route.as_ref()).await else {
                panic!("not parked")
            };
            assert!(sentence.contains(says) && !sentence.contains(says_not), "{sentence}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn people_are_not_flooded() {
    // T21: by time.
    let desk = Desk::with(ApprovalSettings { prompts_per_minute: 3, ..ApprovalSettings::default() });
    let route = Route::to(Person::Says(Answer::Deny { reach: Reach::Once }));
    let nth = |n: u64| delete().arguments(json!({ "n": n })).with(|call| call.now_ms += n);
    for n in 0..10 {
        let asked = desk.ask(&nth(n), Some(&route)).await;
        assert_eq!(matches!(asked, Asked::Denied { request: Some(_), .. }), n < 3, "{n}: {asked:?}");
    }
    assert_eq!(route.asked(), 3);
    let bob = nth(11).with(|call| call.scope.user = Some("bob".into()));
    assert!(matches!(desk.ask(&bob, Some(&route)).await, Asked::Denied { request: Some(_), .. }));
    // What a caller names as it likes gives it no further questions.
    for change in [
        (|call| call.identity.agent = Some("another".into())) as fn(&mut Judged),
        |call| call.identity.session = Some("another".into()),
        |call| call.identity.session = None,
    ] {
        let asked = desk.ask(&nth(12).with(change), Some(&route)).await;
        assert!(matches!(asked, Asked::Denied { request: None, .. }), "{asked:?}");
    }
    assert!(matches!(desk.ask(&nth(60_000), Some(&route)).await, Asked::Denied { request: Some(_), .. }));
    // By number of open questions.
    let desk = Desk::with(ApprovalSettings { most_pending: 2, ..ApprovalSettings::default() });
    for n in 0..4 {
        assert_eq!(matches!(desk.ask(&nth(n), None).await, Asked::Parked { .. }), n < 2, "{n}");
    }
    assert_eq!(desk.ledger.requests_made(), 2);
    // The same call again is the same question.
    assert!(matches!(desk.ask(&nth(0), None).await, Asked::Parked { .. }));
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_bounded() {
    for (wait, within, most) in [(120, None, 120), (9_999, None, 600), (120, Some(5), 5), (0, None, 0)] {
        let desk = Desk::with(ApprovalSettings { wait: Duration::from_secs(wait), ..ApprovalSettings::default() });
        let route = Route::to(Person::IsSilent) as Arc<dyn Asker>;
        let call = delete();
        let (question, principal) = (call.question(), call.principal());
        let asking = Asking {
            question: &question,
            principal: &principal,
            digest: call.digest(),
            reason: "",
            mask: &as_written,
            says: None,
            within: within.map(Duration::from_secs),
        };
        let began = Instant::now();
        let asked = desk.approvals.ask(&asking, Some(&route), &CancellationToken::new()).await;
        assert!(matches!(asked, Asked::Parked { .. }));
        assert_eq!(began.elapsed().as_secs(), most, "{wait} {within:?}");
    }
}

/// Who called does not approve, where two are needed.
#[tokio::test]
async fn four_eyes() {
    let user = |name: Option<&str>| name.map(str::to_owned);
    let deny = Answer::Deny { reach: Reach::Always };
    // (four_eyes, who called, who answers, the answer, whether it counts)
    let cases = [
        (false, Some("ann"), Some("ann"), ONCE, true),
        (true, Some("ann"), Some("ann"), ONCE, false),
        (true, Some("ann"), Some("ann"), approve(Reach::Session), false),
        (true, Some("ann"), Some("ann"), deny.clone(), true),
        (true, Some("ann"), Some("bob"), ONCE, true),
        // Without a name nobody is told apart.
        (true, None, None, ONCE, true),
        (true, Some("ann"), None, ONCE, true),
        (true, None, Some("ann"), ONCE, true),
    ];
    for (four_eyes, caller, responder, answer, counts) in cases {
        let desk = Desk::with(ApprovalSettings { four_eyes, ..ApprovalSettings::default() });
        let call = delete().with(|call| call.scope.user = user(caller));
        let Asked::Parked { id, .. } = desk.ask(&call, None).await else { panic!("nobody is there") };
        let by = Responder::owner("http:x").named(user(responder));
        let what = format!("{four_eyes} {caller:?} {responder:?} {answer:?}");
        match desk.approvals.answer(&id, &answer, &by, NOW).await {
            Ok(answered) => assert!(counts && answered.outcome == AnswerOutcome::Recorded, "{what}"),
            Err(error) => {
                assert!(!counts && error.to_string().contains("'ann' made this call"), "{what}: {error}");
                assert_eq!(desk.ledger.states(), [RequestState::Pending], "it stands for somebody else");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn never_means_never() {
    let desk = Desk::new();
    let answered = desk.settle(&delete(), &Answer::Deny { reach: Reach::Always }).await;
    let grant = answered.grant.unwrap();
    // Whatever the arguments, the session and the definition.
    let others = [
        delete(),
        delete().arguments(json!({"path": "/other"})),
        delete().with(|call| call.identity.session = None),
        Judged::defined("mcp:fs/delete", json!({"description": "Harmless now."}), json!({})),
    ];
    for call in &others {
        assert!(matches!(desk.covered(call).await, Covered::Forbidden(_)));
        assert_eq!(desk.approvals.forbidden(&call.question(), &call.principal()).await.unwrap(), Some(grant.clone()));
    }
    // It beats an approval.
    let again = desk.again();
    assert_eq!(again.approvals.forbidden(&delete().question(), &delete().principal()).await.unwrap(), None);
    again.approvals.refresh(NOW).await.unwrap();
    assert!(again.approvals.forbidden(&delete().question(), &delete().principal()).await.unwrap().is_some());
    again.settle(&delete(), &approve(Reach::Always)).await;
    assert!(matches!(desk.covered(&delete()).await, Covered::Forbidden(_)));
    // Only for that user, and until it is revoked.
    let bob = delete().with(|call| call.scope.user = Some("bob".into()));
    assert_eq!(desk.covered(&bob).await, Covered::No);
    assert!(desk.approvals.revoke(&grant.id, &Responder::owner("terminal"), NOW).await.unwrap());
    assert_eq!(desk.approvals.forbidden(&delete().question(), &delete().principal()).await.unwrap(), None);
    assert!(matches!(desk.covered(&delete()).await, Covered::Yes(_)));
}

#[tokio::test(start_paused = true)]
async fn a_grant_revoked_before_the_call_leaves_is_not_used() {
    for reach in [Reach::Once, Reach::Session, Reach::Always] {
        let desk = Desk::new();
        let grant = desk.settle(&delete(), &approve(reach)).await.grant.unwrap();
        let Covered::Yes(used) = desk.covered(&delete()).await else { panic!() };
        assert!(desk.again().approvals.revoke(&grant.id, &Responder::owner("terminal"), NOW).await.unwrap());
        assert!(!desk.approvals.consume(&used, NOW).await.unwrap(), "{reach:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn new_questions_are_seen_once() {
    let desk = Desk::new();
    let other = desk.again();
    let nth = |n: u64| delete().arguments(json!({ "n": n }));
    desk.ask(&nth(1), None).await;
    let mut watch = desk.approvals.watch(None);
    assert!(watch.next(|| NOW).await.unwrap().request.arguments.contains('1'));
    let (seen, _) = tokio::join!(watch.next(|| NOW), async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        other.ask(&nth(2), None).await
    });
    assert!(seen.unwrap().request.arguments.contains('2'));
    // Nothing new: an answer is not a question.
    desk.settle(&nth(2), &ONCE).await;
    assert!(tokio::time::timeout(Duration::from_secs(5), watch.next(|| NOW)).await.is_err());
    other.ask(&nth(3), None).await;
    assert!(watch.next(|| NOW).await.unwrap().request.arguments.contains('3'));
    let mut elsewhere = desk.approvals.watch(Some("evil".into()));
    assert!(tokio::time::timeout(Duration::from_secs(5), elsewhere.next(|| NOW)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_approval_at_critical_risk_is_for_one_call() {
    let desk = Desk::new();
    let call = || delete().risk(Risk::Critical, Effect::Mutating);
    // Granted before the risk was known: counts no more, except for one call.
    desk.settle(&delete(), &approve(Reach::Always)).await;
    assert_eq!(desk.covered(&call()).await, Covered::No);
    desk.settle(&call(), &ONCE).await;
    assert!(desk.runs(&call()).await);
    assert!(!desk.runs(&call()).await);
}
