//! What the tests of plugins share: an engine over a host, folders of plugins, factories that count.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;
use toolcrib_connect::plugins::{
    FactoryContext, FactoryTools, HostBuilder, HostSettings, Launchers, Manifest, PluginFactory, PluginHost,
    PluginSettings, PluginState, PluginsReport, Start, Timing, survey,
};
use toolcrib_core::{Scope, Source, SourceState, ToolResult, select::Allow, selector::Selector};
use toolcrib_engine::{
    Backend, BoxFuture, CallReply, CallReport, CallRequest, Door, Engine, EngineSettings, Hub, HubLimits, Invocation,
    InvokeError, Outcome, SourceOptions,
};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Rig {
    pub(super) engine: Engine,
    pub(super) host: PluginHost,
    pub(super) settings: Mutex<HostSettings>,
    pub(super) root: TempDir,
}

impl Rig {
    /// With built-in tools of these names.
    pub(super) fn new(builtin: &[&str], build: impl FnOnce(HostBuilder) -> HostBuilder) -> Self {
        let hub = Hub::new(HubLimits::default());
        let tools = builtin.iter().map(|name| json!({"name": name})).collect();
        hub.replace(Source::Builtin, SourceOptions::default(), Arc::new(Said("built in")), SourceState::Ready, tools);
        let engine = Engine::new(hub.clone(), EngineSettings::default(), None, vec![]);
        let asked = engine.clone();
        let scopes = [Scope::default()];
        let survey =
            Arc::new(move |catalog: &_, came: &[Scope]| survey(catalog, &asked.settings().assemble, &scopes, came));
        let root = tempfile::tempdir().unwrap();
        let timing = Timing {
            backoff_min: Duration::from_millis(20),
            backoff_max: Duration::from_millis(100),
            drain: Duration::from_secs(5),
            failures: 3,
            ..Timing::default()
        };
        let settings =
            HostSettings { enabled: true, folders: vec![root.path().to_owned()], timing, ..HostSettings::default() };
        Self { engine, host: build(PluginHost::builder(hub, survey)).build(), settings: Mutex::new(settings), root }
    }

    pub(super) fn plain() -> Self {
        Self::new(&[], |builder| builder)
    }

    /// Changes the settings and brings the host in line.
    pub(super) async fn apply(&self, change: impl FnOnce(&mut HostSettings)) {
        let settings = {
            let mut settings = self.settings.lock();
            change(&mut settings);
            settings.clone()
        };
        self.host.apply(settings).await;
    }

    /// Changes what scopes see, and has the host look again.
    pub(super) async fn policy(&self, allow: Option<&[&str]>, deny: &[&str]) {
        let list = |texts: &[&str]| -> Vec<Selector> { texts.iter().map(|text| text.parse().unwrap()).collect() };
        let mut settings = EngineSettings::clone(&self.engine.settings());
        settings.assemble.policy.everyone.lists.allow = Allow::from_list(allow.map(list));
        settings.assemble.policy.everyone.lists.deny = list(deny);
        self.engine.replace_settings(settings);
        self.host.refresh().await;
    }

    /// Writes a plugin that is the test program, with its configuration.
    pub(super) fn plugin(&self, id: &str, tools: &[&str], config: &Value) -> PathBuf {
        let tables: Vec<String> = tools.iter().map(|name| tool(name, "")).collect();
        self.plugin_with(id, &tables.concat(), config, tools)
    }

    /// The same with the tables of the tools as text, and what it offers.
    pub(super) fn plugin_with(&self, id: &str, tables: &str, config: &Value, offers: &[&str]) -> PathBuf {
        let folder = self.root.path().join(id);
        std::fs::create_dir_all(&folder).unwrap();
        let program = env!("CARGO_BIN_EXE_toolcrib-connect-plugin");
        let text = format!(
            "id = \"{id}\"\nversion = \"1\"\ndescription = \"a test\"\n[run]\nlines = [\"{program}\"]\n\
             start_timeout_ms = 5000\n{tables}"
        );
        std::fs::write(folder.join("plugin.toml"), text).unwrap();
        let mut config = config.as_object().cloned().unwrap_or_default();
        config.entry("offers").or_insert_with(|| json!(offers));
        let settings = PluginSettings { config, ..PluginSettings::default() };
        self.settings.lock().plugins.insert(id.to_owned(), settings);
        folder
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.names_for(&Scope::default())
    }

    /// What a scope sees, bridge aside.
    pub(super) fn names_for(&self, scope: &Scope) -> Vec<String> {
        let view = self.engine.view(scope).unwrap();
        let mut names: Vec<String> = view.set.name_map().iter().map(|(name, _)| name.to_owned()).collect();
        names.sort();
        names
    }

    pub(super) async fn call(&self, name: &str, arguments: &Value) -> CallReport {
        let arguments = serde_json::value::to_raw_value(arguments).unwrap();
        let mut request = CallRequest::new(name, Some(arguments), Scope::default(), Door::Library);
        request.identity = Arc::default();
        self.engine.call_report(request).await
    }

