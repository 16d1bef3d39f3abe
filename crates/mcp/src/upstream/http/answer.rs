//! Statuses and bodies: what an HTTP answer means for a request.

use reqwest::{
    Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION},
};

use super::super::{link::Failure, mask::one_line};
use crate::wire::{self, Message, RpcError};

// Enough of an error page to find out what it is.
const ERROR_BYTES: usize = 64 * 1024;
const DETAIL_CHARS: usize = 200;

/// What a good answer holds.
pub(super) enum Content {
    Json,
    Events,
}

/// What kind of body a good answer has.
pub(super) fn content(response: &Response) -> Result<Content, Failure> {
    if response.headers().get(CONTENT_ENCODING).is_some_and(|value| value != "identity") {
        return Err(Failure::Unusable("the answer is compressed although that was declined".to_owned()));
    }
    match media_type(response).as_str() {
        "application/json" => Ok(Content::Json),
        "text/event-stream" => Ok(Content::Events),
        "" => {
            let status = response.status().as_u16();
            Err(Failure::Unusable(format!("the server answered HTTP {status} without a result")))
        }
        other => Err(Failure::Unusable(format!(
            "the answer is {}, not JSON or an event stream; is the address an MCP endpoint?",
            one_line(other, 80)
        ))),
    }
}

fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The whole body, or a failure once it is larger than `max`.
pub(super) async fn body(mut response: Response, max: usize) -> Result<Vec<u8>, Failure> {
    let too_large =
        || Failure::Unusable(format!("the answer is larger than the limit of {max} bytes; raise limits.message_bytes"));
    if response.content_length().is_some_and(|length| length > max as u64) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(&error))? {
        if body.len() + chunk.len() > max {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A request that broke off. Before the connection stood nothing can have run.
pub(super) fn broken(error: &reqwest::Error) -> Failure {
    // The address may hold a key in its query and stays out of texts.
    let mut text = String::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    let text = one_line(&text, DETAIL_CHARS);
    if error.is_connect() || error.is_builder() {
        Failure::Unreachable(format!("cannot connect: {text}"))
    } else {
        Failure::Lost(format!("the connection broke: {text}"))
    }
}

/// What any status but 2xx means. `session` is whether the request named one.
pub(super) async fn refusal(response: Response, session: bool) -> Failure {
    let status = response.status();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = error_body(response).await;
    let rpc = rpc_error(&body);
    let detail = rpc.as_ref().map_or_else(
        || {
            let text = String::from_utf8_lossy(&body);
            // A web page says nothing in one line.
            if text.trim_start().starts_with('<') { String::new() } else { one_line(&text, DETAIL_CHARS) }
        },
        |error| one_line(&error.message, DETAIL_CHARS),
    );
    let said = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    let code = status.as_u16();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Failure::NeedsCredentials {
            status: code,
            text: format!("needs credentials (HTTP {code}{said}); configure a bearer token or headers"),
        },
        StatusCode::NOT_FOUND if session => Failure::SessionExpired(format!("the session has ended (HTTP 404{said})")),
        // Common servers answer so to a session they do not know.
        StatusCode::BAD_REQUEST if session && detail.to_ascii_lowercase().contains("session") => {
            Failure::SessionExpired(format!("the session has ended (HTTP 400{said})"))
        }
        _ if status.is_redirection() => {
            let to = location.map(|location| one_line(without_query(&location), DETAIL_CHARS)).unwrap_or_default();
            let text =
                format!("HTTP {code} redirects to '{to}'; redirects are not followed, configure the final address");
            Failure::Status { status: code, text, ran: false }
        }
        _ => match rpc {
            Some(error) => Failure::Rpc(error),
            None => Failure::Status { status: code, text: format!("HTTP {code}{said}"), ran: status.is_server_error() },
        },
    }
}

fn without_query(location: &str) -> &str {
    location.split(['?', '#']).next().unwrap_or_default()
}

async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = ERROR_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() >= ERROR_BYTES {
            break;
        }
    }
    body
}

fn rpc_error(body: &[u8]) -> Option<RpcError> {
    match wire::parse(body) {
        Ok(Message::Error { error, .. }) => Some(error),
        _ => None,
    }
}
