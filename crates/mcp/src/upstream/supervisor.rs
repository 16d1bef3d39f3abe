//! The life of one upstream: publish what is known, connect, list, serve, and after every end connect again.

use std::{
    hash::RandomState,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolcrib_core::{ContentHash, Source, SourceState, backoff::Backoff};
use toolcrib_engine::{DefinitionStore, Hub, InvokeError, Publisher, SourceOptions, StoredDefinitions};

use super::{
    connect::{Connected, connect},
    handshake::Trouble,
    inbox::{Closing, ClosingKind},
    link::{Failure, Ids, Link},
    listing::list,
    mask::{Mask, one_line},
    report::{Facts, UpstreamReport, count, read},
    session::{Extras, Session},
    settings::{Era, EraChoice, UpstreamSettings},
    stderr::StderrTail,
};

const REASON_CHARS: usize = 600;
const STDERR_LINES: usize = 20;
/// Most reasons for being down that are logged before it is ready again.
const MAX_TOLD: usize = 8;
// A call would rather fail than wait longer than this for a server that rests.
const WORTH_WAITING: Duration = Duration::from_secs(1);
// Servers may say that a list holds for no time at all.
const LEAST_TTL: Duration = Duration::from_mins(5);
const LONGEST_PING: Duration = Duration::from_secs(30);

/// One MCP server: starts it, publishes its tools, runs its calls, brings it back. Dropping it ends the server in the
/// background; [`Upstream::shutdown`] waits for that.
pub struct Upstream {
    pub(super) core: Arc<Core>,
}

/// What the parts of an upstream share.
pub(super) struct Core {
    pub(super) settings: UpstreamSettings,
    pub(super) source: Source,
    pub(super) mask: Mask,
    pub(super) facts: Arc<Facts>,
    pub(super) ids: Ids,
    pub(super) tracker: TaskTracker,
    pub(super) cancel: CancellationToken,
    /// Stderr of the present child or of the last one.
    pub(super) stderr: Mutex<Option<StderrTail>>,
    /// Whether a call was answered since the flag was last looked at.
    pub(super) served: AtomicBool,
    phase: watch::Sender<Phase>,
    wanted: Notify,
    published: Mutex<SourceState>,
}

/// Where an upstream stands, as calls see it.
#[derive(Clone)]
enum Phase {
    /// Not started until wanted.
    Resting,
    Connecting,
    Ready(Arc<Session>),
    Down {
        reason: String,
        /// Before this a call does not bring on another attempt.
        retry_from: Instant,
    },
    Stopped,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.core.cancel.cancel();
    }
}

impl Upstream {
    /// Registers the source `mcp:NAME` with `hub` and starts the server. `fingerprint` identifies the configuration
    /// the definitions in `store` belong to. Must be called within a tokio runtime.
    pub fn spawn(
        settings: UpstreamSettings,
        hub: &Hub,
        options: SourceOptions,
        store: Option<Arc<dyn DefinitionStore>>,
        fingerprint: String,
    ) -> Arc<Self> {
        let source = Source::Mcp(settings.name.clone());
        let core = Arc::new(Core {
            source: source.clone(),
            mask: Mask::new(&settings),
            facts: Arc::default(),
            ids: Arc::new(AtomicU64::new(1)),
            tracker: TaskTracker::new(),
            cancel: CancellationToken::new(),
            stderr: Mutex::default(),
            served: AtomicBool::new(false),
            phase: watch::Sender::new(Phase::Connecting),
            wanted: Notify::new(),
            published: Mutex::new(SourceState::Starting),
            settings,
        });
        let upstream = Arc::new(Self { core: core.clone() });
        let publisher = hub.register(source, options, upstream.clone());
        let supervisor = Supervisor {
            core: core.clone(),
            publisher,
            store,
            fingerprint,
            saved: None,
            publishing: None,
            told: Vec::new(),
        };
        core.tracker.spawn(supervisor.run());
        upstream
    }

    /// Ends the server and waits until its whole process tree, or its session, has ended.
    pub async fn shutdown(&self) {
        self.core.cancel.cancel();
        self.core.tracker.close();
        self.core.tracker.wait().await;
    }

