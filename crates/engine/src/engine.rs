//! The engine: everything an embedding program holds on to. Cheap to clone; nothing about it is global.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_core::{
    ContentHash, Scope, Tool,
    bridge::BridgeError,
    explain::{Explanation, explain},
    schema::{SchemaProblem, Validator},
    select::SelectError,
};

use crate::{
    call::{self, CallReport, CallRequest},
    event::{EventSink, Sinks},
    hub::Hub,
    lookup,
    settings::EngineSettings,
    store::ResultStore,
    view::{View, ViewCache},
};

/// Most compiled schemas kept at a time.
const MAX_VALIDATORS: usize = 2_048;

type CompiledSchema = Result<Arc<Validator>, SchemaProblem>;

/// Gathers, selects, shows and runs tools. See [`Engine::view`] and [`Engine::call`].
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Hub,
    settings: ArcSwap<EngineSettings>,
    settings_epoch: AtomicU64,
    views: ViewCache,
    validators: Mutex<HashMap<ContentHash, CompiledSchema>>,
    results: Option<Arc<dyn ResultStore>>,
    sinks: Sinks,
    next_call: AtomicU64,
}

impl Engine {
    /// An engine over a hub. Without `results`, what does not fit a result's budget is lost beyond the preview, and
    /// the notice says so.
    pub fn new(
        hub: Hub,
        settings: EngineSettings,
        results: Option<Arc<dyn ResultStore>>,
        sinks: Vec<Arc<dyn EventSink>>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                hub,
                settings: ArcSwap::from_pointee(settings),
                settings_epoch: AtomicU64::new(0),
                views: ViewCache::default(),
                validators: Mutex::default(),
                results,
                sinks: sinks.into(),
                next_call: AtomicU64::new(1),
            }),
        }
    }

    /// Where sources publish.
    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<EngineSettings> {
        self.inner.settings.load_full()
    }

    /// Replaces the settings whole. Calls under way keep those they began with.
    pub fn replace_settings(&self, settings: EngineSettings) {
        self.inner.settings.store(Arc::new(settings));
        self.inner.settings_epoch.fetch_add(1, Ordering::SeqCst);
        self.inner.hub.touch();
    }

    /// What a scope sees. The same catalog, scope and settings give the same view; it is computed once and shared.
    pub fn view(&self, scope: &Scope) -> Result<Arc<View>, SelectError> {
        // The epoch is read first: a reload in between then costs a rebuild, never a stale view.
        let epoch = self.inner.settings_epoch.load(Ordering::SeqCst);
        let settings = self.inner.settings.load();
        let catalog = self.inner.hub.catalog();
        self.inner.views.get(scope, epoch, &catalog, &settings)
    }

    /// Runs a call through the whole path. Never fails: whatever happens is in the report.
    pub async fn call(&self, request: CallRequest) -> CallReport {
        call::run(self, request).await
    }

    /// Why a tool is shown, deferred, hidden or refused, by exposed name, identity or own name.
    pub fn explain(&self, scope: &Scope, name: &str) -> Result<Vec<Explanation>, SelectError> {
        let view = self.view(scope)?;
        Ok(explain(&self.inner.hub.catalog(), &view.set, &self.settings().assemble, name))
    }

    /// What `tool_search` answers, as a value. `arguments` as the bridge tool takes them.
    pub async fn search(&self, scope: &Scope, arguments: &Value) -> Result<Result<Value, BridgeError>, SelectError> {
        let view = self.view(scope)?;
        Ok(lookup::search_value(self, &view, arguments).await)
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

    pub(crate) fn next_call_id(&self) -> u64 {
        self.inner.next_call.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn sinks(&self) -> &[Arc<dyn EventSink>] {
        &self.inner.sinks
    }

    /// The compiled schema of a tool, compiled at first use.
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
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}
