//! The host of all plugins: finds them, decides from their manifests alone which may be started, publishes what they
//! declare, starts those of which somebody sees something, and follows changes without touching what did not change.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;
use toolcrib_core::{
    ContentHash, Scope, Source, ToolId,
    select::{Removal, Told},
};
use toolcrib_engine::Hub;

use super::{
    factory::FactoryLauncher,
    folder::{self, Discovery, Found},
    generation::{Generation, Makings, Unavailable},
    lines::LinesLauncher,
    manifest::{Manifest, Requirements, Run},
    needs::{self, Lack},
    report::{PluginReport, PluginsReport, RefusedPlugin, ToolReport},
    running::{Launcher, Limits, PluginSettings, Refusing, Running, Start, Timing},
    survey::{Survey, Surveyed, of_interest},
};

/// Most scopes that came by themselves and are asked for.
const VISITORS: usize = 256;

/// What the configuration says of plugins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSettings {
    /// Whether there are plugins at all. Where not, no folder is looked into (openclaw case 1).
    pub enabled: bool,
    /// Folders of plugins, or plugins themselves.
    pub folders: Vec<PathBuf>,
    /// The only ids that may run; `None` = all.
    pub allow: Option<IdPatterns>,
    /// Ids that may not; wins over `allow`.
    pub deny: IdPatterns,
    /// What is handed to single plugins, by id.
    pub plugins: BTreeMap<String, PluginSettings>,
    /// Plugins that are off because what they are to be handed cannot be read, by id.
    pub unusable: BTreeMap<String, Unusable>,
    /// Names that no plugin may have as its id, with what has them, such as `the MCP server 'github'`. Tools of the hub's
    /// built-in source are added to these.
    pub reserved: BTreeMap<String, String>,
    /// The binary whose `__guard` command ends processes when this one is killed outright.
    pub guard: Option<PathBuf>,
    /// The clockwork.
    pub timing: Timing,
    /// Bounds on what processes may say.
    pub limits: Limits,
}

impl HostSettings {
    /// Why no plugin may have this id beside [`HostSettings::reserved`], if so: `is the name of …`.
    pub fn taken(&self, id: &str) -> Option<String> {
        let what = self.reserved.iter().find(|(name, _)| are_alike(name, id)).map(|(_, what)| what)?;
        Some(format!("is the name of {what}"))
    }
}

/// Why a plugin's settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// The key and where it was written.
    pub place: String,
    /// What is wrong with it, without secrets.
    pub problem: String,
}

/// Ids of plugins, exact or with globs, without regard to case (openclaw case 20).
#[derive(Clone, Debug, Default)]
pub struct IdPatterns {
    texts: Vec<String>,
    globs: GlobSet,
}

impl IdPatterns {
    /// From their texts; the first that is no pattern is told.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let texts: Vec<String> = texts.into_iter().collect();
        let mut builder = GlobSetBuilder::new();
        for text in &texts {
            let glob = GlobBuilder::new(text.trim()).case_insensitive(true).build();
            builder.add(glob.map_err(|error| format!("'{text}' is not an id or a pattern of ids: {error}"))?);
        }
        let globs = builder.build().map_err(|error| format!("the list is too large: {error}"))?;
        Ok(Self { texts, globs })
    }

    /// The first that names an id.
    fn naming(&self, id: &str) -> Option<&str> {
        let first = self.globs.matches(id).into_iter().min()?;
        self.texts.get(first).map(String::as_str)
    }
}

impl PartialEq for IdPatterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

/// How plugins of each kind are started.
#[derive(Clone)]
pub struct Launchers {
    /// Processes that speak the line protocol.
    pub lines: Arc<dyn Launcher>,
    /// Code within this process.
    pub factory: Arc<dyn Launcher>,
    /// MCP servers. This crate knows nothing of MCP; without a launcher such plugins are down, and say so.
    pub mcp: Arc<dyn Launcher>,
}