    /// Somebody wants it: one that waits to be connected again is tried as soon as a call would be. Whether that is soon
    /// enough to wait for.
    pub fn wake(&self) -> bool {
        let wakes = match &*self.core.phase.borrow() {
            Phase::Resting => true,
            Phase::Down { retry_from, .. } => *retry_from <= Instant::now() + WORTH_WAITING,
            Phase::Connecting | Phase::Ready(_) | Phase::Stopped => false,
        };
        if wakes {
            self.core.wanted.notify_one();
        }
        wakes
    }

    /// A look at the present state.
    pub fn report(&self) -> UpstreamReport {
        let core = &self.core;
        let tail = core.stderr.lock().clone();
        let lines = tail.map(|tail| tail.lines(STDERR_LINES)).unwrap_or_default();
        let state = core.published.lock().clone();
        let facts = &core.facts;
        let now = facts.now.lock();
        UpstreamReport {
            source: core.source.to_string(),
            state,
            era: now.era,
            version: now.version.clone(),
            server_info: now.server_info.clone(),
            pid: now.pid,
            tools: now.tools,
            restarts: read(&facts.restarts),
            stray_lines: read(&facts.stray_lines),
            dropped_replies: read(&facts.dropped_replies),
            listings: read(&facts.listings),
            refused_tools: now.refused_tools.clone(),
            last_error: now.last_error.clone(),
            stderr_tail: lines.iter().map(|line| core.mask.apply(line)).collect(),
        }
    }
}

impl Core {
    /// A usable connection. Waits while the server starts, and wakes one that is down; never beyond the time to connect.
    pub(super) async fn ready(
        &self,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Arc<Session>, InvokeError> {
        let give_up = deadline.min(Instant::now() + self.settings.connect_timeout);
        let unavailable = |text: &str| InvokeError::Unavailable(format!("server '{}': {text}", self.settings.name));
        let mut phase = self.phase.subscribe();
        let mut woken = false;
        loop {
            let now = phase.borrow_and_update().clone();
            match now {
                Phase::Ready(session) if session.link.inbox().closing().is_none() => return Ok(session),
                // It has just ended; the supervisor is about to say so.
                Phase::Ready(_) | Phase::Connecting => {}
                Phase::Resting => self.wanted.notify_one(),
                Phase::Down { reason, retry_from } => {
                    if woken || retry_from > Instant::now() + WORTH_WAITING {
                        return Err(unavailable(&reason));
                    }
                    woken = true;
                    self.wanted.notify_one();
                }
                Phase::Stopped => return Err(unavailable("it was stopped")),
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(InvokeError::Cancelled),
                changed = phase.changed() => if changed.is_err() {
                    return Err(unavailable("it was stopped"));
                },
                () = tokio::time::sleep_until(give_up) => {
                    return Err(unavailable("it is still starting; try again in a moment"));
                }
            }
        }
    }
}

struct Supervisor {
    core: Arc<Core>,
    publisher: Publisher,
    store: Option<Arc<dyn DefinitionStore>>,
    fingerprint: String,
    // Hash of the definitions in the store.
    saved: Option<ContentHash>,
    // A publication that may still be under way although whoever began it was dropped.
    publishing: Option<JoinHandle<()>>,
    // Why it was down since it was last ready, as far as that was logged.
    told: Vec<String>,
}

/// What comes after a connection.
enum Next {
    Stop,
    /// Connect again at once.
    Again,
    /// The same, unless the connection before this one ended likewise.
    Renew(String),
    /// Wait first.
    Wait {
        reason: String,
        permanent: bool,
    },
}

impl Supervisor {
    async fn run(mut self) {
        let cancel = self.core.cancel.clone();
        let known = self.publish_known().await;
        if known && self.core.settings.lazy {
            self.core.phase.send_replace(Phase::Resting);
            self.state(SourceState::Ready).await;
            tokio::select! {
                () = cancel.cancelled() => return self.stopped().await,
                () = self.core.wanted.notified() => {}
            }
        }
        let timing = self.core.settings.timing;
        let mut backoff = Backoff::new(timing.backoff_min, timing.backoff_max, RandomState::new());
        let mut choice = self.core.settings.era;
        let (mut first, mut renewed) = (true, false);
        loop {
            if !std::mem::take(&mut first) {
                count(&self.core.facts.restarts);
            }
            self.core.phase.send_replace(Phase::Connecting);
            let started = Instant::now();
            let connected = connect(&self.core, choice).await;
            let next = match connected {
                Ok(connected) => {
                    // The verdict holds as long as it works.
                    if self.core.settings.era == EraChoice::Auto {
                        choice = match connected.session.hello.era {
                            Era::Legacy => EraChoice::Legacy,
                            Era::Modern => EraChoice::Modern,
                        };
                    }
                    self.serve(connected).await
                }
                Err(trouble) => self.after_trouble(trouble, &mut choice),
            };
            if cancel.is_cancelled() {
                return self.stopped().await;
            }
            if self.core.served.swap(false, Ordering::Relaxed) || started.elapsed() >= timing.healthy_after {
                backoff.reset();
                renewed = false;
            }
            let (reason, permanent) = match next {
                Next::Stop => return self.stopped().await,
                Next::Again => continue,
                Next::Renew(_) if !std::mem::replace(&mut renewed, true) => continue,
                // A server that forgets every session at once must not keep us busy.
                Next::Renew(reason) => (reason, false),
                Next::Wait { reason, permanent } => (reason, permanent),
            };
            let now = Instant::now();
            let (until, retry_from) = if permanent {
                (now + timing.park, now + timing.park_min)
            } else {
                (now + backoff.wait(), now + timing.backoff_min.min(WORTH_WAITING))
            };
            self.down(&reason, retry_from).await;
            tokio::select! {
                () = cancel.cancelled() => return self.stopped().await,
                () = tokio::time::sleep_until(until) => {}
                () = self.core.wanted.notified() => tokio::select! {
                    () = cancel.cancelled() => return self.stopped().await,
                    () = tokio::time::sleep_until(retry_from.min(until)) => {}
                },
            }
        }
    }

