//! Signs of life: a locked file `FILE-runs/RUN.lock` for as long as the store that opened the run is there.
//!
//! The operating system frees the lock when the process ends, however it ends, so a run whose lock can be taken, or
//! whose file is gone, is dead; no clock is asked. Callers learn of a run only after its file was locked: the row that
//! names it is written later.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use rusqlite::{Connection, Row, params};
use toolcrib_engine::StoreError;

use super::{
    damage::{Damage, lossy, readable, text},
    failure::{Refusal, beside},
    queries::signed,
};
use crate::bounds;

/// Runs or files looked at in one go.
const SWEEP: usize = 1_000;

/// Attempts at a lock somebody else has: another process that is only looking has it for an instant.
const LOOKS: u32 = 3;

pub(crate) struct Signs {
    // None for a store in memory: nobody else can know its runs.
    folder: Option<PathBuf>,
    held: Mutex<HashMap<String, Option<File>>>,
}

impl Signs {
    pub(crate) fn beside(store: &Path) -> Self {
        // The same folder whichever link the store is reached by.
        let store = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
        Self { folder: Some(beside(&store, "-runs")), held: Mutex::default() }
    }

    pub(crate) fn in_memory() -> Self {
        Self { folder: None, held: Mutex::default() }
    }

    /// Locks the run's file. Does nothing if this store has it open already.
    pub(crate) fn open(&self, run: &str) -> Result<(), StoreError> {
        bounds::check_run(run)?;
        let mut held = self.held.lock();
        if held.contains_key(run) {
            return Ok(());
        }
        let file = match &self.folder {
            Some(folder) => Some(lock(folder, run).map_err(|error| StoreError::Failed {
                operation: "open run",
                cause: format!("cannot lock {}: {error}; make the folder writable", file_of(folder, run).display()),
            })?),
            None => None,
        };
        held.insert(run.to_owned(), file);
        Ok(())
    }

    /// Whether the process that opened the run is there. Removes the file of a dead one. In doubt a run is alive.
    pub(crate) fn is_alive(&self, run: &str) -> bool {
        if self.held.lock().contains_key(run) {
            return true;
        }
        let Some(folder) = &self.folder else { return false };
        if bounds::check_run(run).is_err() {
            return false;
        }
        let path = file_of(folder, run);
        let file = match OpenOptions::new().write(true).open(&path) {
            Ok(file) => file,
            Err(error) => return error.kind() != io::ErrorKind::NotFound,
        };
        for look in 1..=LOOKS {
            match file.try_lock() {
                Ok(()) => {
                    // While locked: whoever creates it anew waits for the lock and then sees that its file is gone.
                    if let Err(error) = fs::remove_file(&path) {
                        tracing::debug!(%error, "the sign of a dead run stays");
                    }
                    return false;
                }
                Err(TryLockError::WouldBlock) if look < LOOKS => thread::sleep(Duration::from_millis(1)),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    tracing::warn!(%error, "cannot tell whether another run is alive");
                    return true;
                }
            }
        }
        true
    }

    /// Removes the files of dead runs, also of those that died before they were written down.
    pub(crate) fn sweep(&self) {
        let Some(folder) = &self.folder else { return };
        let Ok(files) = fs::read_dir(folder) else { return };
        for file in files.flatten().take(SWEEP) {
            let name = file.file_name();
            if let Some(run) = name.to_str().and_then(|name| name.strip_suffix(".lock")) {
                self.is_alive(run);
            }
        }
    }
}

impl Drop for Signs {
    fn drop(&mut self) {
        let Some(folder) = &self.folder else { return };
        for run in self.held.get_mut().keys() {
            // A file left behind is unlocked when this ends, which says the same.
            let _ = fs::remove_file(file_of(folder, run));
        }
    }
}

fn file_of(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}.lock"))
}

