//! Event streams: the one that answers a request, and the standing one of legacy servers.

use std::{hash::RandomState, sync::Arc, time::Duration};

use reqwest::{
    Method, Response, StatusCode,
    header::{ACCEPT, HeaderValue},
};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use toolcrib_core::backoff::Backoff;

use super::{HttpLink, answer, own};
use crate::{
    upstream::{
        inbox::{Answer, ClosingKind},
        link::Failure,
        settings::{Era, Timing},
    },
    wire::{self, Id, SseEvent, SseItem, SseParser},
};

// How often the answer's stream is taken up again; each needs an event id from the stream before.
const MOST_RESUMES: usize = 100;
const RESUME_WAIT: Duration = Duration::from_secs(1);
const LONGEST_RESUME_WAIT: Duration = Duration::from_secs(10);
const LONGEST_EVENT_ID: usize = 1024;

/// How far a stream has been read.
#[derive(Default)]
struct Position {
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
}

impl Position {
    fn note(&mut self, event: &SseEvent) {
        if let Some(id) = event.id.as_ref().filter(|id| id.len() <= LONGEST_EVENT_ID) {
            self.last_id = HeaderValue::from_str(id).ok();
        }
        self.retry = event.retry.map(Duration::from_millis).or(self.retry);
    }
}

impl HttpLink {
    /// Reads the stream until it brings the answer to `id`. A legacy stream that ends early is taken up again where
    /// it ended, if its events had ids (2025-11-25, resumability); nothing is sent twice by that.
    pub(super) async fn follow(
        self: &Arc<Self>,
        mut response: Response,
        id: u64,
        elsewhere: &mut oneshot::Receiver<Answer>,
    ) -> Result<Box<RawValue>, Failure> {
        let mut position = Position::default();
        for _ in 0..MOST_RESUMES {
            let ended = tokio::select! {
                biased;
                ended = self.read(&mut response, id, &mut position) => ended,
                // Legacy servers may answer on the standing stream.
                Ok(answer) = &mut *elsewhere => return answer,
            };
            let why = match ended {
                Ended::Answered(answer) => return answer,
                Ended::Over => "the answer's stream ended early".to_owned(),
                Ended::Broken(failure) => failure.text(),
            };
            let legacy = self.state.lock().era == Era::Legacy;
            let (true, Some(last)) = (legacy, position.last_id.clone()) else { return Err(Failure::Lost(why)) };
            tokio::time::sleep(position.retry.unwrap_or(RESUME_WAIT).min(LONGEST_RESUME_WAIT)).await;
            let resumed = self.open_stream(Some(last)).await;
            response = resumed
                .map_err(|failure| Failure::Lost(format!("{why}; taking it up again failed: {}", failure.text())))?;
        }
        Err(Failure::Lost("the answer's stream ended too often".to_owned()))
    }

    async fn open_stream(&self, last: Option<HeaderValue>) -> Result<Response, Failure> {
        let mut request = self.target.request(Method::GET).header(ACCEPT, "text/event-stream");
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = self.with_state(request).send().await.map_err(|error| answer::broken(&error))?;
        let response = self.checked(response).await?;
        match answer::content(&response)? {
            answer::Content::Events => Ok(response),
            answer::Content::Json => Err(Failure::Unusable("a stream was asked for".to_owned())),
        }
    }

    async fn read(self: &Arc<Self>, response: &mut Response, id: u64, position: &mut Position) -> Ended {
        let mut parser = SseParser::new(self.message_bytes);
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => parser.push(&chunk),
                Ok(None) => return Ended::Over,
                Err(error) => return Ended::Broken(answer::broken(&error)),
            }
            while let Some(item) = parser.next_item() {
                let event = match item {
                    SseItem::Event(event) => event,
                    SseItem::TooLong => return self.too_long(),
                };
                position.note(&event);
                if event.data.is_empty() {
                    continue;
                }
                match wire::parse(event.data.as_bytes()) {
                    Ok(message) => match own(message, id) {
                        Ok(answer) => return Ended::Answered(answer),
                        Err(other) => self.take(other),
                    },
                    Err(error) if error.id().and_then(Id::as_u64) == Some(id) => {
                        return Ended::Answered(Err(Failure::Unusable(format!("the answer cannot be used: {error}"))));
                    }
                    Err(_) => self.take_frame(event.data.as_bytes()),
                }
            }
            // Not read to its end, which may never come.
            if parser.is_over() {
                return self.too_long();
            }
        }
    }

    fn too_long(&self) -> Ended {
        self.inbox.stray("an event over the message limit", b"");
        let limit = self.message_bytes;
        let text = format!("the answer is larger than the limit of {limit} bytes; raise limits.message_bytes");
        Ended::Answered(Err(Failure::Unusable(text)))
    }

    fn take_frame(self: &Arc<Self>, bytes: &[u8]) {
        for reply in self.inbox.frame(bytes) {
            self.send_aside(&reply);
        }
    }

    /// Keeps the standing stream of a legacy server open, for what it says unasked. Ends with the connection, or when the
    /// server has no such stream. Ends the connection when the server has forgotten the session.
    pub(in super::super) async fn stand_by(self: Arc<Self>, timing: Timing) {
        let mut backoff =
            Backoff::new(timing.backoff_min.max(Duration::from_millis(20)), timing.backoff_max, RandomState::new());
        let mut position = Position::default();
        let closed = self.inbox.closed().clone();
        let mut stood = false;
        loop {
            let opened = tokio::select! {
                () = closed.cancelled() => return,
                opened = self.open_stream(position.last_id.clone()) => opened,
            };
            match opened {
                Ok(mut response) => {
                    stood = true;
                    let opened_at = tokio::time::Instant::now();
                    tokio::select! {
                        () = closed.cancelled() => return,
                        () = self.listen(&mut response, &mut position) => {}
                    }
                    if opened_at.elapsed() >= timing.healthy_after {
                        backoff.reset();
                    }
                }
                Err(Failure::Status { status, .. }) if is_final(status) => return,
                // Servers without such a stream answer 404 as well: that says something of the session only where there
                // was a stream before.
                Err(Failure::SessionExpired(text)) => {
                    if stood {
                        self.inbox.close(text, ClosingKind::SessionExpired);
                    }
                    return;
                }
                Err(Failure::NeedsCredentials { .. } | Failure::Rpc(_)) => return,
                Err(_) => {}
            }
            let wait = backoff.wait().max(position.retry.unwrap_or_default().min(timing.backoff_max));
            tokio::select! {
                () = closed.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn listen(self: &Arc<Self>, response: &mut Response, position: &mut Position) {
        let mut parser = SseParser::new(self.message_bytes);
        while let Ok(Some(chunk)) = response.chunk().await {
            parser.push(&chunk);
            while let Some(item) = parser.next_item() {
                match item {
                    SseItem::TooLong => self.inbox.stray("an event over the message limit", b""),
                    SseItem::Event(event) => {
                        position.note(&event);
                        if !event.data.is_empty() {
                            self.take_frame(event.data.as_bytes());
                        }
                    }
                }
            }
        }
    }
}

enum Ended {
    Answered(Answer),
    Over,
    Broken(Failure),
}

/// Statuses that say that there is no standing stream: 405 by the book, others in practice.
fn is_final(status: u16) -> bool {
    StatusCode::from_u16(status).is_ok_and(|status| {
        (status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS) || status == StatusCode::NOT_IMPLEMENTED
    })
}
