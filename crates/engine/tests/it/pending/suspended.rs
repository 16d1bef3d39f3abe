use std::time::Duration;

use serde_json::json;
use toolcrib_core::ToolResult;
use toolcrib_engine::{
    Principal,
    pending::{PendingError, PendingState, Read, ResumeAs, ResumeError, Suspender, Suspension, SuspensionError},
};

use super::{World, origin, principal};

/// oneringai case 125: two tools suspend in one turn; the first correlation id is used.
#[test]
fn case_125_the_first_signal_of_a_turn_wins() {
    let turn = Suspender::accepting();
    let (first, second) = (turn.clone(), turn.clone());
    assert!(turn.take().is_none() && turn.is_open());
    assert_eq!(first.suspend(Suspension::new("one")), Ok(true));
    assert_eq!(second.suspend(Suspension::new("two")), Ok(false));
    assert_eq!(turn.take().unwrap().correlation, "one");
    assert_eq!(second.suspend(Suspension::new("late")), Ok(false));
    assert!(turn.take().is_none() && !turn.is_open());
}

#[test]
fn where_calls_cannot_be_resumed_a_signal_is_refused() {
    let none = Suspender::default();
    assert_eq!(none.suspend(Suspension::new("x")), Err(SuspensionError::Refused));
    assert!(!none.is_open() && none.take().is_none());
}

#[test]
fn a_signal_that_cannot_be_honoured_is_refused_and_leaves_the_cell_open() {
    #[track_caller]
    fn check(suspension: Suspension, expected: &SuspensionError) {
        let cell = Suspender::accepting();
        assert_eq!(cell.suspend(suspension), Err(expected.clone()));
        assert!(cell.is_open());
    }
    check(Suspension::new(""), &SuspensionError::NoCorrelation);
    check(Suspension::new("  "), &SuspensionError::NoCorrelation);
    check(Suspension::new("é".repeat(201)), &SuspensionError::BadCorrelation(201));
    check(Suspension::new("a\nb"), &SuspensionError::BadCorrelation(3));
    check(
        Suspension { metadata: json!("x".repeat(16 * 1024)), ..Suspension::new("x") },
        &SuspensionError::Metadata(16_386),
    );
    check(Suspension { ttl: Some(Duration::ZERO), ..Suspension::new("x") }, &SuspensionError::NoTime);
    assert_eq!(Suspender::accepting().suspend(Suspension::new("é".repeat(200))), Ok(true));
}

/// Case 127: the expiry is 7 days, also where the tool asks for more.
#[tokio::test]
async fn case_127_a_suspended_call_waits_for_seven_days() {
    let world = World::new();
    for (ttl, days) in [(None, 7), (Some(Duration::from_hours(48)), 2), (Some(Duration::from_hours(24 * 365)), 7)] {
        let pending = world.work.suspend(origin("t"), Suspension { ttl, ..Suspension::new("x") }).await.unwrap();
        assert_eq!(pending.expires_at_ms - pending.created_at_ms, days * 86_400_000);
    }
}

/// Exactly once, also after a restart; with everything the conversation needs to go on.
#[tokio::test]
async fn a_suspended_call_is_resumed_exactly_once_also_after_a_restart() {
    for resume_as in [ResumeAs::ToolResult, ResumeAs::UserMessage] {
        let world = World::new();
        let metadata = json!({"step": 3});
        let suspension = Suspension { resume_as, metadata: metadata.clone(), ..Suspension::new("mail-1") };
        world.work.suspend(origin("ask"), suspension).await.unwrap();
        let world = world.restarted();
        // It was no work of the process that ended.
        assert!(world.work.recover().await.unwrap().is_empty());
        let delivery = world.work.resume("", "mail-1", ToolResult::text("yes")).await.unwrap();
        assert_eq!((delivery.result.to_text().as_str(), delivery.resume_as, delivery.call), ("yes", resume_as, 7));
        assert_eq!((delivery.metadata, delivery.correlation.as_deref()), (metadata, Some("mail-1")));
        let again = world.work.resume("", "mail-1", ToolResult::text("no")).await;
        assert!(matches!(again, Err(ResumeError::AlreadyResumed)), "{again:?}");
    }
}

#[tokio::test]
async fn of_racing_answers_one_wins() {
    let world = World::new();
    world.work.suspend(origin("ask"), Suspension::new("x")).await.unwrap();
    let answers = (0..20).map(|at| world.work.resume("", "x", ToolResult::text(at.to_string())));
    let ends = futures_util::future::join_all(answers).await;
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1);
    assert!(ends.iter().all(|end| matches!(end, Ok(_) | Err(ResumeError::AlreadyResumed))));
}

