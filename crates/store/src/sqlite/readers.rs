//! Read-only connections and who may use them when.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;
use toolcrib_engine::StoreError;

use super::{
    SqliteSettings,
    failure::{Refusal, Suspect},
};

/// Connections that read side by side.
const READERS: usize = 2;

pub(crate) struct Readers {
    pool: Arc<Pool>,
    permits: Arc<Semaphore>,
    suspect: Suspect,
}

struct Pool {
    path: PathBuf,
    busy_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn open(path: &Path, settings: &SqliteSettings, suspect: Suspect) -> Result<Self, StoreError> {
        let pool = Pool { path: path.to_owned(), busy_timeout: settings.busy_timeout, idle: Mutex::new(Vec::new()) };
        for _ in 0..READERS {
            let connection = pool.connect().map_err(|error| Refusal::from(error).explain("open", &suspect))?;
            pool.idle.lock().push(connection);
        }
        Ok(Self { pool: Arc::new(pool), permits: Arc::new(Semaphore::new(READERS)), suspect })
    }

    /// Runs `work` on a free connection, on a thread that may block.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, StoreError> {
        let stopped = |cause: String| StoreError::Failed { operation, cause };
        let permit = self.permits.clone().acquire_owned().await.map_err(|error| stopped(error.to_string()))?;
        let pool = self.pool.clone();
        let outcome = tokio::task::spawn_blocking(move || {
            // The permit goes with the work, which runs to its end even if nobody waits for it any more.
            let _permit = permit;
            let idle = pool.idle.lock().pop();
            let connection = idle.map_or_else(|| pool.connect(), Ok)?;
            let outcome = work(&connection);
            pool.idle.lock().push(connection);
            outcome
        });
        match outcome.await {
            Ok(outcome) => outcome.map_err(|refusal| refusal.explain(operation, &self.suspect)),
            Err(error) => Err(stopped(error.to_string())),
        }
    }
}

impl Pool {
    fn connect(&self) -> Result<Connection, rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.busy_timeout)?;
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY")?;
        Ok(connection)
    }
}
