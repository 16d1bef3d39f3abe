//! `tools/call`: one request, one answer, never sent twice once it left.

use std::{borrow::Cow, sync::Arc, sync::atomic::Ordering};

use serde::{
    Deserialize,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use tokio::{sync::oneshot, time::Instant};
use toolcrib_core::ToolResult;
use toolcrib_engine::{Backend, BoxFuture, Invocation, InvokeError};

use super::{
    header,
    inbox::Answer,
    link::Failure,
    mask::one_line,
    session::{Extras, Session},
    settings::Era,
    supervisor::{Core, Upstream},
};

impl Backend for Upstream {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(call(&self.core, invocation))
    }
}

async fn call(core: &Arc<Core>, invocation: Invocation<'_>) -> Result<ToolResult, InvokeError> {
    let started = Instant::now();
    let deadline = invocation.context.deadline.min(started + core.settings.call_timeout);
    if invocation.context.cancel.is_cancelled() {
        return Err(InvokeError::Cancelled);
    }
    // Once more on a new connection when it is certain that the first try did not run: it never left before the
    // connection ended, or the server refused it unseen because it had forgotten the session.
    let mut again = true;
    loop {
        let session = core.ready(deadline, &invocation.context.cancel).await?;
        let mut late = None;
        let failure = match send(&session, &invocation, deadline, &mut late).await {
            Ok(result) => {
                core.served.store(true, Ordering::Relaxed);
                return finish(session.hello.era, core.settings.limits.result_bytes, result);
            }
            Err(failure) => failure,
        };
        note(core, &session, &failure);
        let ended = session.link.inbox().closing().is_some();
        match failure {
            Failure::SessionExpired(_) | Failure::NotSent(_) | Failure::Unreachable(_) if again && ended => {
                again = false;
            }
            failure => {
                if let Some(answer) = late {
                    let (era, limit) = (session.hello.era, core.settings.limits.result_bytes);
                    invocation.context.late.leave(arrival(answer, era, limit));
                }
                return Err(as_error(core, failure, started));
            }
        }
    }
}

async fn send(
    session: &Arc<Session>,
    invocation: &Invocation<'_>,
    deadline: Instant,
    late: &mut Option<oneshot::Receiver<Answer>>,
) -> Result<Box<RawValue>, Failure> {
    let Invocation { tool, arguments, context } = invocation;
    let headers = if session.repeats_arguments() {
        let bindings = header::bindings(tool.input_schema()).map_err(Failure::NotSent)?;
        header::param_headers(&bindings, arguments)
    } else {
        Vec::new()
    };
    let name = Value::from(tool.name()).to_string();
    let members = [("name", name.as_str()), ("arguments", arguments.get())];
    let extras = Extras {
        name: Some(tool.name()),
        headers,
        cancel: Some(&context.cancel),
        progress: context.progress.clone(),
        meta: context.meta.as_ref(),
        late: context.late.is_wanted().then_some(late),
    };
    session.request("tools/call", &members, deadline, extras).await
}

/// What a failure says about the connection.
fn note(core: &Core, session: &Session, failure: &Failure) {
    session.end_if_over(failure);
    // The definition we hold is not the one the server holds (2026-07-28, header validation).
    if matches!(failure, Failure::Rpc(error) if error.code == crate::wire::code::HEADER_MISMATCH) {
        session.link.inbox().list_changed.notify_one();
    }
    if !matches!(failure, Failure::Rpc(_) | Failure::Cancelled) {
        core.facts.now.lock().last_error = Some(core.mask.apply(&failure.text()));
    }
}

/// The answer to a request that was given up, should one come. Holds nothing of the connection.
async fn arrival(answer: oneshot::Receiver<Answer>, era: Era, limit: usize) -> Result<ToolResult, InvokeError> {
    match answer.await {
        Ok(Ok(result)) => finish(era, limit, result),
        Ok(Err(Failure::Rpc(error))) => {
            Err(InvokeError::Refused { code: error.code, message: error.message, data: None })
        }
        Ok(Err(_)) | Err(_) => Err(InvokeError::Unknown("no answer came".to_owned())),
    }
}

fn finish(era: Era, limit: usize, result: Box<RawValue>) -> Result<ToolResult, InvokeError> {
    let size = result.get().len();
    if size > limit {
        return Err(InvokeError::BadAnswer(format!("the result has {size} bytes; limits.result_bytes is {limit}")));
    }
    let result = match era {
        Era::Modern => complete(result)?,
        Era::Legacy => untyped(result),
    };
    ToolResult::from_raw(result).map_err(|error| InvokeError::BadAnswer(error.to_string()))
}