    fn after_trouble(&self, trouble: Trouble, choice: &mut EraChoice) -> Next {
        match trouble {
            Trouble::GreetLegacy { reason } => {
                let reason = one_line(&self.core.mask.apply(&reason), REASON_CHARS);
                tracing::debug!(source = %self.core.source, %reason, "greeting again without a probe");
                *choice = EraChoice::Legacy;
                Next::Again
            }
            Trouble::Failed { reason, permanent } => {
                // A verdict that no longer works is forgotten: the server may have been replaced.
                *choice = self.core.settings.era;
                Next::Wait { reason: self.with_stderr(reason), permanent }
            }
        }
    }

    /// Publishes the last-known definitions, if there are any.
    async fn publish_known(&mut self) -> bool {
        let Some(store) = &self.store else { return false };
        let stored = match store.load(&self.core.source.to_string(), &self.fingerprint).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return false,
            Err(error) => {
                tracing::warn!(source = %self.core.source, %error, "last-known tools cannot be read");
                return false;
            }
        };
        self.saved = Some(hash(&stored.tools, stored.instructions.as_deref()));
        self.core.facts.now.lock().tools = Some(stored.tools.len());
        self.publish(SourceState::Starting, stored.tools, stored.instructions, true).await;
        true
    }

    /// Looks after a connection until it ends, and ends it.
    async fn serve(&mut self, connected: Connected) -> Next {
        let Connected { session, process } = connected;
        {
            let mut now = self.core.facts.now.lock();
            now.era = Some(session.hello.era);
            now.version = Some(session.hello.version.clone());
            now.server_info.clone_from(&session.hello.server_info);
        }
        self.core.phase.send_replace(Phase::Ready(session.clone()));
        self.listen(&session);
        let cancel = self.core.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = session.link.inbox().closed().cancelled() => {}
            () = self.look_after(&session) => {}
        }
        session.link.inbox().close("toolcrib is stopping", ClosingKind::Ours);
        let closing = session.link.inbox().closing();
        let ours = closing.as_ref().is_none_or(|closing| closing.kind == ClosingKind::Ours);
        if let Link::Http(link) = &session.link
            && ours
        {
            link.finish(self.core.settings.timing.stop_grace).await;
        }
        if let Some(process) = process {
            // While the old one is being ended calls learn at once that they have to wait.
            self.core.phase.send_replace(Phase::Connecting);
            process.stop().await;
        }
        self.core.facts.now.lock().pid = None;
        let Some(Closing { reason, kind }) = closing else { return Next::Stop };
        match kind {
            ClosingKind::Ours => Next::Stop,
            ClosingKind::SessionExpired => Next::Renew(reason),
            ClosingKind::Lost => Next::Wait { reason: self.with_stderr(reason), permanent: false },
            ClosingKind::Permanent => Next::Wait { reason, permanent: true },
        }
    }

    /// Opens whatever the era has for being told of changes.
    fn listen(&self, session: &Arc<Session>) {
        let timing = self.core.settings.timing;
        match (&session.link, session.hello.era) {
            (_, Era::Modern) if session.hello.list_changed => {
                self.core.tracker.spawn(session.clone().subscribe(timing));
            }
            (Link::Http(link), Era::Legacy) => {
                self.core.tracker.spawn(link.clone().stand_by(timing));
            }
            _ => {}
        }
    }

    /// Lists, lists again when told to, and pings, for as long as the connection is of use.
    async fn look_after(&mut self, session: &Arc<Session>) {
        let keepalive = self.core.settings.timing.keepalive.filter(|_| session.hello.era == Era::Legacy);
        tokio::select! {
            () = self.keep_listed(session) => {}
            () = ping(session, keepalive) => {}
        }
    }

    /// Lists now and after every change. At most one listing is under way and one is waiting; the time between them
    /// grows for as long as notifications keep coming (F9).
    async fn keep_listed(&mut self, session: &Arc<Session>) {
        let timing = self.core.settings.timing;
        let list_changed = &session.link.inbox().list_changed;
        let mut pace = timing.refresh_min;
        let grown = |pace: Duration| (pace * 2).min(timing.refresh_max);
        let mut due = Instant::now();
        loop {
            tokio::time::sleep_until(due).await;
            let listed = self.refresh(session).await;
            let listed_at = Instant::now();
            let ttl = match listed {
                Ok(ttl) => ttl,
                Err(reason) => {
                    let reason = one_line(&self.core.mask.apply(&reason), REASON_CHARS);
                    self.tell("listing failed", &reason);
                    self.core.facts.now.lock().last_error = Some(reason.clone());
                    self.state(SourceState::Down { reason: format!("connected, but {reason}") }).await;
                    due = listed_at + pace;
                    pace = grown(pace);
                    continue;
                }
            };
            tokio::select! {
                () = list_changed.notified() => {}
                () = at(ttl.map(|ttl| listed_at + ttl.max(LEAST_TTL))) => {}
            }
            let now = Instant::now();
            let storm = now < listed_at + pace * 2;
            if !storm {
                pace = timing.refresh_min;
            }
            due = now.max(listed_at + pace);
            if storm {
                pace = grown(pace);
            }
        }
    }

    /// One listing, published and kept.
    async fn refresh(&mut self, session: &Arc<Session>) -> Result<Option<Duration>, String> {
        let settings = &self.core.settings;
        let deadline = Instant::now() + settings.timing.listing;
        count(&self.core.facts.listings);
        let listing = list(session, &settings.limits, deadline).await?;
        {
            let mut now = self.core.facts.now.lock();
            now.tools = Some(listing.items.len());
            now.refused_tools = listing.refused;
        }
        let instructions = session.hello.instructions.clone();
        self.save(&listing.items, instructions.as_deref()).await;
        self.publish(SourceState::Ready, listing.items, instructions, false).await;
        self.told.clear();
        Ok(listing.ttl)
    }

    async fn save(&mut self, tools: &[Value], instructions: Option<&str>) {
        let Some(store) = &self.store else { return };
        let hash = hash(tools, instructions);
        if self.saved == Some(hash) {
            return;
        }
        let definitions = StoredDefinitions {
            fingerprint: self.fingerprint.clone(),
            tools: tools.to_vec(),
            instructions: instructions.map(str::to_owned),
            fetched_at_ms: now_ms(),
        };
        match store.save(&self.core.source.to_string(), definitions).await {
            Ok(()) => self.saved = Some(hash),
            Err(error) => tracing::warn!(source = %self.core.source, %error, "tools cannot be kept for the next start"),
        }
    }

    async fn publish(&mut self, state: SourceState, items: Vec<Value>, instructions: Option<String>, stale: bool) {
        self.settle().await;
        *self.core.published.lock() = state.clone();
        let publisher = self.publisher.clone();
        // Checks every schema.
        let work = tokio::task::spawn_blocking(move || publisher.tools(state, items, instructions, stale));
        self.publishing = Some(work);
        self.settle().await;
    }

    /// Waits for the publication that is under way. It cannot be called off, and must not overtake what is said after it.
    async fn settle(&mut self) {
        let Some(work) = &mut self.publishing else { return };
        let done = work.await;
        self.publishing = None;
        if let Err(error) = done {
            tracing::error!(source = %self.core.source, %error, "publishing failed");
        }
    }

    async fn state(&mut self, state: SourceState) {
        self.settle().await;
        *self.core.published.lock() = state.clone();
        self.publisher.state(state);
    }

    async fn down(&mut self, reason: &str, retry_from: Instant) {
        let reason = one_line(&self.core.mask.apply(reason), REASON_CHARS);
        self.tell("down", &reason);
        self.core.facts.now.lock().last_error = Some(reason.clone());
        self.state(SourceState::Down { reason: reason.clone() }).await;
        self.core.phase.send_replace(Phase::Down { reason, retry_from });
    }

    /// Once for each reason: a server that stays away is tried again and again.
    fn tell(&mut self, what: &str, reason: &str) {
        let source = &self.core.source;
        if self.told.len() >= MAX_TOLD || self.told.iter().any(|told| told == reason) {
            tracing::debug!(%source, %reason, "{what}");
        } else {
            tracing::warn!(%source, %reason, "{what}");
            self.told.push(reason.to_owned());
        }
    }

    async fn stopped(&mut self) {
        self.core.phase.send_replace(Phase::Stopped);
        self.state(SourceState::Down { reason: "stopped".to_owned() }).await;
    }

    /// A child usually says on stderr why it ends.
    fn with_stderr(&self, reason: String) -> String {
        let tail = self.core.stderr.lock().clone();
        match tail.and_then(|tail| tail.lines(1).pop()) {
            Some(line) => format!("{reason}; last on stderr: {line}"),
            None => reason,
        }
    }
}

/// Pings for ever, if at all; returns when the server did not answer twice in a row.
async fn ping(session: &Session, every: Option<Duration>) {
    let Some(every) = every else { return std::future::pending().await };
    let inbox = session.link.inbox();
    let mut missed = 0;
    loop {
        tokio::time::sleep(every).await;
        let deadline = Instant::now() + every.min(LONGEST_PING);
        match session.request("ping", &[], deadline, Extras::default()).await {
            // Any answer shows life, also that of a server that has no ping.
            Ok(_) | Err(Failure::Rpc(_)) => missed = 0,
            Err(Failure::SessionExpired(text)) => return inbox.close(text, ClosingKind::SessionExpired),
            Err(failure) => {
                missed += 1;
                if missed == 2 {
                    return inbox.close(format!("it does not answer pings ({})", failure.text()), ClosingKind::Lost);
                }
            }
        }
    }
}

/// Waits for the time, for ever without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn hash(tools: &[Value], instructions: Option<&str>) -> ContentHash {
    let tools = tools.iter().map(ContentHash::of_json);
    ContentHash::of_hashes(tools.chain([ContentHash::of_bytes(instructions.unwrap_or_default().as_bytes())]))
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
