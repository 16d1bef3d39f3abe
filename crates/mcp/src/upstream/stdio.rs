//! A connection over a child's standard streams.

use std::{sync::Arc, time::Duration};

use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_util::task::TaskTracker;

use super::{
    inbox::{ClosingKind, Inbox, Sent},
    link::{Failure, Ids, Outgoing, cancelled},
};
use crate::wire::{self, Id, Line, LineReader, Message};

// Requests waiting to be written. Writing is what is slow, so a few suffice.
const QUEUE: usize = 64;
// Cancellations and replies; a server that makes us overflow this loses them.
const CONTROL_QUEUE: usize = 256;
// How long the end of the stream waits for the child's exit status, to name it as the reason.
const STATUS_PATIENCE: Duration = Duration::from_millis(500);

/// A connection over stdio. Ends when the child closes a stream, or with [`Inbox::close`].
pub(super) struct StdioLink {
    inbox: Arc<Inbox>,
    ids: Ids,
    queue: mpsc::Sender<Frame>,
    control: mpsc::Sender<Vec<u8>>,
}

struct Frame {
    bytes: Vec<u8>,
    sent: Sent,
}

/// The bounds of the streams.
pub(super) struct StdioLimits {
    pub(super) line_bytes: usize,
    pub(super) write: Duration,
}

impl StdioLink {
    /// Starts talking. `exit` tells how the child ended.
    pub(super) fn start<W, R>(
        (stdin, stdout): (W, R),
        exit: watch::Receiver<Option<String>>,
        inbox: Arc<Inbox>,
        ids: Ids,
        limits: &StdioLimits,
        tracker: &TaskTracker,
    ) -> Arc<Self>
    where
        W: AsyncWrite + Unpin + Send + 'static,
        R: AsyncRead + Unpin + Send + 'static,
    {
        let (queue, frames) = mpsc::channel(QUEUE);
        let (control, controls) = mpsc::channel(CONTROL_QUEUE);
        let link = Arc::new(Self { inbox: inbox.clone(), ids, queue, control: control.clone() });
        tracker.spawn(write(stdin, frames, controls, inbox.clone(), limits.write));
        tracker.spawn(read(LineReader::with_max(stdout, limits.line_bytes), control, inbox, exit));
        link
    }

    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    pub(super) fn ids(&self) -> &Ids {
        &self.ids
    }

    pub(super) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Box<RawValue>, Failure> {
        let Outgoing { id, method, params, deadline, cancel, progress, tell_cancel, late, .. } = outgoing;
        let sent = Sent::default();
        let mut place = self.inbox.expect(id, progress, sent.clone())?;
        let mut bytes =
            wire::write(&Message::Request { id: Id::from(id), method: method.to_owned(), params: Some(params) });
        bytes.push(b'\n');
        let frame = Frame { bytes, sent: sent.clone() };
        // Dropped without an answer, by whichever way out: the server is told, if it has the request.
        let mut farewell =
            Farewell { link: self, id, sent: sent.clone(), armed: tell_cancel, reason: "no longer needed" };
        let answer = async {
            if self.queue.send(frame).await.is_err() {
                let reason = self.inbox.closing().map_or_else(|| "the connection ended".to_owned(), |c| c.reason);
                return Err(Failure::NotSent(reason));
            }
            (&mut place.answer).await.unwrap_or_else(|_| Err(Failure::Lost("the connection ended".to_owned())))
        };
        tokio::select! {
            biased;
            answer = answer => {
                farewell.armed = false;
                answer
            }
            () = cancelled(cancel) => {
                farewell.reason = "cancelled by the caller";
                if let (false, Some(late)) = (sent.withdraw(), late) {
                    *late = Some(place.give_up());
                }
                Err(Failure::Cancelled)
            }
            () = tokio::time::sleep_until(deadline) => {
                farewell.reason = "no answer in time";
                if sent.withdraw() {
                    Err(Failure::NotSent("the server does not read its input; the request was not sent".to_owned()))
                } else {
                    if let Some(late) = late {
                        *late = Some(place.give_up());
                    }
                    Err(Failure::TimedOut)
                }
            }
        }
    }

    pub(super) fn notify(&self, method: &str, params: Option<Box<RawValue>>) -> bool {
        let message = Message::Notification { method: method.to_owned(), params };
        enqueue(&self.control, &message)
    }
}

fn enqueue(control: &mpsc::Sender<Vec<u8>>, message: &Message) -> bool {
    let mut bytes = wire::write(message);
    bytes.push(b'\n');
    control.try_send(bytes).is_ok()
}

struct Farewell<'a> {
    link: &'a StdioLink,
    id: u64,
    sent: Sent,
    armed: bool,
    reason: &'static str,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        if !self.sent.withdraw() && self.armed {
            let params = to_raw_value(&json!({"requestId": self.id, "reason": self.reason})).ok();
            self.link.notify("notifications/cancelled", params);
        }
    }
}

