//! Plugins in folders: which there are, and whether one has changed.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use globset::GlobSet;
use toolcrib_core::ContentHash;

use super::manifest::{FILE, MAX_BYTES, Manifest, ManifestError, read_bounded};

/// Most plugins of all folders.
const MOST: usize = 256;
/// Largest file whose content is looked at; of larger ones size and time count.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Most files of one plugin that are looked at, and how deep.
const FILES: usize = 2_000;
const DEPTH: usize = 8;

/// A folder with a manifest.
#[derive(Clone, Debug)]
pub struct Found {
    /// The folder.
    pub folder: PathBuf,
    /// What its manifest says, or why it cannot be used.
    pub manifest: Result<Arc<Manifest>, ManifestError>,
    /// Hash over the manifest, the files that its command names and those that it watches.
    pub stamp: ContentHash,
}

/// What a look into folders found.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Plugins, by configured folder and then by name.
    pub plugins: Vec<Found>,
    /// What an operator should know, such as a folder that is not there.
    pub odd: Vec<String>,
}

/// Looks for plugins. Each folder is one, or holds some: its own folders with a `plugin.toml`. Reads files; runs nothing.
pub fn discover(folders: &[PathBuf]) -> Discovery {
    let mut discovery = Discovery::default();
    let mut seen = BTreeSet::new();
    for folder in folders {
        let candidates = if folder.join(FILE).is_file() {
            vec![folder.clone()]
        } else {
            match std::fs::read_dir(folder) {
                Ok(entries) => {
                    let mut inner: Vec<PathBuf> = entries
                        .flatten()
                        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
                        .map(|entry| entry.path())
                        .filter(|path| path.join(FILE).is_file())
                        .collect();
                    inner.sort();
                    inner
                }
                Err(error) => {
                    discovery.odd.push(format!("the plugin folder {} cannot be read: {error}", folder.display()));
                    continue;
                }
            }
        };
        for candidate in candidates {
            // A folder that is named twice, or reached through a link, is one plugin.
            if !seen.insert(std::fs::canonicalize(&candidate).unwrap_or_else(|_| candidate.clone())) {
                continue;
            }
            if discovery.plugins.len() >= MOST {
                discovery.odd.push(format!(
                    "there are more than {MOST} plugins; those from {} on are left out",
                    candidate.display()
                ));
                return discovery;
            }
            discovery.plugins.push(look(&candidate));
        }
    }
    discovery
}

/// The plugin in one folder.
pub fn look(folder: &Path) -> Found {
    let manifest = Manifest::load(folder).map(Arc::new);
    let stamp = stamp(folder, manifest.as_deref().ok());
    Found { folder: folder.to_owned(), manifest, stamp }
}

fn stamp(folder: &Path, manifest: Option<&Manifest>) -> ContentHash {
    let mut files: BTreeSet<PathBuf> = BTreeSet::from([folder.join(FILE)]);
    if let Some(manifest) = manifest {
        let words = manifest.run.command().unwrap_or_default();
        // Of what the command names, files within the folder.
        files.extend(
            words.iter().map(|word| folder.join(word)).filter(|path| path.starts_with(folder) && path.is_file()),
        );
        if !manifest.watch.is_empty() {
            watched(folder, folder, &manifest.watched(), 0, &mut files);
        }
    }
    let parts = files.iter().flat_map(|path| [ContentHash::of_bytes(path.to_string_lossy().as_bytes()), content(path)]);
    ContentHash::of_hashes(parts)
}

fn content(path: &Path) -> ContentHash {
    let Ok(meta) = path.metadata() else { return ContentHash::of_bytes(b"gone") };
    let most = if path.ends_with(FILE) { MAX_BYTES as u64 } else { LARGEST };
    if meta.len() <= most
        && let Ok(bytes) = read_bounded(path, most as usize)
    {
        return ContentHash::of_bytes(&bytes);
    }
    ContentHash::of_bytes(format!("{} {:?}", meta.len(), meta.modified().ok()).as_bytes())
}

fn watched(root: &Path, folder: &Path, globs: &GlobSet, depth: usize, files: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if files.len() >= FILES {
            return;
        }
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() && depth < DEPTH && !entry.file_name().to_string_lossy().starts_with('.') {
            watched(root, &path, globs, depth + 1, files);
        } else if path.strip_prefix(root).is_ok_and(|inner| globs.is_match(inner)) && path.is_file() {
            files.insert(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(folder: &Path, id: &str, more: &str) {
        std::fs::create_dir_all(folder.join("lib/.hidden")).unwrap();
        let text = format!(
            "id = \"{id}\"\nversion = \"1\"\ndescription = \"d\"\n[run]\nlines = [\"sh\", \"run.sh\"]\n{more}\n[[tools]]\nname = \"t\"\n"
        );
        std::fs::write(folder.join(FILE), text).unwrap();
        std::fs::write(folder.join("run.sh"), "echo").unwrap();
    }

    #[test]
    fn a_folder_is_a_plugin_or_holds_some() {
        let root = tempfile::tempdir().unwrap();
        plugin(&root.path().join("all/b"), "b", "");
        plugin(&root.path().join("all/a"), "a", "");
        plugin(&root.path().join("all/.staging"), "hidden", "");
        plugin(&root.path().join("own"), "own", "");
        std::fs::create_dir(root.path().join("all/empty")).unwrap();
        std::fs::write(root.path().join("all/b/plugin.toml"), "id = 1").unwrap();
        let folders = ["own", "all", "all/a", "gone"].map(|name| root.path().join(name));
        let found = discover(&folders);
        let ids: Vec<Option<&str>> =
            found.plugins.iter().map(|found| found.manifest.as_ref().ok().map(|m| &*m.id)).collect();
        assert_eq!(ids, [Some("own"), Some("a"), None], "each once, the broken one with its reason");
        assert!(found.odd[0].contains("gone") && found.odd.len() == 1, "{:?}", found.odd);
    }

    #[test]
    fn a_plugin_changes_with_its_manifest_its_program_and_what_it_watches() {
        let root = tempfile::tempdir().unwrap();
        plugin(root.path(), "p", "watch = [\"lib/**/*.py\"]");
        let write = |name: &str, text: &str| {
            std::fs::write(root.path().join(name), text).unwrap();
            look(root.path()).stamp
        };
        let first = look(root.path()).stamp;
        assert_eq!(write("data.db", "what it keeps for itself"), first);
        assert_eq!(write("lib/.hidden/x.py", "x"), first);
        let program = write("run.sh", "echo 2");
        assert_ne!(program, first);
        let library = write("lib/a.py", "1");
        assert_ne!(library, program);
        assert_ne!(write("lib/a.py", "2"), library);
        assert_eq!(write("lib/a.py", "1"), library, "content counts, not time");
    }
}
