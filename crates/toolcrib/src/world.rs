//! The wiring: the one place where configuration, stores, sources and the engine come together.

mod policy;
mod served;

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
use toolcrib_core::{
    Scope, Source, SourceState, ToolId,
    categories::is_catalog_tool,
    select::{FindingKind, Told},
    tokens::TokenCache,
};
use toolcrib_engine::{
    Engine, Hub, LogSink, StoreError, Trust, View,
    approval::Approvals,
    damage::DamageReport,
    encoder::Encoding,
    journal::Journal,
    manager::{Manager, Patch},
    pending::{PendingSettings, PendingWork},
    results::ResultReader,
    stats::Statistics,
    usage::Learner,
};
use toolcrib_mcp::upstream::Upstream;

use crate::{
    args::{DisclosureMode, SourceArgs, TrustLevel},
    builtins,
    callers::{self, Callers, Known},
    encoders,
    exit::Exit,
    index_file::IndexFile,
    labels::{LabelError, Labelling},
    payloads,
    plugins::{self, Plugins},
    print,
    seal::Seal,
    settings, statics,
    stores::{self, StoreReport, Stores},
};

/// Everything that runs behind a command.
pub(crate) struct World {
    /// The engine.
    pub(crate) engine: Engine,
    /// The scope of the command line and the start of every client's.
    pub(crate) scope: Scope,
    /// Who callers are.
    pub(crate) callers: Arc<Callers>,
    /// Seals what travels through clients.
    pub(crate) seal: Seal,
    /// How calls went since the start.
    pub(crate) statistics: Arc<Statistics>,
    /// Token counts of definitions, by model family.
    pub(crate) counts: parking_lot::Mutex<TokenCache>,
    /// What operators say of tools.
    pub(crate) labelling: Labelling,
    /// What the stores said when they were opened.
    pub(crate) store: StoreReport,
    /// Plugins.
    pub(crate) plugins: Plugins,
    plan: Plan,
    stores: Stores,
    running: Mutex<Running>,
    told: Mutex<Told>,
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

impl World {
    /// Loads the configuration and starts its sources, to look at tools. Returns before they are ready.
    pub(crate) async fn start(flags: &SourceArgs) -> anyhow::Result<Self> {
        Self::start_with(flags, None, Trust::Configured, Purpose::Look, false).await
    }

    /// The same, to search among tools: with the encoder that the configuration names.
    pub(crate) async fn start_to_search(flags: &SourceArgs) -> anyhow::Result<Self> {
        Self::start_with(flags, None, Trust::Configured, Purpose::Look, true).await
    }

    /// The same, to call tools: with the journal, approvals, and the trust level that applies where nobody names one.
    pub(crate) async fn start_to_call(
        flags: &SourceArgs,
        trust: Option<TrustLevel>,
        default_trust: Trust,
    ) -> anyhow::Result<Self> {
        Self::start_with(flags, trust, default_trust, Purpose::Call, false).await
    }

    /// The same, to search as well.
    pub(crate) async fn start_to_serve(
        flags: &SourceArgs,
        trust: Option<TrustLevel>,
        default_trust: Trust,
    ) -> anyhow::Result<Self> {
        Self::start_with(flags, trust, default_trust, Purpose::Call, true).await
    }

