//! Learns from use, off the way of searches and calls: observations go through a bounded queue to one task, which writes
//! them to the store and puts new priors in place of old ones. A full queue drops observations: they are a hint.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::usage::{MAX_PAIRS, Prior};

use super::Recent;
use crate::{
    clock::now_ms,
    identity::Principal,
    store::{ExperienceStore, Learnt},
};

/// Observations that may wait.
const QUEUE: usize = 1_024;
/// Most observations that are learnt in one step.
const BATCH: usize = 64;
/// How long observations wait for others to be learnt with them.
const LINGER: Duration = Duration::from_millis(200);
/// After this time a tenant's prior is read again: other processes learn too.
const REFRESH_MS: u64 = 60_000;
/// Most tenants whose priors are held; the one unused for longest makes room.
const MAX_TENANTS: usize = 256;

/// How to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearnSettings {
    /// After this time half of what was learnt is forgotten. Default 30 days.
    pub half_life: Duration,
}

impl Default for LearnSettings {
    fn default() -> Self {
        Self { half_life: Duration::from_hours(30 * 24) }
    }
}

impl LearnSettings {
    /// The half-life in milliseconds.
    pub fn half_life_ms(&self) -> u64 {
        u64::try_from(self.half_life.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

enum Item {
    Observed { tenant: String, query: String, tool: String, at_ms: u64 },
    Load { tenant: String },
    Flush(oneshot::Sender<()>),
}

struct Held {
    prior: Arc<Prior>,
    loaded_ms: u64,
    used_ms: u64,
    loading: bool,
}

struct Shared {
    store: Arc<dyn ExperienceStore>,
    settings: LearnSettings,
    tenants: Mutex<HashMap<String, Held>>,
}

/// Learns which tools are called upon which words, by tenant. Cheap to clone; the task ends with the last clone.
#[derive(Clone)]
pub struct Learner {
    shared: Arc<Shared>,
    recent: Arc<Recent>,
    queue: mpsc::Sender<Item>,
}

impl Learner {
    /// Starts the task. Needs a tokio runtime.
    pub fn start(store: Arc<dyn ExperienceStore>, settings: LearnSettings) -> Self {
        let shared = Arc::new(Shared { store, settings, tenants: Mutex::default() });
        let (queue, items) = mpsc::channel(QUEUE);
        tokio::spawn(run(shared.clone(), items));
        Self { shared, recent: Arc::default(), queue }
    }

    pub(crate) fn recent(&self) -> &Recent {
        &self.recent
    }

    pub(super) fn called(&self, principal: &Principal, tool: &str, at_ms: u64) {
        for query in self.recent.called(principal, tool, at_ms) {
            let tenant = principal.tenant.clone();
            let _ = self.queue.try_send(Item::Observed { tenant, query, tool: tool.to_owned(), at_ms });
        }
    }

    /// What is known of a tenant's use. Never waits: what is not in memory yet is read for the next search.
    pub fn prior(&self, tenant: &str) -> Option<Arc<Prior>> {
        let now = now_ms();
        let mut tenants = self.shared.tenants.lock();
        if let Some(held) = tenants.get_mut(tenant) {
            held.used_ms = now;
            let stale = now.saturating_sub(held.loaded_ms) > REFRESH_MS;
            if stale && !held.loading {
                held.loading = self.queue.try_send(Item::Load { tenant: tenant.to_owned() }).is_ok();
            }
            return Some(held.prior.clone());
        }
        if tenants.len() >= MAX_TENANTS {
            let oldest = tenants.iter().min_by_key(|(_, held)| held.used_ms).map(|(name, _)| name.clone());
            oldest.and_then(|name| tenants.remove(&name));
        }
        let loading = self.queue.try_send(Item::Load { tenant: tenant.to_owned() }).is_ok();
        let prior = Arc::new(Prior::new(self.shared.settings.half_life_ms()));
        tenants
            .insert(tenant.to_owned(), Held { prior, loaded_ms: if loading { now } else { 0 }, used_ms: now, loading });
        None
    }

    /// Reads what is known of a tenant's use now, for a process that lives for one search.
    pub async fn load(&self, tenant: &str, patience: Duration) {
        self.prior(tenant);
        self.flush(patience).await;
    }

    /// Waits until everything observed so far is learnt, at most `patience`.
    pub async fn flush(&self, patience: Duration) {
        let (done, finished) = oneshot::channel();
        let flush = async {
            if self.queue.send(Item::Flush(done)).await.is_ok() {
                let _ = finished.await;
            }
        };
        if tokio::time::timeout(patience, flush).await.is_err() {
            tracing::warn!("what was learnt from the last calls is not stored");
        }
    }
}

async fn run(shared: Arc<Shared>, mut items: mpsc::Receiver<Item>) {
    let mut batch = Vec::with_capacity(BATCH);
    while items.recv_many(&mut batch, BATCH).await > 0 {
        if batch.iter().all(|item| matches!(item, Item::Observed { .. })) && batch.len() < BATCH {
            // Writing one by one would cost a commit each.
            tokio::time::sleep(LINGER).await;
            while batch.len() < BATCH
                && let Ok(item) = items.try_recv()
            {
                batch.push(item);
            }
        }
        let mut learnt: HashMap<String, Vec<Learnt>> = HashMap::new();
        let mut flushes = Vec::new();
        for item in batch.drain(..) {
            match item {
                Item::Observed { tenant, query, tool, at_ms } => {
                    learnt.entry(tenant).or_default().push(Learnt { words: Prior::words_of(&query), tool, at_ms });
                }
                Item::Load { tenant } => {
                    learnt.entry(tenant).or_default();
                }
                Item::Flush(done) => flushes.push(done),
            }
        }
        for (tenant, learnt) in learnt {
            learn(&shared, &tenant, learnt).await;
        }
        for done in flushes {
            let _ = done.send(());
        }
    }
}

/// Writes what was learnt, and reads the whole again.
async fn learn(shared: &Shared, tenant: &str, learnt: Vec<Learnt>) {
    let half_life = shared.settings.half_life_ms();
    if !learnt.is_empty()
        && let Err(error) = shared.store.learn(tenant, learnt, half_life, MAX_PAIRS).await
    {
        tracing::warn!(%error, "what was learnt from calls could not be stored");
    }
    let loaded = shared.store.experience(tenant, MAX_PAIRS).await;
    let now = now_ms();
    let mut tenants = shared.tenants.lock();
    let Some(held) = tenants.get_mut(tenant) else { return };
    (held.loading, held.loaded_ms) = (false, now);
    match loaded {
        Ok(pairs) => held.prior = Arc::new(Prior::from_pairs(pairs, half_life, now)),
        Err(error) => tracing::warn!(%error, "what was learnt from calls cannot be read"),
    }
}
