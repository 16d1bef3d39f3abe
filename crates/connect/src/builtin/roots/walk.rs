//! Resolution beneath a folder in user space: what `openat2` with `RESOLVE_BENEATH` does, one component at a time.
//!
//! Every step opens one name inside the folder held by then, never following a link by itself. A link is read and its
//! target's components take its place; an absolute target or a step above the root ends the resolution. Since each step
//! starts at a held handle, renaming or swapping anything meanwhile cannot lead outside.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Component, Path},
};

use rustix::{
    fs::{FileType, Mode, OFlags},
    io::Errno,
};

use super::SEARCH;

/// Links followed before giving up, as in Linux.
const MAX_LINKS: usize = 40;
/// Components that may be waiting; links to links could multiply them.
const MAX_PENDING: usize = 1_024;

pub(crate) fn open_beneath(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut pending: VecDeque<OsString> = VecDeque::new();
    queue(&mut pending, relative)?;
    // Folders entered so far, below the root.
    let mut entered: Vec<OwnedFd> = Vec::new();
    let mut links = 0;
    while let Some(part) = pending.pop_front() {
        if part == "." {
            continue;
        }
        if part == ".." {
            entered.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let here = entered.last().map_or(root, AsFd::as_fd);
        match rustix::fs::readlinkat(here, &part, Vec::new()) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP);
                }
                let target = OsString::from_vec(target.into_bytes());
                if target.as_bytes().starts_with(b"/") {
                    return Err(Errno::XDEV);
                }
                queue(&mut pending, Path::new(&target))?;
                continue;
            }
            // Not a link.
            Err(Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
        if pending.is_empty() {
            let opened = rustix::fs::openat(here, &part, flags | OFlags::NOFOLLOW, Mode::empty())?;
            // A handle for looking only opens a link itself if one was swapped in meanwhile.
            let stat = rustix::fs::fstat(&opened)?;
            return match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => Err(Errno::LOOP),
                _ => Ok(opened),
            };
        }
        let folder = rustix::fs::openat(here, &part, SEARCH | OFlags::NOFOLLOW, Mode::empty())?;
        entered.push(folder);
    }
    let here = entered.last().map_or(root, AsFd::as_fd);
    rustix::fs::openat(here, OsStr::new("."), flags, Mode::empty())
}

/// Puts a path's components before the ones waiting.
fn queue(pending: &mut VecDeque<OsString>, path: &Path) -> Result<(), Errno> {
    let text = path.as_os_str().as_bytes();
    if text.ends_with(b"/") || text.ends_with(b"/.") {
        // Says that what comes before is a directory, which `components` leaves out.
        pending.push_front(OsString::from("."));
    }
    for component in path.components().rev() {
        match component {
            Component::Normal(part) => pending.push_front(part.to_owned()),
            Component::ParentDir => pending.push_front(OsString::from("..")),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    if pending.len() > MAX_PENDING { Err(Errno::NAMETOOLONG) } else { Ok(()) }
}
