//! The broker: everything about approvals that is not the store's.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use toolcrib_core::ContentHash;

use super::{
    answer::Responder,
    cache::{Grants, MOST_GRANTS},
    coverage::Call,
    prompts::Prompts,
    request::{Grant, StoredRequest},
    settings::ApprovalSettings,
    store::{ApprovalStore, RequestFilter},
};
use crate::{identity::Principal, journal::JournalRecord, permission::Question, store::StoreError};

/// Asks people, keeps what they answered, and says what their answers cover. Cheap to share behind an [`Arc`].
pub struct Approvals {
    pub(super) store: Arc<dyn ApprovalStore>,
    settings: ArcSwap<ApprovalSettings>,
    cache: ArcSwap<Grants>,
    pub(super) prompts: Prompts,
    /// Bumped by every answer given in this process, so that whoever waits for it need not poll.
    pub(super) changed: watch::Sender<u64>,
}

/// A use of a grant, to be taken with [`Approvals::consume`] when the call is about to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantUse {
    /// The grant's handle.
    pub grant: String,
    /// Whether the grant is good for a number of calls only.
    pub must_take: bool,
    /// Who gave it.
    pub by: String,
}

impl GrantUse {
    pub(super) fn of(grant: &Grant) -> Self {
        Self { grant: grant.id.clone(), must_take: grant.uses_left.is_some(), by: grant.by.clone() }
    }

    /// For records: `approval HANDLE by terminal`.
    pub fn authority(&self) -> String {
        format!("approval {} by {}", self.grant, self.by)
    }
}

/// Whether earlier answers already say what is to happen with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Covered {
    /// It was approved.
    Yes(GrantUse),
    /// Somebody said that it is never to run: this grant forbids it.
    Forbidden(Box<Grant>),
    /// Nobody said anything.
    No,
}

