//! From SQLite's failures to texts that say what to do, and the mark that makes the next start look closer.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Error, ErrorCode};
use toolcrib_engine::StoreError;

/// Why one piece of work did nothing.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// SQLite failed.
    Sql(Error),
    /// A rule of ours, a quota for instance.
    Rule(StoreError),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl Refusal {
    pub(crate) fn explain(self, operation: &'static str, suspect: &Suspect) -> StoreError {
        match self {
            Self::Sql(error) => {
                if is_damage(&error) {
                    suspect.mark();
                }
                StoreError::Failed { operation, cause: explain(&error) }
            }
            Self::Rule(error) => error,
        }
    }
}

/// `SQLITE_READONLY_DBMOVED`: the file was renamed or deleted while open.
const MOVED: i32 = 1032;

/// What the path led to when the store was opened. SQLite itself looks only at checkpoints, and until then writes into
/// a file that nobody will open again.
pub(crate) struct Identity {
    #[cfg(unix)]
    known: Option<(PathBuf, (u64, u64))>,
}

impl Identity {
    #[cfg(unix)]
    pub(crate) fn of(store: &Path) -> Self {
        Self { known: file_number(store).map(|number| (store.to_owned(), number)) }
    }

    #[cfg(not(unix))]
    pub(crate) fn of(_: &Path) -> Self {
        Self {}
    }

    pub(crate) fn nowhere() -> Self {
        Self {
            #[cfg(unix)]
            known: None,
        }
    }

    /// Fails when the path leads to another file by now, or to none.
    pub(crate) fn check(&self) -> Result<(), Error> {
        #[cfg(unix)]
        if let Some((path, number)) = &self.known
            && file_number(path) != Some(*number)
        {
            return Err(Error::SqliteFailure(rusqlite::ffi::Error::new(MOVED), None));
        }
        Ok(())
    }
}

#[cfg(unix)]
fn file_number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Whether the error says that the file's content is broken.
pub(crate) fn is_damage(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether the error says that somebody else holds the file.
pub(crate) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The cause in words, with the way out. Names no value: SQLite's own texts hold none of ours.
pub(crate) fn explain(error: &Error) -> String {
    if let Error::SqliteFailure(failure, _) = error
        && failure.extended_code == MOVED
    {
        return "the file was moved or deleted while in use; restart toolcrib".to_owned();
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process keeps the file locked; try again, or give each process its own store".to_owned()
        }
        Some(ErrorCode::ReadOnly) => "the file or its folder is read-only; make both writable".to_owned(),
        Some(ErrorCode::DiskFull) => "no space is left on the disk or under the store's size cap; free some".to_owned(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            "the file is damaged; restart toolcrib, which puts it aside and starts a new one".to_owned()
        }
        Some(ErrorCode::CannotOpen) => "the file cannot be opened; check that its folder exists and is writable".into(),
        Some(ErrorCode::PermissionDenied) => {
            "permission denied; the file must belong to the user who runs toolcrib".into()
        }
        Some(_) | None => error.to_string(),
    }
}

/// The marker file `FILE.suspect`: damage was met while running, so the next start checks the whole file whatever its
/// size.
#[derive(Clone)]
pub(crate) struct Suspect {
    marker: Option<Arc<Path>>,
}

impl Suspect {
    pub(crate) fn for_store(store: &Path) -> Self {
        Self { marker: Some(beside(store, ".suspect").into()) }
    }

    pub(crate) fn nowhere() -> Self {
        Self { marker: None }
    }

    pub(crate) fn mark(&self) {
        if let Some(marker) = &self.marker
            && let Err(error) = std::fs::File::create(marker)
        {
            tracing::warn!(%error, "cannot mark the damaged store for a check at the next start");
        }
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.marker.as_deref().is_some_and(|marker| marker.try_exists().unwrap_or(false))
    }

    pub(crate) fn clear(&self) {
        if let Some(marker) = &self.marker {
            // Absent is what is wanted, and a leftover only costs the next start a check.
            let _ = std::fs::remove_file(marker);
        }
    }
}

/// The path of a file beside the store's: its whole name with `suffix` appended.
pub(crate) fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
