//! Replacing a file's content in one step: readers see the old text or the new one, never half of it, also after a
//! crash.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use super::{
    failure::Failure,
    roots::{Place, kind_of},
};

/// Writes `content` to a place, creating the file and missing folders. True if the file is new.
///
/// An existing file keeps its permissions. A link is not written through: what is at its other end can be named
/// directly.
pub(crate) fn replace(place: &Place<'_>, content: &[u8]) -> Result<bool, Failure> {
    let (folder, name) = place.open_parent_for_writing()?;
    let failed = |error: io::Error| place.failure(&error);
    let mode = match kind_of(&folder, &name).map_err(failed)? {
        None => None,
        Some((FileType::RegularFile, mode)) => Some(mode),
        Some((FileType::Symlink, _)) => {
            return Err(Failure::new(format!("'{}' is a link; write to the file it leads to", place.asked())));
        }
        Some((FileType::Directory, _)) => return Err(Failure::new(format!("'{}' is a directory", place.asked()))),
        Some(_) => return Err(Failure::new(format!("'{}' is not a regular file", place.asked()))),
    };
    let draft = Draft::create(folder).map_err(failed)?;
    draft.fill(content, mode).map_err(failed)?;
    draft.publish(&name).map_err(failed)?;
    Ok(mode.is_none())
}

/// The new content under a temporary name in the same folder; removed unless published.
struct Draft {
    folder: OwnedFd,
    name: OsString,
    file: File,
    published: bool,
}

impl Draft {
    fn create(folder: OwnedFd) -> io::Result<Self> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        for attempt in 0..100 {
            let name = OsString::from(format!(".toolcrib-{:x}-{seed:x}-{attempt}.tmp", std::process::id()));
            match rustix::fs::openat(folder.as_fd(), &name, flags, Mode::from_raw_mode(0o666)) {
                Ok(handle) => return Ok(Self { folder, name, file: handle.into(), published: false }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free temporary name in the folder"))
    }

    fn fill(&self, content: &[u8], mode: Option<Mode>) -> io::Result<()> {
        // First: content that was private must not be readable under another name meanwhile.
        if let Some(mode) = mode {
            rustix::fs::fchmod(&self.file, mode)?;
        }
        (&self.file).write_all(content)?;
        self.file.sync_all()
    }

    fn publish(mut self, name: &OsStr) -> io::Result<()> {
        rustix::fs::renameat(&self.folder, &self.name, &self.folder, name)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published
            && let Err(error) = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())
        {
            tracing::warn!(%error, "a temporary file could not be removed");
        }
    }
}