impl Launchers {
    /// Starts a plugin in the way its manifest says.
    pub(super) fn launch(&self, start: Start) -> Arc<dyn Running> {
        let launcher = match &start.manifest.run {
            Run::Lines(_) => &self.lines,
            Run::Factory(_) => &self.factory,
            Run::Mcp(_) => &self.mcp,
        };
        launcher.launch(start)
    }
}

impl Default for Launchers {
    fn default() -> Self {
        Self {
            lines: Arc::new(LinesLauncher),
            factory: Arc::new(FactoryLauncher::default()),
            mcp: Arc::new(NoLauncher),
        }
    }
}

struct NoLauncher;

impl Launcher for NoLauncher {
    fn launch(&self, start: Start) -> Arc<dyn Running> {
        Refusing::launch(&start, "this program starts no MCP servers as plugins")
    }
}

/// Whether a credential is there, by plugin and the name under which the plugin asks for it.
pub type AuthProbe = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// Looks after plugins. Cheap to clone.
#[derive(Clone)]
pub struct PluginHost {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Hub,
    survey: Survey,
    launchers: Launchers,
    embedded: Vec<Arc<Manifest>>,
    auth: Option<AuthProbe>,
    state: Mutex<State>,
    told: Arc<parking_lot::Mutex<Told>>,
    next: AtomicU64,
    leaving: TaskTracker,
}

impl Drop for Inner {
    /// The hub holds what runs, which holds the hub: that ends here, and processes with it.
    fn drop(&mut self) {
        for plugin in std::mem::take(&mut self.state.get_mut().plugins).into_values() {
            plugin.close_door();
            self.hub.remove(&plugin.source());
        }
    }
}

#[derive(Default)]
struct State {
    settings: HostSettings,
    plugins: BTreeMap<String, Arc<Generation>>,
    refused: Vec<RefusedPlugin>,
    odd: Vec<String>,
    surveyed: Surveyed,
    stamp: Option<ContentHash>,
    stopped: bool,
}

/// Puts a host together.
pub struct HostBuilder {
    hub: Hub,
    survey: Survey,
    launchers: Launchers,
    factories: FactoryLauncher,
    embedded: Vec<Arc<Manifest>>,
    auth: Option<AuthProbe>,
}

impl HostBuilder {
    /// How plugins that are MCP servers are started.
    #[must_use]
    pub fn mcp(mut self, launcher: Arc<dyn Launcher>) -> Self {
        self.launchers.mcp = launcher;
        self
    }

    /// Registers a factory; manifests name it with `run.factory`.
    #[must_use]
    pub fn factory(mut self, name: impl Into<String>, factory: Arc<dyn super::factory::PluginFactory>) -> Self {
        self.factories = self.factories.with(name, factory);
        self
    }

    /// Adds a plugin that has no folder, because the program brings it along.
    #[must_use]
    pub fn embed(mut self, manifest: Manifest) -> Self {
        self.embedded.push(Arc::new(manifest));
        self
    }

    /// Asks for credentials elsewhere, beside those that the settings hand over. Asked at every refresh (openclaw case 18).
    #[must_use]
    pub fn auth(mut self, probe: AuthProbe) -> Self {
        self.auth = Some(probe);
        self
    }

    /// The host. Nothing is looked for until [`PluginHost::apply`].
    pub fn build(self) -> PluginHost {
        let Self { hub, survey, mut launchers, factories, embedded, auth } = self;
        launchers.factory = Arc::new(factories);
        PluginHost {
            inner: Arc::new(Inner {
                hub,
                survey,
                launchers,
                embedded,
                auth,
                state: Mutex::default(),
                told: Arc::default(),
                next: AtomicU64::new(1),
                leaving: TaskTracker::new(),
            }),
        }
    }
}

impl PluginHost {
    /// Begins a host that publishes to `hub`; `survey` says who could see what ([`super::survey`]).
    pub fn builder(hub: Hub, survey: Survey) -> HostBuilder {
        HostBuilder {
            hub,
            survey,
            launchers: Launchers::default(),
            factories: FactoryLauncher::default(),
            embedded: Vec::new(),
            auth: None,
        }
    }

