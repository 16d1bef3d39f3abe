//! The engine: everything an embedding program holds on to. Cheap to clone; nothing about it is global.

mod builder;
mod in_force;

use std::{
    borrow::Cow,
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{
    ContentHash, Scope, SourceState, Tool, ToolResult,
    breaker::BreakerState,
    bridge::BridgeError,
    explain::{Explanation, explain},
    permission::{Effect, Risk},
    schema::{SchemaProblem, Validator},
    select::SelectError,
};

pub use builder::EngineBuilder;
pub(crate) use in_force::InForce;

use crate::{
    admit::{Admission, BreakerReport, Guarded},
    approval::{Approvals, Asked, Asker},
    call::{self, CallReply, CallReport, CallRequest},
    categories::Loads,
    clock::now_ms,
    encoder::Encoding,
    event::{Door, EventSink, Sinks},
    hub::Hub,
    identity::{Identity, Principal},
    intercept::Interceptors,
    journal::{Journal, Kind},
    lookup,
    pending::PendingWork,
    permission::{Decision, Policy, Question, Verdict},
    settings::EngineSettings,
    store::ResultStore,
    turns::Turns,
    usage::Learner,
    view::{Unservable, View, ViewCache},
};

/// Most compiled schemas kept at a time.
const MAX_VALIDATORS: usize = 2_048;

type CompiledSchema = Result<Arc<Validator>, SchemaProblem>;

/// What would be decided about a call.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The decision.
    pub decision: Decision,
    /// What each policy says, in order; the trust level last.
    pub opinions: Vec<(String, Verdict)>,
    /// How much could go wrong.
    pub risk: Risk,
    /// What the tool does.
    pub effect: Effect,
    /// What keeps every call of it from running at the moment, whatever is decided: its source, its circuit, or something
    /// else that the scope cannot do without.
    pub hindrance: Option<String>,
}

/// Gathers, selects, shows and runs tools. See [`Engine::view`] and [`Engine::call`].
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Hub,
    in_force: ArcSwap<InForce>,
    settings_epoch: AtomicU64,
    policies: Vec<Arc<dyn Policy>>,
    views: ViewCache,
    validators: Mutex<HashMap<ContentHash, CompiledSchema>>,
    output_validators: Mutex<HashMap<ContentHash, Option<Arc<Validator>>>>,
    results: Option<Arc<dyn ResultStore>>,
    sinks: Sinks,
    interceptors: Interceptors,
    admission: Admission,
    approvals: Option<Arc<Approvals>>,
    asker: Option<Arc<dyn Asker>>,
    journal: Option<Journal>,
    pending: Option<PendingWork>,
    learner: Option<Learner>,
    encoding: Option<Encoding>,
    turns: Turns,
    loads: Loads,
    next_call: AtomicU64,
}

/// An engine that is not kept alive, for what the engine itself holds on to.
#[derive(Clone)]
pub struct WeakEngine(Weak<Inner>);

impl WeakEngine {
    /// The engine, while there is one.
    pub fn upgrade(&self) -> Option<Engine> {
        self.0.upgrade().map(|inner| Engine { inner })
    }
}

impl Engine {
    /// An engine over a hub, with everything else that it may have to be added.
    pub fn builder(hub: Hub) -> EngineBuilder {
        EngineBuilder::new(hub)
    }

    /// An engine without approvals, journal and background work: what must be asked about is refused. Without `results`,
    /// what does not fit a result's budget is lost beyond the preview, and the notice says so.
    pub fn new(
        hub: Hub,
        settings: EngineSettings,
        results: Option<Arc<dyn ResultStore>>,
        sinks: Vec<Arc<dyn EventSink>>,
    ) -> Self {
        let mut builder = Self::builder(hub).settings(settings);
        if let Some(results) = results {
            builder = builder.results(results);
        }
        sinks.into_iter().fold(builder, EngineBuilder::sink).build()
    }

    /// Where sources publish.
    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<EngineSettings> {
        self.inner.in_force.load().settings.clone()
    }

    /// Replaces the settings whole. Calls under way keep those they began with.
    pub fn replace_settings(&self, settings: EngineSettings) {
        self.inner.admission.replace_settings(settings.admission.clone());
        let previous = self.in_force();
        self.inner.in_force.store(Arc::new(InForce::new(settings, &self.inner.policies, Some(&previous))));
        self.inner.settings_epoch.fetch_add(1, Ordering::SeqCst);
        self.inner.hub.touch();
    }

