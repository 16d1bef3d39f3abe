//! Plugins wired up: from the configuration to a host, with MCP servers among the ways a plugin may run.

mod mcp;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, anyhow};
use arc_swap::ArcSwap;
use toolcrib_config::{Config, Diagnostic, Loaded, Process, discover::config_home, model::PluginConfig};
use toolcrib_connect::plugins::{
    HostSettings, IdPatterns, Launchers, Limits, Manifest, PluginHost, PluginSettings, Start, Timing, Unusable, survey,
};
use toolcrib_core::{Catalog, Scope};
use toolcrib_engine::{Engine, HubLimits};

use self::mcp::McpLauncher;
use crate::builtins;

/// The host of a process, and whom it asks for.
pub(crate) struct Plugins {
    /// The host.
    pub(crate) host: PluginHost,
    scopes: Arc<ArcSwap<Vec<Scope>>>,
}

impl Plugins {
    /// A host that publishes to the engine's hub and asks its policy.
    pub(crate) fn new(engine: &Engine, limits: HubLimits) -> Self {
        let scopes: Arc<ArcSwap<Vec<Scope>>> = Arc::default();
        let (asked, known) = (engine.clone(), scopes.clone());
        let survey = Arc::new(move |catalog: &Catalog, came: &[Scope]| {
            survey(catalog, &asked.settings().assemble, &known.load(), came)
        });
        let host = PluginHost::builder(engine.hub().clone(), survey).mcp(Arc::new(McpLauncher { limits })).build();
        Self { host, scopes }
    }

    /// Brings everything in line with a configuration.
    pub(crate) async fn apply(&self, settings: HostSettings, scopes: Vec<Scope>) {
        self.scopes.store(Arc::new(scopes));
        self.host.apply(settings).await;
    }
}

/// What the configuration says of plugins.
pub(crate) fn settings(loaded: &Loaded) -> anyhow::Result<HostSettings> {
    let config = &loaded.config.plugins;
    let patterns = |list: &[String], key: &str| {
        let place = loaded.origins.text(key);
        IdPatterns::new(list.iter().cloned()).map_err(|problem| anyhow!("{place}: {problem}"))
    };
    // Built-in tools that are off count too: switching one on must not cost a plugin.
    let builtin = builtins::names().map(|name| (name.to_owned(), format!("the built-in tool '{name}'")));
    let servers = loaded.config.servers.iter().filter(|(_, server)| server.is_enabled());
    let servers = servers.map(|(name, _)| (name.clone(), format!("the MCP server '{name}'")));
    let unusable = |(id, finding): (&String, &Diagnostic)| {
        let place = loaded.origins.text(&finding.key);
        (id.clone(), Unusable { place, problem: finding.message.clone() })
    };
    Ok(HostSettings {
        enabled: config.enabled,
        folders: folders(&loaded.config),
        allow: config.allow.as_deref().map(|list| patterns(list, "plugins.allow")).transpose()?,
        deny: patterns(&config.deny, "plugins.deny")?,
        plugins: config.settings.iter().map(|(id, plugin)| (id.clone(), handed(plugin))).collect(),
        unusable: config.unusable.iter().map(unusable).collect(),
        reserved: builtin.chain(servers).collect(),
        guard: std::env::current_exe().ok(),
        timing: Timing { drain: Duration::from_millis(config.drain_ms), ..Timing::default() },
        limits: limits(&loaded.config),
    })
}

fn limits(config: &Config) -> Limits {
    let frame_bytes = usize::try_from(config.limits.message_bytes).unwrap_or(usize::MAX);
    Limits { frame_bytes, ..Limits::default() }
}

/// The folders of plugins; without configuration the user's own, if it is there.
pub(crate) fn folders(config: &Config) -> Vec<PathBuf> {
    match &config.plugins.folders {
        Some(folders) => folders.iter().map(PathBuf::from).collect(),
        None => own_folder().into_iter().filter(|folder| folder.is_dir()).collect(),
    }
}

/// Where plugins are put where no folder is configured.
pub(crate) fn own_folder() -> Option<PathBuf> {
    Some(config_home(&Process)?.join("toolcrib/plugins"))
}

/// What one plugin is handed.
fn handed(plugin: &PluginConfig) -> PluginSettings {
    let inherited = plugin.env_inherit.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
    let plain = |map: &BTreeMap<String, toolcrib_config::Secret>| -> BTreeMap<String, String> {
        map.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect()
    };
    PluginSettings {
        config: plugin.config.clone(),
        env: inherited.chain(plain(&plugin.env)).collect(),
        auth: plain(&plugin.auth),
    }
}

/// What `toolcrib plugins check` starts a plugin with, and how.
pub(crate) fn start(
    manifest: Arc<Manifest>,
    folder: &Path,
    loaded: &Loaded,
    settings: HostSettings,
) -> anyhow::Result<(Start, Launchers)> {
    struct Deaf;
    impl toolcrib_connect::plugins::Listener for Deaf {
        fn hear(&self, _: toolcrib_connect::plugins::News) {}
    }
    let HostSettings { plugins, guard, timing, limits, .. } = settings;
    let folder = std::path::absolute(folder).with_context(|| format!("{} has no absolute path", folder.display()))?;
    let settings = plugins.get(&manifest.id).cloned().unwrap_or_default();
    let launchers = Launchers {
        mcp: Arc::new(McpLauncher { limits: crate::settings::hub(&loaded.config) }),
        ..Launchers::default()
    };
    let start = Start {
        manifest,
        folder: Some(folder),
        settings: Arc::new(settings),
        guard,
        timing,
        limits,
        listener: Arc::new(Deaf),
    };
    Ok((start, launchers))
}
