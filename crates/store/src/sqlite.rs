//! The store in one local SQLite file.
//!
//! One thread owns the only connection that writes and commits queued writes in groups ([`writer`]); reads run on two
//! read-only connections beside it ([`readers`]), which WAL lets see the last commit without waiting.
//!
//! Durability: a write that was answered survives the death of the process at any moment (`kill -9` included). Whether
//! it also survives the loss of power is [`SqliteSettings::sync`]; the file stays whole either way. Several processes
//! may share one file; a write waits up to the busy timeout for its turn.

mod approvals;
mod damage;
mod entries;
mod evidence;
mod experience;
mod failure;
mod journal;
mod migrate;
mod open;
mod pending;
mod queries;
mod readers;
mod runs;
mod vectors;
mod writer;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::Connection;
use toolcrib_engine::{BoxFuture, DefinitionStore, KeyValueStore, ResultStore, StoreError, StoredDefinitions};

use self::{
    damage::Damage,
    failure::{Identity, Refusal, Suspect},
    readers::Readers,
    runs::Signs,
    writer::Writer,
};
use crate::{DEFAULT_RESULT_BYTES, memory::result_too_large, now_ms};

/// What a write that was answered survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncLevel {
    /// The death of the process. Losing power may lose the last commits, the newest first.
    #[default]
    Normal,
    /// Losing power too: each group of writes waits for the disk.
    Full,
}

/// Rows dropped in one transaction; between two of them other writes get their turn.
const PORTION: usize = 2_000;

/// Settings of a [`SqliteStore`].
#[derive(Clone, Debug)]
pub struct SqliteSettings {
    /// How long a write waits for another process that holds the file. Default 5 s.
    pub busy_timeout: Duration,
    /// Writes that may wait in the queue; further callers wait for a place, at most twice the busy timeout. Default 1,024.
    pub queue: usize,
    /// Most writes committed together. Default 256.
    pub batch: usize,
    /// Cap on the bytes of all kept results. Default 64 MiB.
    pub max_result_bytes: u64,
    /// Cap on the size of the file; writes beyond it fail as if the disk were full. Default none.
    pub max_file_bytes: Option<u64>,
    /// What a write that was answered survives. Default [`SyncLevel::Normal`].
    pub sync: SyncLevel,
}

impl Default for SqliteSettings {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            queue: 1_024,
            batch: 256,
            max_result_bytes: DEFAULT_RESULT_BYTES,
            max_file_bytes: None,
            sync: SyncLevel::Normal,
        }
    }
}

/// Something opening put right by itself and the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The file was damaged; it was put aside and an empty one takes its place.
    Quarantined {
        /// The store's file.
        file: PathBuf,
        /// Where the damaged file is now.
        copy: PathBuf,
        /// What was wrong with it.
        cause: String,
    },
    /// Others could read the file; now only its owner can.
    PermissionsTightened {
        /// The store's file.
        file: PathBuf,
        /// The permission bits before.
        was: u32,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quarantined { file, copy, cause } => write!(
                f,
                "the store {} was damaged ({cause}); it was moved to {} and an empty one is used",
                file.display(),
                copy.display()
            ),
            Self::PermissionsTightened { file, was } => {
                write!(f, "the store {} had mode {was:o}; it is 600 now", file.display())
            }
        }
    }
}

/// The store in a SQLite file (or in memory). Cheap to clone; the last clone to go finishes the queued writes.
/// Needs a tokio runtime with timers.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    writer: Writer,
    // None for a store in memory: such a database exists on one connection only, so the writer also reads.
    readers: Option<Readers>,
    // Ends after the writer: a run is alive until its last write is done.
    signs: Arc<Signs>,
    damage: Arc<Damage>,
    max_result_bytes: u64,
}