impl Approvals {
    /// A broker over a store.
    pub fn new(store: Arc<dyn ApprovalStore>, settings: ApprovalSettings) -> Self {
        Self {
            store,
            settings: ArcSwap::from_pointee(settings),
            cache: ArcSwap::from_pointee(Grants::default()),
            prompts: Prompts::new(),
            changed: watch::Sender::new(0),
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<ApprovalSettings> {
        self.settings.load_full()
    }

    /// Replaces the settings. Questions under way keep the times they began with.
    pub fn replace_settings(&self, settings: ApprovalSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// What earlier answers say of a call. Always up to date with the store. If the store cannot be read, nothing is
    /// covered, and asking will fail on the same store: the call does not run.
    pub async fn covered(&self, question: &Question<'_>, principal: &Principal, digest: ContentHash) -> Covered {
        let grants = match self.grants_now(question, principal).await {
            Ok(grants) => grants,
            Err(error) => {
                tracing::warn!(%error, "grants cannot be read, so none counts");
                return Covered::No;
            }
        };
        Call::new(question, principal, digest).judge(&grants).await
    }

    /// The grant that forbids a call, by what is in memory: for calls that rules allow, without a trip to the store.
    /// Nearly always one comparison. [`Self::refresh`] brings the memory up to date. Only where more grants forbid than
    /// memory holds is the store asked about this call.
    ///
    /// # Errors
    /// If the store has to be asked and fails: the call must not run.
    pub async fn forbidden(&self, question: &Question<'_>, principal: &Principal) -> Result<Option<Grant>, StoreError> {
        let grants = self.cache.load_full();
        if !grants.denials {
            return Ok(None);
        }
        if let Some(grant) = super::coverage::forbidding(&grants, question, principal) {
            return Ok(Some(grant.clone()));
        }
        if !grants.more_denials {
            return Ok(None);
        }
        let stored = self.stored_for(question, principal).await?;
        Ok(super::coverage::forbidding(&stored, question, principal).cloned())
    }

    /// Whether the grants in memory were ever read from the store.
    pub fn is_informed(&self) -> bool {
        self.cache.load().version.is_some()
    }

    /// Reads the grants again if the store says that something changed.
    pub async fn refresh(&self, now_ms: u64) -> Result<(), StoreError> {
        self.current(now_ms).await.map(|_| ())
    }

    /// Takes one use of a grant: true for exactly as many calls as it has uses. Call it when nothing but sending the
    /// call is left. On false somebody else was first, or the grant was revoked in the meantime: ask again, do not run
    /// the call. A grant for any number of calls costs one look at the store's version.
    pub async fn consume(&self, used: &GrantUse, now_ms: u64) -> Result<bool, StoreError> {
        if !used.must_take {
            let grants = self.current(now_ms).await?;
            if !grants.partial {
                return Ok(grants.holds(&used.grant));
            }
        }
        self.store.take(&used.grant, now_ms).await
    }

    /// Requests, newest first.
    pub async fn list(&self, filter: RequestFilter, now_ms: u64) -> Result<Vec<StoredRequest>, StoreError> {
        self.store.requests(filter, now_ms).await
    }

    /// One request; `tenant` as in [`Responder`].
    pub async fn request(
        &self,
        id: &str,
        tenant: Option<&str>,
        now_ms: u64,
    ) -> Result<Option<StoredRequest>, StoreError> {
        let found = self.store.request(id, now_ms).await?;
        Ok(found.filter(|found| tenant.is_none_or(|tenant| found.request.principal.tenant == tenant)))
    }

    /// Grants in force of one tenant or of all, those that forbid first, then newest first.
    pub async fn grants(&self, tenant: Option<&str>, limit: usize, now_ms: u64) -> Result<Vec<Grant>, StoreError> {
        self.store.grants(tenant, limit.min(MOST_GRANTS), now_ms).await
    }

    /// One grant in force; `tenant` as in [`Responder`].
    pub async fn grant(&self, id: &str, tenant: Option<&str>, now_ms: u64) -> Result<Option<Grant>, StoreError> {
        let found = self.store.grant(id, now_ms).await?;
        Ok(found.filter(|found| tenant.is_none_or(|tenant| found.principal.tenant == tenant)))
    }

    /// Ends a grant; false when there is none in force (of that responder's tenant).
    pub async fn revoke(&self, grant: &str, by: &Responder, now_ms: u64) -> Result<bool, StoreError> {
        self.revoke_on_record(grant, by, None, now_ms).await
    }

    /// As [`Self::revoke`], and `evidence` is in the journal exactly if the grant was ended: both are written in one step.
    pub async fn revoke_on_record(
        &self,
        grant: &str,
        by: &Responder,
        evidence: Option<JournalRecord>,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        if by.tenant.is_some() && self.grant(grant, by.tenant.as_deref(), now_ms).await?.is_none() {
            return Ok(false);
        }
        let ended = self.store.revoke(grant, evidence, now_ms).await?;
        self.announce();
        // A denial that was taken back must not go on counting from memory.
        self.refresh(now_ms).await?;
        Ok(ended)
    }

    /// Drops requests and grants that were settled or ended before `before_ms`; returns how many.
    pub async fn prune(&self, before_ms: u64) -> Result<u64, StoreError> {
        self.store.prune(before_ms).await
    }

    /// Wakes whoever waits for an answer in this process.
    pub(super) fn announce(&self) {
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Grants among which are all that speak of a call.
    async fn grants_now(&self, question: &Question<'_>, principal: &Principal) -> Result<Arc<Grants>, StoreError> {
        let grants = self.current(question.now_ms).await?;
        if grants.partial { self.stored_for(question, principal).await } else { Ok(grants) }
    }

    async fn stored_for(&self, question: &Question<'_>, principal: &Principal) -> Result<Arc<Grants>, StoreError> {
        let tool = question.tool.id().to_string();
        Ok(Grants::new(None, self.store.grants_for(principal, &tool, question.now_ms).await?))
    }

    async fn current(&self, now_ms: u64) -> Result<Arc<Grants>, StoreError> {
        // The version is read first: a change in between costs another reading, never a stale grant.
        let version = Some(self.store.version().await?);
        let cached = self.cache.load_full();
        if cached.version == version {
            return Ok(cached);
        }
        let grants = Grants::new(version, self.store.grants(None, MOST_GRANTS + 1, now_ms).await?);
        self.cache.store(grants.clone());
        Ok(grants)
    }
}