    /// Brings everything in line with settings: reads folders, starts, stops, relabels. Plugins that did not change are not
    /// touched. Returns when all that is declared is published; what is started comes up by itself.
    pub async fn apply(&self, settings: HostSettings) {
        let mut state = self.inner.state.lock().await;
        if state.stopped {
            return;
        }
        state.settings = settings;
        self.inner.bring_in_line(&mut state).await;
    }

    /// The same with the settings in force: what folders, credentials and policies say now.
    pub async fn refresh(&self) {
        let mut state = self.inner.state.lock().await;
        if !state.stopped {
            self.inner.bring_in_line(&mut state).await;
        }
    }

    /// Whether folders hold something else than when they were last brought in line.
    pub async fn has_changed(&self) -> bool {
        let state = self.inner.state.lock().await;
        if !state.settings.enabled {
            return false;
        }
        let folders = state.settings.folders.clone();
        let now = tokio::task::spawn_blocking(move || stamp(&folder::discover(&folders))).await.ok();
        now.is_some() && now != state.stamp
    }

    /// Folders whose change may matter: the configured ones and those of plugins.
    pub async fn folders(&self) -> Vec<PathBuf> {
        let state = self.inner.state.lock().await;
        if !state.settings.enabled {
            return Vec::new();
        }
        let inner = state.plugins.values().filter_map(|plugin| plugin.makings.folder.clone());
        let refused = state.refused.iter().filter_map(|refused| refused.folder.clone());
        state
            .settings
            .folders
            .iter()
            .cloned()
            .chain(inner)
            .chain(refused)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// A look at all of them.
    pub async fn report(&self) -> PluginsReport {
        let state = self.inner.state.lock().await;
        let catalog = self.inner.hub.catalog();
        let plugins = state.plugins.values().map(|plugin| {
            let Makings { manifest, folder, .. } = &plugin.makings;
            let tools = manifest.tools.iter().map(|tool| {
                let id = ToolId::new(plugin.source(), tool.name.clone());
                ToolReport {
                    // One whose definition cannot be used is in no catalog.
                    offered: plugin.offers(&tool.name).map(|offers| offers && catalog.get(&id).is_some()),
                    name: tool.name.clone(),
                    optional: tool.optional,
                    unseen: state.surveyed.reasons.get(&id).cloned(),
                }
            });
            PluginReport {
                id: manifest.id.clone(),
                version: manifest.version.clone(),
                description: manifest.description.clone(),
                folder: folder.clone(),
                run: manifest.run.word(),
                state: plugin.state(),
                generation: plugin.number,
                tools: tools.collect(),
                findings: plugin.findings(),
                vitals: plugin.vitals(),
            }
        });
        PluginsReport {
            enabled: state.settings.enabled,
            plugins: plugins.collect(),
            refused: state.refused.clone(),
            findings: state.odd.clone(),
        }
    }

    /// Ends all plugins, and waits until their processes are gone.
    pub async fn shutdown(&self) {
        let plugins = {
            let mut state = self.inner.state.lock().await;
            state.stopped = true;
            std::mem::take(&mut state.plugins)
        };
        futures_util::future::join_all(plugins.into_values().map(|plugin| async move { plugin.end().await })).await;
        self.inner.leaving.close();
        self.inner.leaving.wait().await;
    }
}

impl Inner {
    async fn bring_in_line(&self, state: &mut State) {
        if !state.settings.enabled {
            // The fast path: nothing is looked for.
            for (_, plugin) in std::mem::take(&mut state.plugins) {
                self.remove(plugin);
            }
            (state.refused, state.odd, state.surveyed, state.stamp) = Default::default();
            return;
        }
        let folders = state.settings.folders.clone();
        let discovery = tokio::task::spawn_blocking(move || folder::discover(&folders)).await.unwrap_or_default();
        state.stamp = Some(stamp(&discovery));
        let Discovery { plugins: found, odd } = discovery;
        for text in &odd {
            self.tell(text);
        }
        state.odd = odd;
        let (wanted, refused) = self.judge(found, &state.settings);
        for refused in &refused {
            self.tell(&refused.reason);
        }
        state.refused = refused;

        let gone: Vec<String> = state.plugins.keys().filter(|id| !wanted.contains_key(*id)).cloned().collect();
        for plugin in gone.iter().filter_map(|id| state.plugins.remove(id)) {
            self.remove(plugin);
        }
        for (id, (makings, unavailable)) in wanted {
            match state.plugins.get(&id) {
                Some(plugin) if plugin.makings.same(&makings) => {
                    plugin.relabel(unavailable);
                }
                old => {
                    let old = old.cloned();
                    let number = self.next.fetch_add(1, Ordering::Relaxed);
                    let told = self.told.clone();
                    let tell = Box::new(move |text: &str| tell(&told, text));
                    let (hub, launchers) = (self.hub.clone(), self.launchers.clone());
                    let plugin = Generation::new(number, makings, hub, launchers, unavailable, tell);
                    if let Some(old) = &old {
                        old.close_door();
                    }
                    // Its successor takes the source over, so clients see no gap.
                    plugin.publish();
                    if let Some(old) = old {
                        plugin.succeed(&old);
                        tracing::info!(plugin = id, generation = number, "plugin reloaded");
                        self.leaving.spawn(old.retire());
                    }
                    state.plugins.insert(id, plugin);
                }
            }
        }
        let mut came: Vec<Scope> = Vec::new();
        for scope in state.plugins.values().flat_map(|plugin| plugin.visitors()) {
            if came.len() < VISITORS && !came.contains(&scope) {
                came.push(scope);
            }
        }
        state.surveyed = (self.survey)(&of_interest(&self.hub.catalog()), &came);
        for (id, plugin) in &state.plugins {
            let seen = state.surveyed.kept.iter().any(|tool| tool.source == plugin.source());
            if seen {
                plugin.wake();
            } else if let Some(running) = plugin.rest(unseen(id, plugin, &state.surveyed)) {
                // Calls under way, of whoever got at it otherwise, may end.
                let plugin = plugin.clone();
                self.leaving.spawn(async move {
                    plugin.drained().await;
                    running.stop().await;
                });
            }
        }
    }

