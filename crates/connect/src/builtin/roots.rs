//! Allowed folders as capabilities: every path a tool is given is opened beneath one of them or not at all.
//!
//! Paths are never compared as text after resolution. The kernel resolves them beneath the root's handle (`openat2`),
//! or [`walk`] does the same step by step where that call is missing; links are followed as long as they stay inside,
//! and swapping one for another while a call runs changes nothing about that (threat T11 of the security reference).

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Component, Path, PathBuf},
    sync::OnceLock,
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags},
    io::Errno,
};

use super::failure::Failure;

mod walk;

/// Most bytes of a path.
const MAX_PATH_BYTES: usize = 4_096;
/// Most folders `open_parent` descends through or creates.
const MAX_DEPTH: usize = 64;

/// Opened only to go on from; reading is not asked for, so search permission suffices.
#[cfg(target_os = "linux")]
const SEARCH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const SEARCH: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// For reading. Never waits for the other end of a FIFO, never takes a terminal over.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// A folder the file tools may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder. Made absolute from the working directory when the tools are built.
    pub path: PathBuf,
    /// Whether files beneath it may be written.
    pub writable: bool,
}

/// All allowed folders, opened when first used and held from then on.
pub(crate) struct Roots {
    roots: Vec<OpenRoot>,
}

pub(crate) struct OpenRoot {
    path: PathBuf,
    writable: bool,
    first: bool,
    opened: OnceLock<Opened>,
}

struct Opened {
    handle: OwnedFd,
    canonical: PathBuf,
}

/// A path that lies beneath a root as far as its text goes. Opening it is what proves it.
pub(crate) struct Place<'a> {
    root: &'a OpenRoot,
    /// Plain components only; empty for the root itself.
    relative: PathBuf,
    /// As the caller wrote it, for messages.
    asked: String,
}

impl Roots {
    pub(crate) fn new(roots: &[Root]) -> Self {
        let open = |(index, root): (usize, &Root)| OpenRoot {
            path: std::path::absolute(&root.path).unwrap_or_else(|_| root.path.clone()),
            writable: root.writable,
            first: index == 0,
            opened: OnceLock::new(),
        };
        Self { roots: roots.iter().enumerate().map(open).collect() }
    }

    /// Finds the root a path belongs to. A relative path counts from the first root.
    pub(crate) fn place(&self, path: &str) -> Result<Place<'_>, Failure> {
        let Some(first) = self.roots.first() else {
            return Err(Failure::new("no folder is allowed: name one in builtin.files.roots"));
        };
        if path.is_empty() {
            return Err(Failure::new("the path is empty; '.' is the first allowed folder"));
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(Failure::new(format!("the path is longer than {MAX_PATH_BYTES} bytes")));
        }
        if path.contains('\0') {
            return Err(Failure::new("the path contains a NUL character"));
        }
        let given = Path::new(path);
        let (root, rest) = if given.is_absolute() {
            self.roots
                .iter()
                .filter_map(|root| root.strip(given).map(|rest| (root, rest)))
                .min_by_key(|(_, rest)| rest.components().count())
                .ok_or_else(|| self.outside(path))?
        } else {
            (first, given.to_owned())
        };
        let mut relative = PathBuf::new();
        for component in rest.components() {
            match component {
                Component::Normal(part) => relative.push(part),
                Component::CurDir => {}
                Component::ParentDir => {
                    return Err(Failure::new(format!(
                        "'{path}' contains '..'; write the path from an allowed folder instead: {}",
                        self.list()
                    )));
                }
                Component::RootDir | Component::Prefix(_) => return Err(self.outside(path)),
            }
        }
        Ok(Place { root, relative, asked: path.to_owned() })
    }

    fn outside(&self, path: &str) -> Failure {
        Failure::new(format!("'{path}' is outside the allowed folders: {}", self.list()))
    }

    /// The allowed folders, for messages.
    pub(crate) fn list(&self) -> String {
        let paths: Vec<_> = self.roots.iter().map(|root| root.path.display().to_string()).collect();
        paths.join(", ")
    }
}

impl OpenRoot {
    fn opened(&self) -> io::Result<&Opened> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let handle = rustix::fs::openat(CWD, &self.path, SEARCH, Mode::empty())?;
        let canonical = self.path.canonicalize()?;
        Ok(self.opened.get_or_init(|| Opened { handle, canonical }))
    }

    /// What follows the root in an absolute path; whole components only, so `/data-private` is not beneath `/data`.
    fn strip(&self, path: &Path) -> Option<PathBuf> {
        let canonical = || self.opened().ok().and_then(|opened| path.strip_prefix(&opened.canonical).ok());
        path.strip_prefix(&self.path).ok().or_else(canonical).map(Path::to_owned)
    }
}

impl<'a> Place<'a> {
    /// A place below this one, from a relative path that a directory listing gave.
    pub(crate) fn relative(&self) -> &Path {
        &self.relative
    }

    /// As the caller wrote it.
    pub(crate) fn asked(&self) -> &str {
        &self.asked
    }

