//! Walking a folder by handles, with ignore files respected.
//!
//! No link is followed and every folder is opened inside the handle of the one above, so the walk cannot leave the
//! root whatever is moved meanwhile. Ignore files are read by the walk itself, as regular files of bounded size: one
//! that is a link to an endless device must not be followed.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    ops::ControlFlow,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rustix::fs::{AtFlags, Dir, FileType};

use super::{
    blocking::Stop,
    failure::Failure,
    roots::{Place, open_child_directory, open_child_file},
};

/// Entries a walk looks at before it ends unfinished.
const MAX_VISITED: usize = 200_000;
/// Folders below each other; each holds an open handle.
const MAX_DEPTH: usize = 64;
/// Bytes read of one ignore file.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;
/// Files with rules on what to leave out, the later one wins.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// Stands for the root in paths that ignore rules are matched against.
const TOP: &str = "/";

/// A file (or anything else that is no folder) met on a walk.
pub(crate) struct Found<'a> {
    /// Path from the root the walk is in.
    pub(crate) relative: &'a Path,
    /// The last component.
    pub(crate) name: &'a OsStr,
    pub(crate) kind: FileType,
    /// The folder it lies in.
    pub(crate) folder: BorrowedFd<'a>,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    /// Everything was seen, or the visitor had enough.
    Complete,
    /// There was too much, or it lay too deep.
    Unfinished,
}

/// Why entries could not be read.
pub(crate) enum EntriesError {
    Io(io::Error),
    Stopped(Failure),
}

impl EntriesError {
    pub(crate) fn explain(self, place: &Place<'_>) -> Failure {
        match self {
            Self::Io(error) => place.failure(&error),
            Self::Stopped(failure) => failure,
        }
    }
}

/// The entries of an open folder, at most `limit`, sorted by name, and whether there are more.
pub(crate) fn entries(
    folder: impl AsFd,
    limit: usize,
    stop: &Stop,
) -> Result<(Vec<(OsString, FileType)>, bool), EntriesError> {
    let fail = |error: rustix::io::Errno| EntriesError::Io(error.into());
    let mut entries = Vec::new();
    let mut more = false;
    for entry in Dir::read_from(&folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if entries.len() == limit {
            more = true;
            break;
        }
        if entries.len().is_multiple_of(1_024) {
            stop.check().map_err(EntriesError::Stopped)?;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                // Gone since.
                Err(_) => continue,
            },
            kind => kind,
        };
        entries.push((name.to_owned(), kind));
    }
    entries.sort_by(|(left, _): &(OsString, FileType), (right, _)| left.cmp(right));
    Ok((entries, more))
}

/// A file name on one line: what is not text, and control characters, are replaced.
pub(crate) fn printable(name: &OsStr) -> String {
    let text = name.to_string_lossy();
    if text.chars().any(char::is_control) {
        text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
    } else {
        text.into_owned()
    }
}

/// Visits everything below `base` that ignore files do not leave out, folders themselves and `.git` excepted, sorted.
pub(crate) fn walk(
    base: &Place<'_>,
    stop: &Stop,
    visit: &mut dyn FnMut(&Found<'_>) -> Result<ControlFlow<()>, Failure>,
) -> Result<WalkEnd, Failure> {
    let handle = base.open_directory()?;
    let mut walk = Walk { stop, visit, ignores: Vec::new(), visited: 0, end: WalkEnd::Complete };
    // Rules of the folders above hold below, as far as they belong to the root.
    let mut above = PathBuf::new();
    for part in base.relative().components() {
        if let Ok(folder) = base.at(above.clone()).open_directory() {
            walk.ignores.extend(rules_of(folder.as_fd(), &above));
        }
        above.push(part);
    }
    match walk.folder(&handle, base.relative(), 0) {
        Ok(_) => Ok(walk.end),
        Err(error) => Err(error.explain(base)),
    }
}

struct Walk<'a> {
    stop: &'a Stop,
    visit: &'a mut dyn FnMut(&Found<'_>) -> Result<ControlFlow<()>, Failure>,
    // From the root down.
    ignores: Vec<Gitignore>,
    visited: usize,
    end: WalkEnd,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &OwnedFd, relative: &Path, depth: usize) -> Result<ControlFlow<()>, EntriesError> {
        let (entries, more) = entries(folder, MAX_VISITED - self.visited, self.stop)?;
        if more {
            self.end = WalkEnd::Unfinished;
        }
        let outer = self.ignores.len();
        self.ignores.extend(rules_of(folder.as_fd(), relative));
        for (name, kind) in entries {
            self.visited += 1;
            if self.visited > MAX_VISITED {
                self.end = WalkEnd::Unfinished;
                return Ok(ControlFlow::Break(()));
            }
            let path = relative.join(&name);
            let is_folder = kind == FileType::Directory;
            if (is_folder && name == ".git") || self.is_ignored(&path, is_folder) {
                continue;
            }
            let flow = if is_folder {
                if depth == MAX_DEPTH {
                    self.end = WalkEnd::Unfinished;
                    continue;
                }
                match open_child_directory(folder, &name) {
                    Ok(child) => match self.folder(&child, &path, depth + 1) {
                        // One unreadable folder does not end the walk.
                        Err(EntriesError::Io(_)) => ControlFlow::Continue(()),
                        other => other?,
                    },
                    Err(_) => ControlFlow::Continue(()),
                }
            } else {
                self.stop.check().map_err(EntriesError::Stopped)?;
                let found = Found { relative: &path, name: &name, kind, folder: folder.as_fd() };
                (self.visit)(&found).map_err(EntriesError::Stopped)?
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        self.ignores.truncate(outer);
        Ok(ControlFlow::Continue(()))
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let path = Path::new(TOP).join(path);
        for rules in self.ignores.iter().rev() {
            match rules.matched(&path, is_folder) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn rules_of(folder: BorrowedFd<'_>, relative: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(Path::new(TOP).join(relative));
    let mut any = false;
    for name in IGNORE_FILES {
        let Ok(file) = open_child_file(folder, OsStr::new(name)) else { continue };
        let mut bytes = Vec::new();
        if file.take(MAX_IGNORE_BYTES).read_to_end(&mut bytes).is_err() {
            continue;
        }
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line that is no rule is skipped, as git does.
            any |= builder.add_line(None, line).is_ok();
        }
    }
    if any { builder.build().ok() } else { None }
}
