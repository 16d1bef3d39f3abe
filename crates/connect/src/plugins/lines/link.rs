//! One connection to a process: frames out, frames in, calls that wait for their answers.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use toolcrib_core::{Scope, ToolResult};
use toolcrib_engine::{Invocation, InvokeError, Progress, ProgressSink};

use super::{
    Core,
    frame::{Caller, Heard, Level, NoFrame, Said, shown},
};
use crate::plugins::{
    split::{Piece, Splitter},
    voice::Loudness,
};

/// Calls waiting to be written. Writing is what is slow, so a few suffice.
const QUEUE: usize = 64;
/// Cancellations waiting to be written; a process that makes us overflow this loses them.
const CONTROL: usize = 256;

/// How long the two ends of a process, that of its output and its own, wait for each other: the latter is the better
/// reason, the former may hold answers.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(100);

type Answer = Result<ToolResult, InvokeError>;

pub(super) struct Link {
    core: Arc<Core>,
    calls: mpsc::Sender<Outgoing>,
    control: mpsc::Sender<Vec<u8>>,
    waiting: Mutex<HashMap<u64, Waiting>>,
    next: AtomicU64,
    shut: CancellationToken,
    drained: CancellationToken,
    why: Mutex<Option<String>>,
    oddity: Mutex<Option<String>>,
    // Of this life of the process.
    bad_lines: AtomicU64,
}

struct Waiting {
    answer: oneshot::Sender<Answer>,
    progress: Option<ProgressSink>,
    sent: Arc<Sent>,
}

struct Outgoing {
    line: Vec<u8>,
    sent: Arc<Sent>,
}

/// Whether a call has left: it leaves or it is withdrawn, never both.
#[derive(Default)]
struct Sent(AtomicU8);

impl Sent {
    const LEFT: u8 = 1;
    const WITHDRAWN: u8 = 2;

