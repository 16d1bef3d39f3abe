//! Events of calls as a stream (server-sent events), with heartbeats while nothing happens.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::DropGuard;

use super::wire::Event;

struct Stream {
    happening: Receiver<Event>,
    calls: usize,
    ended: bool,
    // Dropped with the stream, when the client goes away or has everything: calls that still run are cancelled.
    _gone: DropGuard,
}

/// What happens to `calls` calls, until all have ended.
pub(super) fn events(happening: Receiver<Event>, calls: usize, heartbeat: Duration, gone: DropGuard) -> Response {
    let state = Stream { happening, calls, ended: false, _gone: gone };
    let chunks = stream::unfold(state, move |mut state| async move {
        if state.ended {
            return None;
        }
        let chunk = match tokio::time::timeout(heartbeat, state.happening.recv()).await {
            Ok(Some(event)) => written(&event),
            Ok(None) => {
                state.ended = true;
                written(&Event::End { calls: state.calls })
            }
            Err(_) => Bytes::from_static(b":\n\n"),
        };
        Some((Ok::<_, Infallible>(chunk), state))
    });
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (head, Body::from_stream(chunks)).into_response()
}

fn written(event: &Event) -> Bytes {
    let name = match event {
        Event::Progress { .. } => "progress",
        Event::Outcome { .. } => "outcome",
        Event::End { .. } => "end",
    };
    // One line: JSON text has no line ends of its own, but what a tool wrote may have some between its tokens.
    let data = serde_json::to_string(event).unwrap_or_default().replace(['\n', '\r'], " ");
    format!("event: {name}\ndata: {data}\n\n").into()
}