    fn remove(&self, plugin: Arc<Generation>) {
        plugin.close_door();
        self.hub.remove(&plugin.source());
        self.leaving.spawn(plugin.retire());
    }

    /// Which plugins are known and which are refused, from manifests alone.
    fn judge(
        &self,
        found: Vec<Found>,
        settings: &HostSettings,
    ) -> (BTreeMap<String, (Makings, Unavailable)>, Vec<RefusedPlugin>) {
        let catalog = self.hub.catalog();
        let builtin: BTreeMap<String, &str> = catalog
            .sources()
            .get(&Source::Builtin)
            .map(|entry| entry.tools.iter().map(|tool| (plain(tool.name()), tool.name())).collect())
            .unwrap_or_default();
        let (mut wanted, mut refused) = (BTreeMap::<String, (Makings, Unavailable)>::new(), Vec::new());
        let embedded = self.embedded.iter().map(|manifest| (None, Ok(manifest.clone()), ContentHash::of_hashes([])));
        let found = found.into_iter().map(|found| (Some(found.folder), found.manifest, found.stamp));
        for (folder, manifest, stamp) in embedded.chain(found) {
            let manifest = match manifest {
                Ok(manifest) => manifest,
                Err(error) => {
                    refused.push(RefusedPlugin { folder, id: None, reason: error.to_string() });
                    continue;
                }
            };
            let id = manifest.id.clone();
            let place = |folder: &Option<PathBuf>| {
                folder
                    .as_ref()
                    .map_or_else(|| "in this program".to_owned(), |folder| format!("in {}", folder.display()))
            };
            let other = if let Some(tool) = builtin.get(&plain(&id)) {
                Some(format!("is the name of the built-in tool '{tool}'"))
            } else if let Some(taken) = settings.taken(&id) {
                Some(taken)
            } else {
                let same = wanted.values().find(|(known, _)| plain(&known.manifest.id) == plain(&id));
                same.map(|(known, _)| format!("is taken by plugin '{}' {}", known.manifest.id, place(&known.folder)))
            };
            if let Some(other) = other {
                let reason = format!("plugin '{id}' {} is not used: its id {other}{APART}", place(&folder));
                refused.push(RefusedPlugin { folder, id: Some(id), reason });
                continue;
            }
            let makings = Makings {
                settings: Arc::new(settings.plugins.get(&id).cloned().unwrap_or_default()),
                manifest,
                folder,
                stamp,
                guard: settings.guard.clone(),
                timing: settings.timing,
                limits: settings.limits,
            };
            let unavailable = self.unavailable(&makings, settings);
            wanted.insert(id, (makings, unavailable));
        }
        (wanted, refused)
    }

