//! `list_directory`: what a folder holds.

use rustix::fs::{AtFlags, FileType};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    blocking::Stop,
    definition::{Behaviour, define},
    failure::Failure,
    tree,
};

/// Entries shown.
const MAX_SHOWN: usize = 1_000;
/// Entries looked at; a folder with more is not sorted as a whole.
const MAX_READ: usize = 100_000;

pub(crate) fn definition() -> Value {
    define(
        "list_directory",
        "List directory",
        "List a directory; '.' is the first allowed one.",
        &json!({"path": {"type": "string"}}),
        &["path"],
        Behaviour::Reads,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
}

pub(crate) fn run(shared: &Shared, arguments: &Arguments, stop: &Stop) -> Result<String, Failure> {
    let place = shared.roots.place(&arguments.path)?;
    let folder = place.open_directory()?;
    let (entries, more) = tree::entries(&folder, MAX_READ, stop).map_err(|error| error.explain(&place))?;
    let mut lines = Vec::with_capacity(entries.len().min(MAX_SHOWN) + 1);
    for (name, kind) in entries.iter().take(MAX_SHOWN) {
        let shown = tree::printable(name);
        lines.push(match kind {
            FileType::Directory => format!("{shown}/"),
            FileType::Symlink => format!("{shown}@"),
            FileType::RegularFile => match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => format!("{shown}  {} bytes", stat.st_size),
                Err(_) => shown,
            },
            _ => format!("{shown}  (special)"),
        });
    }
    if lines.is_empty() {
        return Ok("(empty)".to_owned());
    }
    if more {
        lines.push(format!("[more than {MAX_READ} entries; use find_files with a pattern]"));
    } else if entries.len() > MAX_SHOWN {
        lines.push(format!("[{} more entries; use find_files with a pattern]", entries.len() - MAX_SHOWN));
    }
    Ok(lines.join("\n"))
}
