//! The wiring: the one place where configuration, stores, sources and the engine come together.

use std::{
    collections::BTreeMap,
    io::IsTerminal,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::Mutex;
use toolcrib_config::{Config, Diagnostic, Loaded, Override, Process, Surroundings, changes, discover};
use toolcrib_core::{Scope, Source, SourceState};
use toolcrib_engine::{DefinitionStore, Engine, Hub, KeyValueStore, LogSink, ResultStore, Trust, View};
use toolcrib_mcp::upstream::Upstream;
use toolcrib_store::{MemoryStore, SqliteSettings, SqliteStore};

use crate::{
    args::{DisclosureMode, SourceArgs, TrustLevel},
    builtins,
    exit::Exit,
    print, settings, statics,
};

/// Everything that runs behind a command.
pub(crate) struct World {
    /// The engine.
    pub(crate) engine: Engine,
    /// The scope of the command line and the start of every client's.
    pub(crate) scope: Scope,
    /// What the stores said when they were opened.
    pub(crate) store: StoreReport,
    plan: Plan,
    stores: Stores,
    running: Mutex<Running>,
}

struct Running {
    loaded: Loaded,
    upstreams: BTreeMap<String, Arc<Upstream>>,
}

/// How to load the configuration again.
struct Plan {
    flags: SourceArgs,
    overrides: Vec<Override>,
    default_trust: Trust,
}

/// The stores, each as the trait that its users see.
#[derive(Clone)]
pub(crate) struct Stores {
    definitions: Arc<dyn DefinitionStore>,
    values: Arc<dyn KeyValueStore>,
    results: Arc<dyn ResultStore>,
}

/// Where state is kept and what was said about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreReport {
    /// The file, if it is one.
    pub(crate) path: Option<PathBuf>,
    /// Warnings and the reason why nothing is kept, if so.
    pub(crate) findings: Vec<String>,
}

impl World {
    /// Loads the configuration and starts its sources. Returns before they are ready. Within a runtime only.
    pub(crate) fn start(flags: &SourceArgs, trust: Option<TrustLevel>) -> anyhow::Result<Self> {
        Self::start_with(flags, trust, Trust::Configured)
    }

    /// The same, with the trust level that applies where nobody names one.
    pub(crate) fn start_with(
        flags: &SourceArgs,
        trust: Option<TrustLevel>,
        default_trust: Trust,
    ) -> anyhow::Result<Self> {
        let plan = Plan { flags: flags.clone(), overrides: overrides(flags, trust), default_trust };
        let loaded = plan.load()?;
        let mut findings = loaded.diagnostics.clone();
        let engine_settings = settings::engine(&loaded, flags, default_trust, &mut findings)?;
        for finding in &findings {
            print::note(format!("{}: {finding}", severity(finding)));
        }
        let (stores, store) = open_stores(&loaded.config);
        for finding in &store.findings {
            print::note(format!("warning: {finding}"));
        }
        let hub = Hub::new(settings::hub(&loaded.config));
        let engine = Engine::new(hub.clone(), engine_settings, Some(stores.results.clone()), vec![Arc::new(LogSink)]);
        builtins::prepare(&loaded.config.builtin, stores.values.clone(), stores.results.clone())?(&hub);
        statics::publish(&hub, &flags.catalog)?;
        let scope = Scope { profile: flags.profile.clone(), ..Scope::default() };
        // An unknown profile is told before anything is started.
        engine.settings().assemble.policy.check(&scope)?;
        let mut upstreams = BTreeMap::new();
        for (name, server) in loaded.config.servers.iter().filter(|(_, server)| server.is_enabled()) {
            upstreams.insert(name.clone(), spawn(name, &loaded.config, server, &hub, &stores));
        }
        let running = Mutex::new(Running { loaded, upstreams });
        Ok(Self { engine, scope, store, plan, stores, running })
    }

    /// What the command's own scope sees.
    pub(crate) fn view(&self) -> anyhow::Result<Arc<View>> {
        Ok(self.engine.view(&self.scope)?)
    }

    /// The configuration in force.
    pub(crate) async fn loaded(&self) -> Loaded {
        self.running.lock().await.loaded.clone()
    }

    /// The running servers.
    pub(crate) async fn upstreams(&self) -> BTreeMap<String, Arc<Upstream>> {
        self.running.lock().await.upstreams.clone()
    }