    /// What of a plugin cannot be offered, and why.
    fn unavailable(&self, makings: &Makings, settings: &HostSettings) -> Unavailable {
        let manifest = &makings.manifest;
        let id = &manifest.id;
        let removal =
            |rule: String, origin: &str, fix: String| Arc::new(Removal { rule, origin: origin.to_owned(), fix });
        let mut all = Unavailable::new();
        if let Some(pattern) = settings.deny.naming(id) {
            let fix = format!("remove \"{pattern}\" there");
            all.insert(String::new(), removal(format!("plugins.deny names its plugin '{id}'"), "plugins.deny", fix));
        } else if settings.allow.as_ref().is_some_and(|allow| allow.naming(id).is_none()) {
            let fix = format!("add \"{id}\" there");
            let rule = format!("plugins.allow does not name its plugin '{id}'");
            all.insert(String::new(), removal(rule, "plugins.allow", fix));
        } else if let Some(unusable) = settings.unusable.get(id) {
            let rule = "what its plugin is to be handed cannot be read".to_owned();
            all.insert(String::new(), removal(rule, &unusable.place, format!("mend it: {}", unusable.problem)));
        } else if let Some(Lack { rule, fix }) = self.lacking(id, &manifest.requires, &makings.settings) {
            all.insert(String::new(), removal(rule, &makings.origin(), fix));
        }
        for tool in &manifest.tools {
            if let Some(Lack { rule, fix }) = self.lacking(id, &tool.requires, &makings.settings) {
                all.insert(tool.name.clone(), removal(rule, &makings.origin(), fix));
            }
        }
        all
    }

    /// The first requirement that is not met.
    fn lacking(&self, id: &str, requires: &Requirements, settings: &PluginSettings) -> Option<Lack> {
        needs::lacking(id, requires, settings, |name| self.auth.as_ref().is_some_and(|probe| probe(id, name))).next()
    }

    fn tell(&self, text: &str) {
        tell(&self.told, text);
    }
}

/// Why nothing of a plugin is seen: what is said of its first tool, and how many more there are.
fn unseen(id: &str, plugin: &Generation, surveyed: &Surveyed) -> String {
    let tools = &plugin.makings.manifest.tools;
    let reason = tools.iter().find_map(|tool| {
        let reason = surveyed.reasons.get(&ToolId::new(plugin.source(), tool.name.clone()))?;
        Some(format!("plugin:{id}/{}: {reason}", tool.name))
    });
    let more = match tools.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    format!("nobody can see any of its tools; {}{more}", reason.unwrap_or_else(|| "no scope is served".to_owned()))
}

/// Why an id that is taken is refused, and what helps.
pub const APART: &str = ", and rules could not tell them apart; give one of them another id";

/// Whether two names are too much alike for one of them to be a plugin's id beside the other.
pub fn are_alike(a: &str, b: &str) -> bool {
    plain(a) == plain(b)
}

/// Names as they are compared where one must not pass for another: as exposed names are formed, without regard to case.
fn plain(name: &str) -> String {
    let c = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.trim().chars().map(c).collect()
}

fn tell(told: &parking_lot::Mutex<Told>, text: &str) {
    if told.lock().is_new(text) {
        tracing::warn!("{text}");
    }
}

fn stamp(discovery: &Discovery) -> ContentHash {
    let plugins = discovery.plugins.iter();
    let parts =
        plugins.flat_map(|found| [ContentHash::of_bytes(found.folder.to_string_lossy().as_bytes()), found.stamp]);
    ContentHash::of_hashes(parts)
}
