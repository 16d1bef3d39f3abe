//! `tools/call`, from its parameters to the answer.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcrib_core::ToolResult;
use toolcrib_engine::{Progress, ProgressSink};

use super::{
    Answer, Asking, Caller, Outbox, Protocol, Server, ToolCall,
    admission::Ticket,
    connection::{InFlight, WayBack, broken, send},
    elicit::{MAX_STATE, Question, resumed},
    error_frame,
    frame::{notification_frame, quoted, result_frame},
    modern::server_meta,
    params::Params,
    questions::MayAsk,
    splice,
};
use crate::wire::RpcError;

/// A call that was understood and is to be run.
pub(super) struct Plan {
    caller: Caller,
    protocol: Protocol,
    call: ToolCall,
    progress: Option<Arc<Reporter>>,
    // Whether questions may go out while the call waits.
    may_ask: bool,
}

impl Plan {
    /// Reads the parameters of `tools/call`. Progress, if asked for, goes to `out`.
    pub(super) fn read(
        caller: Caller,
        protocol: Protocol,
        params: &Params,
        out: &Outbox,
        way: WayBack,
    ) -> Result<Self, RpcError> {
        let name = params.required_text("name")?;
        let arguments = params.object("arguments")?.map(ToOwned::to_owned);
        let progress = params.progress_token()?.map(|token| Reporter::new(token, out));
        let sink = progress.clone().map(|reporter| -> ProgressSink { Arc::new(move |step| reporter.report(step)) });
        let meta = params.forwarded_meta();
        let (asking, resumed, may_ask) = if protocol.is_modern() {
            let asking = if caller.can_elicit { Asking::ByResending } else { Asking::Unable };
            (asking, resumed(params)?, false)
        } else {
            (Asking::Unable, None, caller.can_elicit && way == WayBack::Questions)
        };
        // The real token comes with the place in the table of running requests, and with it the way to ask.
        let cancel = CancellationToken::new();
        let call = ToolCall { name, arguments, meta, cancel, progress: sink, asking, resumed };
        Ok(Self { caller, protocol, call, progress, may_ask })
    }
}

/// Waits for the turn, runs the call and answers, unless it was cancelled: then nothing is sent.
pub(super) async fn run(server: Arc<Server>, entry: InFlight, ticket: Ticket, plan: Plan, out: Outbox) {
    let Plan { caller, protocol, mut call, progress, may_ask } = plan;
    call.cancel = entry.cancel.clone();
    let asks = may_ask.then(|| MayAsk::new(&entry.connection.questions, protocol, &out, &entry.cancel));
    if let Some(asks) = &asks {
        call.asking = Asking::Direct(asks.elicitor());
    }
    let resends = matches!(call.asking, Asking::ByResending);
    let Some(turn) = entry.cancel.run_until_cancelled(ticket.turn()).await else { return };
    // A panic in the service must cost this call alone.
    let work = AssertUnwindSafe(server.service.call(&caller, call)).catch_unwind();
    let give_up = async {
        entry.cancel.cancelled().await;
        tokio::time::sleep(server.options.cancel_grace).await;
    };
    let outcome = tokio::select! {
        biased;
        outcome = work => outcome,
        () = give_up => {
            tracing::warn!("a cancelled call did not end within {:?} and was dropped", server.options.cancel_grace);
            return;
        }
    };
    drop((turn, ticket, asks));
    if let Some(progress) = progress {
        progress.close();
    }
    if entry.cancel.is_cancelled() {
        return;
    }
    let answer = match outcome {
        Ok(Ok(Answer::Result(result))) => Ok(shape(&result, protocol)),
        Ok(Ok(Answer::InputRequired { key, question, state })) if resends && state.len() <= MAX_STATE => {
            Ok(input_required(&server, protocol, &key, &question, &state))
        }
        Ok(Ok(Answer::InputRequired { .. })) => {
            tracing::error!("a call ended with a question that its client cannot be asked, or with too long a state");
            Err(broken())
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(broken()),
    };
    let id = entry.id.clone();
    // The id is free again before the client can know the answer.
    drop(entry);
    let frame = match answer {
        Ok(result) => result_frame(&id, &result),
        Err(error) => error_frame(Some(&id), &error),
    };
    send(&out, frame).await;
}

/// A question as the end of a call (MCP 2026-07-28, multi-round-trip requests).
fn input_required(server: &Server, protocol: Protocol, key: &str, question: &Question, state: &str) -> String {
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{{}:{{"method":"elicitation/create","params":{}}}}},"requestState":{},{}}}"#,
        quoted(key),
        question.params(protocol),
        quoted(state),
        server_meta(server),
    )
}

/// The result as the client's revision can have it. Only the era's own members change; every other byte stays.
fn shape(result: &ToolResult, protocol: Protocol) -> String {
    let text = result.raw().get();
    let Some(members) = splice::members(text) else { return text.to_owned() };
    let position = |name: &str| members.iter().position(|member| member.name == name);
    let result_type = position("resultType");
    if protocol.is_modern() {
        return match result_type {
            Some(_) => text.to_owned(),
            None => splice::prepend(text, &members, r#""resultType":"complete""#),
        };
    }
    let mut drop: Vec<usize> = result_type.into_iter().collect();
    let mut add = String::new();
    // Older revisions know only objects here (standards §1.6); the text blocks say the same.
    if let Some(at) = position("structuredContent").filter(|at| !members[*at].value.starts_with('{')) {
        drop.push(at);
        let content = position("content");
        if content.is_none_or(|content| is_empty_array(members[content].value)) {
            drop.extend(content);
            let text = Value::from(members[at].value);
            add = format!(r#""content":[{{"type":"text","text":{text}}}]"#);
        }
    }
    if drop.is_empty() {
        return text.to_owned();
    }
    splice::edit(text, &members, &drop, &add)
}

fn is_empty_array(value: &str) -> bool {
    value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).is_some_and(|inner| inner.trim().is_empty())
}

/// Turns steps of progress into notifications until the call has ended.
struct Reporter {
    token: String,
    // Taken away when the answer goes out: no progress may follow it.
    out: Mutex<Option<Outbox>>,
}

impl Reporter {
    fn new(token: String, out: &Outbox) -> Arc<Self> {
        Arc::new(Self { token, out: Mutex::new(Some(out.clone())) })
    }

    fn report(&self, step: Progress) {
        let Value::Object(mut params) = step.params else { return };
        params.remove("progressToken");
        let members = Value::Object(params).to_string();
        let rest = if members == "{}" { "}" } else { &members[1..] };
        let comma = if rest == "}" { "" } else { "," };
        let params = format!(r#"{{"progressToken":{}{comma}{rest}"#, self.token);
        let out = self.out.lock();
        if let Some(out) = out.as_ref() {
            // Full: the client is slow, and progress is a hint.
            let _ = out.try_send(notification_frame("notifications/progress", Some(&params)));
        }
    }

    fn close(&self) {
        self.out.lock().take();
    }
}

#[cfg(test)]
mod tests;
