//! The tools that toolcrib brings along: files, a command, web pages, the time, a small memory. One file per tool or
//! family.
//!
//! Anything a caller can do better is said in a tool error, never thrown. Nothing here trusts its arguments: paths are
//! opened beneath allowed folders ([`roots`]), addresses go through the egress guard ([`crate::net`]), and everything
//! read, walked, collected or waited for has a bound.

mod blocking;
mod current_time;
mod definition;
mod edit_file;
mod failure;
mod fetch_url;
mod find_files;
mod key_values;
mod lines;
mod list_directory;
mod read_file;
mod replace;
mod roots;
mod run_command;
mod search_text;
mod settings;
mod tree;
mod write_file;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};
use tokio::sync::{OnceCell, Semaphore};
use toolcrib_core::ToolResult;
use toolcrib_engine::{Backend, BoxFuture, CallContext, Invocation, InvokeError, KeyValueStore};

pub(crate) use self::key_values::namespace;
use self::{failure::Failure, roots::Roots};
pub use self::{
    roots::Root,
    settings::{BuiltinSettings, CommandSettings, Commands, KeyValueSettings, ReadLimits},
};
use crate::net::{self, EgressClient, EgressError};

/// Calls that may use the file system at the same time.
const FILE_JOBS: usize = 8;

/// The built-in tools as a source. Cheap to clone.
#[derive(Clone)]
pub struct Builtins {
    shared: Arc<Shared>,
}

struct Shared {
    settings: BuiltinSettings,
    roots: Roots,
    store: Arc<dyn KeyValueStore>,
    // Made at the first fetch: it reads the platform's certificates.
    client: OnceCell<EgressClient>,
    file_jobs: Arc<Semaphore>,
    // An edit reads, changes and writes: two at once on one file would lose one of them.
    edits: parking_lot::Mutex<()>,
}

/// The names of all built-in tools of this crate, whatever the settings enable.
pub const NAMES: [&str; 13] = [
    "current_time",
    "edit_file",
    "fetch_url",
    "find_files",
    "kv_delete",
    "kv_get",
    "kv_list",
    "kv_set",
    "list_directory",
    "read_file",
    "run_command",
    "search_text",
    "write_file",
];

impl Builtins {
    /// Builds the tools. Touches neither files nor network; a root that does not exist fails the calls that use it.
    pub fn new(settings: BuiltinSettings, store: Arc<dyn KeyValueStore>) -> Self {
        let roots = Roots::new(&settings.roots);
        let shared = Shared {
            settings,
            roots,
            store,
            client: OnceCell::new(),
            file_jobs: Arc::new(Semaphore::new(FILE_JOBS)),
            edits: parking_lot::Mutex::new(()),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The definitions of the tools that the settings enable, in MCP shape, sorted by name. File tools need a root,
    /// the writing ones a writable root, `run_command` needs commands that are allowed, `fetch_url` an egress policy.
    pub fn definitions(&self) -> Vec<Value> {
        let settings = &self.shared.settings;
        let mut definitions = vec![
            current_time::definition(),
            key_values::get(),
            key_values::set(),
            key_values::delete(),
            key_values::list(),
        ];
        if !settings.roots.is_empty() {
            definitions.extend([
                read_file::definition(),
                list_directory::definition(),
                find_files::definition(),
                search_text::definition(),
            ]);
        }
        if settings.roots.iter().any(|root| root.writable) {
            definitions.extend([write_file::definition(), edit_file::definition()]);
        }
        if settings.fetch.is_some() {
            definitions.push(fetch_url::definition());
        }
        if settings.commands.allowed.any() {
            definitions.push(run_command::definition());
        }
        definitions.sort_by(|left, right| left["name"].as_str().cmp(&right["name"].as_str()));
        definitions
    }

    async fn run(&self, name: &str, raw: &RawValue, context: &CallContext) -> Result<ToolResult, InvokeError> {
        let outcome = match name {
            "read_file" => self.on_files(name, raw, context, read_file::run).await,
            "write_file" => self.on_files(name, raw, context, write_file::run).await,
            "edit_file" => self.on_files(name, raw, context, edit_file::run).await,
            "list_directory" => self.on_files(name, raw, context, list_directory::run).await,
            "find_files" => self.on_files(name, raw, context, find_files::run).await,
            "search_text" => self.on_files(name, raw, context, search_text::run).await,
            "run_command" => match arguments(name, raw) {
                Ok(arguments) => return run_command::run(&self.shared, arguments, context).await,
                Err(failure) => Err(failure),
            },
            "fetch_url" => match arguments(name, raw) {
                Ok(arguments) => fetch_url::run(&self.shared, arguments).await,
                Err(failure) => Err(failure),
            },
            "current_time" => arguments(name, raw).and_then(|arguments| current_time::run(&arguments)),
            "kv_get" | "kv_set" | "kv_delete" | "kv_list" => {
                key_values::run(&self.shared, name, raw, &context.scope).await
            }
            _ => Err(Failure::new(format!("there is no built-in tool '{name}'"))),
        };
        Ok(match outcome {
            Ok(text) => ToolResult::text(text),
            Err(Failure(text)) => ToolResult::error(text),
        })
    }

    async fn on_files<A: DeserializeOwned + Send + 'static>(
        &self,
        name: &str,
        raw: &RawValue,
        context: &CallContext,
        work: fn(&Shared, &A, &blocking::Stop) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        let arguments: A = arguments(name, raw)?;
        blocking::run(&self.shared, context, move |shared, stop| work(shared, &arguments, stop)).await
    }
}

impl Backend for Builtins {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let context = invocation.context;
            let allotted = context.remaining();
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(InvokeError::Cancelled),
                outcome = Box::pin(self.run(invocation.tool.name(), invocation.arguments, context)) => outcome,
                () = tokio::time::sleep_until(context.deadline) => Err(InvokeError::TimedOut(allotted)),
            }
        })
    }
}

impl Shared {
    async fn client(&self) -> Result<&EgressClient, Failure> {
        let Some(policy) = &self.settings.fetch else {
            return Err(Failure::new("fetching is switched off in the configuration"));
        };
        self.client
            .get_or_try_init(|| async { net::client(policy.clone()) })
            .await
            .map_err(|error: EgressError| Failure::new(error.to_string()))
    }
}

fn arguments<A: DeserializeOwned>(tool: &str, raw: &RawValue) -> Result<A, Failure> {
    serde_json::from_str(raw.get())
        .map_err(|error| Failure::new(format!("{tool} cannot take these arguments: {error}")))
}
