//! Finding configuration files.

use std::path::{Path, PathBuf};

/// Names looked for in a folder, best first.
const NAMES: [&str; 4] = ["toolcrib.toml", "toolcrib.yaml", "toolcrib.yml", "toolcrib.json"];

/// The files that apply, lowest layer first: that of the user's config folder, then that of the working directory
/// (`toolcrib.*`, else `.mcp.json`). Only the best name of each folder counts.
pub fn discover(working_dir: &Path, config_home: Option<&Path>) -> Vec<PathBuf> {
    let best = |folder: &Path, extra: Option<&str>| {
        NAMES.into_iter().chain(extra).map(|name| folder.join(name)).find(|path| path.is_file())
    };
    let user = config_home.and_then(|home| best(&home.join("toolcrib"), None));
    let here = best(working_dir, Some(".mcp.json"));
    user.into_iter().chain(here).collect()
}

/// The `.mcp.json` of a folder that [`discover`] passes over, because a file of ours is there as well.
pub fn passed_over(working_dir: &Path) -> Option<PathBuf> {
    let other = working_dir.join(".mcp.json");
    let ours = NAMES.into_iter().any(|name| working_dir.join(name).is_file());
    (ours && other.is_file()).then_some(other)
}

/// The user's config folder: `$XDG_CONFIG_HOME`, else `~/.config`.
pub fn config_home(surroundings: &dyn crate::Surroundings) -> Option<PathBuf> {
    let absolute = |name: &str| surroundings.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))
}

/// The user's state folder: `$XDG_STATE_HOME`, else `~/.local/state`.
pub fn state_home(surroundings: &dyn crate::Surroundings) -> Option<PathBuf> {
    let absolute = |name: &str| surroundings.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
}
