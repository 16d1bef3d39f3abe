//! What comes after its call, over the JSON API: results on their way out, and answers on their way in. Both keep the exact
//! text, so that big numbers and images arrive as they were written.

use std::time::Duration;

use serde_json::{json, value::RawValue};
use toolcrib_core::ToolResult;
use toolcrib_engine::{
    Principal, StoreError,
    pending::{Delivery, PendingWork},
};
use toolcrib_gateway::api::ApiReply;

/// The next results of a listener, none when nothing came within the time. Each is given once; one that got lost on its way
/// to the client can still be read by its handle.
pub(crate) async fn next(work: &PendingWork, listener: Principal, wait: Duration) -> Result<ApiReply, StoreError> {
    let found = work.deliveries(listener).with_replies().within(wait).await?;
    let all: Vec<String> = found.iter().map(text).collect();
    Ok(ApiReply { status: 200, body: format!("{{\"deliveries\":[{}]}}", all.join(",")) })
}

fn text(delivery: &Delivery) -> String {
    let mut text = json!({
        "handle": delivery.handle,
        "kind": delivery.kind,
        "call_id": delivery.call,
        "session": delivery.principal.session,
        "agent": delivery.principal.agent,
        "tool": delivery.tool,
        "name": delivery.exposed,
        "failed": delivery.failed,
        "resume_as": delivery.resume_as,
        "correlation": delivery.correlation,
        "metadata": delivery.metadata,
    })
    .to_string();
    text.pop();
    text.push_str(",\"result\":");
    text.push_str(delivery.result.raw().get());
    text.push('}');
    text
}

/// What came back for a suspended call: a text, a tool result (an object with `content`), or any other value as
/// structured content.
pub(crate) fn payload(raw: Box<RawValue>) -> Result<ToolResult, String> {
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
