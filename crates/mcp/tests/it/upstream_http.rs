//! Servers over streamable HTTP: eras, sessions, streams, and their faults.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_core::SourceState;
use toolcrib_engine::{CallContext, InvokeError};
use toolcrib_mcp::upstream::{Era, Transport};

use crate::{
    upstream::{PATIENCE, Rig, quick, tool},
    upstream_web::{Reply, Request, Step, TOOLS, Web, eventually, json_reply, legacy, modern, status},
};

const MS: Duration = Duration::from_millis(1);

type Answer = fn(&Request) -> Reply;

fn nothing(_: &Request) -> Option<Reply> {
    None
}

#[tokio::test]
async fn a_legacy_server_gets_its_session_and_version_on_every_request() {
    let web = Web::start(legacy, nothing).await;
    let mut settings = web.settings();
    settings.transport = Transport::Http {
        url: web.url.clone(),
        headers: vec![("X-Team".into(), "blue".into())],
        bearer: Some("bearer-token".into()),
    };
    let rig = Rig::start(settings);
    assert_eq!(rig.ready().await.tools.len(), TOOLS.len());
    rig.works().await;
    let report = rig.report();
    assert_eq!((report.era, report.version.as_deref()), (Some(Era::Legacy), Some("2025-11-25")));
    let call = web.last("tools/call");
    assert_eq!(call.header("mcp-session-id"), Some("session-1"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(call.header("mcp-method"), None);
    assert_eq!(call.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(call.header("accept-encoding"), Some("identity"));
    assert_eq!(call.header("authorization"), Some("Bearer bearer-token"));
    assert_eq!(call.header("x-team"), Some("blue"));
    assert_eq!(web.last("initialize").header("mcp-session-id"), None);
    assert_eq!(web.last("initialize").header("mcp-protocol-version"), None);
    assert_eq!(web.count("notifications/initialized"), 1);
    rig.stop().await;
    let seen = web.seen.lock();
    let end = seen.last().unwrap();
    assert_eq!((end.verb.as_str(), end.header("mcp-session-id")), ("DELETE", Some("session-1")));
}

#[tokio::test]
async fn a_modern_server_gets_its_headers_and_meta_on_every_request() {
    let web = Web::start(modern, nothing).await;
    let rig = Rig::start(web.settings());
    let entry = rig.ready().await;
    assert_eq!(entry.instructions.as_deref(), Some("be quick"));
    let odd = tool(&json!({"name": "größe", "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "text": {"type": "string", "x-mcp-header": "Text"}}}}));
    let arguments = json!({"region": "us-west1", "text": "a\r\nX-Evil: 1"});
    let result = rig.invoke(&odd, arguments.clone(), CallContext::new(1, PATIENCE)).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&result.to_text()).unwrap(), arguments);
    assert_eq!(result.to_value().get("resultType"), None);
    let call = web.last("tools/call");
    assert_eq!(call.header("mcp-method"), Some("tools/call"));
    assert_eq!(call.header("mcp-name"), Some("=?base64?Z3LDtsOfZQ==?="));
    assert_eq!(call.header("mcp-param-region"), Some("us-west1"));
    assert_eq!(call.header("mcp-param-text"), Some("=?base64?YQ0KWC1FdmlsOiAx?="));
    assert_eq!(call.header("x-evil"), None);
    assert_eq!(call.header("mcp-session-id"), None);
    assert_eq!(call.body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"], "toolcrib");
    assert_eq!(web.count("initialize"), 0);
    rig.stop().await;
    assert!(web.seen.lock().iter().all(|request| request.verb == "POST"));
}

/// Whatever a legacy server answers to the probe, it is greeted as it wants to be.
#[tokio::test]
async fn any_refusal_of_the_probe_leads_to_initialize() {
    let refusals: [Answer; 8] = [
        |_| status(400, "Bad Request: Server not initialized"),
        |_| status(404, ""),
        |_| status(405, "<html>no</html>"),
        |_| status(500, "oops"),
        |request| json_reply(&request.error(-32601, "Method not found")),
        |request| json_reply(&request.result(&json!({}))),
        |_| Reply::Drop,
        |_| Reply::Hang,
    ];
    for (at, refusal) in refusals.into_iter().enumerate() {
        let probe = move |request: &Request| (request.rpc() == "server/discover").then(|| refusal(request));
        let web = Web::start(legacy, probe).await;
        let rig = Rig::start(web.settings());
        rig.ready().await;
        rig.works().await;
        assert_eq!(rig.report().era, Some(Era::Legacy), "refusal {at}");
        rig.stop().await;
    }
}

/// What makes trying again pointless is said, with what to do, and not hammered.
#[tokio::test]
async fn faults_that_need_somebody_are_parked_with_a_reason() {
    let cases: [(Answer, &str); 7] = [
        (|_| status(401, "token expired"), "needs credentials (HTTP 401: token expired)"),
        (|_| status(403, ""), "needs credentials (HTTP 403)"),
        (|_| status(404, "nope"), "no streamable HTTP endpoint"),
        (|_| status(410, "gone"), "HTTP 410: gone"),
        (
            |_| Reply::Whole(307, vec![("location", "https://elsewhere.example/mcp?key=abc".into())], String::new()),
            "redirects to 'https://elsewhere.example/mcp'",
        ),
        (|_| Reply::Whole(200, vec![("content-type", "text/html".into())], "<html>".into()), "is text/html, not JSON"),
        (
            |request| json_reply(&request.result(&json!({"protocolVersion": "3000-01-01"}))),
            "version '3000-01-01', which is not supported",
        ),
    ];
    for (answer, reason) in cases {
        let web = Web::start(answer, nothing).await;
        let mut settings = web.settings();
        settings.timing.park = Duration::from_mins(10);
        settings.timing.park_min = Duration::from_mins(10);
        let rig = Rig::start(settings);
        let said = rig.down().await;
        assert!(said.contains(reason), "{said}");
        let before = web.seen.lock().len();
        let outcome = rig.call("echo", json!({})).await;
        assert!(matches!(&outcome, Err(InvokeError::Unavailable(text)) if text.contains(reason)), "{outcome:?}");
        assert_eq!(web.seen.lock().len(), before, "not hammered");
        rig.stop().await;
    }
}

/// What passes by itself is tried again.
#[tokio::test]
async fn faults_that_pass_are_tried_again() {
    let faults: [Answer; 4] = [
        |_| status(503, "busy"),
        |_| status(429, "slow down"),
        |_| Reply::Drop,
        |request| json_reply(&request.error(-1, "not yet")),
    ];
    for (at, fault) in faults.into_iter().enumerate() {
        let left = AtomicU64::new(4);
        let failing = move |request: &Request| {
            let once_more = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            once_more.is_ok().then(|| fault(request))
        };
        let web = Web::start(legacy, failing).await;
        let rig = Rig::start(web.settings());
        rig.ready().await;
        rig.works().await;
        assert!(rig.report().restarts >= 1, "fault {at}");
        rig.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_yet_is_found_when_it_is() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let rig =
        Rig::start(quick(Transport::Http { url: format!("http://{address}/mcp"), headers: vec![], bearer: None }));
    assert!(rig.down().await.contains("cannot connect"));
    let outcome = rig.call("echo", json!({})).await;
    assert!(matches!(outcome, Err(InvokeError::Unavailable(_))), "{outcome:?}");
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let _web = Web::serve(listener, modern, nothing);
    rig.ready().await;
    rig.works().await;
    rig.stop().await;
}

/// A session the server forgot is replaced, and the call that found out is made once more.
#[tokio::test]
async fn a_forgotten_session_is_renewed_once() {
    for answer in [status as fn(u16, String) -> Reply, |_, _| status(400, "Bad Request: No valid session ID provided")]
    {
        let forgotten = Arc::new(AtomicBool::new(false));
        let (forget, calls) = (forgotten.clone(), Arc::new(AtomicU64::new(0)));
        let count = calls.clone();
        let web = Web::start(legacy, move |request| {
            if request.rpc() == "initialize" {
                forget.store(false, Ordering::Relaxed);
            }
            if request.tool() == "echo" {
                count.fetch_add(1, Ordering::Relaxed);
                return forget.load(Ordering::Relaxed).then(|| answer(404, "Session not found".to_owned()));
            }
            None
        })
        .await;
        let rig = Rig::start(web.settings());
        rig.ready().await;
        forgotten.store(true, Ordering::Relaxed);
        rig.works().await;
        assert_eq!((calls.load(Ordering::Relaxed), web.count("initialize")), (2, 2));
        rig.stop().await;
    }
}

/// A session that is gone shows without a call as well: in a listing, and when the standing stream is opened again.
#[tokio::test]
async fn a_forgotten_session_is_noticed_without_a_call() {
    for where_it_shows in ["listing", "stream"] {
        let (forgotten, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let (forget, announce) = (forgotten.clone(), signal.clone());
        let web = Web::start(legacy, move |request| {
            if request.rpc() == "initialize" {
                forget.store(false, Ordering::Relaxed);
            } else if request.verb != "DELETE" && forget.load(Ordering::Relaxed) {
                return Some(status(404, "Session not found"));
            }
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            let then = if where_it_shows == "listing" { Step::Message(changed) } else { Step::Cut };
            (request.verb == "GET").then(|| Reply::Events(vec![Step::Await(announce.clone()), then, Step::Hold]))
        })
        .await;
        let rig = Rig::start(web.settings());
        rig.ready().await;
        eventually(|| web.seen.lock().iter().any(|request| request.verb == "GET")).await;
        forgotten.store(true, Ordering::Relaxed);
        signal.notify_one();
        eventually(|| web.count("initialize") == 2).await;
        rig.ready().await;
        rig.works().await;
        assert_eq!((web.count("initialize"), rig.report().restarts), (2, 1), "{where_it_shows}");
        rig.stop().await;
    }
}

/// A server that has no standing stream may say so with the status of a session that is gone.
#[tokio::test]
async fn a_missing_stream_is_no_forgotten_session() {
    let web = Web::start(legacy, |request| (request.verb == "GET").then(|| status(404, "Cannot GET /mcp"))).await;
    let rig = Rig::start(web.settings());
    rig.ready().await;
    eventually(|| web.seen.lock().iter().any(|request| request.verb == "GET")).await;
    rig.works().await;
    assert_eq!(web.count("initialize"), 1);
    rig.stop().await;
}

/// A server that forgets every session at once is waited for like any that does not work.
#[tokio::test]
async fn a_server_that_keeps_no_session_is_not_hammered() {
    let web =
        Web::start(legacy, |request| (request.rpc() == "tools/list").then(|| status(404, "Session not found"))).await;
    let mut settings = web.settings();
    settings.timing.backoff_min = Duration::from_mins(1);
    settings.timing.backoff_max = Duration::from_mins(1);
    let rig = Rig::start(settings);
    let said = rig.until(
        "down",
        |entry| matches!(&entry.state, SourceState::Down { reason } if reason.starts_with("the session has ended")),
    );
    said.await;
    assert_eq!(web.count("initialize"), 2);
    rig.stop().await;
}

#[tokio::test]
async fn credentials_that_expire_park_the_server() {
    let expired = Arc::new(AtomicBool::new(false));
    let check = expired.clone();
    let web = Web::start(modern, move |request| {
        (check.load(Ordering::Relaxed) && request.rpc() != "subscriptions/listen").then(|| status(401, "expired"))
    })
    .await;
    let rig = Rig::start(web.settings());
    rig.ready().await;
    expired.store(true, Ordering::Relaxed);
    let outcome = rig.call("echo", json!({})).await;
    assert!(
        matches!(&outcome, Err(InvokeError::Unavailable(text)) if text.contains("needs credentials")),
        "{outcome:?}"
    );
    assert!(rig.down().await.contains("needs credentials"));
    expired.store(false, Ordering::Relaxed);
    rig.ready().await;
    rig.works().await;
    rig.stop().await;
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Ok,
    Unavailable,
    Refused,
    Unknown,
    Bad,
    TimedOut,
}

#[tokio::test]
async fn every_odd_answer_has_its_meaning() {
    let cases: Vec<(&str, Answer, Kind)> = vec![
        ("events", |r| Reply::Events(vec![Step::Message(r.result(&json!({"content": []})))]), Kind::Ok),
        (
            "events with comments, other messages and split lines",
            |r| {
                Reply::Events(vec![
                    Step::Raw(": hi\r\n\r\nid: 1\r\nretry: 10\r\ndata:\r\n\r\n".into()),
                    Step::Message(json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})),
                    Step::Message(json!({"jsonrpc": "2.0", "id": 999_999, "result": {}})),
                    Step::Raw("data: no json\n\n".into()),
                    Step::Raw(format!("da{}", "")),
                    Step::Raw(format!("ta: {}\n", r.result(&json!({"content": []})))),
                    Step::Raw("\n".into()),
                    Step::Hold,
                ])
            },
            Kind::Ok,
        ),
        ("a batch", |r| json_reply(&json!([{"jsonrpc": "2.0", "method": "x"}, r.result(&json!({}))])), Kind::Ok),
        ("a JSON-RPC error", |r| json_reply(&r.error(-32000, "broken")), Kind::Refused),
        (
            "a JSON-RPC error with a status",
            |r| {
                Reply::Whole(400, vec![("content-type", "application/json".into())], r.error(-32602, "bad").to_string())
            },
            Kind::Refused,
        ),
        ("a rejected request", |_| status(422, "no"), Kind::Unavailable),
        (
            "a redirect",
            |_| Reply::Whole(302, vec![("location", "http://127.0.0.1:1/".into())], String::new()),
            Kind::Unavailable,
        ),
        ("forbidden", |_| status(403, "not you"), Kind::Unavailable),
        ("a server error", |_| status(502, "<html>bad gateway</html>"), Kind::Unknown),
        ("a dropped connection", |_| Reply::Drop, Kind::Unknown),
        ("a stream that ends early", |_| Reply::Events(vec![]), Kind::Unknown),
        ("a stream that is cut", |_| Reply::Events(vec![Step::Raw("data: {".into()), Step::Cut]), Kind::Unknown),
        ("another id", |_| json_reply(&json!({"jsonrpc": "2.0", "id": "x", "result": {}})), Kind::Bad),
        ("no JSON", |_| Reply::Whole(200, vec![("content-type", "application/json".into())], "{".into()), Kind::Bad),
        ("a web page", |_| Reply::Whole(200, vec![("content-type", "text/html".into())], "<html>".into()), Kind::Bad),
        ("accepted only", |_| Reply::Whole(202, vec![], String::new()), Kind::Bad),
        (
            "a compressed answer",
            |_| {
                Reply::Whole(
                    200,
                    vec![("content-type", "application/json".into()), ("content-encoding", "gzip".into())],
                    "x".into(),
                )
            },
            Kind::Bad,
        ),
        ("a body over the limit", |r| json_reply(&r.result(&json!({"x": "x".repeat(200_000)}))), Kind::Bad),
        (
            "an event without end",
            |_| Reply::Events(vec![Step::Raw("data: ".into()), Step::Filling(8 * 1024 * 1024)]),
            Kind::Bad,
        ),
        ("silence", |_| Reply::Hang, Kind::TimedOut),
        ("an open stream", |_| Reply::Events(vec![Step::Raw(": wait\n\n".into()), Step::Hold]), Kind::TimedOut),
    ];
    for usual in [legacy as Answer, modern] {
        for (what, answer, expected) in &cases {
            let answer = *answer;
            let web = Web::start(usual, move |request| (request.tool() == "odd").then(|| answer(request))).await;
            let mut settings = web.settings();
            settings.limits.message_bytes = 100_000;
            let rig = Rig::start(settings);
            rig.ready().await;
            let outcome = rig.call_in("odd", json!({}), CallContext::new(1, MS * 300)).await;
            let kind = match &outcome {
                Ok(_) => Kind::Ok,
                Err(InvokeError::Unavailable(_)) => Kind::Unavailable,
                Err(InvokeError::Refused { .. }) => Kind::Refused,
                Err(InvokeError::Unknown(_)) => Kind::Unknown,
                Err(InvokeError::BadAnswer(_)) => Kind::Bad,
                Err(InvokeError::TimedOut(_)) => Kind::TimedOut,
                Err(InvokeError::Cancelled | InvokeError::Broken(_)) => panic!("{what}"),
            };
            assert_eq!(&kind, expected, "{what}: {outcome:?}");
            let calls = web.seen.lock().iter().filter(|request| request.tool() == "odd").count();
            assert_eq!(calls, 1, "{what}: never sent twice");
            rig.works().await;
            rig.stop().await;
        }
    }
}

/// A legacy server is told; a modern one sees its stream end.
#[tokio::test]
async fn a_cancelled_call_reaches_the_server() {
    for (usual, legacy_era) in [(legacy as Answer, true), (modern, false)] {
        let web = Web::start(usual, |request| {
            (request.tool() == "slow").then(|| Reply::Events(vec![Step::Raw(": wait\n\n".into()), Step::Hold]))
        })
        .await;
        let rig = Rig::start(web.settings());
        rig.ready().await;
        let context = CallContext::new(1, PATIENCE);
        let cancel = context.cancel.clone();
        let (outcome, ()) = tokio::join!(rig.call_in("slow", json!({}), context), async {
            eventually(|| web.seen.lock().iter().any(|request| request.tool() == "slow")).await;
            cancel.cancel();
        });
        assert!(matches!(outcome, Err(InvokeError::Cancelled)), "{outcome:?}");
        eventually(|| web.left.load(Ordering::Relaxed) >= 1).await;
        if legacy_era {
            eventually(|| web.count("notifications/cancelled") == 1).await;
            let id = web.last("tools/call").body["id"].clone();
            assert_eq!(web.last("notifications/cancelled").body["params"]["requestId"], id);
        } else {
            rig.works().await;
            assert_eq!(web.count("notifications/cancelled"), 0);
        }
        rig.works().await;
        rig.stop().await;
    }
}

#[tokio::test]
async fn progress_arrives_while_the_answer_is_pending() {
    for usual in [legacy as Answer, modern] {
        let go_on = Arc::new(Notify::new());
        let signal = go_on.clone();
        let web = Web::start(usual, move |request| {
            let token = request.body["params"]["_meta"]["progressToken"].clone();
            (request.tool() == "slow").then(|| {
                Reply::Events(vec![
                    Step::Message(json!({"jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": 1}})),
                    Step::Await(signal.clone()),
                    Step::Message(request.result(&json!({"content": []}))),
                ])
            })
        })
        .await;
        let rig = Rig::start(web.settings());
        rig.ready().await;
        let mut context = CallContext::new(1, PATIENCE);
        // The answer comes only after the step has arrived here.
        context.progress = Some(Arc::new(move |step| {
            assert_eq!(step.params, json!({"progress": 1}));
            go_on.notify_one();
        }));
        rig.call_in("slow", json!({}), context).await.unwrap();
        rig.stop().await;
    }
}

/// 2025-11-25: a stream may end early and is taken up again where it ended; the call itself is not sent again.
#[tokio::test]
async fn a_legacy_answer_is_taken_up_again_after_a_break() {
    let pending: Arc<Mutex<Option<Value>>> = Arc::default();
    let kept = pending.clone();
    let web = Web::start(legacy, move |request| {
        if request.tool() == "slow" {
            *kept.lock() = Some(request.result(&json!({"content": [], "resumed": true})));
            return Some(Reply::Events(vec![Step::Raw("id: ev-1\nretry: 5\ndata:\n\n".into())]));
        }
        let resumes = request.verb == "GET" && request.header("last-event-id") == Some("ev-1");
        let answer = resumes.then(|| kept.lock().take())??;
        Some(Reply::Events(vec![Step::Message(answer)]))
    })
    .await;
    let rig = Rig::start(web.settings());
    rig.ready().await;
    let result = rig.call("slow", json!({})).await.unwrap();
    assert_eq!(result.to_value()["resumed"], true);
    assert_eq!(web.count("tools/call"), 1);
    rig.stop().await;
}

/// Changes announced on the standing stream, or on the subscription, lead to a new listing.
#[tokio::test]
async fn announced_changes_are_listed_in_both_eras() {
    for usual in [legacy as Answer, modern] {
        let changed = Arc::new(AtomicBool::new(false));
        let announce = Arc::new(Notify::new());
        let (now, signal) = (changed.clone(), announce.clone());
        let web = Web::start(usual, move |request| {
            let stream = request.verb == "GET" || request.rpc() == "subscriptions/listen";
            if stream {
                return Some(Reply::Events(vec![
                    Step::Await(signal.clone()),
                    Step::Message(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})),
                    Step::Hold,
                ]));
            }
            let fresh =
                json!({"resultType": "complete", "tools": [{"name": "fresh", "inputSchema": {"type": "object"}}]});
            (request.rpc() == "tools/list" && now.load(Ordering::Relaxed)).then(|| json_reply(&request.result(&fresh)))
        })
        .await;
        let rig = Rig::start(web.settings());
        rig.ready().await;
        changed.store(true, Ordering::Relaxed);
        announce.notify_one();
        rig.until("listed again", |entry| entry.tools.iter().any(|tool| tool.name() == "fresh")).await;
        rig.stop().await;
        eventually(|| web.left.load(Ordering::Relaxed) >= 1).await;
    }
}

/// A legacy server may answer on the standing stream what it was told to forget; a modern one has no place to.
#[tokio::test]
async fn a_late_answer_on_the_standing_stream_is_taken_note_of() {
    for (usual, comes) in [(legacy as Answer, true), (modern, false)] {
        let answer = Arc::new(Notify::new());
        let signal = answer.clone();
        let web = Web::start(usual, move |request| match (request.verb.as_str(), request.tool()) {
            ("GET", _) => {
                // Whichever number the call has.
                let late = |id| json!({"jsonrpc": "2.0", "id": id, "result": {"content": [], "late": true}});
                let answers = (0..30).map(|id| Step::Message(late(id)));
                Some(Reply::Events(
                    [Step::Await(signal.clone())].into_iter().chain(answers).chain([Step::Hold]).collect(),
                ))
            }
            (_, "slow") => Some(Reply::Hang),
            _ => None,
        })
        .await;
        let rig = Rig::start(web.settings());
        rig.ready().await;
        let late = rig.give_up(("slow", json!({})), false, async || answer.notify_one()).await;
        assert_eq!(late.map(|late| late.unwrap().to_value()["late"] == true), comes.then_some(true));
        rig.works().await;
        rig.stop().await;
    }
}

/// A server's own requests over HTTP are answered like those over stdio.
#[tokio::test]
async fn requests_of_a_server_are_answered() {
    let web = Web::start(legacy, |request| {
        (request.tool() == "slow").then(|| {
            Reply::Events(vec![
                Step::Message(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"})),
                Step::Message(json!({"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {}})),
                Step::Message(request.result(&json!({"content": []}))),
            ])
        })
    })
    .await;
    let rig = Rig::start(web.settings());
    rig.ready().await;
    rig.call("slow", json!({})).await.unwrap();
    let answer =
        |id: &str| web.seen.lock().iter().find(|r| r.rpc().is_empty() && r.body["id"] == id).map(|r| r.body.clone());
    eventually(|| answer("p").is_some() && answer("s").is_some()).await;
    assert_eq!(answer("p").unwrap()["result"], json!({}));
    assert_eq!(answer("s").unwrap()["error"]["code"], -32601);
    rig.stop().await;
}

/// 2026-07-28: a tool whose header annotations break the rules is left out alone, and the report says so.
#[tokio::test]
async fn a_badly_annotated_tool_is_left_out() {
    let web = Web::start(modern, |request| {
        let tools = json!([
            {"name": "good", "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}},
            {"name": "bad", "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}},
        ]);
        (request.rpc() == "tools/list")
            .then(|| json_reply(&request.result(&json!({"resultType": "complete", "tools": tools}))))
    })
    .await;
    let rig = Rig::start(web.settings());
    let entry = rig.ready().await;
    assert_eq!(entry.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["good"]);
    let refused = rig.report().refused_tools;
    assert!(refused.len() == 1 && refused[0].starts_with("bad: "), "{refused:?}");
    rig.stop().await;
}

/// One server that hangs holds up no other.
#[tokio::test]
async fn servers_do_not_wait_for_each_other() {
    let stuck = Web::start(|_| Reply::Hang, nothing).await;
    let fine = Web::start(modern, nothing).await;
    let stuck = Rig::start(stuck.settings());
    let fine = Rig::start(fine.settings());
    fine.ready().await;
    fine.works().await;
    assert_eq!(stuck.entry().state, SourceState::Starting);
    tokio::join!(stuck.stop(), fine.stop());
}