    fn settle(&self, to: u8) -> bool {
        self.0.compare_exchange(0, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether it may be written; from now on it counts as sent.
    fn leave(&self) -> bool {
        self.settle(Self::LEFT)
    }

    /// Whether it had not left, and now never will.
    fn withdraw(&self) -> bool {
        self.settle(Self::WITHDRAWN) || self.0.load(Ordering::Acquire) == Self::WITHDRAWN
    }
}

impl Link {
    /// Starts talking. What the process offers, each time it says so, comes out of the second.
    pub(super) fn start(
        core: &Arc<Core>,
        stdin: impl AsyncWrite + Unpin + Send + 'static,
        stdout: impl AsyncRead + Unpin + Send + 'static,
    ) -> (Arc<Self>, watch::Receiver<Vec<Value>>) {
        let (calls, outgoing) = mpsc::channel(QUEUE);
        let (control, controls) = mpsc::channel(CONTROL);
        let (offers, offered) = watch::channel(Vec::new());
        let link = Arc::new(Self {
            core: core.clone(),
            calls,
            control,
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            shut: CancellationToken::new(),
            drained: CancellationToken::new(),
            why: Mutex::default(),
            oddity: Mutex::default(),
            bad_lines: AtomicU64::new(0),
        });
        tokio::spawn(write(link.clone(), stdin, outgoing, controls));
        tokio::spawn(read(link.clone(), stdout, offers));
        (link, offered)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shut.is_cancelled()
    }

    /// Waits until it is closed, and says why.
    pub(super) async fn closed(&self) -> String {
        self.shut.cancelled().await;
        self.why.lock().clone().unwrap_or_default()
    }

    /// Waits until all of its output was read.
    pub(super) async fn drained(&self) {
        self.drained.cancelled().await;
    }

    /// Ends it: what was not written never will be, and what was is not known.
    pub(super) fn close(&self, why: &str) {
        self.why.lock().get_or_insert_with(|| why.to_owned());
        self.shut.cancel();
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for (_, call) in waiting {
            let _ = call.answer.send(Err(self.lost(&call.sent)));
        }
    }

    fn lost(&self, sent: &Sent) -> InvokeError {
        let (id, why) = (self.core.id(), self.why.lock().clone().unwrap_or_default());
        let why = self.core.voice.mask(&why);
        if sent.withdraw() {
            InvokeError::Unavailable(format!("plugin '{id}': {why}; the call had not reached it"))
        } else {
            InvokeError::Unknown(format!("plugin '{id}': {why} while the call ran"))
        }
    }

    /// The first line that was no frame.
    pub(super) fn first_oddity(&self) -> Option<String> {
        self.oddity.lock().clone()
    }

    /// Says something that is no call.
    pub(super) fn say(&self, said: &Said<'_>) {
        let _ = self.control.try_send(said.line());
    }

    pub(super) async fn call(self: &Arc<Self>, invocation: &Invocation<'_>) -> Answer {
        let context = invocation.context;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let sent = Arc::new(Sent::default());
        let (answer, mut answered) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            if waiting.len() >= self.core.start.limits.in_flight {
                let text =
                    format!("plugin '{}' has {} calls under way; try again in a moment", self.core.id(), waiting.len());
                return Err(InvokeError::Unavailable(text));
            }
            waiting.insert(id, Waiting { answer, progress: context.progress.clone(), sent: sent.clone() });
        }
        // Whichever way out: nothing waits any more, and a process that has the call is told.
        let mut place = Place { link: self.clone(), id, sent: sent.clone(), armed: true };
        let began = Instant::now();
        let line = Said::Call {
            id,
            tool: invocation.tool.name(),
            arguments: invocation.arguments,
            timeout_ms: u64::try_from(context.remaining().as_millis()).unwrap_or(u64::MAX),
            caller: caller(&context.scope),
        }
        .line();
        let answer = async {
            if self.is_closed() || self.calls.send(Outgoing { line, sent: sent.clone() }).await.is_err() {
                return Err(self.lost(&sent));
            }
            match (&mut answered).await {
                Ok(answer) => answer,
                Err(_) => Err(self.lost(&sent)),
            }
        };
        let error = tokio::select! {
            biased;
            answer = answer => {
                place.armed = false;
                return answer;
            }
            () = context.cancel.cancelled() => InvokeError::Cancelled,
            () = tokio::time::sleep_until(context.deadline) => InvokeError::TimedOut(began.elapsed()),
        };
        if sent.withdraw() {
            return Err(match error {
                InvokeError::Cancelled => InvokeError::Cancelled,
                _ => InvokeError::Unavailable(format!(
                    "plugin '{}' does not read its input; the call was not sent",
                    self.core.id()
                )),
            });
        }
        if context.late.is_wanted() {
            // It may answer after all, and then the journal should know.
            self.say(&Said::Cancel { id });
            place.armed = false;
            context.late.leave(async move {
                let _place = place;
                answered.await.unwrap_or_else(|_| Err(InvokeError::Unknown("it ended without an answer".to_owned())))
            });
        }
        Err(error)
    }

    fn heard(&self, heard: Heard, offers: &watch::Sender<Vec<Value>>) {
        match heard {
            // The last word counts.
            Heard::Describe(items) => {
                offers.send_replace(items);
            }
            Heard::Progress { id, params } => {
                let sink = self.waiting.lock().get(&id).and_then(|call| call.progress.clone());
                if let Some(sink) = sink {
                    sink(Progress { params });
                }
            }
            Heard::Ended { id, result } => self.end(id, Ok(result)),
            Heard::Log { level, message } => {
                let loudness = match level {
                    Level::Debug => Loudness::Debug,
                    Level::Info => Loudness::Info,
                    Level::Warn => Loudness::Warn,
                    Level::Error => Loudness::Error,
                };
                self.core.voice.log(loudness, &message);
            }
        }
    }

    fn end(&self, id: u64, answer: Answer) {
        match self.waiting.lock().remove(&id) {
            Some(call) => {
                let _ = call.answer.send(answer);
            }
            // An answer to what was given up is no fault; one to what was never asked is.
            None if id < self.next.load(Ordering::Relaxed) && id > 0 => {}
            None => self.odd(&format!("it answered call {id}, which was never made")),
        }
    }

    fn no_frame(&self, NoFrame { problem, call }: NoFrame) {
        if let Some(id) = call {
            self.end(id, Err(InvokeError::BadAnswer(format!("plugin '{}': {problem}", self.core.id()))));
        }
        self.odd(&problem);
    }

    fn odd(&self, problem: &str) {
        self.oddity.lock().get_or_insert_with(|| problem.to_owned());
        self.core.bad_lines.fetch_add(1, Ordering::Relaxed);
        // The bound is on one life of the process.
        let so_far = self.bad_lines.fetch_add(1, Ordering::Relaxed) + 1;
        self.core.odd(&format!("its output is not the protocol: {problem}"));
        if so_far.is_multiple_of(self.core.start.limits.bad_lines.max(1)) {
            self.close("it does not speak the protocol");
        }
    }
}

fn caller(scope: &Scope) -> Caller<'_> {
    let parents = std::iter::successors(scope.parent.as_deref(), |scope| scope.parent.as_deref());
    Caller {
        tenant: &scope.tenant,
        user: scope.user.as_deref(),
        agent: scope.agent.as_deref(),
        parents: parents.map(|scope| scope.agent.as_deref().unwrap_or_default()).collect(),
    }
}

/// A call's place among those that wait.
struct Place {
    link: Arc<Link>,
    id: u64,
    sent: Arc<Sent>,
    /// Whether the process is told when nobody waits any more.
    armed: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.link.waiting.lock().remove(&self.id);
        if self.armed && !self.sent.withdraw() {
            self.link.say(&Said::Cancel { id: self.id });
        }
    }
}

