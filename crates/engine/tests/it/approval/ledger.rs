//! A small store whose methods are the trait's atomic steps, with a pause before each, and a way to break it.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use toolcrib_core::ContentHash;
use toolcrib_engine::{
    BoxFuture, Principal, StoreError,
    approval::{
        AnswerOutcome, ApprovalRequest, ApprovalStore, Grant, Parked, Reach, RecordedAnswer, RequestFilter,
        RequestState, StoredRequest,
    },
    journal::JournalRecord,
};

pub(crate) struct Ledger {
    pub(crate) broken: AtomicBool,
    pause: fn() -> BoxFuture<'static, ()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    version: u64,
    requests: Vec<StoredRequest>,
    grants: Vec<Grant>,
}

impl State {
    /// Those in force, as the trait orders them.
    fn grants(&self, now_ms: u64) -> Vec<&Grant> {
        let mut grants: Vec<&Grant> = self.grants.iter().rev().filter(|grant| in_force(grant, now_ms)).collect();
        grants.sort_by_key(|grant| grant.allow);
        grants
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::pausing(|| Box::pin(async {}))
    }
}

impl Ledger {
    pub(crate) fn pausing(pause: fn() -> BoxFuture<'static, ()>) -> Self {
        Self { broken: AtomicBool::new(false), pause, state: Mutex::default() }
    }

    /// Puts grants in, as if other processes had.
    pub(crate) fn give(&self, grants: impl IntoIterator<Item = Grant>) {
        let mut state = self.state.lock();
        state.grants.extend(grants);
        state.version += 1;
    }

    pub(crate) fn requests_made(&self) -> usize {
        self.state.lock().requests.len()
    }

    pub(crate) fn states(&self) -> Vec<RequestState> {
        self.state.lock().requests.iter().map(|stored| stored.state).collect()
    }

    /// Runs one atomic step.
    fn step<'a, T: Send + 'a>(
        &'a self,
        step: impl FnOnce(&mut State) -> Result<T, StoreError> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            (self.pause)().await;
            if self.broken.load(Ordering::SeqCst) {
                return Err(StoreError::Failed { operation: "anything", cause: "broken".into() });
            }
            step(&mut self.state.lock())
        })
    }
}

fn read(stored: &StoredRequest, now_ms: u64) -> StoredRequest {
    let mut stored = stored.clone();
    if stored.state == RequestState::Pending && stored.request.expires_at_ms <= now_ms {
        stored.state = RequestState::Expired;
    }
    stored
}

fn in_force(grant: &Grant, now_ms: u64) -> bool {
    grant.uses_left != Some(0) && grant.expires_at_ms.is_none_or(|end| end > now_ms)
}

fn subject(request: &ApprovalRequest) -> (&toolcrib_engine::Principal, String, ContentHash, ContentHash) {
    (&request.principal, request.tool.to_string(), request.definition, request.arguments_digest)
}

impl ApprovalStore for Ledger {
    fn park(
        &self,
        request: ApprovalRequest,
        most_pending: usize,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Parked, StoreError>> {
        self.step(move |state| {
            let open: Vec<&StoredRequest> =
                state.requests.iter().filter(|stored| read(stored, now_ms).state == RequestState::Pending).collect();
            if let Some(standing) = open.iter().find(|stored| subject(&stored.request) == subject(&request)) {
                return Ok(Parked::Standing(standing.request.id.clone()));
            }
            if open.len() >= most_pending {
                return Err(StoreError::Quota("too many".into()));
            }
            state.version += 1;
            let pending = RequestState::Pending;
            state.requests.push(StoredRequest { request, state: pending, answered_at_ms: None, answered_by: None });
            Ok(Parked::New)
        })
    }

    fn request<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<StoredRequest>, StoreError>> {
        self.step(move |state| {
            Ok(state.requests.iter().find(|stored| stored.request.id == id).map(|stored| read(stored, now_ms)))
        })
    }

    fn requests(&self, filter: RequestFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<StoredRequest>, StoreError>> {
        self.step(move |state| {
            Ok(state
                .requests
                .iter()
                .rev()
                .map(|stored| read(stored, now_ms))
                .filter(|stored| filter.tenant.as_ref().is_none_or(|t| *t == stored.request.principal.tenant))
                .filter(|stored| filter.state.is_none_or(|s| s == stored.state))
                .take(filter.limit)
                .collect())
        })
    }

    fn answer<'a>(
        &'a self,
        id: &'a str,
        answer: RecordedAnswer,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<AnswerOutcome, StoreError>> {
        self.step(move |state| {
            let Some(stored) = state.requests.iter_mut().find(|stored| stored.request.id == id) else {
                return Ok(AnswerOutcome::Unknown);
            };
            let now = read(stored, now_ms).state;
            if now != RequestState::Pending {
                return Ok(AnswerOutcome::Settled(now));
            }
            stored.state = if answer.approved { RequestState::Approved } else { RequestState::Denied };
            (stored.answered_at_ms, stored.answered_by) = (Some(now_ms), Some(answer.by));
            state.grants.extend(answer.grant);
            state.version += 1;
            Ok(AnswerOutcome::Recorded)
        })
    }

    fn grants<'a>(
        &'a self,
        tenant: Option<&'a str>,
        limit: usize,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        self.step(move |state| {
            let wanted = |grant: &&Grant| tenant.is_none_or(|t| t == grant.principal.tenant);
            Ok(state.grants(now_ms).into_iter().filter(wanted).take(limit).cloned().collect())
        })
    }

    fn grants_for<'a>(
        &'a self,
        principal: &'a Principal,
        tool: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        self.step(move |state| {
            let theirs = |grant: &&Grant| {
                let (owner, session) = (&grant.principal, grant.reach != Reach::Session);
                grant.tool == tool
                    && (&owner.tenant, &owner.user) == (&principal.tenant, &principal.user)
                    && (session || owner.session == principal.session)
            };
            Ok(state.grants(now_ms).into_iter().filter(theirs).cloned().collect())
        })
    }

    fn grant<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<Grant>, StoreError>> {
        self.step(move |state| Ok(state.grants(now_ms).into_iter().find(|grant| grant.id == id).cloned()))
    }

    fn take<'a>(&'a self, grant: &'a str, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.step(move |state| {
            let found = state.grants.iter_mut().find(|found| found.id == grant && in_force(found, now_ms));
            let Some(found) = found else { return Ok(false) };
            found.uses_left = found.uses_left.map(|left| left - 1);
            state.version += 1;
            Ok(true)
        })
    }

    fn revoke<'a>(
        &'a self,
        grant: &'a str,
        _evidence: Option<JournalRecord>,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.step(move |state| {
            let before = state.grants.len();
            state.grants.retain(|found| found.id != grant || !in_force(found, now_ms));
            state.version += 1;
            Ok(state.grants.len() < before)
        })
    }

    fn version(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.step(|state| Ok(state.version))
    }

    fn prune(&self, _: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.step(|_| Ok(0))
    }
}