impl SqliteStore {
    /// Opens or creates the file with default settings. Blocks: file work, migrations, an integrity check.
    ///
    /// A damaged file is moved to `FILE.corrupt-N` and replaced by an empty one, which the warnings tell. A file that
    /// belongs to another program, has a newer schema, or cannot be written is an error and stays untouched. A missing
    /// folder is created for its owner only. Definitions obtained more than 90 days ago are dropped.
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Vec<Warning>), StoreError> {
        Self::open_with(path, &SqliteSettings::default())
    }

    /// As [`SqliteStore::open`], with settings.
    pub fn open_with(path: impl AsRef<Path>, settings: &SqliteSettings) -> Result<(Self, Vec<Warning>), StoreError> {
        let path = path.as_ref();
        let (connection, warnings) = open::open_file(path, settings)?;
        let suspect = Suspect::for_store(path);
        let writer = Writer::start(connection, settings, Identity::of(path), suspect.clone())?;
        let readers = Readers::open(path, settings, suspect)?;
        let signs = Arc::new(Signs::beside(path));
        let inner = Inner {
            writer,
            readers: Some(readers),
            signs,
            damage: Arc::default(),
            max_result_bytes: settings.max_result_bytes,
        };
        Ok((Self { inner: Arc::new(inner) }, warnings))
    }

    /// A store in memory that behaves like one in a file.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        Self::open_in_memory_with(&SqliteSettings::default())
    }

    /// As [`SqliteStore::open_in_memory`], with settings.
    pub fn open_in_memory_with(settings: &SqliteSettings) -> Result<Self, StoreError> {
        let connection = open::open_memory(settings)?;
        let writer = Writer::start(connection, settings, Identity::nowhere(), Suspect::nowhere())?;
        let signs = Arc::new(Signs::in_memory());
        let inner =
            Inner { writer, readers: None, signs, damage: Arc::default(), max_result_bytes: settings.max_result_bytes };
        Ok(Self { inner: Arc::new(inner) })
    }

    async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnMut(&Connection) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.writer.submit(operation, work).await
    }

    async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        mut work: impl FnMut(&Connection) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.inner.readers {
            Some(readers) => readers.run(operation, move |connection| work(connection)).await,
            None => self.inner.writer.submit(operation, work).await,
        }
    }

    /// Writes until nothing is left to do, at most [`PORTION`] rows at a time. `work` tells how many rows it did and
    /// whether there may be more.
    async fn in_portions(
        &self,
        operation: &'static str,
        work: impl FnMut(&Connection, usize) -> Result<(u64, bool), Refusal> + Clone + Send + 'static,
    ) -> Result<u64, StoreError> {
        let mut sum = 0;
        loop {
            let mut portion = work.clone();
            let (rows, more) = self.write(operation, move |connection| portion(connection, PORTION)).await?;
            sum += rows;
            if !more {
                return Ok(sum);
            }
        }
    }

    /// Those of the runs whose process is gone.
    async fn dead_of(
        &self,
        operation: &'static str,
        candidates: impl FnMut(&Connection) -> Result<Vec<String>, Refusal> + Send + 'static,
    ) -> Result<Vec<String>, StoreError> {
        let (signs, mut candidates) = (self.inner.signs.clone(), candidates);
        self.read(operation, move |connection| {
            let mut runs = candidates(connection)?;
            runs.retain(|run| !signs.is_alive(run));
            Ok(runs)
        })
        .await
    }
}

impl DefinitionStore for SqliteStore {
    fn load<'a>(
        &'a self,
        source: &'a str,
        fingerprint: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredDefinitions>, StoreError>> {
        let (source, fingerprint) = (source.to_owned(), fingerprint.to_owned());
        Box::pin(
            self.read("load definitions", move |connection| {
                queries::load_definitions(connection, &source, &fingerprint)
            }),
        )
    }

    fn save<'a>(&'a self, source: &'a str, definitions: StoredDefinitions) -> BoxFuture<'a, Result<(), StoreError>> {
        let source = source.to_owned();
        Box::pin(
            self.write("save definitions", move |connection| {
                queries::save_definitions(connection, &source, &definitions)
            }),
        )
    }

    fn forget<'a>(&'a self, source: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let source = source.to_owned();
        Box::pin(self.write("forget definitions", move |connection| queries::forget_definitions(connection, &source)))
    }
}

impl KeyValueStore for SqliteStore {
    fn get<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let (namespace, key) = (namespace.to_owned(), key.to_owned());
        Box::pin(self.read("get value", move |connection| queries::get_value(connection, &namespace, &key)))
    }

    fn set<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
        value: &'a str,
        max_keys: usize,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (namespace, key, value) = (namespace.to_owned(), key.to_owned(), value.to_owned());
        Box::pin(self.write("set value", move |connection| {
            queries::set_value(connection, &namespace, &key, &value, max_keys, now_ms())
        }))
    }

    fn delete<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (namespace, key) = (namespace.to_owned(), key.to_owned());
        Box::pin(self.write("delete value", move |connection| queries::delete_value(connection, &namespace, &key)))
    }

    fn list<'a>(
        &'a self,
        namespace: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let (namespace, prefix, after) = (namespace.to_owned(), prefix.to_owned(), after.map(str::to_owned));
        Box::pin(self.read("list keys", move |connection| {
            queries::list_keys(connection, &namespace, &prefix, after.as_deref(), limit)
        }))
    }
}

impl ResultStore for SqliteStore {
    fn put<'a>(
        &'a self,
        scope: &'a str,
        text: String,
        expires_at_ms: u64,
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(async move {
            let max_bytes = self.inner.max_result_bytes;
            if text.len() as u64 > max_bytes {
                return Err(result_too_large(text.len() as u64, max_bytes));
            }
            let handle = toolcrib_engine::handle::fresh()?;
            let (scope, named) = (scope.to_owned(), handle.clone());
            self.write("keep result", move |connection| {
                queries::make_room(connection, text.len() as u64, max_bytes, now_ms())?;
                queries::put_result(connection, &named, &scope, &text, expires_at_ms)
            })
            .await?;
            Ok(handle)
        })
    }

    fn get<'a>(&'a self, scope: &'a str, handle: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let (scope, handle) = (scope.to_owned(), handle.to_owned());
        Box::pin(self.read("read result", move |connection| queries::get_result(connection, &scope, &handle, now_ms())))
    }
}
