//! What operators say of tools while everything runs: read at the start, followed while serving, written down before it is
//! changed.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use toolcrib_core::ToolId;
use toolcrib_engine::{
    Engine, StoreError,
    journal::{JournalRecord, JournalStore},
    manager::{KeepError, Keeper, Manager, ManagerError, Patch},
    store_tools::EntryStore,
};

use crate::evidence;

/// How often changes by other processes are looked for, as for grants.
const REFRESH: Duration = Duration::from_secs(2);

/// The labels of one world's tools, and where they are kept.
pub(crate) struct Labelling {
    /// Whose tools.
    pub(crate) manager: Manager,
    keeper: Arc<Keeper>,
    journal: Arc<dyn JournalStore>,
}

/// Why nothing, or not everything, was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabelError {
    /// What was to be said cannot be said.
    #[error(transparent)]
    Refused(#[from] ManagerError),
    /// It could not be kept.
    #[error(transparent)]
    Kept(KeepError),
    /// It could not be written down, so it was not done.
    #[error("the change cannot be recorded and was not made: {0}")]
    Record(StoreError),
}

impl Labelling {
    /// Of this manager's tools. A hub has one catalog, whoever looks at it: all tenants share what is said.
    pub(crate) fn new(manager: Manager, entries: Arc<dyn EntryStore>, journal: Arc<dyn JournalStore>) -> Self {
        Self { manager, keeper: Arc::new(Keeper::new(entries, "")), journal }
    }

    /// Brings everything in line with what is kept.
    pub(crate) async fn read(&self) -> Result<(), KeepError> {
        self.keeper.refresh(&self.manager).await.map(drop)
    }

    /// Goes on doing so.
    pub(crate) fn follow(&self) {
        let (keeper, manager): (Weak<Keeper>, Manager) = (Arc::downgrade(&self.keeper), self.manager.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(REFRESH).await;
                let Some(keeper) = keeper.upgrade() else { break };
                match keeper.refresh(&manager).await {
                    Ok(changed) if changed.is_empty() => {}
                    Ok(changed) => tracing::info!(tools = changed.len(), "an operator said something else of tools"),
                    Err(error) => tracing::warn!(%error, "what operators say of tools cannot be read"),
                }
            }
        });
    }

    /// Says these things, on the record where one is kept; which tools changed. The record comes first: nothing is
    /// changed without it.
    pub(crate) async fn change(
        &self,
        engine: &Engine,
        on_record: bool,
        by: &str,
        patches: &[(ToolId, Patch)],
    ) -> Result<Vec<ToolId>, LabelError> {
        self.keeper.refresh(&self.manager).await.map_err(LabelError::Kept)?;
        let coming = self.keeper.preview(&self.manager, patches)?;
        if coming.is_empty() {
            return Ok(Vec::new());
        }
        let record = |(id, said): &(ToolId, _)| {
            let record = evidence::adjusted(id, said, by);
            evidence::of_run(engine, record.clone()).unwrap_or(record)
        };
        let records: Vec<Arc<JournalRecord>> = coming.iter().map(|one| Arc::new(record(one))).collect();
        if on_record {
            self.journal.append(records.clone()).await.map_err(LabelError::Record)?;
            for record in &records {
                evidence::tell(engine, Some(record.as_ref()));
            }
        }
        let changed = self.keeper.change(&self.manager, by, patches).await;
        if let (Err(error), true) = (&changed, on_record) {
            let text = error.to_string();
            let done: &[ToolId] = match error {
                KeepError::Partly { changed, .. } => changed,
                _ => &[],
            };
            let undone = coming.iter().zip(&records).filter(|((id, _), _)| !done.contains(id));
            let undone = undone.map(|(_, record)| Arc::new(evidence::not_adjusted(record, &text))).collect();
            if let Err(error) = self.journal.append(undone).await {
                tracing::warn!(%error, "that a change was not made cannot be recorded");
            }
        }
        changed.map_err(LabelError::Kept)
    }
}
