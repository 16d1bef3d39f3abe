//! Sources whose tools are made for whoever asks. A factory runs on a thread of its own, once per scope, behind a panic
//! barrier; whoever asks waits a moment for it, and goes on without its tools when it takes longer. What it gave is
//! remembered, for a bounded number of scopes.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, value::RawValue};
use toolcrib_core::{Catalog, Scope, Source, SourceEntry, SourceState, Tool, ToolResult, schema::Violation};

use super::{HubLimits, Inner, SourceOptions, build_entry, registry::Said, restate, summary};
use crate::{
    authoring::{FactoryError, ToolFactory, Toolbox},
    backend::{Backend, BoxFuture, Invocation, InvokeError},
};

/// Bounds on sources that make their tools for whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactoryLimits {
    /// How long whoever asks waits for factories, all of them together; then tools come later, with a change of the list.
    /// Default 100 ms.
    pub patience: Duration,
    /// How long a failure is remembered before the factory is asked again. Default 10 s.
    pub retry: Duration,
    /// Most scopes for which one factory works at a time; others are told that it is busy. Default 8.
    pub at_a_time: usize,
    /// Most scopes whose tools are remembered, for each factory; the one unused for longest makes room. Default 256.
    pub remembered: usize,
}

impl Default for FactoryLimits {
    fn default() -> Self {
        Self { patience: Duration::from_millis(100), retry: Duration::from_secs(10), at_a_time: 8, remembered: 256 }
    }
}

/// One such source.
pub(super) struct Scoped {
    source: Source,
    factory: Arc<dyn ToolFactory>,
    hub: Weak<Inner>,
    made: Mutex<Made>,
    done: Condvar,
    // Factories at work, also those whose answer nobody wants any more: a thread cannot be stopped.
    at_work: AtomicUsize,
}

#[derive(Default)]
struct Made {
    slots: HashMap<Scope, Slot>,
    // Says which answer a slot waits for, and when it was last used.
    clock: u64,
}

struct Slot {
    token: u64,
    used: u64,
    /// How many wait for its answer, also when it is there and they have not seen it yet.
    awaited: usize,
    state: SlotState,
}

impl Slot {
    fn is_idle(&self) -> bool {
        self.awaited == 0 && matches!(self.state, SlotState::Ready(_))
    }
}

/// What a scope has to wait for.
enum Begun {
    There(Answer),
    AtWork {
        /// Which answer it is.
        token: u64,
    },
    Refused(SourceState),
}

enum SlotState {
    /// The factory is at work. Whether somebody went on without it.
    Waiting {
        missed: bool,
    },
    Ready(Answer),
}

#[derive(Clone)]
struct Answer {
    entry: Arc<SourceEntry>,
    toolbox: Arc<Toolbox>,
    failed: Option<Instant>,
}

impl Answer {
    fn label(&mut self, options: &SourceOptions, said: Option<&Said>) {
        if !self.entry.tools.is_empty() {
            self.entry = Arc::new(restate(&self.entry, options, said));
        }
    }
}

impl Scoped {
    pub(super) fn new(source: Source, factory: Arc<dyn ToolFactory>, hub: Weak<Inner>) -> Arc<Self> {
        Arc::new(Self {
            source,
            factory,
            hub,
            made: Mutex::default(),
            done: Condvar::new(),
            at_work: AtomicUsize::new(0),
        })
    }

    /// What this scope has of the source, of what was begun for it.
    fn entry(&self, scope: &Scope, begun: Begun, until: Instant) -> Arc<SourceEntry> {
        match self.finish(scope, begun, until) {
            Ok(answer) => answer.entry,
            Err(state) => Arc::new(SourceEntry::new(state, Vec::new(), Vec::new())),
        }
    }

    /// What runs the tools that this scope has.
    fn toolbox(self: &Arc<Self>, scope: &Scope) -> Result<Arc<Toolbox>, String> {
        let hub = self.hub.upgrade().ok_or("its source is gone")?;
        let until = Instant::now() + hub.limits.factories.patience;
        let begun = self.begin(scope, &hub.limits);
        match self.finish(scope, begun, until) {
            Ok(Answer { entry, toolbox, .. }) => match &entry.state {
                SourceState::Down { reason } => Err(reason.clone()),
                _ => Ok(toolbox),
            },
            Err(SourceState::Down { reason }) => Err(reason),
            Err(_) => Err("its tools are still being made".to_owned()),
        }
    }