    async fn start_with(
        flags: &SourceArgs,
        trust: Option<TrustLevel>,
        default_trust: Trust,
        purpose: Purpose,
        searches: bool,
    ) -> anyhow::Result<Self> {
        let plan = Plan { flags: flags.clone(), overrides: overrides(flags, trust), default_trust };
        let loaded = plan.load()?;
        let mut findings = loaded.diagnostics.clone();
        let engine_settings = settings::engine(&loaded, default_trust, &mut findings)?;
        let scope = settings::scope(flags, &loaded)?;
        let known = Known::of(&loaded)?;
        for finding in &findings {
            print::note(format!("{}: {finding}", severity(finding)));
        }
        let (stores, store) = stores::open(&loaded.config);
        let statistics = Arc::new(Statistics::default());
        let hub = Hub::new(settings::hub(&loaded.config));
        let manager = Manager::with_statistics(hub.clone(), statistics.clone());
        let labelling = Labelling::new(manager, stores.entries.clone(), stores.journal.clone());
        // Before anything is offered: what was switched off must not be seen for a moment.
        if let Err(error) = labelling.read().await {
            let text = format!("what operators said of tools cannot be read: {error}");
            anyhow::ensure!(purpose == Purpose::Look, "{text}; mend the store");
            print::note(format!("warning: {text}"));
        }
        let mut builder = Engine::builder(hub.clone())
            .settings(engine_settings)
            .results(stores.results.clone())
            .sink(Arc::new(LogSink))
            .sink(statistics.clone());
        if let Some(learning) = settings::learning(&loaded.config) {
            builder = builder.learner(Learner::start(stores.experience.clone(), learning));
        }
        if let Some(path) = store.path.as_deref().filter(|_| store.kept) {
            builder = builder.index_cache(Arc::new(IndexFile::beside(path)));
        }
        if searches {
            // A large model takes a moment to be read; of one that cannot be used the table takes the place.
            let config = loaded.config.clone();
            match tokio::task::spawn_blocking(move || encoders::of(&config)).await? {
                None => {}
                Some(Ok(encoder)) => builder = builder.encoding(Encoding::start(encoder, stores.vectors.clone())),
                Some(Err(error)) => print::note(format!(
                    "warning: search.encoder cannot be used: {error}; searches go by the built-in table"
                )),
            }
        }
        let mut pending = None;
        if purpose == Purpose::Call {
            let work = PendingWork::new(stores.pending.clone(), PendingSettings::default());
            builder = builder
                .approvals(Arc::new(Approvals::new(
                    stores.approvals.clone(),
                    settings::approvals(&loaded.config, store.kept),
                )))
                .pending(work.clone());
            pending = Some(work);
            match open_journal(&loaded.config, &stores).await {
                Ok(None) => {}
                Ok(Some(journal)) => builder = builder.journal(journal),
                // Without a record nothing that may change anything runs, so there would be little to serve.
                Err(error) => anyhow::bail!(
                    "the journal cannot be opened: {error}; mend the store, or set audit.enabled to false"
                ),
            }
        }
        for finding in &store.findings {
            print::note(format!("warning: {finding}"));
        }
        let engine = builder.build();
        let reader = reader(&stores, pending.as_ref());
        builtins::prepare(&loaded.config, &stores, reader, &engine)?(&hub);
        statics::publish(&hub, &flags.catalog)?;
        // An unknown profile is told before anything is started.
        engine.settings().assemble.policy.check(&scope)?;
        let plugins = Plugins::new(&engine, settings::hub(&loaded.config));
        let callers = Arc::new(Callers::new(scope.clone(), known));
        plugins.apply(plugins::settings(&loaded)?, served::combined(&scope, &callers, &loaded.config)).await;
        let mut upstreams = BTreeMap::new();
        for (name, server) in loaded.config.servers.iter().filter(|(_, server)| server.is_enabled()) {
            upstreams.insert(name.clone(), spawn(name, &loaded, server, &hub, &stores));
        }
        if let Some(pending) = &pending
            && let Err(error) = pending.recover().await
        {
            tracing::warn!(%error, "background work of processes that ended cannot be looked up");
        }
        if let Some(approvals) = engine.approvals() {
            keep_fresh(approvals, pending.clone()).await;
            labelling.follow();
        }
        let running = Mutex::new(Running { loaded, upstreams });
        let seal = Seal::of(stores.values.as_ref()).await?;
        let counts = parking_lot::Mutex::new(TokenCache::new(payloads::COUNTS));
        let told = Mutex::default();
        Ok(Self {
            engine,
            scope,
            callers,
            seal,
            statistics,
            counts,
            labelling,
            store,
            plugins,
            plan,
            stores,
            running,
            told,
        })
    }

    /// What the command's own scope is served.
    pub(crate) fn view(&self) -> anyhow::Result<Arc<View>> {
        Ok(self.engine.view(&self.scope)?)
    }

    /// The same whether or not anything required is missing from it, for diagnosis.
    pub(crate) fn inspect(&self) -> anyhow::Result<Arc<View>> {
        Ok(self.engine.inspect(&self.scope)?)
    }

    /// The configuration in force.
    pub(crate) async fn loaded(&self) -> Loaded {
        self.running.lock().await.loaded.clone()
    }

    /// Which rows of the store cannot be read.
    pub(crate) fn damage(&self) -> &dyn DamageReport {
        self.stores.damage.as_ref()
    }

