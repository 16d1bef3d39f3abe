//! A rig around one upstream and a scripted server (`tests/data/fake_server.py`).

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, LazyLock},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json, value::to_raw_value};
use tokio::time::timeout;
use toolcrib_core::{Source, SourceEntry, SourceState, Tool, ToolId, ToolResult};
use toolcrib_engine::{
    Backend, BoxFuture, CallContext, DefinitionStore, Hub, Invocation, InvokeError, Late, SourceOptions, StoreError,
    StoredDefinitions, hub::HubLimits,
};
use toolcrib_mcp::upstream::{Timing, Transport, Upstream, UpstreamReport, UpstreamSettings};

/// No test waits longer than this for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The interpreter itself: what is called `python3` may be a slow shell wrapper.
static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().into()
});

pub(crate) fn guard_binary() -> PathBuf {
    env!("CARGO_BIN_EXE_toolcrib-mcp-guard").into()
}

/// A fake server that behaves as `scenario` says, with a short clockwork.
pub(crate) fn fake(scenario: &Value) -> UpstreamSettings {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fake_server.py");
    quick(Transport::Stdio {
        command: PYTHON.display().to_string(),
        args: ["-I", "-S", &script.display().to_string(), &scenario.to_string()].map(str::to_owned).to_vec(),
        env: [("API_KEY".to_owned(), "hunter2-secret".to_owned())].into(),
        cwd: None,
    })
}

/// Settings with a short clockwork.
pub(crate) fn quick(transport: Transport) -> UpstreamSettings {
    let ms = Duration::from_millis;
    let mut settings = UpstreamSettings::new("fake", transport);
    settings.connect_timeout = ms(4000);
    settings.call_timeout = ms(4000);
    settings.timing = Timing {
        probe: ms(400),
        stop_grace: ms(300),
        backoff_min: ms(20),
        backoff_max: ms(100),
        healthy_after: ms(1000),
        park: ms(600),
        park_min: ms(50),
        write: ms(500),
        refresh_min: ms(50),
        refresh_max: ms(400),
        listing: ms(3000),
        keepalive: None,
    };
    settings
}

/// One upstream in a hub of its own.
pub(crate) struct Rig {
    pub(crate) hub: Hub,
    pub(crate) upstream: Arc<Upstream>,
}

impl Rig {
    pub(crate) fn start(settings: UpstreamSettings) -> Self {
        Self::with_store(settings, None)
    }

    pub(crate) fn with_store(settings: UpstreamSettings, store: Option<Arc<dyn DefinitionStore>>) -> Self {
        let hub = Hub::new(HubLimits::default());
        let upstream = Upstream::spawn(settings, &hub, SourceOptions::default(), store, "print".to_owned());
        Self { hub, upstream }
    }

    pub(crate) fn entry(&self) -> Arc<SourceEntry> {
        self.hub.catalog().sources()[&Source::Mcp("fake".to_owned())].clone()
    }