/// Writes lines whole: a caller that leaves never cuts one in two. The stream closes when this ends.
async fn write(
    link: Arc<Link>,
    mut stdin: impl AsyncWrite + Unpin,
    mut calls: mpsc::Receiver<Outgoing>,
    mut controls: mpsc::Receiver<Vec<u8>>,
) {
    loop {
        let line = tokio::select! {
            biased;
            () = link.shut.cancelled() => return,
            // The greeting comes first, and cancellations overtake calls that wait to be written.
            Some(line) = controls.recv() => line,
            Some(call) = calls.recv() => {
                if !call.sent.leave() {
                    continue;
                }
                call.line
            }
        };
        let patience = link.core.start.timing.write;
        let written = tokio::select! {
            biased;
            written = timeout(patience, async {
                stdin.write_all(&line).await?;
                stdin.flush().await
            }) => written,
            () = link.shut.cancelled() => return,
        };
        match written {
            Ok(Ok(())) => {}
            // The reader, which sees the end as well, may know a better reason.
            Ok(Err(error)) => {
                let _ = timeout(LAST_WORDS * 2, link.shut.cancelled()).await;
                return link.close(&format!("it closed its input ({error})"));
            }
            Err(_) => return link.close(&format!("it left its input unread for {} s", patience.as_secs_f32())),
        }
    }
}

async fn read(link: Arc<Link>, mut stdout: impl AsyncRead + Unpin, offers: watch::Sender<Vec<Value>>) {
    let mut splitter = Splitter::new(link.core.start.limits.frame_bytes);
    let (mut chunk, mut found) = (vec![0; 16 * 1024], Vec::new());
    loop {
        let read = tokio::select! {
            biased;
            () = link.shut.cancelled() => return,
            read = stdout.read(&mut chunk) => read,
        };
        let ended = match read {
            Ok(0) => {
                found.extend(splitter.finish());
                Some("it closed its output".to_owned())
            }
            Ok(read) => {
                splitter.push(&chunk[..read], &mut found);
                None
            }
            Err(error) => Some(format!("its output cannot be read: {error}")),
        };
        for piece in found.drain(..) {
            match piece {
                Piece::Line(line) => match Heard::read(&line) {
                    Ok(heard) => link.heard(heard, &offers),
                    Err(problem) => link.no_frame(problem),
                },
                Piece::TooLong { bytes, head } => {
                    let most = link.core.start.limits.frame_bytes;
                    let problem = format!("a line of {bytes} bytes ('{}…'); at most {most} are taken", shown(&head));
                    // The beginning of a frame that is too long still says whose it is, where it is written in this order.
                    let call = call_of_cut(&head);
                    link.no_frame(NoFrame { problem, call });
                }
            }
        }
        if let Some(why) = ended {
            link.drained.cancel();
            // Whoever waits for the process knows better, if that has ended too.
            let _ = timeout(LAST_WORDS, link.shut.cancelled()).await;
            return link.close(&why);
        }
    }
}

/// The call that a cut-off frame ends: `{"type":"result","id":N,…` or `{"id":N,"type":"result",…`, blanks aside.
fn call_of_cut(head: &[u8]) -> Option<u64> {
    let text: String = String::from_utf8_lossy(head).chars().filter(|c| !c.is_whitespace()).collect();
    let rest = text.strip_prefix('{')?;
    let number = |text: &str| -> Option<(u64, usize)> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        Some((text[..digits].parse().ok()?, digits))
    };
    let ends = |text: &str| text.starts_with("\"type\":\"result\",") || text.starts_with("\"type\":\"error\",");
    if let Some(rest) = rest.strip_prefix("\"id\":") {
        let (id, digits) = number(rest)?;
        return rest[digits..].strip_prefix(',').filter(|rest| ends(rest)).map(|_| id);
    }
    let rest = ends(rest).then(|| rest.split_once(',')).flatten()?.1;
    number(rest.strip_prefix("\"id\":")?).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn cut(head: &str, call: Option<u64>) {
        assert_eq!(call_of_cut(head.as_bytes()), call);
    }

    #[test]
    fn a_frame_that_is_too_long_still_ends_its_call() {
        cut(r#"{"type":"result","id":12,"text":"aaa"#, Some(12));
        cut(r#"{ "id": 12, "type": "error", "message": "aaa"#, Some(12));
        cut(r#"{"type":"progress","id":12,"message":"aaa"#, None);
        cut(r#"{"id":12,"text":"aaa"#, None);
        cut("aaaaaa", None);
    }

    #[test]
    fn a_call_leaves_or_is_withdrawn_and_never_both() {
        let sent = Sent::default();
        assert!(sent.leave() && !sent.leave() && !sent.withdraw());
        let sent = Sent::default();
        assert!(sent.withdraw() && sent.withdraw() && !sent.leave());
    }
}