    /// The scope as far as the factory goes by it.
    fn own<'s>(&self, scope: &'s Scope) -> Cow<'s, Scope> {
        if scope.loaded.is_some() && !self.factory.goes_by_loaded() {
            return Cow::Owned(Scope { loaded: None, ..scope.clone() });
        }
        Cow::Borrowed(scope)
    }

    /// Sets the factory to work unless its answer is there. Whoever asks several begins with all of them, so that they work at
    /// the same time, and [finishes](Self::finish) each.
    fn begin(self: &Arc<Self>, scope: &Scope, limits: &HubLimits) -> Begun {
        let scope = &*self.own(scope);
        let mut made = self.made.lock();
        made.clock += 1;
        let now = made.clock;
        if let Some(slot) = made.slots.get_mut(scope) {
            slot.used = now;
            match &slot.state {
                SlotState::Ready(answer) if answer.failed.is_none_or(|at| at.elapsed() < limits.factories.retry) => {
                    return Begun::There(answer.clone());
                }
                SlotState::Ready(_) => {}
                // Who went on without it once is told when it comes; nobody waits for it twice.
                SlotState::Waiting { missed: true } => return Begun::Refused(SourceState::Starting),
                SlotState::Waiting { missed: false } => {
                    slot.awaited += 1;
                    return Begun::AtWork { token: slot.token };
                }
            }
        }
        match self.start(scope, &mut made, limits) {
            Ok(()) => Begun::AtWork { token: now },
            Err(state) => Begun::Refused(state),
        }
    }

    /// The answer of what was begun, waited for until then.
    fn finish(&self, scope: &Scope, begun: Begun, until: Instant) -> Result<Answer, SourceState> {
        let begun = match begun {
            Begun::There(answer) => return Ok(answer),
            Begun::Refused(state) => return Err(state),
            Begun::AtWork { token } => token,
        };
        let scope = &*self.own(scope);
        let mut made = self.made.lock();
        let mut late = false;
        let found = loop {
            match made.slots.get(scope).map(|slot| &slot.state) {
                Some(SlotState::Ready(answer)) => break Ok(answer.clone()),
                Some(SlotState::Waiting { .. }) if !late => {}
                Some(SlotState::Waiting { .. }) | None => break Err(SourceState::Starting),
            }
            late = self.done.wait_until(&mut made, until).timed_out();
        };
        if let Some(slot) = made.slots.get_mut(scope) {
            if slot.token == begun {
                slot.awaited = slot.awaited.saturating_sub(1);
            }
            if let SlotState::Waiting { missed } = &mut slot.state {
                *missed = true;
            }
        }
        found
    }

    /// Sets the factory to work for a scope.
    fn start(self: &Arc<Self>, scope: &Scope, made: &mut Made, limits: &HubLimits) -> Result<(), SourceState> {
        let down = |reason: String| SourceState::Down { reason };
        if self.at_work.load(Ordering::Acquire) >= limits.factories.at_a_time {
            return Err(down("too many tool sets are being made at the moment; ask again".to_owned()));
        }
        while !made.slots.contains_key(scope) && made.slots.len() >= limits.factories.remembered.max(1) {
            // What is at work, or waited for, stays: there are no more of these than factories at work and threads that wait.
            let idle = made.slots.iter().filter(|(_, slot)| slot.is_idle());
            let Some(oldest) = idle.min_by_key(|(_, slot)| slot.used).map(|(scope, _)| scope.clone()) else { break };
            made.slots.remove(&oldest);
        }
        let token = made.clock;
        let (this, for_whom, limits) = (self.clone(), scope.clone(), *limits);
        self.at_work.fetch_add(1, Ordering::AcqRel);
        let thread = std::thread::Builder::new().name("toolcrib-factory".to_owned());
        if let Err(error) = thread.spawn(move || this.work(&for_whom, token, &limits)) {
            self.at_work.fetch_sub(1, Ordering::AcqRel);
            return Err(down(format!("no thread for its factory: {error}")));
        }
        let slot = Slot { token, used: token, awaited: 1, state: SlotState::Waiting { missed: false } };
        made.slots.insert(scope.clone(), slot);
        Ok(())
    }

    fn work(&self, scope: &Scope, token: u64, limits: &HubLimits) {
        let hub = self.hub.upgrade();
        let options = hub
            .as_ref()
            .and_then(|hub| hub.registry.lock().sources.get(&self.source).map(|registered| registered.options.clone()));
        let options = options.unwrap_or_default();
        let answer = catch_unwind(AssertUnwindSafe(|| self.make(scope, &options, limits)));
        let mut answer = answer.unwrap_or_else(|_| {
            tracing::error!(source = %self.source, "the factory of a source's tools panicked");
            Self::failed(&FactoryError::new("the code that makes its tools failed"), &options)
        });
        self.at_work.fetch_sub(1, Ordering::AcqRel);
        // What is said of the tools now; it does not change before the answer is there to be labelled anew.
        let registry = hub.as_ref().map(|hub| hub.registry.lock());
        if let Some(registry) = &registry {
            let options = registry.sources.get(&self.source).map_or(options, |registered| registered.options.clone());
            answer.label(&options, registry.said(&self.source).as_ref());
        }
        let mut made = self.made.lock();
        let missed = match made.slots.get_mut(scope) {
            Some(slot) if slot.token == token => {
                let missed = matches!(slot.state, SlotState::Waiting { missed: true });
                slot.state = SlotState::Ready(answer);
                missed
            }
            // Asked to be made anew, or forgotten, meanwhile.
            _ => false,
        };
        drop(made);
        drop(registry);
        self.done.notify_all();
        if missed && let Some(hub) = hub {
            hub.wake.send_modify(|count| *count += 1);
        }
    }

    fn make(&self, scope: &Scope, options: &SourceOptions, limits: &HubLimits) -> Answer {
        let (toolbox, within) = match self.factory.tools(scope).and_then(|toolbox| Ok((toolbox, self.within(scope)?))) {
            Ok(given) => given,
            Err(error) => {
                tracing::warn!(source = %self.source, %error, "a source's tools cannot be made");
                return Self::failed(&error, options);
            }
        };
        let mut items = toolbox.definitions_for(scope);
        if let Some(within) = within {
            items.retain(|item| item["name"].as_str().is_some_and(|name| within.contains(name)));
        }
        let entry = self.entry_of(options, limits, SourceState::Ready, items);
        Answer { entry, toolbox: Arc::new(toolbox), failed: None }
    }

    /// What the agents above have: one that they start gets nothing of the source that they lack.
    fn within(&self, scope: &Scope) -> Result<Option<HashSet<String>>, FactoryError> {
        let mut within: Option<HashSet<String>> = None;
        for above in std::iter::successors(scope.parent.as_deref(), |scope| scope.parent.as_deref()) {
            let toolbox = self.factory.tools(above)?;
            let names = toolbox.names().filter(|name| within.as_ref().is_none_or(|within| within.contains(*name)));
            within = Some(names.map(str::to_owned).collect());
        }
        Ok(within)
    }

    fn failed(error: &FactoryError, options: &SourceOptions) -> Answer {
        let reason = error.to_string().chars().take(300).collect();
        let entry = SourceEntry::new(SourceState::Down { reason }, Vec::new(), Vec::new());
        Answer {
            entry: Arc::new(entry.with_summary(summary(options))),
            toolbox: Arc::default(),
            failed: Some(Instant::now()),
        }
    }

    fn entry_of(
        &self,
        options: &SourceOptions,
        limits: &HubLimits,
        state: SourceState,
        items: Vec<Value>,
    ) -> Arc<SourceEntry> {
        Arc::new(build_entry(&self.source, options, limits, state, items, None, false))
    }

    /// Says something else of the tools that were made.
    pub(super) fn relabel(&self, options: &SourceOptions, said: Option<&Said>) {
        for slot in self.made.lock().slots.values_mut() {
            if let SlotState::Ready(answer) = &mut slot.state {
                answer.label(options, said);
            }
        }
    }

    /// Forgets what was made for scopes that fit, and for agents that they started.
    pub(super) fn forget(&self, fits: &dyn Fn(&Scope) -> bool) {
        let concerns = |scope: &Scope| std::iter::successors(Some(scope), |scope| scope.parent.as_deref()).any(fits);
        self.made.lock().slots.retain(|scope, _| !concerns(scope));
        self.done.notify_all();
    }
}

