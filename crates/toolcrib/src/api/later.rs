//! What comes after its call, over the JSON API: results on their way out, and answers on their way in. Both keep the exact
//! text, so that big numbers and images arrive as they were written.

use std::time::Duration;

use serde_json::{json, value::RawValue};
use toolcrib_core::ToolResult;
use toolcrib_engine::pending::{self, ResumeError};
use toolcrib_gateway::api::{
    ApiCaller, Code, Problem,
    wire::{Cancelled, Deliveries, Delivery, PendingList, Resumed},
};

use super::{Api, as_wire, scope::Asking, store, unknown};

pub(super) async fn pending(api: &Api, caller: &ApiCaller) -> Result<PendingList, Problem> {
    let found = api.open_pending()?.list(&Asking::owner(api, caller, None)).await.map_err(store)?;
    Ok(PendingList { pending: as_wire(&found)? })
}

pub(super) async fn cancel(api: &Api, caller: &ApiCaller, handle: String) -> Result<Cancelled, Problem> {
    let owner = Asking::owner(api, caller, None);
    if api.open_pending()?.cancel(&handle, &owner).await.map_err(store)? {
        Ok(Cancelled { cancelled: true })
    } else {
        Err(unknown("unfinished work"))
    }
}

/// The next results of the caller, none when nothing came within the time. Each is given once; one that got lost on its way
/// to the client can still be read by its handle.
pub(super) async fn deliveries(
    api: &Api,
    caller: &ApiCaller,
    wait_ms: u64,
    session: Option<String>,
) -> Result<Deliveries, Problem> {
    let listener = Asking::owner(api, caller, session);
    let mut waiting = api.open_pending()?.deliveries(listener).with_replies();
    let found = waiting.within(Duration::from_millis(wait_ms)).await.map_err(store)?;
    Ok(Deliveries { deliveries: found.into_iter().map(told).collect() })
}

fn told(delivery: pending::Delivery) -> Delivery {
    Delivery {
        handle: delivery.handle,
        kind: json!(delivery.kind),
        call_id: delivery.call,
        session: delivery.principal.session,
        agent: delivery.principal.agent,
        tool: delivery.tool,
        name: delivery.exposed,
        failed: delivery.failed,
        resume_as: json!(delivery.resume_as),
        correlation: delivery.correlation,
        metadata: delivery.metadata,
        result: delivery.result.raw().to_owned(),
    }
}

pub(super) async fn resume(
    api: &Api,
    caller: &ApiCaller,
    correlation: String,
    payload: Box<RawValue>,
) -> Result<Resumed, Problem> {
    let tenant = Asking::caller(api, caller).tenant;
    let result = self::payload(payload).map_err(|error| Problem::new(Code::NotRead, error))?;
    match api.open_pending()?.reply(&tenant, &correlation, result).await {
        Ok(piece) => Ok(Resumed { handle: piece.handle, tool: piece.tool }),
        Err(ResumeError::Store(error)) => Err(store(error)),
        Err(error @ ResumeError::Unknown) => Err(Problem::new(Code::Unknown, error.to_string())),
        Err(error) => Err(Problem::new(Code::Settled, error.to_string())),
    }
}

/// What came back for a suspended call: a text, a tool result (an object with `content`), or any other value as
/// structured content.
fn payload(raw: Box<RawValue>) -> Result<ToolResult, String> {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        #[serde(borrow, default)]
        content: Option<&'a RawValue>,
    }
    let text = raw.get();
    if text.starts_with('"') {
        let text: String = serde_json::from_str(text).map_err(|error| format!("the text cannot be read: {error}"))?;
        return Ok(ToolResult::text(text));
    }
    let is_result =
        text.starts_with('{') && serde_json::from_str::<Head<'_>>(text).is_ok_and(|head| head.content.is_some());
    let raw = if is_result {
        raw
    } else {
        let shown = json!([{"type": "text", "text": text}]);
        RawValue::from_string(format!("{{\"content\":{shown},\"structuredContent\":{text}}}"))
            .map_err(|error| format!("the value cannot be read: {error}"))?
    };
    ToolResult::from_raw(raw).map_err(|error| format!("the result cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(payload: &str, want: &str) {
        let result = super::payload(RawValue::from_string(payload.to_owned()).unwrap()).unwrap();
        assert_eq!(result.raw().get(), want, "{payload}");
    }

    #[test]
    fn answers_keep_their_digits() {
        check(r#""yes""#, r#"{"content":[{"type":"text","text":"yes"}]}"#);
        check(
            r#"{"n":123456789012345678901234567890.10}"#,
            r#"{"content":[{"type":"text","text":"{\"n\":123456789012345678901234567890.10}"}],"structuredContent":{"n":123456789012345678901234567890.10}}"#,
        );
        check(
            r#"{"content":[],"structuredContent":{"n":12345678901234567890123}}"#,
            r#"{"content":[],"structuredContent":{"n":12345678901234567890123}}"#,
        );
        check("7", r#"{"content":[{"type":"text","text":"7"}],"structuredContent":7}"#);
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let deep = format!("{}{}", "[".repeat(600), "]".repeat(600));
        assert!(payload(RawValue::from_string(deep).unwrap()).is_err());
    }
}
