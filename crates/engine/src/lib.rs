//! The embeddable heart of toolcrib: sources publish into a catalog, scopes see a view of it, calls run through one path.
//!
//! Never knows: MCP, SQL, HTTP, configuration files. Nothing here is global; every [`Engine`] stands alone.

pub mod admit;
pub mod approval;
pub mod authoring;
pub mod backend;
mod call;
pub mod categories;
mod clock;
pub mod damage;
pub mod encoder;
mod engine;
pub mod event;
pub mod handle;
pub mod hub;
pub mod identity;
mod index_cache;
pub mod intercept;
pub mod journal;
mod lookup;
pub mod manager;
pub mod pending;
pub mod permission;
mod provider_turn;
pub mod results;
pub mod settings;
pub mod stats;
pub mod store;
pub mod store_tools;
mod turns;
pub mod usage;
mod view;

pub use backend::{Backend, BoxFuture, CallContext, Invocation, InvokeError, Late, Progress, ProgressSink};
pub use call::{CallReply, CallReport, CallRequest, Cause, Evidence, Timings};
pub use engine::{Engine, EngineBuilder, Judgement, WeakEngine};
pub use event::{CallEvent, Door, EventSink, LogSink, Outcome};
pub use hub::{FactoryLimits, Hub, HubLimits, Publisher, ScopedPublisher, SourceOptions};
pub use identity::{Identity, Principal};
pub use index_cache::IndexCache;
pub use permission::PermissionSettings;
pub use provider_turn::turn_results;
pub use settings::{CallLimits, EngineSettings, ResultSettings, Trust, Untrusted};
pub use store::{
    DefinitionStore, ExperienceStore, KeyValueStore, Learnt, ResultStore, StoreError, StoredDefinitions, VectorStore,
};
pub use view::{Unservable, View};
