//! Finds the store that a call is for, and runs the five tools.

use std::{collections::BTreeMap, fmt, sync::Arc};

use parking_lot::RwLock;
use serde_json::{Value, json};
use toolcrib_core::{Source, SourceState, ToolResult};

use super::{
    BadSpec, ListQuery, Owner, Store, StoreFault, StoreSpec,
    arguments::Arguments,
    definitions::{self, STORE_ACTION, STORE_DELETE, STORE_GET, STORE_LIST, STORE_SET},
    overview,
};
use crate::{
    backend::{Backend, BoxFuture, CallContext, Invocation, InvokeError},
    hub::{Hub, SourceOptions},
};

/// Most entries that one page of `store_list` has.
pub(super) const MAX_PAGE: usize = 200;
/// Entries of a page if the call does not say.
const PAGE: usize = 50;
/// Most stores of one router: each takes a line in five descriptions.
const MAX_STORES: usize = 32;

/// Lets the application say otherwise what a store is before it is shown to a model; the id and the actions stay.
pub type PromptView = Arc<dyn Fn(&StoreSpec) -> StoreSpec + Send + Sync>;

/// A store that cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Duplicate {
    /// There is one of this id.
    #[error("there is a store '{0}' already; remove it first or choose another id")]
    Id(String),
    /// Its description cannot be used.
    #[error(transparent)]
    Spec(#[from] BadSpec),
    /// There are too many.
    #[error("there are {MAX_STORES} stores, which is the most")]
    Full,
}

/// The stores of the five tools. Cheap to clone; clones are the same router.
#[derive(Clone)]
pub struct Router {
    shared: Arc<Shared>,
}

struct Shared {
    stores: RwLock<BTreeMap<String, Held>>,
    view: Option<PromptView>,
    published: RwLock<Option<(Hub, Source)>>,
}

#[derive(Clone)]
struct Held {
    spec: StoreSpec,
    store: Arc<dyn Store>,
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("stores", &self.ids()).finish_non_exhaustive()
    }
}

/// Builds a [`Router`].
#[derive(Default)]
pub struct RouterBuilder {
    view: Option<PromptView>,
}

impl RouterBuilder {
    /// Shows stores to models as `view` says.
    #[must_use]
    pub fn prompt_view(mut self, view: impl Fn(&StoreSpec) -> StoreSpec + Send + Sync + 'static) -> Self {
        self.view = Some(Arc::new(view));
        self
    }

    /// The router, without stores.
    pub fn build(self) -> Router {
        let shared = Shared { stores: RwLock::default(), view: self.view, published: RwLock::default() };
        Router { shared: Arc::new(shared) }
    }
}

impl Default for Router {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl Router {
    /// A router to be set up.
    pub fn builder() -> RouterBuilder {
        RouterBuilder::default()
    }

    /// Adds a store. The tools of a router that was [published](Self::publish) describe it from then on (oneringai case
    /// 117).
    pub fn add(&self, store: Arc<dyn Store>) -> Result<(), Duplicate> {
        let spec = store.spec();
        spec.check()?;
        {
            let mut stores = self.shared.stores.write();
            if stores.contains_key(&spec.id) {
                return Err(Duplicate::Id(spec.id));
            }
            if stores.len() >= MAX_STORES {
                return Err(Duplicate::Full);
            }
            stores.insert(spec.id.clone(), Held { spec, store });
        }
        self.republish();
        Ok(())
    }

    /// Takes a store out. Calls that are with it end as they would have.
    pub fn remove(&self, id: &str) -> Option<Arc<dyn Store>> {
        let removed = self.shared.stores.write().remove(id);
        if removed.is_some() {
            self.republish();
        }
        removed.map(|held| held.store)
    }

    /// The store of this id.
    pub fn get(&self, id: &str) -> Option<Arc<dyn Store>> {
        self.shared.stores.read().get(id).map(|held| held.store.clone())
    }

    /// What the stores say of themselves, sorted by id.
    pub fn schemas(&self) -> Vec<StoreSpec> {
        self.shared.stores.read().values().map(|held| held.spec.clone()).collect()
    }

    /// The ids, sorted.
    pub fn ids(&self) -> Vec<String> {
        self.shared.stores.read().keys().cloned().collect()
    }

    /// The definitions of the five tools as they are now, in MCP shape, sorted by name.
    pub fn definitions(&self) -> Vec<Value> {
        definitions::definitions(&self.shown())
    }

    /// A block for a prompt that says which stores there are; `None` without stores.
    pub fn overview(&self) -> Option<String> {
        overview::overview(&self.shown())
    }

    /// Publishes the five tools as the tools of `source`, now and whenever stores come or go.
    pub fn publish(&self, hub: &Hub, source: Source) {
        *self.shared.published.write() = Some((hub.clone(), source));
        self.republish();
    }

