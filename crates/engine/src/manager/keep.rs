//! What is said by hand, kept in a store that several processes share: one entry a source, and a mark that tells the
//! others when to look.
//!
//! The shelf is reserved: no store of the store tools can have its id, so nothing that an agent can call reaches it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use toolcrib_core::{Source, ToolId};

use super::{Adjustment, Manager, ManagerError};
use crate::{
    clock::now_ms,
    store::StoreError,
    store_tools::{EntryStore, NewEntry, Quota, Shelf, StoredEntry},
};

/// The shelf's store; ids of stores begin with a letter.
const SHELF: &str = "\u{1}tools";
/// The entry whose revision grows with every change; no source is written like this.
const MARK: &str = "changed";
/// The version that is written.
const VERSION: u32 = 1;
/// Entries read at once.
const PAGE: usize = 100;
/// How often a change is tried again that another process came before.
const TRIES: usize = 16;
/// What the shelf may hold: a source's entry takes some hundred bytes a tool.
const QUOTA: Quota = Quota { entries: 10_000, bytes: 64 << 20 };

/// A change to what is said of one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// Takes back what was said before.
    pub reset: bool,
    /// What is said now.
    pub say: Adjustment,
}

/// Why something could not be kept or read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An entry cannot be read.
    #[error(
        "what is kept of the tools of '{key}' cannot be read: {problem}; use the version that wrote it, or reset those tools"
    )]
    Unreadable {
        /// The source.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// Others were always first.
    #[error("the tools of '{0}' are being changed by others all the time; try again")]
    Busy(Source),
    /// Some sources were changed before others could not be; those changes are in force.
    #[error("{why}; {} other tools were changed before that", .changed.len())]
    Partly {
        /// The tools that changed.
        changed: Vec<ToolId>,
        /// Why the others did not.
        why: Box<KeepError>,
    },
    /// The manager refused it.
    #[error(transparent)]
    Manager(#[from] ManagerError),
}

/// The tools of one source as they are kept.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    version: u32,
    tools: BTreeMap<String, Adjustment>,
}

/// Keeps what is said by hand for one tenant.
pub struct Keeper {
    store: Arc<dyn EntryStore>,
    shelf: Shelf,
    /// The mark's revision when everything was last read, plus one; 0 = never.
    seen: AtomicU64,
    /// One reads at a time, so that what was read earlier is never said later.
    reading: tokio::sync::Mutex<()>,
}

impl Keeper {
    /// In this store, for this tenant.
    pub fn new(store: Arc<dyn EntryStore>, tenant: &str) -> Self {
        let shelf = Shelf { tenant: tenant.to_owned(), user: String::new(), store: SHELF.to_owned() };
        Self { store, shelf, seen: AtomicU64::new(0), reading: tokio::sync::Mutex::default() }
    }

    /// Brings a manager in line with what is kept, if that changed since the last time; which tools changed.
    ///
    /// # Errors
    /// If the store fails or an entry cannot be read: then the manager stays as it was.
    pub async fn refresh(&self, manager: &Manager) -> Result<Vec<ToolId>, KeepError> {
        let _turn = self.reading.lock().await;
        // Read before the rest: what is written meanwhile is read again next time.
        let mark = self.store.read(&self.shelf, MARK).await?.map_or(0, |mark| mark.revision) + 1;
        if self.seen.load(Ordering::Acquire) == mark {
            return Ok(Vec::new());
        }
        let said = self.load().await?;
        let changed = manager.say(said)?;
        self.seen.store(mark, Ordering::Release);
        Ok(changed)
    }

