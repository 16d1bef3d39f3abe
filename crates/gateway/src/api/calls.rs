//! `POST /v1/calls`: one call or many, answered at once or as a stream of events.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolcrib_mcp::server::Ticket;

use super::{
    Api, ApiCall, ApiCaller, Code, Problem, ProgressSink, intake,
    operation::{Who, caller},
    stream::events,
    wire::{Batch, Call, CallOutcome, Ended, Event, Object, Outcomes, Step},
};
use crate::reply::Accepts;

/// Marks an answer that is not new.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Calls of one batch that run at once.
const AT_ONCE: usize = 8;
/// Events of one request that may wait for the client to read. Progress beyond is dropped; outcomes wait.
const QUEUE: usize = 64;

/// How a call may end otherwise than well.
pub(super) const PROBLEMS: &[Code] = &[
    Code::Denied,
    Code::ApprovalNeeded,
    Code::ScopeRefused,
    Code::UnknownTool,
    Code::NotAcceptable,
    Code::StillRunning,
    Code::KeyConflict,
    Code::InvalidArguments,
    Code::KeyReused,
    Code::TooMany,
    Code::TooFast,
    Code::Cancelled,
    Code::UnknownOutcome,
    Code::Unavailable,
    Code::TimedOut,
];

/// The schema of the body: a call, or an object with calls.
pub(super) fn body_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"oneOf": [generator.subschema_for::<Call>(), generator.subschema_for::<Batch>()]})
}

/// The schema of the answer.
pub(super) fn answer_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"oneOf": [generator.subschema_for::<CallOutcome>(), generator.subschema_for::<Outcomes>()]})
}

/// The calls of a request.
struct Calls {
    calls: Vec<Call>,
    /// Whether they came as a batch, and are answered as one.
    batch: bool,
}

impl Calls {
    fn read(bytes: &Bytes) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Peek<'a> {
            #[serde(borrow, default)]
            calls: Option<&'a RawValue>,
        }
        let batch = serde_json::from_slice::<Peek<'_>>(bytes).is_ok_and(|peek| peek.calls.is_some());
        if batch {
            let Object(Batch { calls }) = intake::json(bytes)?;
            Ok(Self { calls: calls.into_inner().into_iter().map(|call| call.0).collect(), batch })
        } else {
            Ok(Self { calls: vec![intake::json::<Object<Call>>(bytes)?.0], batch })
        }
    }

    /// The calls with their keys: their own, or that of the header, as it is for a single one and with its place for one of
    /// a batch.
    fn keyed(self, header: Option<&str>) -> Result<Vec<(Call, Option<String>)>, Problem> {
        let Self { calls, batch } = self;
        let keyed = calls.into_iter().enumerate().map(|(index, call)| {
            let own = call.idempotency_key.as_deref().map(str::to_owned);
            let given = header.map(|key| if batch { format!("{key}/{index}") } else { key.to_owned() });
            if own.is_some() && given.is_some() && own != given {
                let text = "the Idempotency-Key header and idempotency_key in the body differ; give one of the two";
                let at = if batch { format!("/calls/{index}/idempotency_key") } else { "/idempotency_key".to_owned() };
                return Err(Problem::new(Code::KeyConflict, text).at(at, "differs from the header"));
            }
            Ok((call, given.or(own)))
        });
        keyed.collect()
    }
}