    /// Waits until no source is starting any more, at most `seconds`.
    pub(crate) async fn wait_all(&self, seconds: u64) {
        self.wait_until(seconds, |world| world.starting().is_empty()).await;
    }

    /// Waits until the tool a name leads to can be judged: its source is no longer starting, or none is.
    pub(crate) async fn wait_for_tool(&self, name: &str, seconds: u64) {
        self.wait_until(seconds, |world| {
            let starting = world.starting();
            let source = world.view().ok().and_then(|view| view.set.tool(name).map(|tool| tool.source().clone()));
            starting.is_empty() || source.is_some_and(|source| !starting.contains(&source))
        })
        .await;
    }

    async fn wait_until(&self, seconds: u64, done: impl Fn(&Self) -> bool) {
        let mut changes = self.engine.hub().watch();
        let until = Instant::now() + Duration::from_secs(seconds);
        let progress = std::io::stderr().is_terminal();
        let mut shown = false;
        while !done(self) && Instant::now() < until {
            if progress {
                let names: Vec<String> = self.starting().iter().map(|source| source.group().to_owned()).collect();
                eprint_progress(&format!("starting {}", names.join(", ")));
                shown = true;
            }
            let _ = tokio::time::timeout(Duration::from_millis(500), changes.changed()).await;
            // Servers come up in bursts; one look at the end of each is enough.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if shown {
            eprint_progress("");
        }
    }

    fn starting(&self) -> Vec<Source> {
        let catalog = self.engine.hub().catalog();
        let starting = catalog.sources().iter().filter(|(_, entry)| entry.state == SourceState::Starting);
        starting.map(|(source, _)| source.clone()).collect()
    }

    /// Says which sources are not usable.
    pub(crate) fn warn_about_sources(&self) {
        for (source, entry) in self.engine.hub().catalog().sources() {
            match &entry.state {
                SourceState::Down { reason } => {
                    print::note(format!("warning: {source} is down: {}", print::clean(reason)));
                }
                SourceState::Starting => {
                    print::note(format!("warning: {source} is still starting; its tools may be missing"));
                }
                SourceState::Ready | SourceState::Disabled => {}
            }
        }
    }

    /// [`Exit::Unavailable`] when there are servers and none of them can be used.
    pub(crate) fn exit_for_sources(&self) -> Exit {
        let catalog = self.engine.hub().catalog();
        let mut servers = catalog.sources().iter().filter(|(source, _)| matches!(source, Source::Mcp(_))).peekable();
        let some = servers.peek().is_some();
        if some && servers.all(|(_, entry)| entry.state != SourceState::Ready) { Exit::Unavailable } else { Exit::Done }
    }

    /// Loads the configuration again and touches only what changed. On any error everything stays as it is.
    pub(crate) async fn reload(&self) -> anyhow::Result<()> {
        let mut running = self.running.lock().await;
        let loaded = self.plan.load()?;
        let mut findings = loaded.diagnostics.clone();
        let engine_settings = settings::engine(&loaded, &self.plan.flags, self.plan.default_trust, &mut findings)?;
        engine_settings.assemble.policy.check(&self.scope)?;
        let change = changes(&running.loaded.config, &loaded.config);
        if change.is_empty() {
            return Ok(());
        }
        let builtin = (loaded.config.builtin != running.loaded.config.builtin)
            .then(|| {
                let Stores { values, results, .. } = self.stores.clone();
                builtins::prepare(&loaded.config.builtin, values, results)
            })
            .transpose()?;
        // From here on nothing fails: either all of it is applied or none.
        for finding in &findings {
            tracing::warn!("{finding}");
        }
        for section in &change.restart {
            tracing::warn!("'{section}' changed; that takes effect after a restart");
        }
        let hub = self.engine.hub();
        for name in change.removed.iter().chain(&change.changed) {
            if let Some(old) = running.upstreams.remove(name) {
                // A successor takes the old source over, tools and all, so clients see no gap.
                if change.removed.contains(name) {
                    hub.remove(&Source::Mcp(name.clone()));
                }
                tokio::spawn(async move { old.shutdown().await });
            }
        }
        for (name, server) in loaded.config.servers.iter().filter(|(_, server)| server.is_enabled()) {
            if change.added.contains(name) || change.changed.contains(name) {
                running.upstreams.insert(name.clone(), spawn(name, &loaded.config, server, hub, &self.stores));
            } else if change.relabelled.contains(name) {
                let (_, options) = settings::upstream(name, server, &loaded.config);
                hub.reconfigure(&Source::Mcp(name.clone()), options);
            }
        }
        if let Some(publish) = builtin {
            publish(hub);
        }
        self.engine.replace_settings(engine_settings);
        tracing::info!(added = ?change.added, removed = ?change.removed, changed = ?change.changed, "configuration reloaded");
        running.loaded = loaded;
        Ok(())
    }