    fn republish(&self) {
        // Held while publishing: of two changes at once the later list must be the one that stays.
        let published = self.shared.published.write();
        let Some((hub, source)) = &*published else { return };
        let backend = Arc::new(self.clone());
        hub.replace(source.clone(), SourceOptions::default(), backend, SourceState::Ready, self.definitions());
    }

    fn shown(&self) -> Vec<StoreSpec> {
        let specs = self.schemas();
        let Some(view) = &self.shared.view else { return specs };
        specs
            .into_iter()
            .map(|spec| {
                let shown = StoreSpec { id: spec.id.clone(), actions: spec.actions.clone(), ..view(&spec) };
                if shown.check().is_ok() { shown } else { spec }
            })
            .collect()
    }

    fn held(&self, id: &str) -> Result<Held, StoreFault> {
        let stores = self.shared.stores.read();
        stores.get(id).cloned().ok_or_else(|| {
            let known: Vec<&str> = stores.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let asked: String = id.chars().filter(|c| !c.is_control()).take(64).collect();
            StoreFault::new(format!("there is no store '{asked}'; stores: {known}"))
        })
    }

    /// Runs one of the five tools, with the arguments' exact text.
    pub async fn run(&self, tool: &str, arguments: &str, context: &CallContext) -> ToolResult {
        match self.answer(tool, arguments, context).await {
            Ok(answer) => ToolResult::structured(&answer),
            Err(fault) => ToolResult::error(fault.to_string()),
        }
    }

    async fn answer(&self, tool: &str, arguments: &str, context: &CallContext) -> Result<Value, StoreFault> {
        let mut arguments = Arguments::read(arguments)?;
        let id = arguments.text("store")?;
        let Held { spec, store } = self.held(&id)?;
        let owner = Owner::of(&context.scope);
        match tool {
            STORE_GET => {
                if let Some(key) = arguments.optional_key()? {
                    let entry = store.get(&owner, &key).await?;
                    return Ok(json!({"found": entry.is_some(), "key": key, "entry": entry}));
                }
                let after = arguments.optional_text("after")?;
                let page = store.list(&owner, ListQuery { after, limit: PAGE, ..ListQuery::default() }).await?;
                let mut entries = Vec::with_capacity(page.entries.len());
                for short in &page.entries {
                    let Some(key) = short["key"].as_str() else { continue };
                    // One that went in the meantime is left out.
                    if let Some(entry) = store.get(&owner, key).await? {
                        entries.push(json!({"key": key, "entry": entry}));
                    }
                }
                Ok(with_next(json!({"entries": entries, "total": page.total}), page.next))
            }
            STORE_SET => {
                let key = arguments.key()?;
                let fields = arguments.rest("data");
                let kept = store.set(&owner, &key, fields).await?;
                Ok(json!({"stored": true, "key": key, "entry": kept}))
            }
            STORE_DELETE => {
                let key = arguments.key()?;
                let deleted = store.delete(&owner, &key).await?;
                Ok(json!({"deleted": deleted, "key": key}))
            }
            STORE_LIST => {
                let after = arguments.optional_text("after")?;
                let limit = arguments.limit(PAGE, MAX_PAGE)?;
                let query = ListQuery { filter: arguments.rest("filter"), after, limit };
                let page = store.list(&owner, query).await?;
                Ok(with_next(json!({"entries": page.entries, "total": page.total}), page.next))
            }
            STORE_ACTION => {
                let name = arguments.text("action")?;
                let confirmed = arguments.confirmed();
                let Some(action) = spec.action(&name) else {
                    let known: Vec<&str> = spec.actions.iter().map(|action| action.name.as_str()).collect();
                    let known = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
                    let asked: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
                    return Err(StoreFault::new(format!("store '{id}' has no action '{asked}'; actions: {known}")));
                };
                if action.destructive && !confirmed {
                    return Err(StoreFault::new(format!(
                        "'{name}' of store '{id}' destroys something: {} Call it again with confirm: true (true itself, not a text) if that is meant",
                        action.description
                    )));
                }
                store.act(&owner, &name, arguments.rest("params"), context).await
            }
            _ => Err(StoreFault::new(format!("there is no store tool '{tool}'"))),
        }
    }
}

fn with_next(mut answer: Value, next: Option<String>) -> Value {
    if let Some(next) = next {
        answer["next"] = next.into();
    }
    if answer["total"].is_null()
        && let Some(answer) = answer.as_object_mut()
    {
        answer.remove("total");
    }
    answer
}

impl Backend for Router {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let context = invocation.context;
            let allotted = context.remaining();
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(InvokeError::Cancelled),
                result = self.run(invocation.tool.name(), invocation.arguments.get(), context) => Ok(result),
                () = tokio::time::sleep_until(context.deadline) => Err(InvokeError::TimedOut(allotted)),
            }
        })
    }
}
