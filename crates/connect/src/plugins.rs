//! Plugins: tools that come from a folder with a manifest and run as a process of their own, or as code that the
//! embedding program registers.
//!
//! Manifest first: what a plugin may offer is decided from `plugin.toml` alone, by the same selection as everything else,
//! before any of its code runs. A plugin of which nobody could see anything is never started. What the running plugin
//! offers beyond its manifest is dropped, and what it says of its own tools can only raise caution. Each plugin fails,
//! hangs and crashes alone. The user's view is docs/plugins.md, the protocol docs/plugin-protocol.md, why it is so
//! docs/decisions/0012.

mod check;
mod factory;
mod folder;
mod generation;
mod host;
mod lines;
mod manifest;
mod needs;
mod offer;
mod process;
mod report;
mod running;
mod split;
mod survey;
mod visitors;
mod voice;

pub use self::{
    check::{Checked, check},
    factory::{FactoryContext, FactoryLauncher, FactoryTools, PluginFactory},
    folder::{Discovery, Found, discover, look},
    host::{APART, AuthProbe, HostBuilder, HostSettings, IdPatterns, Launchers, PluginHost, Unusable, are_alike},
    lines::LinesLauncher,
    manifest::{Caution, DeclaredTool, FILE, Manifest, ManifestError, Requirements, Run},
    report::{PluginReport, PluginState, PluginsReport, RefusedPlugin, ToolReport},
    running::{Launcher, Limits, Listener, News, PluginSettings, Running, Start, Timing, Vitals},
    survey::{Survey, Surveyed, survey},
};
