//! Opening the file: permissions, the integrity check, putting a damaged file aside.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};
use toolcrib_engine::StoreError;

use super::{
    SqliteSettings, SyncLevel, Warning,
    failure::{Suspect, beside, explain, is_damage},
    migrate::{MIGRATIONS, MigrateError, check_owner, migrate},
    queries,
};
use crate::now_ms;

/// Files up to this size are checked whole at every start (some 50 ms at most); larger ones after trouble only.
const ALWAYS_CHECKED_BYTES: u64 = 16 * 1024 * 1024;

/// Age at which definitions are dropped: 90 days.
const DEFINITIONS_KEPT_MS: u64 = 90 * 24 * 60 * 60 * 1_000;

pub(crate) fn open_file(path: &Path, settings: &SqliteSettings) -> Result<(Connection, Vec<Warning>), StoreError> {
    let mut warnings = Vec::new();
    create_folder(path)?;
    // Held while opening: two processes that meet the same damaged file must not put each other's new one aside.
    let _turn = take_turn(path, settings.busy_timeout)?;
    create_private(path)?;
    let suspect = Suspect::for_store(path);
    let cause = match connect(path, settings, &suspect, &mut warnings) {
        Ok(connection) => {
            suspect.clear();
            return Ok((connection, warnings));
        }
        Err(Problem::Damaged(cause)) => cause,
        Err(Problem::Other(error)) => return Err(error),
    };
    let copy = quarantine(path)?;
    suspect.clear();
    create_private(path)?;
    warnings.push(Warning::Quarantined { file: path.to_owned(), copy, cause });
    match connect(path, settings, &suspect, &mut warnings) {
        Ok(connection) => Ok((connection, warnings)),
        Err(Problem::Damaged(cause)) => Err(failed(path, &cause)),
        Err(Problem::Other(error)) => Err(error),
    }
}

pub(crate) fn open_memory(settings: &SqliteSettings) -> Result<Connection, StoreError> {
    let prepare = || -> Result<Connection, MigrateError> {
        let mut connection = Connection::open_in_memory()?;
        configure(&connection, settings)?;
        migrate(&mut connection, MIGRATIONS)?;
        Ok(connection)
    };
    Ok(prepare()?)
}

enum Problem {
    Damaged(String),
    Other(StoreError),
}

fn connect(
    path: &Path,
    settings: &SqliteSettings,
    suspect: &Suspect,
    warnings: &mut Vec<Warning>,
) -> Result<Connection, Problem> {
    let mut prepare = || -> Result<Result<Connection, String>, MigrateError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(settings.busy_timeout)?;
        let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
        if suspect.is_marked() || size <= ALWAYS_CHECKED_BYTES {
            let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            if verdict != "ok" {
                return Ok(Err(verdict));
            }
        }
        // From here on things are changed, so first whose file it is.
        check_owner(&connection)?;
        warnings
            .extend(tighten(path).map_err(|error| MigrateError::Refused(format!("cannot make it private: {error}")))?);
        configure(&connection, settings)?;
        migrate(&mut connection, MIGRATIONS)?;
        match queries::drop_definitions_before(&connection, now_ms().saturating_sub(DEFINITIONS_KEPT_MS)) {
            Err(error) if is_damage(&error) => return Err(error.into()),
            // Tidying up is no reason to go without the store: a full disk, say, may still be read.
            Err(error) => tracing::warn!(%error, "old tool definitions could not be dropped from the store"),
            Ok(dropped) => tracing::debug!(dropped, "old tool definitions"),
        }
        Ok(Ok(connection))
    };
    match prepare() {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(verdict)) => Err(Problem::Damaged(verdict.lines().last().unwrap_or_default().to_owned())),
        Err(MigrateError::Sql(error)) if is_damage(&error) => Err(Problem::Damaged(error.to_string())),
        Err(MigrateError::Sql(error)) => Err(Problem::Other(failed(path, &explain(&error)))),
        Err(MigrateError::Refused(cause)) => Err(Problem::Other(failed(path, &cause))),
    }
}

fn configure(connection: &Connection, settings: &SqliteSettings) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(settings.busy_timeout)?;
    // Answers "memory" for a store in memory and may answer "delete" on network file systems; both work, only slower.
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    tracing::debug!(mode, "store opened");
    connection.execute_batch(
        "PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA journal_size_limit = 16777216;
         PRAGMA wal_autocheckpoint = 4000;",
    )?;
    connection.execute_batch(match settings.sync {
        SyncLevel::Normal => "PRAGMA synchronous = NORMAL",
        SyncLevel::Full => "PRAGMA synchronous = FULL",
    })?;
    if let Some(bytes) = settings.max_file_bytes {
        let page: u64 = connection.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0))?.into();
        let pages = i64::try_from((bytes / page).max(1)).unwrap_or(i64::MAX);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

fn failed(path: &Path, cause: &str) -> StoreError {
    StoreError::Failed { operation: "open", cause: format!("{}: {cause}", path.display()) }
}

fn io_failed(path: &Path, action: &str, error: &io::Error) -> StoreError {
    failed(path, &format!("cannot {action}: {error}; set another path for the store, or make this one writable"))
}

fn create_folder(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| io_failed(path, "create its folder", &error))
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn take_turn(path: &Path, patience: Duration) -> Result<File, StoreError> {
    let lock = beside(path, ".lock");
    let file = private(OpenOptions::new().write(true).create(true).truncate(false))
        .open(&lock)
        .map_err(|error| io_failed(path, "create its lock file", &error))?;
    let end = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => {
                return Err(failed(path, "another process has been opening it for too long; try again"));
            }
            Err(TryLockError::Error(error)) => return Err(io_failed(path, "lock it", &error)),
        }
    }
}

/// Creates the file readable by its owner only, before SQLite would create it for everybody; its journal files take
/// the same mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    let file = private(OpenOptions::new().read(true).write(true).create(true).truncate(false))
        .open(path)
        .map_err(|error| io_failed(path, "open it for writing", &error))?;
    let metadata = file.metadata().map_err(|error| io_failed(path, "look at it", &error))?;
    if metadata.is_file() { Ok(()) } else { Err(failed(path, "not a regular file; choose another path")) }
}

#[cfg(unix)]
fn tighten(path: &Path) -> io::Result<Option<Warning>> {
    use std::os::unix::fs::PermissionsExt;
    let was = fs::metadata(path)?.permissions().mode() & 0o777;
    if was & !0o700 == 0 {
        return Ok(None);
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(Some(Warning::PermissionsTightened { file: path.to_owned(), was }))
}

#[cfg(not(unix))]
fn tighten(_: &Path) -> io::Result<Option<Warning>> {
    Ok(None)
}

/// Moves the damaged file and its journal to `FILE.corrupt-N`, the first free N.
fn quarantine(path: &Path) -> Result<PathBuf, StoreError> {
    let free = (1..1_000)
        .map(|n| beside(path, &format!(".corrupt-{n}")))
        .find(|copy| !copy.try_exists().unwrap_or(true))
        .ok_or_else(|| failed(path, "it is damaged and 999 damaged copies lie beside it; remove some"))?;
    fs::rename(path, &free).map_err(|error| io_failed(path, "move the damaged file aside", &error))?;
    if let Err(error) = tighten(&free) {
        tracing::warn!(%error, "the damaged store put aside may be readable by others");
    }
    for suffix in ["-wal", "-shm"] {
        // A journal left behind would be replayed into the new file.
        match fs::rename(beside(path, suffix), beside(&free, suffix)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_failed(path, "move the damaged journal aside", &error)),
        }
    }
    Ok(free)
}
