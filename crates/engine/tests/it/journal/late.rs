//! Answers that come after the call was given up (oneringai §2.13, reliability F2).

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::{json, value::RawValue};
use tokio::time::Instant;
use toolcrib_core::{ContentHash, Scope, Source, SourceState, ToolResult};
use toolcrib_engine::{
    Backend, BoxFuture, CallRequest, Door, Engine, EngineSettings, Hub, HubLimits, Invocation, InvokeError, Outcome,
    PermissionSettings, SourceOptions, Trust,
    journal::{JournalSettings, Kind},
};

use super::{open, paused, settings};
use crate::faults::Shelf;

const SECOND: Duration = Duration::from_secs(1);

/// What comes of a call, and how long after it was given up.
type Answer = (Duration, Result<ToolResult, InvokeError>);

/// Gives every call up in time and leaves what still comes.
struct Server(Mutex<Option<Answer>>);

impl Backend for Server {
    fn invoke<'a>(
        &'a self,
        Invocation { context, .. }: Invocation<'a>,
    ) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let ended = tokio::select! {
                () = tokio::time::sleep_until(context.deadline) => InvokeError::TimedOut(SECOND),
                () = context.cancel.cancelled() => InvokeError::Cancelled,
            };
            let (after, answer) = self.0.lock().take().unwrap();
            // A copy of the context leads nowhere.
            context.clone().late.leave(async { Ok(ToolResult::text("astray")) });
            context.late.leave(async move {
                tokio::time::sleep(after).await;
                answer
            });
            Err(ended)
        })
    }
}

/// A call of `tool`, given up after a second, whose answer comes as `answer` says. `want` is the late record: outcome and
/// the text whose digest it has.
#[track_caller]
fn check(tool: &str, cancelled: bool, answer: Answer, want: Option<(Outcome, Option<&str>)>) {
    paused(async {
        let hub = Hub::new(HubLimits::default());
        let server = Arc::new(Server(Mutex::new(Some(answer))));
        let publisher = hub.register(Source::Mcp("s".into()), SourceOptions::default(), server);
        let read = json!({"name": "look", "annotations": {"readOnlyHint": true}});
        publisher.tools(SourceState::Ready, vec![read, json!({"name": "write"})], None, false);
        let shelf = Arc::new(Shelf::default());
        let journal = open(&shelf, JournalSettings { late: 60 * SECOND, ..settings() }).await;
        let permissions = PermissionSettings { trust: Trust::All, ..PermissionSettings::default() };
        let settings = EngineSettings { permissions, ..EngineSettings::default() };
        let engine = Engine::builder(hub).settings(settings).journal(journal.clone()).build();
        let arguments = RawValue::from_string("{}".into()).unwrap();
        let mut request = CallRequest::new(format!("s__{tool}"), Some(arguments), Scope::default(), Door::Direct);
        request.timeout = Some(if cancelled { 60 * SECOND } else { SECOND });
        let cancel = request.cancel.clone();
        let began = Instant::now();
        let (report, ()) = tokio::join!(engine.call_report(request), async {
            if cancelled {
                tokio::time::sleep(SECOND).await;
                cancel.cancel();
            }
        });
        assert!(began.elapsed() < 2 * SECOND, "nobody waits for it");
        let told = if cancelled { Outcome::Cancelled } else { Outcome::TimedOut };
        assert_eq!(report.outcome, told);
        let failed = || engine.admission().breakers().iter().map(|breaker| breaker.snapshot.totals).collect::<Vec<_>>();
        let before = failed();
        tokio::time::sleep(120 * SECOND).await;
        journal.flush().await.unwrap();

        let records = shelf.all();
        let kinds: Vec<_> = records.iter().map(|record| record.kind).filter(|kind| *kind != Kind::Intent).collect();
        let outcome = records.iter().find(|record| record.kind == Kind::Outcome).unwrap();
        assert_eq!((outcome.outcome, &outcome.output), (Some(told), &None), "the call's own outcome stays");
        match want {
            None => assert_eq!(kinds, [Kind::Outcome]),
            Some((came, text)) => {
                assert_eq!(kinds, [Kind::Outcome, Kind::Late]);
                let late = records.last().unwrap();
                assert_eq!((late.outcome, late.call, &late.tool), (Some(came), outcome.call, &outcome.tool));
                assert_eq!((&late.arguments, &late.definition), (&outcome.arguments, &outcome.definition));
                assert_eq!(late.output, text.map(|text| ContentHash::of_bytes(text.as_bytes()).to_string()));
            }
        }
        assert_eq!(failed(), before, "no circuit hears of it twice");
    });
}

#[test]
fn what_comes_after_a_call_was_given_up_is_on_record() {
    let ok = || ToolResult::text("done");
    let error = || ToolResult::error("no");
    let (done, no) = (ok().raw().get().to_owned(), error().raw().get().to_owned());
    for tool in ["write", "look"] {
        for cancelled in [false, true] {
            check(tool, cancelled, (5 * SECOND, Ok(ok())), Some((Outcome::Ok, Some(&done))));
        }
    }
    check("write", false, (Duration::ZERO, Ok(ok())), Some((Outcome::Ok, Some(&done))));
    check("write", false, (5 * SECOND, Ok(error())), Some((Outcome::ToolError, Some(&no))));
    let refused = InvokeError::Refused { code: -32000, message: "no".into(), data: None };
    check("write", true, (5 * SECOND, Err(refused)), Some((Outcome::ToolError, None)));
    check(
        "write",
        false,
        (5 * SECOND, Err(InvokeError::Unavailable("down".into()))),
        Some((Outcome::Unavailable, None)),
    );
    check("write", false, (5 * SECOND, Err(InvokeError::Unknown("broken".into()))), None);
    check("write", false, (61 * SECOND, Ok(ok())), None);
}