    /// Ends all servers and waits until their processes are gone.
    pub(crate) async fn stop(&self) {
        let upstreams = std::mem::take(&mut self.running.lock().await.upstreams);
        let all = upstreams.into_values().map(|upstream| async move { upstream.shutdown().await });
        futures_util::future::join_all(all).await;
    }
}

impl Plan {
    fn load(&self) -> anyhow::Result<Loaded> {
        Ok(toolcrib_config::load(&config_files(&self.flags)?, &self.overrides, &Process)?)
    }
}

/// The files that apply: flags, else `TOOLCRIB_CONFIG`, else those that are found.
pub(crate) fn config_files(flags: &SourceArgs) -> anyhow::Result<Vec<PathBuf>> {
    if !flags.config.is_empty() {
        return Ok(flags.config.clone());
    }
    if let Some(paths) = Process.variable("TOOLCRIB_CONFIG").filter(|paths| !paths.is_empty()) {
        return Ok(std::env::split_paths(&paths).collect());
    }
    let home = toolcrib_config::discover::config_home(&Process);
    Ok(discover(&std::env::current_dir()?, home.as_deref()))
}

fn overrides(flags: &SourceArgs, trust: Option<TrustLevel>) -> Vec<Override> {
    let mut list = Vec::new();
    let mut set = |key: &str, value: Value, flag: &str| {
        list.push(Override { key: key.to_owned(), value, flag: flag.to_owned() });
    };
    if let Some(mode) = flags.disclosure {
        let word = match mode {
            DisclosureMode::Auto => "auto",
            DisclosureMode::On => "on",
            DisclosureMode::Off => "off",
        };
        set("disclosure.enabled", json!(word), "--disclosure");
    }
    if let Some(level) = trust {
        let word = match level {
            TrustLevel::None => "none",
            TrustLevel::Configured => "configured",
            TrustLevel::All => "all",
        };
        set("permissions.trust", json!(word), "--trust");
    }
    list
}

fn spawn(
    name: &str,
    config: &Config,
    server: &toolcrib_config::ServerConfig,
    hub: &Hub,
    stores: &Stores,
) -> Arc<Upstream> {
    let (settings, options) = settings::upstream(name, server, config);
    Upstream::spawn(settings, hub, options, Some(stores.definitions.clone()), server.fingerprint())
}

fn severity(finding: &Diagnostic) -> &'static str {
    match finding.severity {
        toolcrib_config::Severity::Warning => "warning",
        toolcrib_config::Severity::Error => "error",
    }
}

/// Opens the store; where that is not possible nothing is kept, which is said, and everything else works.
fn open_stores(config: &Config) -> (Stores, StoreReport) {
    let path = match config.store.path.as_deref() {
        Some(":memory:") => None,
        Some(path) => Some(PathBuf::from(path)),
        None => toolcrib_config::discover::state_home(&Process).map(|home| home.join("toolcrib/state.db")),
    };
    let Some(path) = path else { return (in_memory(), StoreReport::default()) };
    let settings = SqliteSettings { max_result_bytes: config.results.keep_bytes, ..SqliteSettings::default() };
    match SqliteStore::open_with(&path, &settings) {
        Ok((store, warnings)) => {
            let store = Arc::new(store);
            let stores = Stores { definitions: store.clone(), values: store.clone(), results: store };
            let findings = warnings.iter().map(ToString::to_string).collect();
            (stores, StoreReport { path: Some(path), findings })
        }
        Err(error) => {
            let finding = format!("nothing is kept: the store {} cannot be used ({error})", path.display());
            (in_memory(), StoreReport { path: Some(path), findings: vec![finding] })
        }
    }
}

fn in_memory() -> Stores {
    let store = Arc::new(MemoryStore::new());
    Stores { definitions: store.clone(), values: store.clone(), results: store }
}

/// Replaces the progress line on a terminal; empty text clears it.
fn eprint_progress(text: &str) {
    use std::io::Write;
    let short: String = text.chars().take(100).collect();
    let _ = write!(std::io::stderr(), "\r\x1b[2K{short}");
    let _ = std::io::stderr().flush();
}