pub(super) async fn take(State(api): State<Arc<Api>>, who: Who, request: Request) -> Response {
    answer(api, who, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn answer(api: Arc<Api>, who: Who, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    intake::no_query(&parts.uri)?;
    let around = Around::read(&parts.headers)?;
    let streamed = streamed(&parts.headers)?;
    let calls = Calls::read(&api.bytes(&parts.headers, body).await?)?;
    let batch = calls.batch;
    let calls = calls.keyed(around.key.as_deref())?;
    let count = calls.len();
    let underway = Underway::begin(&api, caller(&who), around, calls, vec![count], streamed)?;
    if streamed {
        return Ok(events(underway.happening, count, api.settings.heartbeat, underway.gone));
    }
    let ended = underway.all_ended(count).await?;
    if batch {
        return Ok((StatusCode::OK, Json(Outcomes { outcomes: ended })).into_response());
    }
    let Some(Ended { code, retry_after, call, .. }) = ended.into_iter().next() else { return Err(broken()) };
    let replayed = call.replayed;
    let mut response = match code {
        None => (StatusCode::OK, Json(&call)).into_response(),
        Some(code) => {
            let detail = told(&call);
            Problem::new(code, detail).retry_after(retry_after).of_call(call).into_response()
        }
    };
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn broken() -> Problem {
    Problem::new(Code::Broken, "the call failed inside the gateway; its log says what")
}

/// What comes around a body with calls.
pub(super) struct Around {
    /// The `Idempotency-Key` header.
    pub(super) key: Option<String>,
    trace: Option<String>,
}

impl Around {
    pub(super) fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let key = intake::word(headers, &HeaderName::from_static("idempotency-key"))?;
        // Somebody else's header: one that is of no use is passed over.
        let trace = intake::word(headers, &HeaderName::from_static("traceparent")).ok().flatten();
        Ok(Self { key, trace })
    }
}

/// Calls that run, and what happens to them.
pub(super) struct Underway {
    happening: mpsc::Receiver<Event>,
    // Dropped when the client goes: then nobody waits for the answer any more.
    gone: DropGuard,
}

impl Underway {
    /// Starts calls, each with its idempotency key; those of one group run together, group after group.
    pub(super) fn begin(
        api: &Arc<Api>,
        caller: ApiCaller,
        around: Around,
        calls: Vec<(Call, Option<String>)>,
        groups: Vec<usize>,
        streamed: bool,
    ) -> Result<Self, Problem> {
        let Some(ticket) = api.admission.enter(calls.len()) else {
            let text = "too many calls run or wait at the moment; try again in a second";
            return Err(Problem::new(Code::TooMany, text).retry_after(Some(1)));
        };
        let cancel = CancellationToken::new();
        let gone = cancel.clone().drop_guard();
        let (send, happening) = mpsc::channel(QUEUE);
        let running = Running { api: api.clone(), ticket, caller, trace: around.trace, cancel, streamed, send };
        // On a task of its own: a call whose client went away must still come to its end and into the journal.
        tokio::spawn(async move {
            running.all(calls, groups).await;
        });
        Ok(Self { happening, gone })
    }

    /// How all of the `count` calls ended, in their order.
    pub(super) async fn all_ended(mut self, count: usize) -> Result<Vec<Ended>, Problem> {
        let mut ended: Vec<Option<Ended>> = (0..count).map(|_| None).collect();
        while let Some(event) = self.happening.recv().await {
            if let Event::Outcome { index, ended: one } = event
                && let Some(place) = ended.get_mut(index)
            {
                *place = Some(*one);
            }
        }
        self.gone.disarm();
        ended.into_iter().collect::<Option<Vec<Ended>>>().ok_or_else(broken)
    }
}

/// Whether the client wants a stream: it takes events and no JSON.
fn streamed(headers: &HeaderMap) -> Result<bool, Problem> {
    match Accepts::of(headers) {
        Accepts { json: true, .. } => Ok(false),
        Accepts { events: true, .. } => Ok(true),
        Accepts { .. } => Err(Problem::new(
            Code::NotAcceptable,
            "the answer is application/json or text/event-stream; let Accept allow one of them",
        )),
    }
}

/// What the result says, for people.
fn told(call: &CallOutcome) -> String {
    #[derive(Deserialize)]
    struct Result {
        #[serde(default)]
        content: Vec<Block>,
    }
    #[derive(Deserialize)]
    struct Block {
        #[serde(default)]
        text: Option<String>,
    }
    if let Some(error) = &call.error {
        return error.message.clone();
    }
    let result: Option<Result> = serde_json::from_str(call.result.get()).ok();
    let texts: Vec<String> =
        result.into_iter().flat_map(|result| result.content).filter_map(|block| block.text).collect();
    texts.join("\n")
}

/// The calls of one request under way.
struct Running {
    api: Arc<Api>,
    ticket: Ticket,
    caller: ApiCaller,
    trace: Option<String>,
    cancel: CancellationToken,
    streamed: bool,
    send: mpsc::Sender<Event>,
}

impl Running {
    async fn all(&self, calls: Vec<(Call, Option<String>)>, groups: Vec<usize>) {
        let mut calls = calls.into_iter().enumerate();
        for together in groups {
            let group: Vec<_> = calls.by_ref().take(together).collect();
            stream::iter(group)
                .for_each_concurrent(AT_ONCE, |(index, (call, idempotency_key))| self.one(index, call, idempotency_key))
                .await;
        }
    }

    async fn one(&self, index: usize, call: Call, idempotency_key: Option<String>) {
        let _turn = self.ticket.turn().await;
        let call = ApiCall {
            call,
            idempotency_key,
            trace: self.trace.clone(),
            progress: self.streamed.then(|| self.sink(index)),
            cancel: self.cancel.clone(),
        };
        let ended = Box::new(self.api.service.call(&self.caller, call).await);
        // Whoever went away is told nothing.
        let _ = self.send.send(Event::Outcome { index, ended }).await;
    }

    /// Where a call's progress goes. Progress is a hint: what finds the queue full is dropped.
    fn sink(&self, index: usize) -> ProgressSink {
        // Weak: a tool that keeps its sink must not keep the stream open.
        let send = self.send.downgrade();
        Arc::new(move |progress| {
            if let Some(send) = send.upgrade() {
                let _ = send.try_send(Event::Progress { index, step: Step { progress: progress.params } });
            }
        })
    }
}
