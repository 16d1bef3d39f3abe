//! One generation of a plugin: its manifest, its code while it runs, and the calls that are under way in it.
//!
//! A call belongs to the generation whose tool it names. After a reload calls of an older one are told that it is no longer
//! active, also when the plugin is the same as before (openclaw §1.1, case 19); calls under way may end.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use toolcrib_core::{
    ContentHash, Labels, Scope, Source, SourceState, Tool, ToolResult, permission::Action, schema::Violation,
    select::Removal,
};
use toolcrib_engine::{Backend, BoxFuture, Hub, Invocation, InvokeError, Publisher, SourceOptions};

use super::{
    host::Launchers,
    manifest::{Caution, Manifest},
    offer::Offer,
    report::PluginState,
    running::{Limits, Listener, News, PluginSettings, Running, Start, Timing, Vitals},
    visitors::Visitors,
};

/// Most findings that are kept.
const FINDINGS: usize = 32;
/// How long one that is down and wanted may take before it is being started again.
const WORTH_WAITING: Duration = Duration::from_secs(1);

/// Why a tool, or all of them, cannot be offered; by tool, under "" for all.
pub(super) type Unavailable = BTreeMap<String, Arc<Removal>>;

/// What makes a generation.
pub(super) struct Makings {
    pub(super) manifest: Arc<Manifest>,
    pub(super) folder: Option<PathBuf>,
    pub(super) stamp: ContentHash,
    pub(super) settings: Arc<PluginSettings>,
    pub(super) guard: Option<PathBuf>,
    pub(super) timing: Timing,
    pub(super) limits: Limits,
}

impl Makings {
    /// Whether a generation made of these can stay when others are wanted.
    pub(super) fn same(&self, other: &Self) -> bool {
        (&self.folder, self.stamp, &self.settings, &self.guard, self.timing, self.limits)
            == (&other.folder, other.stamp, &other.settings, &other.guard, other.timing, other.limits)
            && self.manifest == other.manifest
    }

    /// Where its manifest is, for explanations.
    pub(super) fn origin(&self) -> String {
        match &self.folder {
            Some(folder) => folder.join(super::manifest::FILE).display().to_string(),
            None => "the manifest in this program".to_owned(),
        }
    }
}

pub(super) struct Generation {
    pub(super) number: u64,
    pub(super) makings: Makings,
    hub: Hub,
    launchers: Launchers,
    publisher: Mutex<Option<Publisher>>,
    shown: Mutex<Shown>,
    running: Mutex<Slot>,
    /// Counts starts of its code: what an earlier one tells does not count.
    starts: AtomicU64,
    /// Since when its code is being started, until it has said what it offers.
    starting: Mutex<Option<Instant>>,
    /// Who called it lately: a scope that nobody listed may see it by a grant.
    came: Mutex<Visitors>,
    retired: AtomicBool,
    calls: watch::Sender<usize>,
    /// Woken when its state changes.
    moved: watch::Sender<()>,
    findings: Mutex<VecDeque<String>>,
    /// Says something once to whoever reads the log.
    tell: Box<dyn Fn(&str) + Send + Sync>,
    me: Weak<Generation>,
}

/// What is published.
struct Shown {
    offer: Offer,
    /// Whether its code has said what it offers, so that no definition is a guess.
    told: bool,
    unavailable: Unavailable,
    /// Whether its code wants to offer nothing.
    opted_out: bool,
    state: PluginState,
}

enum Slot {
    Idle,
    Running(Arc<dyn Running>),
    Ended,
}

