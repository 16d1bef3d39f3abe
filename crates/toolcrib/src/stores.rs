//! Opening the state: one SQLite file behind the traits that its users see.

mod unwritable;

use std::{path::PathBuf, sync::Arc};

use toolcrib_config::{Config, Process, model::SyncMode};
use toolcrib_engine::{
    DefinitionStore, ExperienceStore, KeyValueStore, ResultStore, VectorStore, approval::ApprovalStore,
    damage::DamageReport, journal::JournalStore, pending::PendingStore, store_tools::EntryStore,
};
use toolcrib_store::{MemoryStore, SqliteSettings, SqliteStore, SyncLevel};

use self::unwritable::Unwritable;

/// The stores, each as the trait that its users see.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) definitions: Arc<dyn DefinitionStore>,
    pub(crate) values: Arc<dyn KeyValueStore>,
    pub(crate) results: Arc<dyn ResultStore>,
    pub(crate) approvals: Arc<dyn ApprovalStore>,
    pub(crate) journal: Arc<dyn JournalStore>,
    pub(crate) pending: Arc<dyn PendingStore>,
    pub(crate) entries: Arc<dyn EntryStore>,
    pub(crate) experience: Arc<dyn ExperienceStore>,
    pub(crate) vectors: Arc<dyn VectorStore>,
    /// Which rows of all these cannot be read.
    pub(crate) damage: Arc<dyn DamageReport>,
}

/// Where state is kept and what was said about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreReport {
    /// The file, if it is one.
    pub(crate) path: Option<PathBuf>,
    /// Whether that file is in use, so that other processes see what is kept.
    pub(crate) kept: bool,
    /// Warnings and the reason why nothing is kept, if so.
    pub(crate) findings: Vec<String>,
}

/// Opens the store; where that is not possible nothing is kept, which is said. Tools that only read work then; what may
/// change something is refused, unless there is to be no journal.
pub(crate) fn open(config: &Config) -> (Stores, StoreReport) {
    let Some(path) = path(config) else { return (in_memory(config), StoreReport::default()) };
    match open_file(&path, config) {
        Ok((store, findings)) => (store, StoreReport { path: Some(path), kept: true, findings }),
        Err(error) => {
            let finding = format!(
                "nothing is kept: the store {} cannot be used ({error}). The record of calls cannot be written either, so what may change something is refused; mend the store, or set store.path to another file, or to ':memory:' to keep nothing",
                path.display()
            );
            let journal = Arc::new(Unwritable::new(format!("the store cannot be used ({error})")));
            (
                Stores { journal, ..in_memory(config) },
                StoreReport { path: Some(path), kept: false, findings: vec![finding] },
            )
        }
    }
}

/// Opens the store for a command that is about nothing else; a store that is not there is an error.
pub(crate) fn open_existing(config: &Config) -> anyhow::Result<Stores> {
    let Some(path) = path(config) else {
        anyhow::bail!("there is no store: store.path is ':memory:', or there is no state folder to keep one in");
    };
    let (stores, findings) = open_file(&path, config)
        .map_err(|error| anyhow::anyhow!("the store {} cannot be used: {error}", path.display()))?;
    for finding in findings {
        crate::print::note(format!("warning: {finding}"));
    }
    Ok(stores)
}

fn path(config: &Config) -> Option<PathBuf> {
    match config.store.path.as_deref() {
        Some(":memory:") => None,
        Some(path) => Some(PathBuf::from(path)),
        None => toolcrib_config::discover::state_home(&Process).map(|home| home.join("toolcrib/state.db")),
    }
}

fn open_file(path: &std::path::Path, config: &Config) -> Result<(Stores, Vec<String>), toolcrib_engine::StoreError> {
    let settings = SqliteSettings {
        max_result_bytes: config.results.keep_bytes,
        sync: match config.store.sync {
            SyncMode::Normal => SyncLevel::Normal,
            SyncMode::Full => SyncLevel::Full,
        },
        ..SqliteSettings::default()
    };
    let (store, warnings) = SqliteStore::open_with(path, &settings)?;
    let store = Arc::new(store);
    let stores = Stores {
        definitions: store.clone(),
        values: store.clone(),
        results: store.clone(),
        approvals: store.clone(),
        journal: store.clone(),
        pending: store.clone(),
        entries: store.clone(),
        experience: store.clone(),
        vectors: store.clone(),
        damage: store,
    };
    Ok((stores, warnings.iter().map(ToString::to_string).collect()))
}

fn in_memory(config: &Config) -> Stores {
    let store = Arc::new(MemoryStore::with_result_bytes(config.results.keep_bytes));
    Stores {
        definitions: store.clone(),
        values: store.clone(),
        results: store.clone(),
        approvals: store.clone(),
        journal: store.clone(),
        pending: store.clone(),
        entries: store.clone(),
        experience: store.clone(),
        vectors: store.clone(),
        damage: store,
    }
}