    /// Waits for the source to look as wanted.
    #[track_caller]
    pub(crate) fn until<'a>(
        &'a self,
        what: &'a str,
        wanted: impl Fn(&SourceEntry) -> bool + Send + 'a,
    ) -> impl Future<Output = Arc<SourceEntry>> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let mut generations = self.hub.watch();
            let look = async {
                loop {
                    let entry = self.entry();
                    if wanted(&entry) {
                        return entry;
                    }
                    generations.changed().await.unwrap();
                }
            };
            timeout(PATIENCE, look).await.unwrap_or_else(|_| {
                panic!("{caller}: not {what}: {:?}, {:#?}", self.entry().state, self.report());
            })
        }
    }

    #[track_caller]
    pub(crate) fn ready(&self) -> impl Future<Output = Arc<SourceEntry>> + '_ {
        self.until("ready", |entry| entry.state == SourceState::Ready && !entry.stale)
    }

    /// Waits until the source is down and gives the reason.
    #[track_caller]
    pub(crate) fn down(&self) -> impl Future<Output = String> + '_ {
        let down = self.until("down", |entry| matches!(entry.state, SourceState::Down { .. }));
        async move {
            match &down.await.state {
                SourceState::Down { reason } => reason.clone(),
                other => panic!("{other:?}"),
            }
        }
    }

    /// The child's process id, once there is one.
    pub(crate) async fn pid(&self) -> i64 {
        let wait = async {
            loop {
                if let Some(pid) = self.report().pid {
                    return pid.into();
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("a child")
    }

    pub(crate) fn report(&self) -> UpstreamReport {
        self.upstream.report()
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<ToolResult, InvokeError> {
        self.call_in(name, arguments, CallContext::new(1, PATIENCE)).await
    }

    pub(crate) async fn call_in(
        &self,
        name: &str,
        arguments: Value,
        context: CallContext,
    ) -> Result<ToolResult, InvokeError> {
        self.invoke(&tool(&json!({"name": name, "inputSchema": {"type": "object"}})), arguments, context).await
    }

    pub(crate) async fn invoke(
        &self,
        tool: &Tool,
        arguments: Value,
        context: CallContext,
    ) -> Result<ToolResult, InvokeError> {
        self.invoke_in(tool, arguments, &context).await
    }

    pub(crate) async fn invoke_in(
        &self,
        tool: &Tool,
        arguments: Value,
        context: &CallContext,
    ) -> Result<ToolResult, InvokeError> {
        let arguments = to_raw_value(&arguments).unwrap();
        let call = self.upstream.invoke(Invocation { tool, arguments: &arguments, context });
        timeout(PATIENCE, call).await.expect("a call ends")
    }

    /// Gives a call up after 40 ms, one way or the other, and does something then. What comes of it after all, if that
    /// was kept.
    pub(crate) async fn give_up(
        &self,
        (name, arguments): (&str, Value),
        cancelled: bool,
        then: impl AsyncFnOnce(),
    ) -> Option<Result<ToolResult, InvokeError>> {
        let brief = Duration::from_millis(40);
        let time = if cancelled { PATIENCE } else { brief };
        let mut context = CallContext { late: Late::new(true), ..CallContext::new(1, time) };
        let tool = tool(&json!({"name": name, "inputSchema": {"type": "object"}}));
        let (ended, ()) = tokio::join!(self.invoke_in(&tool, arguments, &context), async {
            if cancelled {
                tokio::time::sleep(brief).await;
                context.cancel.cancel();
            }
        });
        let ended = ended.unwrap_err();
        assert!(matches!(ended, InvokeError::TimedOut(_) | InvokeError::Cancelled), "{ended}");
        then().await;
        let late = context.late.take()?;
        Some(timeout(PATIENCE, late).await.expect("an answer or the end of the connection"))
    }

    /// The text of a result as JSON.
    pub(crate) async fn ask(&self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments).await.unwrap();
        serde_json::from_str(&result.to_text()).unwrap_or_else(|_| result.to_text().into())
    }

    /// The positive control: the server is there and answers.
    pub(crate) async fn works(&self) {
        assert_eq!(self.ask("echo", json!({"still": "there"})).await, json!({"still": "there"}));
    }

    pub(crate) async fn stop(self) {
        timeout(PATIENCE, self.upstream.shutdown()).await.expect("a shutdown ends");
    }
}

/// A tool as ingestion would make it.
pub(crate) fn tool(definition: &Value) -> Arc<Tool> {
    struct Nothing;
    impl Backend for Nothing {
        fn invoke<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
            Box::pin(async { Err(InvokeError::Cancelled) })
        }
    }
    let hub = Hub::new(HubLimits::default());
    let source = Source::Mcp("fake".to_owned());
    let publisher = hub.register(source.clone(), SourceOptions::default(), Arc::new(Nothing));
    publisher.tools(SourceState::Ready, vec![definition.clone()], None, false);
    hub.catalog().get(&ToolId::new(source, definition["name"].as_str().unwrap())).cloned().unwrap()
}

/// Keeps definitions in memory.
#[derive(Default)]
pub(crate) struct MemoryStore {
    pub(crate) kept: Mutex<HashMap<String, StoredDefinitions>>,
}

impl DefinitionStore for MemoryStore {
    fn load<'a>(
        &'a self,
        source: &'a str,
        fingerprint: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredDefinitions>, StoreError>> {
        let known = move |known: &&StoredDefinitions| known.fingerprint == fingerprint;
        Box::pin(async move { Ok(self.kept.lock().get(source).filter(known).cloned()) })
    }

    fn save<'a>(&'a self, source: &'a str, definitions: StoredDefinitions) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.kept.lock().insert(source.to_owned(), definitions);
            Ok(())
        })
    }

    fn forget<'a>(&'a self, source: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.kept.lock().remove(source);
            Ok(())
        })
    }
}

/// Whether a process exists and is no zombie.
pub(crate) fn alive(pid: i64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X'])))
}

/// Waits until none of the processes is left.
#[track_caller]
pub(crate) fn gone(pids: Vec<i64>) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let wait = async {
            while pids.iter().any(|pid| alive(*pid)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if timeout(PATIENCE, wait).await.is_err() {
            let left: Vec<_> = pids.iter().filter(|pid| alive(**pid)).collect();
            panic!("{caller}: still running: {left:?} of {pids:?}");
        }
    }
}