impl Generation {
    pub(super) fn new(
        number: u64,
        makings: Makings,
        hub: Hub,
        launchers: Launchers,
        unavailable: Unavailable,
        tell: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Arc<Self> {
        let offer = Offer::of_manifest(&makings.manifest);
        let shown = Shown { offer, told: false, unavailable, opted_out: false, state: PluginState::Starting };
        Arc::new_cyclic(|me| Self {
            number,
            makings,
            hub,
            launchers,
            publisher: Mutex::new(None),
            shown: Mutex::new(shown),
            running: Mutex::new(Slot::Idle),
            starts: AtomicU64::new(0),
            starting: Mutex::default(),
            came: Mutex::default(),
            retired: AtomicBool::new(false),
            calls: watch::Sender::new(0),
            moved: watch::Sender::new(()),
            findings: Mutex::default(),
            tell,
            me: me.clone(),
        })
    }

    pub(super) fn source(&self) -> Source {
        Source::Plugin(self.makings.manifest.id.clone())
    }

    /// Publishes what is declared; nothing runs yet.
    pub(super) fn publish(&self) {
        self.publish_as(&self.shown.lock(), SourceState::Starting);
    }

    /// Publishes definitions and what is said of them in one step.
    fn publish_as(&self, shown: &Shown, state: SourceState) {
        let Some(me) = self.me.upgrade() else { return };
        let definitions = shown.offer.definitions.clone();
        let publisher = self.hub.replace(self.source(), self.options(shown), me, state, definitions);
        *self.publisher.lock() = Some(publisher);
    }

    /// Goes by other requirements from now on.
    pub(super) fn relabel(&self, unavailable: Unavailable) {
        let mut shown = self.shown.lock();
        if shown.unavailable != unavailable {
            shown.unavailable = unavailable;
            self.reconfigure(&shown);
        }
    }

    /// Scopes that called it lately.
    pub(super) fn visitors(&self) -> Vec<Scope> {
        self.came.lock().scopes()
    }

    /// Takes over who called its predecessor: they still see it.
    pub(super) fn succeed(&self, old: &Self) {
        *self.came.lock() = old.came.lock().clone();
    }

    /// Publishes what is said of its tools. The caller's lock keeps two of these in order.
    fn reconfigure(&self, shown: &Shown) {
        if !self.retired.load(Ordering::SeqCst) {
            self.hub.reconfigure(&self.source(), self.options(shown));
        }
    }

    fn options(&self, shown: &Shown) -> SourceOptions {
        let origin: Arc<str> = self.makings.origin().into();
        let manifest = &self.makings.manifest;
        let opted_out = shown.opted_out.then(|| {
            Arc::new(Removal {
                rule: "its plugin wants to offer nothing at the moment".to_owned(),
                origin: origin.to_string(),
                fix: "see what the plugin needs".to_owned(),
            })
        });
        let all = shown.unavailable.get("").or(opted_out.as_ref());
        let tools = manifest.tools.iter().map(|tool| {
            let missing = shown.offer.missing.contains(&tool.name).then(|| {
                Arc::new(Removal {
                    rule: "its plugin declares it and does not offer it".to_owned(),
                    origin: origin.to_string(),
                    fix: "mend the plugin, or take the tool out of its manifest".to_owned(),
                })
            });
            let labels = Labels {
                optional: tool.optional,
                permission: tool.permission.map(|caution| match caution {
                    Caution::Ask => Action::Ask,
                    Caution::Deny => Action::Deny,
                }),
                capabilities: manifest.requires.capabilities.union(&tool.requires.capabilities).cloned().collect(),
                unavailable: all.or_else(|| shown.unavailable.get(&tool.name)).cloned().or(missing),
                origin: origin.clone(),
                ..Labels::default()
            };
            (tool.name.clone(), Arc::new(labels))
        });
        SourceOptions {
            summary: Some(manifest.description.clone()),
            tools: tools.collect(),
            generation: self.number,
            ..SourceOptions::default()
        }
    }

    /// Starts it if it is not running, because somebody can see some of it.
    pub(super) fn wake(self: &Arc<Self>) {
        let _ = self.code();
    }

    fn code(self: &Arc<Self>) -> Option<Arc<dyn Running>> {
        let mut slot = self.running.lock();
        match &*slot {
            Slot::Running(running) => Some(running.clone()),
            Slot::Ended => None,
            Slot::Idle => {
                let start_number = self.starts.fetch_add(1, Ordering::SeqCst) + 1;
                self.enter(PluginState::Starting);
                let start = Start {
                    manifest: self.makings.manifest.clone(),
                    folder: self.makings.folder.clone(),
                    settings: self.makings.settings.clone(),
                    guard: self.makings.guard.clone(),
                    timing: self.makings.timing,
                    limits: self.makings.limits,
                    listener: Arc::new(Ear { generation: self.me.clone(), start: start_number }),
                };
                let running = self.launchers.launch(start);
                *slot = Slot::Running(running.clone());
                Some(running)
            }
        }
    }

    /// Ends its code, because nobody can see any of it. It can be woken again.
    pub(super) fn rest(self: &Arc<Self>, reason: String) -> Option<Arc<dyn Running>> {
        let running = {
            let mut slot = self.running.lock();
            match std::mem::replace(&mut *slot, Slot::Idle) {
                Slot::Running(running) => {
                    self.starts.fetch_add(1, Ordering::SeqCst);
                    Some(running)
                }
                Slot::Idle => None,
                Slot::Ended => {
                    *slot = Slot::Ended;
                    return None;
                }
            }
        };
        self.enter(PluginState::Unseen { reason });
        running
    }

    /// From now on it takes no calls and publishes nothing. Comes before its successor publishes, or its source goes.
    pub(super) fn close_door(&self) {
        let shown = self.shown.lock();
        self.retired.store(true, Ordering::SeqCst);
        drop(shown);
        self.moved.send_replace(());
    }

    /// Lets calls under way end for a while, and ends its code.
    pub(super) async fn retire(self: Arc<Self>) {
        self.close_door();
        self.drained().await;
        self.end().await;
    }

    /// Waits until no call is under way, for as long as calls are given.
    pub(super) async fn drained(&self) {
        let mut calls = self.calls.subscribe();
        let _ = timeout(self.makings.timing.drain, calls.wait_for(|calls| *calls == 0)).await;
    }

    /// Ends its code at once, and waits for that.
    pub(super) async fn end(&self) {
        self.close_door();
        let slot = std::mem::replace(&mut *self.running.lock(), Slot::Ended);
        if let Slot::Running(running) = slot {
            running.stop().await;
        }
    }

    pub(super) fn state(&self) -> PluginState {
        self.shown.lock().state.clone()
    }

    pub(super) fn findings(&self) -> Vec<String> {
        self.findings.lock().iter().cloned().collect()
    }

    pub(super) fn vitals(&self) -> Vitals {
        match &*self.running.lock() {
            Slot::Running(running) => running.vitals(),
            Slot::Idle | Slot::Ended => Vitals::default(),
        }
    }

    /// Whether its code offers a tool; `None` until it has said.
    pub(super) fn offers(&self, tool: &str) -> Option<bool> {
        let shown = self.shown.lock();
        shown.told.then(|| !shown.opted_out && shown.offer.missing.iter().all(|missing| missing != tool))
    }

    fn enter(&self, state: PluginState) {
        let published = match &state {
            PluginState::Ready | PluginState::OptedOut => SourceState::Ready,
            PluginState::Starting => SourceState::Starting,
            PluginState::Down { reason } => SourceState::Down { reason: reason.clone() },
            PluginState::Unseen { .. } => SourceState::Disabled,
        };
        *self.starting.lock() = (state == PluginState::Starting).then(Instant::now);
        self.shown.lock().state = state;
        if let Some(publisher) = &*self.publisher.lock() {
            publisher.state(published);
        }
        self.moved.send_replace(());
    }

    fn found(&self, text: &str) {
        let mut findings = self.findings.lock();
        if !findings.iter().any(|known| known == text) {
            if findings.len() >= FINDINGS {
                findings.pop_front();
            }
            findings.push_back(text.to_owned());
        }
        drop(findings);
        (self.tell)(&format!("plugin '{}': {text}", self.makings.manifest.id));
    }

    fn hear(&self, start: u64, news: News) {
        if self.retired.load(Ordering::SeqCst) || self.starts.load(Ordering::SeqCst) != start {
            return;
        }
        match news {
            News::Starting => self.enter(PluginState::Starting),
            News::Down(reason) => {
                (self.tell)(&format!("plugin '{}' is down: {reason}", self.makings.manifest.id));
                self.enter(PluginState::Down { reason });
            }
            News::Odd(text) => self.found(&text),
            News::OptedOut => {
                tracing::debug!(plugin = self.makings.manifest.id, "offers nothing");
                {
                    let mut shown = self.shown.lock();
                    shown.opted_out = true;
                    self.reconfigure(&shown);
                }
                self.enter(PluginState::OptedOut);
            }
            News::Ready(items) => {
                let offer = Offer::of(&self.makings.manifest, &items);
                for odd in &offer.odd {
                    self.found(odd);
                }
                let took = self.starting.lock().take().map(|since| since.elapsed());
                if let Some(took) = took.filter(|took| *took >= self.makings.timing.slow) {
                    self.found(&format!("it took {:.1} s to say what it offers", took.as_secs_f32()));
                }
                let definitions = offer.definitions.clone();
                let mut shown = self.shown.lock();
                let relabel = shown.offer.missing != offer.missing || shown.opted_out;
                shown.offer = offer;
                shown.told = true;
                shown.opted_out = false;
                shown.state = PluginState::Ready;
                if self.retired.load(Ordering::SeqCst) {
                    return;
                }
                // The lock is held while this is published, so that no successor is overwritten.
                if relabel {
                    self.publish_as(&shown, SourceState::Ready);
                } else if let Some(publisher) = &*self.publisher.lock() {
                    publisher.tools(SourceState::Ready, definitions, None, false);
                }
                drop(shown);
                self.moved.send_replace(());
            }
        }
    }

    /// Whether the definition that is shown of a tool lacks what only its code can say, and has not yet.
    fn is_guessed(&self, name: &str) -> bool {
        let declared = self.makings.manifest.tools.iter().find(|tool| tool.name == name);
        declared.is_none_or(|tool| tool.input_schema.is_none()) && !self.shown.lock().told
    }

    /// Starts its code where it does not run, and waits until that has said what it offers, or cannot; never beyond the time
    /// it has to start.
    async fn told(self: &Arc<Self>, cancel: &CancellationToken) {
        let Some(code) = self.code() else { return };
        let began = Instant::now();
        let most = self.makings.manifest.start_timeout + WORTH_WAITING;
        let mut moved = self.moved.subscribe();
        let soon = code.wake();
        loop {
            let patience = match self.state() {
                _ if self.retired.load(Ordering::SeqCst) => return,
                PluginState::Starting => most,
                PluginState::Down { .. } if soon => WORTH_WAITING,
                _ => return,
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                _ = moved.changed() => {}
                () = tokio::time::sleep_until(began + patience) => return,
            }
        }
    }

    /// Why its code has not said what it offers.
    fn silence(&self) -> InvokeError {
        let state = self.state();
        let reason = match &state {
            PluginState::OptedOut => "it offers no tools here",
            other => other.reason().unwrap_or("it is still starting; try again in a moment"),
        };
        InvokeError::Unavailable(format!("plugin '{}': {reason}", self.makings.manifest.id))
    }

    /// Whether a tool is of this generation, and as it is offered now.
    fn is_active(&self, invocation: &Invocation<'_>) -> bool {
        let tool = invocation.tool;
        tool.generation() == self.number
            && !self.retired.load(Ordering::SeqCst)
            && self.hub.catalog().get(tool.id()).is_none_or(|now| now.hash() == tool.hash())
    }
}

impl Backend for Generation {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let _counted = Counted::new(&self.calls);
            // Counted first: whoever retires this waits for the calls that got past here.
            self.came.lock().note(&invocation.context.scope);
            let me = self.is_active(&invocation).then(|| self.me.upgrade()).flatten();
            let mut code = me.as_ref().and_then(Self::code);
            if let Some(me) = me.filter(|_| code.is_some() && self.is_guessed(invocation.tool.name())) {
                // What is run must have been checked against what it takes. Mostly the call path has waited already.
                me.told(&invocation.context.cancel).await;
                if invocation.context.cancel.is_cancelled() {
                    return Err(InvokeError::Cancelled);
                }
                if self.is_guessed(invocation.tool.name()) {
                    return Err(self.silence());
                }
                if !self.is_active(&invocation) {
                    code = None;
                }
            }
            let Some(code) = code else {
                return Ok(ToolResult::error(format!(
                    "This '{}' is no longer active: its plugin '{}' was reloaded, or had not said yet what arguments it takes, \
                     when the tool was looked up. Nothing was run; look the tool up again, then call it.",
                    invocation.tool.name(),
                    self.makings.manifest.id
                )));
            };
            code.invoke(invocation).await
        })
    }

    fn learn<'a>(&'a self, tool: &'a Tool, cancel: &'a CancellationToken) -> Option<BoxFuture<'a, ()>> {
        let active = tool.generation() == self.number && !self.retired.load(Ordering::SeqCst);
        let me = self.me.upgrade().filter(|_| active && self.is_guessed(tool.name()))?;
        Some(Box::pin(async move { me.told(cancel).await }))
    }

    fn check(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Result<(), Violation> {
        self.under_way(tool).map_or(Ok(()), |code| code.check(tool, arguments, scope))
    }

    fn describe_call(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Option<String> {
        self.under_way(tool)?.describe_call(tool, arguments, scope)
    }
}

impl Generation {
    /// The code of a tool that is this generation's, if it runs already: nothing is started for a call of which nothing is
    /// decided yet.
    fn under_way(&self, tool: &Tool) -> Option<Arc<dyn Running>> {
        match &*self.running.lock() {
            Slot::Running(running) if tool.generation() == self.number => Some(running.clone()),
            Slot::Running(_) | Slot::Idle | Slot::Ended => None,
        }
    }
}

/// A call under way.
struct Counted<'a>(&'a watch::Sender<usize>);

impl<'a> Counted<'a> {
    fn new(calls: &'a watch::Sender<usize>) -> Self {
        calls.send_modify(|calls| *calls += 1);
        Self(calls)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

/// Hears what the code of a generation tells, as long as there is that generation.
struct Ear {
    generation: Weak<Generation>,
    start: u64,
}

impl Listener for Ear {
    fn hear(&self, news: News) {
        if let Some(generation) = self.generation.upgrade() {
            generation.hear(self.start, news);
        }
    }
}