    /// Says something else of tools, on the record where one is kept; which of them changed.
    pub(crate) async fn label(&self, by: &str, patches: &[(ToolId, Patch)]) -> Result<Vec<ToolId>, LabelError> {
        let on_record = self.running.lock().await.loaded.config.audit.enabled;
        self.labelling.change(&self.engine, on_record, by, patches).await
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
            // What else is required must be there as well.
            let view = world.inspect().ok().filter(|view| view.set.incomplete.is_none());
            // What looks through the catalog needs all of it.
            let tool = view.and_then(|view| view.set.tool(name).cloned()).filter(|tool| !is_catalog_tool(tool));
            starting.is_empty() || tool.is_some_and(|tool| !starting.contains(tool.source()))
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

    /// What is to be said of a `.mcp.json` that is not read because a file of ours stands beside it; nothing where all its
    /// servers were taken over.
    pub(crate) async fn passed_over(&self) -> Option<String> {
        if !is_discovered(&self.plan.flags) {
            return None;
        }
        let file = toolcrib_config::discover::passed_over(&std::env::current_dir().ok()?)?;
        let servers = toolcrib_config::import::read(&file, &Process.read(&file).ok()?).ok()?.servers;
        let loaded = self.loaded().await;
        let taken = servers.keys().all(|name| loaded.config.servers.contains_key(name));
        (!taken).then(|| {
            ".mcp.json is not read, because a toolcrib file is there; `toolcrib import .mcp.json` takes its servers over"
                .to_owned()
        })
    }

    /// Says, once each, what a serving process should know of its policy: entries that name nothing, and who cannot be
    /// served. Waits until the sources are there, at most a minute.
    pub(crate) async fn tell_oddities(&self) {
        let until = Instant::now() + Duration::from_mins(1);
        while !self.starting().is_empty() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let found = self.policy_findings().await;
        let mut told = self.told.lock().await;
        let kinds = [FindingKind::Unmatched, FindingKind::Unservable, FindingKind::RemovesEverything];
        for odd in found.into_iter().filter(|odd| kinds.contains(&odd.kind)) {
            let text = odd.to_string();
            if told.is_new(&text) {
                tracing::warn!("{text}");
            }
        }
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
        let engine_settings = settings::engine(&loaded, self.plan.default_trust, &mut findings)?;
        let known = Known::of(&loaded)?;
        engine_settings.assemble.policy.check(&self.scope)?;
        let plugin_settings = plugins::settings(&loaded)?;
        let change = changes(&running.loaded.config, &loaded.config);
        if change.is_empty() {
            // Plugins have files of their own.
            self.plugins.host.refresh().await;
            return Ok(());
        }
        let (old, new) = (&running.loaded.config, &loaded.config);
        let builtin = (new.builtin != old.builtin || new.categories.enabled != old.categories.enabled)
            .then(|| {
                let reader = reader(&self.stores, self.engine.pending());
                builtins::prepare(&loaded.config, &self.stores, reader, &self.engine)
            })
            .transpose()?;
        // From here on nothing fails: either all of it is applied or none.
        for finding in &findings {
            tracing::warn!("{finding}");
        }
        for section in &change.restart {
            tracing::warn!("'{section}' changed; that takes effect after a restart");
        }
        // Before the sources: what is denied now must not be seen for the moment in which a server is labelled anew.
        self.engine.replace_settings(engine_settings);
        self.callers.replace(known);
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
                running.upstreams.insert(name.clone(), spawn(name, &loaded, server, hub, &self.stores));
            } else if change.relabelled.contains(name) {
                let (_, options) = settings::upstream(name, server, &loaded);
                hub.reconfigure(&Source::Mcp(name.clone()), options);
            }
        }
        if let Some(publish) = builtin {
            publish(hub);
        }
        let scopes = served::combined(&self.scope, &self.callers, &loaded.config);
        self.plugins.apply(plugin_settings, scopes).await;
        if let Some(approvals) = self.engine.approvals() {
            approvals.replace_settings(settings::approvals(&loaded.config, self.store.kept));
        }
        tracing::info!(added = ?change.added, removed = ?change.removed, changed = ?change.changed, "configuration reloaded");
        running.loaded = loaded;
        Ok(())
    }

