//! From protocol frames to an HTTP answer: one JSON object, or a stream of events.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use tokio::sync::mpsc::Receiver;
use toolcrib_mcp::{
    server::{BUSY, Frame, FrameKind, error_frame},
    wire::{Id, RpcError, code},
};

use crate::settings::GatewaySettings;

/// What a client said it can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepts {
    pub(crate) json: bool,
    pub(crate) events: bool,
}

impl Accepts {
    /// Reads `Accept`. Without one, anything goes.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let values: Vec<&str> =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        if values.is_empty() {
            return Self { json: true, events: true };
        }
        let mut accepts = Self { json: false, events: false };
        for range in values.iter().flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            if parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000")) {
                continue;
            }
            match kind.as_str() {
                "*/*" => accepts = Self { json: true, events: true },
                "application/*" | "application/json" => accepts.json = true,
                "text/*" | "text/event-stream" => accepts.events = true,
                _ => {}
            }
        }
        accepts
    }
}

/// How error codes become statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statuses {
    /// An answered request is a success, whatever the answer (revisions up to 2025-11-25).
    Legacy,
    /// By code (2026-07-28).
    Modern,
}

impl Statuses {
    pub(crate) fn of(self, kind: FrameKind) -> StatusCode {
        match (kind, self) {
            (FrameKind::Error(BUSY), _) => StatusCode::TOO_MANY_REQUESTS,
            (FrameKind::Error(code::METHOD_NOT_FOUND), Self::Modern) => StatusCode::NOT_FOUND,
            (
                FrameKind::Error(
                    code::PARSE_ERROR
                    | code::INVALID_REQUEST
                    | code::INVALID_PARAMS
                    | code::HEADER_MISMATCH
                    | code::MISSING_CAPABILITY
                    | code::UNSUPPORTED_VERSION,
                ),
                Self::Modern,
            ) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        }
    }
}

/// An error answer with a status of its own.
pub(crate) fn refuse(status: StatusCode, id: Option<&Id>, code: i64, message: impl Into<String>) -> Response {
    json(status, error_frame(id, &RpcError::new(code, message)))
}

pub(crate) fn json(status: StatusCode, frame: Frame) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let mut response = (status, kind, Body::from(frame.json)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Answers with what comes out of `frames`: as JSON if the answer is first and soon, else as a stream. `keep` is held
/// until the answer is out or the client is gone.
pub(crate) async fn answer<K: Send + 'static>(
    mut frames: Receiver<Frame>,
    accepts: Accepts,
    statuses: Statuses,
    settings: &GatewaySettings,
    keep: K,
) -> Response {
    if !accepts.json {
        return events(frames, None, settings.heartbeat, keep);
    }
    let patience = tokio::time::sleep(settings.stream_after);
    tokio::pin!(patience);
    loop {
        tokio::select! {
            biased;
            frame = frames.recv() => match frame {
                Some(frame) if !frame.kind.is_last() => {
                    // To a client that takes no stream, progress cannot be told.
                    if accepts.events {
                        return events(frames, Some(frame), settings.heartbeat, keep);
                    }
                }
                Some(frame) => return json(statuses.of(frame.kind), frame),
                // Cancelled: there is no answer to give.
                None if accepts.events => return events(frames, None, settings.heartbeat, keep),
                None => return StatusCode::ACCEPTED.into_response(),
            },
            () = &mut patience, if accepts.events => return events(frames, None, settings.heartbeat, keep),
        }
    }
}

/// A stream of events that ends with an answer, or when `frames` does.
pub(crate) fn events<K: Send + 'static>(
    frames: Receiver<Frame>,
    first: Option<Frame>,
    heartbeat: Duration,
    keep: K,
) -> Response {
    struct Stream<K> {
        frames: Receiver<Frame>,
        first: Option<Frame>,
        ended: bool,
        _keep: K,
    }
    let state = Stream { frames, first, ended: false, _keep: keep };
    let chunks = stream::unfold(state, move |mut state| async move {
        if state.ended {
            return None;
        }
        let frame = match state.first.take() {
            Some(frame) => frame,
            None => match tokio::time::timeout(heartbeat, state.frames.recv()).await {
                Ok(frame) => frame?,
                Err(_) => return Some((Ok::<_, Infallible>(Bytes::from_static(b":\n\n")), state)),
            },
        };
        state.ended = frame.kind.is_last();
        let mut event = Vec::with_capacity(frame.json.len() + 24);
        event.extend_from_slice(b"event: message\ndata: ");
        event.extend_from_slice(&frame.json);
        event.extend_from_slice(b"\n\n");
        Some((Ok(Bytes::from(event)), state))
    });
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (head, Body::from_stream(chunks)).into_response()
}

#[cfg(test)]
mod tests;
