//! The library as a door: an engine in this process, with the store of the scene, and a source that does what the tool
//! server does.

use std::{
    fs::File,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::value::RawValue;
use toolcrib::{
    core::{Scope, Source, SourceState, ToolResult},
    engine::{
        Backend, BoxFuture, CallReply, CallRequest, Door, Engine, EngineSettings, Hub, HubLimits, Identity, Invocation,
        InvokeError, SourceOptions, StoreError,
        approval::{ApprovalSettings, Approvals},
        intercept::Interceptor,
        journal::{
            Begun, Claim, ClaimResult, Journal, JournalFilter, JournalRecord, JournalSettings, JournalStore,
            StoredRecord,
        },
    },
    store::{SqliteSettings, SqliteStore},
};

use super::doors::Seen;
use crate::{scene::Scene, upstream};

/// How the engine is made.
pub(crate) struct Made {
    pub(crate) settings: fn(&mut EngineSettings, &str),
    pub(crate) interceptor: Option<fn() -> Arc<dyn Interceptor>>,
}

/// A program that embeds toolcrib.
pub(crate) struct Library {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    disk: Arc<Disk>,
}

impl Library {
    pub(crate) fn new(scene: &Scene, made: &Made) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (store, _) = SqliteStore::open_with(scene.store(), &SqliteSettings::default()).unwrap();
        let store = Arc::new(store);
        let disk = Arc::new(Disk { store: store.clone(), full: AtomicBool::new(false) });
        let hub = Hub::new(HubLimits::default());
        let observed = File::options().append(true).create(true).open(scene.observed()).unwrap();
        let options = SourceOptions { trust_hints: true, ..SourceOptions::default() };
        let publisher = hub.register(Source::Mcp("up".into()), options, Arc::new(Writer(observed)));
        publisher.tools(SourceState::Ready, upstream::tools(), None, false);
        let mut settings = EngineSettings::default();
        (made.settings)(&mut settings, scene.folder());
        let journal = runtime.block_on(Journal::open(disk.clone(), JournalSettings::default())).unwrap();
        let _running = runtime.enter();
        let mut builder = Engine::builder(hub)
            .settings(settings)
            .results(store.clone())
            .approvals(Arc::new(Approvals::new(store, ApprovalSettings::default())))
            .journal(journal);
        if let Some(interceptor) = made.interceptor {
            builder = builder.interceptor(interceptor());
        }
        let engine = builder.build();
        Self { runtime, engine, disk }
    }

    pub(crate) fn call(&self, tool: &str, arguments: &str) -> Seen {
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let mut request = CallRequest::new(tool, Some(arguments), Scope::default(), Door::Library);
        request.identity = Arc::new(Identity { roles: vec!["robot".to_owned()], ..Identity::default() });
        let report = self.runtime.block_on(self.engine.call_report(request));
        let text = match report.reply {
            CallReply::Result(result) => result.to_text(),
            CallReply::Protocol { message, .. } => message,
            CallReply::Question(request) => request.description.clone(),
        };
        Seen::library(report.outcome, text)
    }

    pub(crate) fn fill_disk(&self, full: bool) {
        self.disk.full.store(full, Ordering::SeqCst);
    }
}

/// Does what the tool server does.
struct Writer(File);

impl Backend for Writer {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let mut observed = self.0.try_clone().unwrap();
            let result = upstream::run(&mut observed, invocation.tool.name(), invocation.arguments.get());
            ToolResult::from_raw(RawValue::from_string(result).unwrap())
                .map_err(|error| InvokeError::BadAnswer(error.to_string()))
        })
    }
}

/// The store behind a disk that can be full. The process of this test must be able to write, so its own is not.
struct Disk {
    store: Arc<SqliteStore>,
    full: AtomicBool,
}

impl Disk {
    fn write<'a, T: Send + 'a>(
        &self,
        writing: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        if self.full.load(Ordering::SeqCst) {
            let error = StoreError::Failed { operation: "write", cause: "the disk is full".to_owned() };
            return Box::pin(std::future::ready(Err(error)));
        }
        writing
    }
}

impl JournalStore for Disk {
    fn open_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(self.store.open_run(run))
    }

    fn unfinished(&self, limit: usize) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        self.store.unfinished(limit)
    }

    fn begin(
        &self,
        intent: Arc<JournalRecord>,
        claim: Option<Claim>,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Begun, StoreError>> {
        self.write(self.store.begin(intent, claim, now_ms))
    }

    fn finish(&self, outcome: Arc<JournalRecord>, claim: Option<ClaimResult>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(self.store.finish(outcome, claim))
    }

    fn append(&self, records: Vec<Arc<JournalRecord>>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(self.store.append(records))
    }

    fn records(&self, filter: JournalFilter) -> BoxFuture<'_, Result<Vec<StoredRecord>, StoreError>> {
        self.store.records(filter)
    }

    fn anchor(&self) -> BoxFuture<'_, Result<(u64, String), StoreError>> {
        self.store.anchor()
    }

    fn prune_journal(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.write(self.store.prune_journal(before_ms))
    }
}