/// Runs each call with the tools that were made for the scope that makes it.
pub(super) struct ByScope(pub(super) Arc<Scoped>);

impl Backend for ByScope {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let toolbox = self.0.toolbox(&invocation.context.scope).map_err(InvokeError::Unavailable)?;
            toolbox.invoke(invocation).await
        })
    }

    fn check(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Result<(), Violation> {
        // Without a toolbox the call goes on to say that it cannot be run.
        self.0.toolbox(scope).map_or(Ok(()), |toolbox| toolbox.check(tool, arguments, scope))
    }

    fn describe_call(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Option<String> {
        self.0.toolbox(scope).ok()?.describe_call(tool, arguments, scope)
    }
}

/// The right to say that a scoped source's tools changed.
#[derive(Clone)]
pub struct ScopedPublisher {
    pub(super) scoped: Arc<Scoped>,
}

impl ScopedPublisher {
    /// The source this speaks for.
    pub fn source(&self) -> &Source {
        &self.scoped.source
    }

    /// Everybody's tools are made anew.
    pub fn refresh(&self) {
        self.refresh_where(|_| true);
    }

    /// The tools of some are made anew: of a user who connected an account, of a tenant whose plan changed.
    pub fn refresh_where(&self, fits: impl Fn(&Scope) -> bool) {
        self.scoped.forget(&fits);
        if let Some(hub) = self.scoped.hub.upgrade() {
            hub.wake.send_modify(|count| *count += 1);
        }
    }
}

/// Catalogs with the entries of scoped sources in place, by scope; as long as nothing changed, the same one is given again.
#[derive(Default)]
pub(super) struct ScopedCatalogs {
    kept: Mutex<(u64, HashMap<Scope, Kept>)>,
}

struct Kept {
    used: u64,
    common: Arc<Catalog>,
    entries: Vec<Arc<SourceEntry>>,
    catalog: Arc<Catalog>,
}

/// Most such catalogs kept at a time.
const MAX_CATALOGS: usize = 256;

impl ScopedCatalogs {
    pub(super) fn get(
        &self,
        scope: &Scope,
        common: &Arc<Catalog>,
        sources: &[Arc<Scoped>],
        limits: &HubLimits,
    ) -> Arc<Catalog> {
        let until = Instant::now() + limits.factories.patience;
        let begun: Vec<_> = sources.iter().map(|scoped| scoped.begin(scope, limits)).collect();
        let entries: Vec<_> =
            sources.iter().zip(begun).map(|(scoped, begun)| scoped.entry(scope, begun, until)).collect();
        let mut kept = self.kept.lock();
        kept.0 += 1;
        let now = kept.0;
        if let Some(found) = kept.1.get_mut(scope)
            && Arc::ptr_eq(&found.common, common)
            && found.entries.len() == entries.len()
            && found.entries.iter().zip(&entries).all(|(a, b)| Arc::ptr_eq(a, b))
        {
            found.used = now;
            return found.catalog.clone();
        }
        let mut all = common.sources().clone();
        for (scoped, entry) in sources.iter().zip(&entries) {
            // One that was removed a moment ago stays away.
            if let Some(place) = all.get_mut(&scoped.source) {
                *place = entry.clone();
            }
        }
        let catalog = Arc::new(Catalog::new(common.generation(), all));
        if kept.1.len() >= MAX_CATALOGS && !kept.1.contains_key(scope) {
            let oldest = kept.1.iter().min_by_key(|(_, kept)| kept.used).map(|(scope, _)| scope.clone());
            if let Some(oldest) = oldest {
                kept.1.remove(&oldest);
            }
        }
        let fresh = Kept { used: now, common: common.clone(), entries, catalog: catalog.clone() };
        kept.1.insert(scope.clone(), fresh);
        catalog
    }
}