fn lock(folder: &Path, run: &str) -> io::Result<File> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let path = file_of(folder, run);
    for _ in 0..16 {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        match file.try_lock() {
            // Between creating and locking somebody may have taken it for a leftover.
            Ok(()) if leads_to(&path, &file) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "another process has this run open"))
}

#[cfg(unix)]
fn leads_to(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(here)) => number(there) == number(here),
        _ => false,
    }
}

#[cfg(not(unix))]
fn leads_to(path: &Path, _: &File) -> bool {
    path.exists()
}

/// Runs that were opened and not closed, as far as is written down.
pub(crate) fn open_runs(connection: &Connection, damage: &Damage) -> Result<Vec<String>, Refusal> {
    let sql = "SELECT run FROM runs WHERE closed_at_ms IS NULL ORDER BY run";
    readable(connection, sql, [], |row| Ok(name(row, damage, "runs")), SWEEP)
}

/// The name of a run, which stands first in its row.
pub(crate) fn name(row: &Row<'_>, damage: &Damage, table: &'static str) -> Option<String> {
    let told = |cause| damage.tell(table, lossy(row, 0).ok().flatten().unwrap_or_default(), cause);
    text(row, 0).map_err(told).ok()
}

pub(crate) fn insert_run(connection: &Connection, run: &str, now_ms: u64) -> Result<(), Refusal> {
    connection
        .prepare_cached(
            "INSERT INTO runs (run, opened_at_ms) VALUES (?1, ?2)
             ON CONFLICT (run) DO UPDATE SET closed_at_ms = NULL",
        )?
        .execute(params![run, signed(now_ms)])?;
    Ok(())
}

pub(crate) fn close_runs(connection: &Connection, runs: &[String], now_ms: u64) -> Result<(), Refusal> {
    let mut statement =
        connection.prepare_cached("UPDATE runs SET closed_at_ms = ?2 WHERE run = ?1 AND closed_at_ms IS NULL")?;
    for run in runs {
        statement.execute(params![run, signed(now_ms)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_lives_as_long_as_the_store_that_opened_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        fs::write(&store, "").unwrap();
        let (one, two) = (Signs::beside(&store), Signs::beside(&store));
        assert!(!two.is_alive("a"), "never opened");
        one.open("a").unwrap();
        one.open("a").unwrap();
        let error = two.open("a").unwrap_err().to_string();
        assert!(error.contains("another process has this run open"), "{error}");
        for signs in [&one, &two] {
            assert!(signs.is_alive("a"));
            signs.sweep();
        }
        assert!(two.is_alive("a"), "sweeping spares the living");
        drop(one);
        assert!(!two.is_alive("a"));
        assert_eq!(fs::read_dir(folder.path().join("store.db-runs")).unwrap().count(), 0);
        two.open("a").unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        fs::create_dir(folder.path().join("store.db-runs")).unwrap();
        for name in ["dead.lock", "other"] {
            fs::write(folder.path().join("store.db-runs").join(name), "").unwrap();
        }
        fs::write(&store, "").unwrap();
        let signs = Signs::beside(&store);
        signs.sweep();
        let left: Vec<_> =
            fs::read_dir(folder.path().join("store.db-runs")).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["other"]);
    }

    #[test]
    fn opening_and_sweeping_at_once_never_leaves_a_living_run_without_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        fs::write(&store, "").unwrap();
        let sweeper = Signs::beside(&store);
        let done = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    sweeper.sweep();
                }
            });
            for n in 0..200 {
                let signs = Signs::beside(&store);
                let run = format!("run{n}");
                signs.open(&run).unwrap();
                assert!(Signs::beside(&store).is_alive(&run), "{run}");
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn a_name_that_is_no_file_name_is_refused() {
        let signs = Signs::in_memory();
        for run in ["", "../x", "a/b", "a.b", &"x".repeat(65)] {
            assert!(signs.open(run).is_err(), "{run}");
        }
        signs.open(&"x".repeat(64)).unwrap();
    }
}