    /// Ends all servers and waits until their processes are gone.
    pub(crate) async fn stop(&self) {
        let upstreams = std::mem::take(&mut self.running.lock().await.upstreams);
        let all = upstreams.into_values().map(|upstream| async move { upstream.shutdown().await });
        tokio::join!(futures_util::future::join_all(all), self.plugins.host.shutdown());
        if let Some(pending) = self.engine.pending() {
            pending.shutdown(LAST_WORDS).await;
        }
        if let Some(learner) = self.engine.learner() {
            learner.flush(LAST_WORDS).await;
        }
        if let Some(journal) = self.engine.journal()
            && let Err(error) = journal.shutdown(LAST_WORDS).await
        {
            print::note(format!("warning: {error}"));
        }
    }
}

/// How long background work and the journal may take at the end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What the world is started for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Looking at tools: nothing is recorded, nobody is asked.
    Look,
    /// Calling them.
    Call,
}

/// How often grants given by other processes are looked for.
const REFRESH: Duration = Duration::from_secs(2);

/// Learns of grants, above all of those that forbid, from before the start and from other processes.
async fn keep_fresh(approvals: &Arc<Approvals>, pending: Option<PendingWork>) {
    if let Err(error) = approvals.refresh(callers::now_ms()).await {
        tracing::warn!(%error, "grants cannot be read");
    }
    let approvals = Arc::downgrade(approvals);
    tokio::spawn(async move {
        // Soon after the start as well: many processes live for less than an hour.
        let mut last = 0;
        loop {
            tokio::time::sleep(REFRESH).await;
            let Some(approvals) = approvals.upgrade() else { break };
            let now = callers::now_ms();
            if let Err(error) = approvals.refresh(now).await {
                tracing::debug!(%error, "grants cannot be read");
            }
            if now.saturating_sub(last) > PRUNE_EVERY_MS {
                last = now;
                let forgotten = approvals.prune(now.saturating_sub(KEEP_SETTLED_MS)).await;
                tracing::debug!(?forgotten, "old approvals");
                if let Some(pending) = &pending {
                    let forgotten = pending.prune().await;
                    tracing::debug!(?forgotten, "old background work");
                }
            }
        }
    });
}

/// Milliseconds between two looks for what can be forgotten.
const PRUNE_EVERY_MS: u64 = 3_600_000;
/// Milliseconds that answered requests and ended grants can still be looked at: 30 days.
const KEEP_SETTLED_MS: u64 = 30 * 86_400_000;

async fn open_journal(config: &Config, stores: &Stores) -> Result<Option<Journal>, StoreError> {
    if !config.audit.enabled {
        return Ok(None);
    }
    Journal::open(stores.journal.clone(), settings::journal(config)).await.map(Some)
}

fn reader(stores: &Stores, pending: Option<&PendingWork>) -> ResultReader {
    let reader = ResultReader::new(stores.results.clone());
    pending.map_or(reader.clone(), |pending| reader.with_pending(pending.clone()))
}

/// The configuration that applies to a command without sources of its own.
pub(crate) fn load(config: &[PathBuf]) -> anyhow::Result<Loaded> {
    let flags = SourceArgs { config: config.to_vec(), ..SourceArgs::default() };
    Ok(toolcrib_config::load(&config_files(&flags)?, &[], &Process)?)
}

impl Plan {
    fn load(&self) -> anyhow::Result<Loaded> {
        Ok(toolcrib_config::load(&config_files(&self.flags)?, &self.overrides, &Process)?)
    }
}

/// Whether nobody names the files that apply.
fn is_discovered(flags: &SourceArgs) -> bool {
    flags.config.is_empty() && Process.variable("TOOLCRIB_CONFIG").is_none_or(|paths| paths.is_empty())
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
    loaded: &Loaded,
    server: &toolcrib_config::ServerConfig,
    hub: &Hub,
    stores: &Stores,
) -> Arc<Upstream> {
    let (settings, options) = settings::upstream(name, server, loaded);
    Upstream::spawn(settings, hub, options, Some(stores.definitions.clone()), server.fingerprint())
}

fn severity(finding: &Diagnostic) -> &'static str {
    match finding.severity {
        toolcrib_config::Severity::Warning => "warning",
        toolcrib_config::Severity::Error => "error",
    }
}

/// Replaces the progress line on a terminal; empty text clears it.
fn eprint_progress(text: &str) {
    use std::io::Write;
    let short: String = text.chars().take(100).collect();
    let _ = write!(std::io::stderr(), "\r\x1b[2K{short}");
    let _ = std::io::stderr().flush();
}