#[tokio::test]
async fn what_waits_nowhere_cannot_be_resumed() {
    let world = World::new();
    let mut of = origin("ask");
    of.principal = Principal { tenant: "a".into(), ..Principal::default() };
    world.work.suspend(of, Suspension::new("x")).await.unwrap();
    for (tenant, correlation) in [("a", "y"), ("b", "x"), ("", "x")] {
        let end = world.work.resume(tenant, correlation, ToolResult::text("yes")).await;
        assert!(matches!(end, Err(ResumeError::Unknown)), "{tenant} {correlation}");
    }
    assert!(world.work.resume("a", "x", ToolResult::text("yes")).await.is_ok());
}

#[tokio::test]
async fn an_expired_call_says_so() {
    let world = World::new();
    let pending = world.work.suspend(origin("ask"), Suspension::new("x")).await.unwrap();
    world.later(Duration::from_hours(7 * 24));
    assert!(matches!(world.work.resume("", "x", ToolResult::text("yes")).await, Err(ResumeError::Expired)));
    let read = world.work.read(&pending.handle, &principal("ann", None)).await.unwrap();
    assert!(matches!(read, Some(Read::Expired(_))));
}

/// A process that ended between keeping the answer and going on with it leaves it to the next.
#[tokio::test]
async fn an_answer_kept_by_a_process_that_ended_is_not_lost() {
    let world = World::new();
    let pending = world.work.suspend(origin("ask"), Suspension::new("x")).await.unwrap();
    {
        let mut pieces = world.kept.pieces.lock();
        let piece = pieces.iter_mut().find(|piece| piece.handle == pending.handle).unwrap();
        piece.state = PendingState::Ready;
        piece.result = Some(ToolResult::text("first").raw().get().to_owned());
    }
    let delivery = world.work.resume("", "x", ToolResult::text("second")).await.unwrap();
    assert_eq!(delivery.result.to_text(), "first");
    assert!(matches!(world.work.resume("", "x", ToolResult::text("x")).await, Err(ResumeError::AlreadyResumed)));
}

/// What is left for the call's own side is read by its handle, or delivered to whoever takes replies; once, all in all.
#[tokio::test]
async fn a_reply_is_left_for_the_callers_side() {
    for read in [true, false] {
        let world = World::new();
        let ann = principal("ann", None);
        let handle = world.work.suspend(origin("ask"), Suspension::new("x")).await.unwrap().handle;
        let mut deliveries = world.work.deliveries(ann.clone()).with_replies();
        assert!(deliveries.within(Duration::ZERO).await.unwrap().is_empty());
        world.work.reply("", "x", ToolResult::text("yes")).await.unwrap();
        let again = world.work.reply("", "x", ToolResult::text("no")).await;
        assert!(matches!(again, Err(ResumeError::AlreadyResumed)), "{again:?}");
        // Without being asked for, replies are not among the results.
        assert!(world.work.deliveries(ann.clone()).within(Duration::ZERO).await.unwrap().is_empty());
        if read {
            let read = world.work.read(&handle, &ann).await.unwrap().unwrap();
            assert_eq!(read.into_result().to_text(), "yes");
        } else {
            let got = deliveries.within(Duration::ZERO).await.unwrap();
            assert_eq!((got.len(), got[0].result.to_text().as_str(), got[0].handle == handle), (1, "yes", true));
        }
        assert!(deliveries.within(Duration::ZERO).await.unwrap().is_empty());
    }
    let world = World::new();
    let unknown = world.work.reply("", "x", ToolResult::text("yes")).await;
    assert!(matches!(unknown, Err(ResumeError::Unknown)), "{unknown:?}");
}

#[tokio::test]
async fn a_cancelled_call_cannot_be_resumed() {
    let world = World::new();
    let ann = principal("ann", None);
    let handle = world.work.suspend(origin("ask"), Suspension::new("x")).await.unwrap().handle;
    assert!(!world.work.cancel(&handle, &principal("bob", None)).await.unwrap());
    assert!(world.work.cancel(&handle, &ann).await.unwrap());
    assert!(!world.work.cancel(&handle, &ann).await.unwrap());
    assert!(matches!(world.work.resume("", "x", ToolResult::text("x")).await, Err(ResumeError::AlreadyResumed)));
}

#[tokio::test]
async fn a_suspension_without_an_id_keeps_nothing() {
    let world = World::new();
    let end = world.work.suspend(origin("ask"), Suspension::new("")).await;
    assert!(matches!(end, Err(PendingError::Suspension(SuspensionError::NoCorrelation))));
    assert!(world.kept.pieces.lock().is_empty());
}