    /// The engine without keeping it alive.
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.inner))
    }

    /// What a scope is served, at every door. The same catalog, scope and settings give the same view; it is computed once and
    /// shared. A view that lacks a required tool is not handed out, except that what a source which is still starting may yet
    /// bring does not count as missing. Where categories are loaded, a scope that does not say what is loaded sees what those
    /// without a session have loaded ([`Engine::in_session`]).
    pub fn view(&self, scope: &Scope) -> Result<Arc<View>, Unservable> {
        let view = self.inspect(scope)?;
        match &view.set.incomplete {
            Some(incomplete) if incomplete.withholds() => Err(Unservable::Incomplete(incomplete.clone())),
            _ => Ok(view),
        }
    }

    /// The same view whether or not anything required is missing from it. For diagnosis, never to serve from.
    pub fn inspect(&self, scope: &Scope) -> Result<Arc<View>, SelectError> {
        let scope = &*self.settled(scope);
        // The epoch is read first: a reload in between then costs a rebuild, never a stale view.
        let epoch = self.inner.settings_epoch.load(Ordering::SeqCst);
        let in_force = self.inner.in_force.load();
        let catalog = self.inner.hub.catalog_for(scope);
        let common = self.inner.hub.catalog().hash();
        self.inner.views.get(scope, epoch, &catalog, common, &in_force.settings)
    }

    /// The view of a scope to describe these tools from: what their sources have still to say of them is waited for
    /// ([`Backend::learn`](crate::Backend::learn)). Names that lead nowhere are left alone.
    pub async fn view_to_describe(&self, scope: &Scope, names: &[String]) -> Result<Arc<View>, Unservable> {
        let view = self.view(scope)?;
        let waited = self.learn(&lookup::tools(&view, names), &CancellationToken::new()).await;
        if waited { self.view(scope) } else { Ok(view) }
    }

    /// Waits until the sources of these tools have said what their definitions are, where they have not yet. Whether there was
    /// anything to wait for: then the view is to be asked for anew.
    pub(crate) async fn learn(&self, tools: &[Arc<Tool>], cancel: &CancellationToken) -> bool {
        let backends: Vec<_> =
            tools.iter().filter_map(|tool| Some((tool, self.inner.hub.backend(tool.source())?))).collect();
        let waits: Vec<_> = backends.iter().filter_map(|(tool, backend)| backend.learn(tool, cancel)).collect();
        if waits.is_empty() {
            return false;
        }
        // Whatever becomes of it, the definition that is there by then is what counts.
        let all = AssertUnwindSafe(futures_util::future::join_all(waits)).catch_unwind();
        if all.await.is_err() {
            tracing::error!("the code that says what a tool's definition is panicked");
        }
        true
    }

    /// Runs a call through the whole path and gives what the caller is to get. Never fails: failures are replies.
    pub async fn call(&self, request: CallRequest) -> CallReply {
        self.call_report(request).await.reply
    }

    /// The same with everything that is known of the call afterwards.
    pub async fn call_report(&self, request: CallRequest) -> CallReport {
        call::run(self, request).await
    }

    /// Why a tool is shown, deferred, hidden or refused, by exposed name, identity or own name.
    pub fn explain(&self, scope: &Scope, name: &str) -> Result<Vec<Explanation>, SelectError> {
        let scope = &*self.settled(scope);
        let view = self.inspect(scope)?;
        Ok(explain(&self.inner.hub.catalog_for(scope), &view.set, &self.settings().assemble, name))
    }

    /// What would be decided about a call of this tool with these arguments, and what each policy says of it in the order
    /// in which they are asked. `None` when no call of the scope's can reach the tool. For diagnosis: nothing is counted, asked
    /// or run.
    pub async fn judge(
        &self,
        scope: &Scope,
        identity: &Identity,
        explained: &Explanation,
        arguments: &Value,
    ) -> Result<Option<Judgement>, SelectError> {
        let view = self.inspect(scope)?;
        let exposed = explained.name.as_str();
        // Another tool may have the name that this one would have.
        let Some(tool) = view.set.tool(exposed).filter(|_| explained.fate.is_reachable()) else { return Ok(None) };
        let mut raw = serde_json::value::to_raw_value(arguments).unwrap_or_default();
        // Of several that it stands for, the one that the arguments name, with the arguments that it would get; else the
        // first.
        let mut chosen = None;
        if let Some(merged) = view.set.merged(exposed) {
            match merged.choose(Some(&raw)) {
                Ok((member, rest)) => {
                    chosen = Some(member);
                    raw = rest.unwrap_or_default();
                }
                Err(_) => chosen = merged.members.values().next(),
            }
        }
        let tool = chosen.unwrap_or(tool);
        let arguments = &serde_json::from_str::<Value>(raw.get()).unwrap_or_else(|_| arguments.clone());
        let in_force = self.in_force();
        let assessment = in_force.chain.assess(tool, exposed);
        let question = Question {
            tool,
            exposed,
            arguments,
            raw: &raw,
            scope,
            identity,
            door: Door::Library,
            assessment: &assessment,
            now_ms: now_ms(),
        };
        Ok(Some(Judgement {
            decision: in_force.chain.decide(&question).await,
            opinions: in_force.chain.explain(&question).await,
            risk: assessment.risk,
            effect: assessment.effect,
            hindrance: self.hindrance(&view, explained),
        }))
    }

    fn hindrance(&self, view: &View, explained: &Explanation) -> Option<String> {
        if let Some(incomplete) = view.set.incomplete.as_ref().filter(|incomplete| incomplete.withholds()) {
            return Some(format!("nothing is served here, because {}", incomplete.told()));
        }
        let source = &explained.id.source;
        match &explained.source {
            SourceState::Ready => {}
            SourceState::Starting => return Some(format!("{source} is still starting")),
            SourceState::Down { reason } => return Some(format!("{source} is down ({reason})")),
            SourceState::Disabled => return Some(format!("{source} is there to be looked at, not to be called")),
        }
        let stands_before = |guarded: &Guarded| match guarded {
            Guarded::Source(of) => of == source,
            Guarded::Tool(id) => *id == explained.id,
        };
        let mut circuits = self.admission().breakers().into_iter();
        let open =
            |report: &BreakerReport| report.snapshot.state == BreakerState::Open && stands_before(&report.key.guarded);
        circuits.find(open).map(|report| format!("the circuit of {} is open after too many faults", report.key))
    }

    /// What `tool_search` answers, as a value. `arguments` as the bridge tool takes them.
    pub async fn search(&self, scope: &Scope, arguments: &Value) -> Result<Result<Value, BridgeError>, Unservable> {
        let view = self.view(scope)?;
        Ok(lookup::search_value(self, &view, arguments, scope, None).await)
    }

    /// The same on behalf of a caller: noted in the journal, and learnt from where that is wanted.
    pub async fn search_as(
        &self,
        scope: &Scope,
        identity: &Identity,
        door: Door,
        arguments: &Value,
    ) -> Result<Result<Value, BridgeError>, Unservable> {
        let scope = &self.in_session(scope.clone(), identity.session.as_deref());
        let view = self.view(scope)?;
        let principal = Principal::of(scope, identity);
        Ok(lookup::search_value(self, &view, arguments, scope, Some((&principal, door))).await)
    }

    /// What of a tool's schema is not enforced when its arguments are checked, if anything; for diagnosis.
    pub fn unchecked(&self, tool: &Tool) -> Vec<String> {
        match self.validator(tool) {
            Ok(validator) => validator
                .unchecked()
                .iter()
                .map(|part| {
                    format!(
                        "{} at {} is not checked: {}",
                        part.keyword,
                        if part.place.is_empty() { "the root" } else { &part.place },
                        part.why
                    )
                })
                .collect(),
            Err(problem) => vec![format!("nothing is checked: {problem}")],
        }
    }

    /// Code of the embedding program around calls.
    pub fn interceptors(&self) -> &Interceptors {
        &self.inner.interceptors
    }

    /// What runs when: circuit breakers, rates, concurrency.
    pub fn admission(&self) -> &Admission {
        &self.inner.admission
    }

    /// Who was asked and what was granted, if anybody can be.
    pub fn approvals(&self) -> Option<&Arc<Approvals>> {
        self.inner.approvals.as_ref()
    }

    /// The record of calls, if there is one.
    pub fn journal(&self) -> Option<&Journal> {
        self.inner.journal.as_ref()
    }

    /// What is learnt from use, if anything is.
    pub fn learner(&self) -> Option<&Learner> {
        self.inner.learner.as_ref()
    }

    /// The encoder of searches, if there is one beside the built-in table.
    pub fn encoding(&self) -> Option<&Encoding> {
        self.inner.encoding.as_ref()
    }

    /// Work that outlives its call, if it can be held.
    pub fn pending(&self) -> Option<&PendingWork> {
        self.inner.pending.as_ref()
    }

    /// The name of this process's run in the journal; empty without one.
    pub fn run(&self) -> &str {
        self.inner.journal.as_ref().map_or("", Journal::run)
    }

    pub(crate) fn asker(&self) -> Option<&Arc<dyn Asker>> {
        self.inner.asker.as_ref()
    }

    pub(crate) fn in_force(&self) -> Arc<InForce> {
        self.inner.in_force.load_full()
    }

    pub(crate) fn loads(&self) -> &Loads {
        &self.inner.loads
    }

    /// The scope with what is loaded, where that counts.
    fn settled<'s>(&self, scope: &'s Scope) -> Cow<'s, Scope> {
        if scope.loaded.is_some() || self.inner.in_force.load().book().is_none() {
            return Cow::Borrowed(scope);
        }
        Cow::Owned(self.in_session(scope.clone(), None))
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.inner.turns
    }

    pub(crate) fn next_call_id(&self) -> u64 {
        self.inner.next_call.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn sinks(&self) -> &[Arc<dyn EventSink>] {
        &self.inner.sinks
    }

    /// The compiled schema of a tool's arguments, compiled at first use.
    pub(crate) fn validator(&self, tool: &Tool) -> CompiledSchema {
        let hash = tool.hash();
        if let Some(found) = self.inner.validators.lock().get(&hash) {
            return found.clone();
        }
        let compiled = Validator::compile_within(tool.input_schema(), &self.inner.hub.limits().schema).map(Arc::new);
        let mut validators = self.inner.validators.lock();
        if validators.len() >= MAX_VALIDATORS {
            validators.clear();
        }
        validators.insert(hash, compiled.clone());
        compiled
    }

    /// The compiled schema of a tool's structured results, if it declares one that compiles.
    pub(crate) fn output_validator(&self, tool: &Tool) -> Option<Arc<Validator>> {
        let schema = tool.output_schema()?;
        let hash = tool.hash();
        if let Some(found) = self.inner.output_validators.lock().get(&hash) {
            return found.clone();
        }
        let compiled = Validator::compile_within(schema, &self.inner.hub.limits().schema).ok().map(Arc::new);
        let mut validators = self.inner.output_validators.lock();
        if validators.len() >= MAX_VALIDATORS {
            validators.clear();
        }
        validators.insert(hash, compiled.clone());
        compiled
    }

    /// Keeps a whole result for later reading; `None` if there is nowhere to keep it or it could not be kept.
    pub(crate) async fn keep_result(&self, scope: &Scope, text: &str, keep: Duration) -> Option<String> {
        let store = self.inner.results.as_ref()?;
        let expires = now_ms().saturating_add(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
        match store.put(&crate::results::owner(scope), text.to_owned(), expires).await {
            Ok(handle) => Some(handle),
            Err(error) => {
                tracing::warn!(%error, "a large result could not be kept");
                None
            }
        }
    }

    /// Notes in the journal that a person was asked, and what came of it.
    pub(crate) async fn note_asked(&self, asked: &Asked, principal: &Principal, tool: &Tool, call_id: u64) {
        let Some(journal) = self.journal() else { return };
        let (kind, detail): (Kind, Cow<'_, str>) = match asked {
            Asked::Approved { authority, .. } => (Kind::Answered, authority.as_str().into()),
            Asked::Denied { reason, .. } => (Kind::Answered, format!("denied: {reason}").into()),
            Asked::Parked { id, reason, .. } => (Kind::Asked, format!("request {id}: {reason}").into()),
            Asked::Later { request } => (Kind::Asked, format!("request {}", request.id).into()),
            Asked::Cancelled { .. } => (Kind::Answered, "cancelled while waiting".into()),
        };
        let mut record = journal.record(kind);
        record.call = call_id;
        record.principal = principal.clone();
        record.tool = Some(tool.id().to_string());
        record.detail = Some(detail.chars().take(2_000).collect());
        if let Err(error) = journal.note(record).await {
            tracing::debug!(%error, "a record waits for the journal");
        }
    }
}

/// A result of an engine call as text, for quick use of the library.
impl From<CallReply> for ToolResult {
    fn from(reply: CallReply) -> Self {
        match reply {
            CallReply::Result(result) => result,
            CallReply::Protocol { message, .. } => Self::error(message),
            CallReply::Question(request) => {
                Self::error(format!("Nothing was run yet: a person has to approve it first (request {}).", request.id))
            }
        }
    }
}