    /// The text of a call that must succeed.
    #[track_caller]
    pub(super) fn ok<'a>(&'a self, name: &'a str, arguments: Value) -> impl Future<Output = String> + 'a {
        let place = std::panic::Location::caller();
        async move {
            let report = self.call(name, &arguments).await;
            assert_eq!(report.outcome, Outcome::Ok, "{place}: {}", text(&report));
            text(&report)
        }
    }

    pub(super) async fn report(&self) -> PluginsReport {
        self.host.report().await
    }

    pub(super) async fn state(&self, id: &str) -> PluginState {
        let report = self.report().await;
        report.plugins.into_iter().find(|plugin| plugin.id == id).map(|plugin| plugin.state).unwrap()
    }

    pub(super) async fn findings(&self, id: &str) -> Vec<String> {
        let report = self.report().await;
        report.plugins.into_iter().find(|plugin| plugin.id == id).map(|plugin| plugin.findings).unwrap()
    }

    /// Waits until a plugin's state is as wanted.
    pub(super) async fn until_state(&self, id: &str, wanted: impl Fn(&PluginState) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            let state = self.state(id).await;
            if wanted(&state) {
                return;
            }
            assert!(Instant::now() < until, "{id} stays {state:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(super) async fn until_ready(&self, id: &str) {
        self.until_state(id, |state| *state == PluginState::Ready).await;
    }
}

/// Waits until something holds.
#[track_caller]
pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let place = std::panic::Location::caller();
    async move {
        let until = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < until, "{place}: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Waits until whatever was started before this, and should not have been, has left its mark: ten times as long as a process
/// that is started now needs for it. Without that, a test that nothing was started could not fail.
pub(super) async fn time_to_start() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_toolcrib-connect-plugin"));
        program.current_dir(folder.path()).stdin(std::process::Stdio::null());
        // Elsewhere, so that tasks of this thread go on meanwhile.
        assert!(tokio::task::spawn_blocking(move || program.status()).await.unwrap().unwrap().success());
        assert_eq!(mark(folder.path(), "started").lines().count(), 1);
    }
}

/// What a mark of the test program says; empty if there is none.
pub(super) fn mark(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

pub(super) fn text(report: &CallReport) -> String {
    match &report.reply {
        CallReply::Result(result) => result.to_text(),
        other => format!("{other:?}"),
    }
}

/// Answers every call with one text.
pub(super) struct Said(pub(super) &'static str);

impl Backend for Said {
    fn invoke<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move { Ok(ToolResult::text(self.0)) })
    }
}

/// What a factory does.
pub(super) enum Making {
    Tools(Vec<Value>),
    Nothing,
    Fails,
    Panics,
    Hangs,
}

/// A factory that counts how often it is asked.
pub(super) struct Counting {
    pub(super) made: AtomicUsize,
    making: Making,
}

impl Counting {
    pub(super) fn new(making: Making) -> Arc<Self> {
        Arc::new(Self { made: AtomicUsize::new(0), making })
    }

    pub(super) fn of(names: &[&str]) -> Arc<Self> {
        Self::new(Making::Tools(names.iter().map(|name| json!({"name": name})).collect()))
    }

    pub(super) fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }
}

impl PluginFactory for Counting {
    fn make(&self, _: FactoryContext) -> BoxFuture<'_, Result<Option<FactoryTools>, String>> {
        Box::pin(async move {
            self.made.fetch_add(1, Ordering::SeqCst);
            match &self.making {
                Making::Tools(definitions) => {
                    Ok(Some(FactoryTools { definitions: definitions.clone(), backend: Arc::new(Said("made")) }))
                }
                Making::Nothing => Ok(None),
                Making::Fails => Err("no luck".to_owned()),
                Making::Panics => panic!("a factory of a test panics"),
                Making::Hangs => std::future::pending().await,
            }
        })
    }
}

/// The manifest of a plugin whose factory has its id as its name; `tables` are its tools.
pub(super) fn manifest(id: &str, tables: &str) -> Manifest {
    let text = format!(
        "id = \"{id}\"\nversion = \"1\"\ndescription = \"a test\"\n[run]\nfactory = \"{id}\"\nstart_timeout_ms = 300\n{tables}"
    );
    Manifest::parse(&text, Path::new("plugin.toml")).unwrap()
}

/// The table of a tool.
pub(super) fn tool(name: &str, more: &str) -> String {
    format!("[[tools]]\nname = \"{name}\"\n{more}\n")
}

/// Starts a plugin in a folder outside of a host, with this configuration.
pub(super) fn start_of(folder: &Path, settings: PluginSettings) -> Start {
    struct Deaf;
    impl toolcrib_connect::plugins::Listener for Deaf {
        fn hear(&self, _: toolcrib_connect::plugins::News) {}
    }
    Start {
        manifest: Arc::new(Manifest::load(folder).unwrap()),
        folder: Some(folder.to_owned()),
        settings: Arc::new(settings),
        guard: None,
        timing: Timing::default(),
        limits: toolcrib_connect::plugins::Limits::default(),
        listener: Arc::new(Deaf),
    }
}

pub(super) fn launchers() -> Launchers {
    Launchers::default()
}