    /// The same root at another path, whose components the file system itself gave.
    pub(crate) fn at(&self, relative: PathBuf) -> Place<'a> {
        let asked = self.root.show(&relative);
        Place { root: self.root, relative, asked }
    }

    /// How a path beneath the same root is shown: in the form that, given back to a tool, means the same file.
    pub(crate) fn show(&self, relative: &Path) -> String {
        self.root.show(relative)
    }

    /// The path in the file system, for child processes. Not for opening files: only handles are safe for that.
    pub(crate) fn path(&self) -> Result<PathBuf, Failure> {
        let opened = self.root.opened().map_err(|error| self.failure(&error))?;
        Ok(opened.canonical.join(&self.relative))
    }

    /// Opens a regular file for reading. Everything else is refused without waiting: directories, FIFOs, sockets,
    /// devices.
    pub(crate) fn open_file(&self) -> Result<File, Failure> {
        // Looked at first: opening a device can do something by itself.
        #[cfg(target_os = "linux")]
        self.require_regular(&self.open(OFlags::PATH | OFlags::CLOEXEC)?)?;
        let file = self.open(READ)?;
        self.require_regular(&file)?;
        Ok(file.into())
    }

    /// Opens a directory for listing.
    pub(crate) fn open_directory(&self) -> Result<OwnedFd, Failure> {
        self.open(READ | OFlags::DIRECTORY).map_err(|failure| {
            if self.open(SEARCH).is_ok() || !self.exists() {
                failure
            } else {
                Failure::new(format!("'{}' is not a directory", self.asked))
            }
        })
    }

    /// Whether there is anything at this place.
    pub(crate) fn exists(&self) -> bool {
        self.open_raw(READ).is_ok()
    }

    /// Whether the place is a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.open_raw(SEARCH).is_ok()
    }

    /// The handle of the folder a file is to be written into and the file's name in it; missing folders are created.
    pub(crate) fn open_parent_for_writing(&self) -> Result<(OwnedFd, OsString), Failure> {
        if !self.root.writable {
            return Err(Failure::new(format!("'{}' is in a folder that may only be read", self.asked)));
        }
        let Some(name) = self.relative.file_name() else {
            return Err(Failure::new(format!("'{}' is a directory, not a file", self.asked)));
        };
        let parent = self.relative.parent().unwrap_or(Path::new(""));
        let handle = match self.beneath(parent, SEARCH) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => self.create_folders(parent)?,
            Err(error) => return Err(self.failure(&error.into())),
        };
        Ok((handle, name.to_owned()))
    }

    fn create_folders(&self, folder: &Path) -> Result<OwnedFd, Failure> {
        if folder.components().count() > MAX_DEPTH {
            return Err(Failure::new(format!("'{}' lies more than {MAX_DEPTH} folders deep", self.asked)));
        }
        let mut done = PathBuf::new();
        let mut handle = self.beneath(&done, SEARCH).map_err(|error| self.failure(&error.into()))?;
        for part in folder.components() {
            done.push(part);
            handle = match self.beneath(&done, SEARCH) {
                Err(Errno::NOENT) => match rustix::fs::mkdirat(&handle, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => self.beneath(&done, SEARCH),
                    Err(error) => Err(error),
                },
                other => other,
            }
            .map_err(|error| self.failure(&error.into()))?;
        }
        Ok(handle)
    }

    fn open(&self, flags: OFlags) -> Result<OwnedFd, Failure> {
        self.open_raw(flags).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NXIO | Errno::NODEV) => self.not_regular(),
            _ => self.failure(&error),
        })
    }

    fn open_raw(&self, flags: OFlags) -> io::Result<OwnedFd> {
        self.root.opened()?;
        Ok(self.beneath(&self.relative, flags)?)
    }

    fn beneath(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let opened = self.root.opened().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        open_beneath(opened.handle.as_fd(), relative, flags)
    }

    fn require_regular(&self, handle: &OwnedFd) -> Result<(), Failure> {
        let stat = rustix::fs::fstat(handle).map_err(|error| self.failure(&error.into()))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(Failure::new(format!("'{}' is a directory; use list_directory", self.asked))),
            _ => Err(self.not_regular()),
        }
    }

    fn not_regular(&self) -> Failure {
        Failure::new(format!("'{}' is a device, pipe or socket; only regular files can be used", self.asked))
    }

    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        match Errno::from_io_error(error) {
            Some(Errno::XDEV) => Failure::new(format!(
                "'{}' leads through a link out of the allowed folder {}",
                self.asked,
                self.root.path.display()
            )),
            Some(Errno::LOOP) => Failure::new(format!("'{}' leads through links that cannot be followed", self.asked)),
            _ => Failure::io(&self.asked, error),
        }
    }
}

impl OpenRoot {
    fn show(&self, relative: &Path) -> String {
        if self.first && !relative.as_os_str().is_empty() {
            relative.display().to_string()
        } else if self.first {
            ".".to_owned()
        } else {
            self.path.join(relative).display().to_string()
        }
    }
}

/// What `name` in the folder is and its permissions, without following a link; `None` if there is nothing.
pub(crate) fn kind_of(folder: impl AsFd, name: &OsStr) -> io::Result<Option<(FileType, Mode)>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some((FileType::from_raw_mode(stat.st_mode), Mode::from_raw_mode(stat.st_mode & 0o777)))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens a regular file directly inside an open folder, links refused.
pub(crate) fn open_child_file(folder: impl AsFd, name: &OsStr) -> io::Result<File> {
    let handle = rustix::fs::openat(folder, name, READ | OFlags::NOFOLLOW, Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        Ok(handle.into())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Opens a folder directly inside an open folder, links refused.
pub(crate) fn open_child_directory(folder: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(folder, name, READ | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?)
}

#[cfg(target_os = "linux")]
fn open_beneath(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let rules = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    // The kernel answers EAGAIN when something was moved while it looked; then it is simply asked again.
    for _ in 0..16 {
        match rustix::fs::openat2(root, path, flags, Mode::empty(), rules) {
            Err(Errno::AGAIN) => {}
            // Older kernels, and sandboxes that do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => return walk::open_beneath(root, relative, flags),
            outcome => return outcome,
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    walk::open_beneath(root, relative, flags)
}

#[cfg(test)]
mod tests;