/// A modern result without its `resultType`, which belongs to the hop; only complete ones are results of a call.
fn complete(result: Box<RawValue>) -> Result<Box<RawValue>, InvokeError> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(default, rename = "resultType", borrow)]
        kind: Option<Cow<'a, str>>,
    }
    let kind = match serde_json::from_str::<Head<'_>>(result.get()) {
        Ok(Head { kind }) => kind,
        Err(error) => return Err(InvokeError::BadAnswer(format!("the result cannot be used: {error}"))),
    };
    match kind.as_deref() {
        None => Ok(result),
        Some("complete") => Ok(without(&result, "resultType").unwrap_or(result)),
        Some("input_required") => Err(InvokeError::BadAnswer(
            "the server asks for input (from the user or a model) before it answers, which is not supported here; call the tool with all it needs"
                .to_owned(),
        )),
        Some(kind) => {
            let kind = one_line(kind, 40);
            Err(InvokeError::BadAnswer(format!("the server answered with '{kind}' instead of a result, which is not supported")))
        }
    }
}

/// A legacy result without a member of the same name, which means nothing there and would to a modern client.
fn untyped(result: Box<RawValue>) -> Box<RawValue> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(default, rename = "resultType", borrow)]
        kind: Option<&'a RawValue>,
    }
    match serde_json::from_str::<Head<'_>>(result.get()) {
        Ok(Head { kind: None }) => result,
        Ok(Head { kind: Some(_) }) | Err(_) => without(&result, "resultType").unwrap_or(result),
    }
}

/// The object without one member; the texts of the others stay as they are.
fn without(object: &RawValue, name: &str) -> Option<Box<RawValue>> {
    let Members(members) = serde_json::from_str(object.get()).ok()?;
    let members: Vec<String> = members
        .into_iter()
        .filter(|(key, _)| key != name)
        .map(|(key, value)| format!("{}:{}", Value::from(key), value.get()))
        .collect();
    RawValue::from_string(format!("{{{}}}", members.join(","))).ok()
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder).map(Members)
    }
}

fn as_error(core: &Core, failure: Failure, started: Instant) -> InvokeError {
    let named = |text: &str| format!("server '{}': {}", core.settings.name, core.mask.apply(text));
    match failure {
        Failure::NotSent(text)
        | Failure::Unreachable(text)
        | Failure::NeedsCredentials { text, .. }
        | Failure::SessionExpired(text)
        | Failure::Status { text, ran: false, .. } => InvokeError::Unavailable(named(&text)),
        Failure::Status { text, ran: true, .. } | Failure::Lost(text) => {
            InvokeError::Unknown(named(&format!("{text}; the tool may or may not have run")))
        }
        Failure::Rpc(error) => InvokeError::Refused {
            code: error.code,
            message: error.message,
            data: error.data.and_then(|data| serde_json::from_str(data.get()).ok()),
        },
        Failure::TimedOut => InvokeError::TimedOut(started.elapsed()),
        Failure::Cancelled => InvokeError::Cancelled,
        Failure::Unusable(text) => InvokeError::BadAnswer(named(&text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn a_complete_result_loses_only_its_type() {
        let text = r#"{ "content":[ {"n":1.0} ],"resultType":"complete", "a\u0062":12345678901234567890123}"#;
        let result = complete(raw(text)).unwrap();
        assert_eq!(result.get(), r#"{"content":[ {"n":1.0} ],"ab":12345678901234567890123}"#);
        assert_eq!(complete(raw(r#"{ "x":1 }"#)).unwrap().get(), r#"{ "x":1 }"#);
    }

    #[test]
    fn a_legacy_result_has_no_type() {
        for (text, wants) in [
            (r#"{ "content":[ ] }"#, r#"{ "content":[ ] }"#),
            (r#"{"resultType":"input_required","content":[ 1.0 ]}"#, r#"{"content":[ 1.0 ]}"#),
            (r#"{"resultType":7,"a":1,"resultType":null}"#, r#"{"a":1}"#),
            ("7", "7"),
        ] {
            assert_eq!(untyped(raw(text)).get(), wants);
        }
    }

    #[test]
    fn anything_but_a_result_is_said_plainly() {
        for (text, reason) in [
            (r#"{"resultType":"input_required","requestState":"s"}"#, "asks for input"),
            (r#"{"resultType":"task"}"#, "'task'"),
            (r#"{"resultType":7}"#, "cannot be used"),
        ] {
            let error = complete(raw(text)).unwrap_err();
            assert!(matches!(error, InvokeError::BadAnswer(_)) && error.to_string().contains(reason), "{error}");
        }
    }
}
