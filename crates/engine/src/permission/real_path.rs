//! Where a path leads on this machine's disk, links followed, also for files that do not exist yet.
//!
//! What is true when a call is judged can be changed before its tool opens the file: this closes accidents and plain
//! tricks. Tools of ours open below a folder's handle and are safe against the rest as well.

use std::path::{Component, Path, PathBuf};

use toolcrib_core::permission::{is_within, normalise};

/// Most components that are followed.
const MOST_COMPONENTS: usize = 256;
/// Most bytes of a path.
const MOST_BYTES: usize = 4_096;

/// The real path of the longest existing prefix with the rest appended, as the system would follow it: a `..` behind a
/// link leads out of the link's target. `None` for a relative path, a dangling link, or whatever cannot be looked at.
pub(crate) fn real(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    if !path.is_absolute() || path.as_os_str().len() > MOST_BYTES || path.components().count() > MOST_COMPONENTS {
        return None;
    }
    let mut at = PathBuf::new();
    let mut exists = true;
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => at.push(component),
            Component::CurDir => {}
            Component::ParentDir => {
                at.pop();
                // Whatever lies above is there again, or was never looked at: look from here on.
                exists = true;
            }
            Component::Normal(name) => {
                at.push(name);
                if !exists {
                    continue;
                }
                match at.symlink_metadata() {
                    // A link that leads nowhere would be created at its target: not known to be inside.
                    Ok(_) => at = at.canonicalize().ok()?,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => exists = false,
                    Err(_) => return None,
                }
            }
        }
    }
    Some(at)
}

/// Whether every path leads into one of the roots, however it is read: as the system follows it, and with `..` resolved
/// by its text first (oneringai cases 102 and 103). Looks at the disk and may block.
pub(crate) fn all_within(paths: &[String], roots: &[String]) -> bool {
    let roots: Vec<String> = roots.iter().filter_map(|root| real(root)).filter_map(text).collect();
    let inside =
        |path: &str| real(path).and_then(text).is_some_and(|path| roots.iter().any(|root| is_within(&path, root)));
    paths.iter().all(|path| inside(path) && inside(&normalise(path, None)))
}

/// Whether every path leads below a folder that was real when somebody agreed to it. If a link stands there now, none
/// does. Looks at the disk and may block.
pub(crate) fn all_below(paths: &[String], root: &str) -> bool {
    real(root).and_then(text).is_some_and(|there| there == root) && all_within(paths, &[root.to_owned()])
}

/// The real place of a folder, if all paths are below that too. Looks at the disk and may block.
pub(crate) fn settled(folder: &str, paths: &[String]) -> Option<String> {
    real(folder).and_then(text).filter(|there| all_below(paths, there))
}

/// Paths that are no text cannot be compared and count as outside.
pub(super) fn text(path: PathBuf) -> Option<String> {
    path.into_os_string().into_string().ok()
}