/// Writes frames whole: a caller that leaves never cuts one in two. Ends, and closes the stream with it, when the
/// connection is closed.
async fn write(
    mut stdin: impl AsyncWrite + Unpin,
    mut frames: mpsc::Receiver<Frame>,
    mut controls: mpsc::Receiver<Vec<u8>>,
    inbox: Arc<Inbox>,
    patience: Duration,
) {
    loop {
        let bytes = tokio::select! {
            biased;
            () = inbox.closed().cancelled() => return,
            // Cancellations overtake requests that wait to be written.
            Some(bytes) = controls.recv() => bytes,
            Some(frame) = frames.recv() => {
                // Not for somebody who gave up while it waited here.
                if !frame.sent.leave() {
                    continue;
                }
                frame.bytes
            }
            else => return,
        };
        let written = tokio::select! {
            biased;
            written = timeout(patience, write_all(&mut stdin, &bytes)) => written,
            () = inbox.closed().cancelled() => return,
        };
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                // The reader, which sees the end as well, may know a better reason.
                tokio::time::sleep(STATUS_PATIENCE * 2).await;
                inbox.close(format!("the server closed its input ({error})"), ClosingKind::Lost);
                return;
            }
            Err(_) => {
                let reason = format!("the server left its input unread for {} s", patience.as_secs_f32());
                inbox.close(reason, ClosingKind::Lost);
                return;
            }
        }
    }
}

async fn write_all(stdin: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    stdin.write_all(bytes).await?;
    stdin.flush().await
}

async fn read(
    mut lines: LineReader<impl AsyncRead + Unpin>,
    control: mpsc::Sender<Vec<u8>>,
    inbox: Arc<Inbox>,
    mut exit: watch::Receiver<Option<String>>,
) {
    let mut exited = false;
    let problem = loop {
        let line = tokio::select! {
            biased;
            () = inbox.closed().cancelled() => return,
            line = lines.next() => line,
            // The child is gone but a descendant holds the stream open: what is still in it is read, then it is over.
            () = gone(&mut exit), if !exited => {
                exited = true;
                continue;
            }
            () = tokio::time::sleep(STATUS_PATIENCE), if exited => break None,
        };
        match line {
            Ok(Some(Line::Frame(frame))) => {
                for reply in inbox.frame(&frame) {
                    enqueue(&control, &reply);
                }
            }
            Ok(Some(Line::TooLong { bytes, head, tail })) => {
                inbox.stray(&format!("a line of {bytes} bytes"), &head);
                if let Some(id) = id_of_cut_answer(&head, &tail) {
                    let text =
                        format!("the answer is larger than the limit ({bytes} bytes); raise limits.message_bytes");
                    inbox.fail(id, Failure::Unusable(text));
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let reason = match problem {
        Some(error) => format!("its output cannot be read: {error}"),
        None => match timeout(STATUS_PATIENCE, exit.wait_for(Option::is_some)).await {
            Ok(Ok(status)) => format!("the server {}", status.as_deref().unwrap_or("ended")),
            Ok(Err(_)) => "the server ended".to_owned(),
            Err(_) => "the server closed its output".to_owned(),
        },
    };
    inbox.close(reason, ClosingKind::Lost);
}

async fn gone(exit: &mut watch::Receiver<Option<String>>) {
    if exit.wait_for(Option::is_some).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The id of an answer that was too long to keep, from its two ends: it is the first member or the last one in
/// practice. Nothing for requests and notifications.
fn id_of_cut_answer(head: &[u8], tail: &[u8]) -> Option<u64> {
    let number = |text: &str| -> Option<u64> {
        let digits: String = text.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let head = String::from_utf8_lossy(head);
    let mut start = head.trim_start().strip_prefix('{')?.trim_start();
    if let Some(rest) = start.strip_prefix("\"jsonrpc\"") {
        let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix("\"2.0\"")?;
        start = rest.trim_start().strip_prefix(',')?.trim_start();
    }
    if let Some(rest) = start.strip_prefix("\"id\"") {
        let rest = rest.trim_start().strip_prefix(':')?;
        let after =
            rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().strip_prefix(',')?;
        return (!after.trim_start().starts_with("\"method\"")).then(|| number(rest))?;
    }
    if !(start.starts_with("\"result\"") || start.starts_with("\"error\"")) {
        return None;
    }
    // `…,"id":5}` or `…,"jsonrpc":"2.0","id":5}` or `…,"id":5,"jsonrpc":"2.0"}`: one brace only, so it is the outermost.
    let tail = String::from_utf8_lossy(tail);
    let end = tail.trim_end().strip_suffix('}')?.trim_end();
    let end = end.strip_suffix("\"2.0\"").map_or(Some(end), |end| {
        let end = end.trim_end().strip_suffix(':')?.trim_end().strip_suffix("\"jsonrpc\"")?;
        end.trim_end().strip_suffix(',')
    })?;
    let (_, last) = end.rsplit_once("\"id\"")?;
    let last = last.trim_start().strip_prefix(':')?.trim();
    last.bytes().all(|byte| byte.is_ascii_digit()).then(|| number(last))?
}

#[cfg(test)]
mod tests;