    /// Everything that is kept.
    async fn load(&self) -> Result<BTreeMap<ToolId, Adjustment>, KeepError> {
        let mut said = BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.page(&self.shelf, "", after.as_deref(), PAGE).await?;
            let last = page.len() < PAGE;
            for entry in page {
                after = Some(entry.key.clone());
                if entry.key == MARK {
                    continue;
                }
                let source = source_of(&entry.key)?;
                let kept = read(&entry)?.tools.into_iter();
                said.extend(kept.map(|(name, adjustment)| (ToolId::new(source.clone(), name), adjustment)));
            }
            if last {
                return Ok(said);
            }
        }
    }

    /// What these changes would come to now: of every tool that they change, what is said of it then. For whoever writes
    /// that down before it happens.
    ///
    /// # Errors
    /// If a label cannot be used.
    pub fn preview(
        &self,
        manager: &Manager,
        patches: &[(ToolId, Patch)],
    ) -> Result<Vec<(ToolId, Adjustment)>, ManagerError> {
        let mut changed = Vec::new();
        for (id, patch) in patches {
            patch.say.check()?;
            let old = manager.adjustment(id).unwrap_or_default();
            let new = manager.plain(id, patched(&old, patch));
            if !new.says_as(&old) {
                changed.push((id.clone(), new));
            }
        }
        Ok(changed)
    }

    /// Keeps these changes and puts them in force; which tools changed. Each source is changed as a whole, and a change
    /// of another process that comes between is not lost.
    ///
    /// # Errors
    /// If the store fails, an entry cannot be read, or a label cannot be used. Sources that were changed by then stay so ([`KeepError::Partly`]).
    pub async fn change(
        &self,
        manager: &Manager,
        by: &str,
        patches: &[(ToolId, Patch)],
    ) -> Result<Vec<ToolId>, KeepError> {
        let mut by_source: BTreeMap<&Source, Vec<(&ToolId, &Patch)>> = BTreeMap::new();
        for (id, patch) in patches {
            patch.say.check().map_err(ManagerError::from)?;
            by_source.entry(&id.source).or_default().push((id, patch));
        }
        let mut changed = Vec::new();
        let mut failed = None;
        for (source, patches) in by_source {
            match self.change_source(manager, source, &patches, by).await {
                Ok(of_source) => changed.extend(of_source),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        if !changed.is_empty() {
            let mark = NewEntry { key: MARK.to_owned(), value: "1".to_owned(), words: String::new(), over: None };
            self.store.write(&self.shelf, mark, QUOTA).await?;
        }
        self.refresh(manager).await?;
        match failed {
            None => Ok(changed),
            Some(error) if changed.is_empty() => Err(error),
            Some(error) => Err(KeepError::Partly { changed, why: Box::new(error) }),
        }
    }

    async fn change_source(
        &self,
        manager: &Manager,
        source: &Source,
        patches: &[(&ToolId, &Patch)],
        by: &str,
    ) -> Result<Vec<ToolId>, KeepError> {
        let key = source.to_string();
        for _ in 0..TRIES {
            let stored = self.store.read(&self.shelf, &key).await?;
            let revision = stored.as_ref().map_or(0, |stored| stored.revision);
            let mut kept = stored.as_ref().map(read).transpose()?.unwrap_or_default();
            let mut changed = Vec::new();
            for (id, patch) in patches {
                let old = kept.tools.get(&id.name).cloned().unwrap_or_default();
                let new = manager.plain(id, patched(&old, patch));
                if new.says_as(&old) {
                    continue;
                }
                changed.push((*id).clone());
                if new.is_empty() {
                    kept.tools.remove(&id.name);
                } else {
                    kept.tools.insert(id.name.clone(), new.signed(by, now_ms()));
                }
            }
            if changed.is_empty() {
                return Ok(changed);
            }
            kept.version = VERSION;
            let unreadable =
                |error: serde_json::Error| KeepError::Unreadable { key: key.clone(), problem: error.to_string() };
            let value = serde_json::to_string(&kept).map_err(unreadable)?;
            let entry = NewEntry { key: key.clone(), value, words: String::new(), over: Some(revision) };
            if self.store.write(&self.shelf, entry, QUOTA).await?.is_some() {
                return Ok(changed);
            }
        }
        Err(KeepError::Busy(source.clone()))
    }
}

impl Manager {
    /// The same without what its source says anyway.
    fn plain(&self, id: &ToolId, said: Adjustment) -> Adjustment {
        match self.base(id) {
            Some(base) => super::switch::without_echo(said, &base),
            None => said,
        }
    }
}

fn patched(old: &Adjustment, patch: &Patch) -> Adjustment {
    let mut new = if patch.reset { Adjustment::default() } else { old.clone() };
    new.take(&patch.say);
    new
}

fn source_of(key: &str) -> Result<Source, KeepError> {
    key.parse().map_err(|error: toolcrib_core::SourceParseError| KeepError::Unreadable {
        key: key.chars().take(80).collect(),
        problem: error.to_string(),
    })
}

fn read(entry: &StoredEntry) -> Result<Kept, KeepError> {
    let unreadable = |problem: String| KeepError::Unreadable { key: entry.key.clone(), problem };
    let kept: Kept = serde_json::from_str(&entry.value).map_err(|error| unreadable(error.to_string()))?;
    if kept.version > VERSION {
        return Err(unreadable(format!("it has version {}, this program reads up to {VERSION}", kept.version)));
    }
    Ok(kept)
}
