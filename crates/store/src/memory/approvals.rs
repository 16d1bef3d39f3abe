//! Requests and grants in memory.

use std::collections::BTreeMap;

use toolcrib_engine::{
    BoxFuture, Principal, StoreError,
    approval::{
        AnswerOutcome, ApprovalRequest, ApprovalStore, Grant, MOST_GRANTS, Parked, Reach, RecordedAnswer,
        RequestFilter, RequestState, StoredRequest,
    },
    journal::JournalRecord,
};

use super::{MemoryStore, journal::Journal, ready};
use crate::{
    bounds,
    subject::{state_of_request, subject_of},
};

#[derive(Default)]
pub(super) struct Approvals {
    // By the order in which they came.
    requests: BTreeMap<u64, Asked>,
    grants: BTreeMap<u64, Given>,
    next: u64,
    version: u64,
}

struct Asked {
    subject: String,
    stored: StoredRequest,
}

struct Given {
    grant: Grant,
    ended_at_ms: Option<u64>,
}

impl Given {
    fn in_force(&self, now_ms: u64) -> bool {
        self.ended_at_ms.is_none()
            && self.grant.expires_at_ms.is_none_or(|end| end > now_ms)
            && self.grant.uses_left != Some(0)
    }
}

fn at(stored: &StoredRequest, now_ms: u64) -> StoredRequest {
    StoredRequest { state: state_of_request(stored, now_ms), ..stored.clone() }
}

impl Approvals {
    fn park(&mut self, request: ApprovalRequest, most_pending: usize, now_ms: u64) -> Result<Parked, StoreError> {
        let record = serde_json::to_vec(&request).map_or(0, |text| text.len());
        bounds::within("an approval request", record, bounds::REQUEST_BYTES)?;
        let subject = subject_of(&request);
        let principal = &request.principal;
        let mut pending = 0;
        for asked in self.requests.values() {
            if state_of_request(&asked.stored, now_ms) != RequestState::Pending {
                continue;
            }
            if asked.subject == subject {
                return Ok(Parked::Standing(asked.stored.request.id.clone()));
            }
            let owner = &asked.stored.request.principal;
            pending += usize::from(owner.tenant == principal.tenant && owner.user == principal.user);
        }
        if pending >= most_pending {
            return Err(bounds::too_many_requests(most_pending));
        }
        if self.requests.values().any(|asked| asked.stored.request.id == request.id) {
            return Err(bounds::exists_already("keep approval request"));
        }
        let stored = StoredRequest { request, state: RequestState::Pending, answered_at_ms: None, answered_by: None };
        self.requests.insert(self.next, Asked { subject, stored });
        self.next += 1;
        self.version += 1;
        Ok(Parked::New)
    }

    fn answer(&mut self, id: &str, answer: RecordedAnswer, now_ms: u64) -> Result<AnswerOutcome, StoreError> {
        let Some(asked) = self.requests.values_mut().find(|asked| asked.stored.request.id == id) else {
            return Ok(AnswerOutcome::Unknown);
        };
        let state = state_of_request(&asked.stored, now_ms);
        if state != RequestState::Pending {
            return Ok(AnswerOutcome::Settled(state));
        }
        if let Some(grant) = answer.grant {
            if self.grants.values().any(|given| given.grant.id == grant.id) {
                return Err(bounds::exists_already("record answer"));
            }
            self.grants.insert(self.next, Given { grant, ended_at_ms: None });
            self.next += 1;
        }
        asked.stored.state = if answer.approved { RequestState::Approved } else { RequestState::Denied };
        asked.stored.answered_at_ms = Some(now_ms);
        asked.stored.answered_by = Some(answer.by);
        self.version += 1;
        Ok(AnswerOutcome::Recorded)
    }

    fn living(&mut self, grant: &str, now_ms: u64) -> Option<&mut Given> {
        self.grants.values_mut().find(|given| given.grant.id == grant && given.in_force(now_ms))
    }

    fn take(&mut self, grant: &str, now_ms: u64) -> bool {
        let Some(given) = self.living(grant, now_ms) else { return false };
        if let Some(left) = &mut given.grant.uses_left {
            *left -= 1;
            if *left == 0 {
                given.ended_at_ms = Some(now_ms);
            }
            self.version += 1;
        }
        true
    }

    fn revoke(&mut self, grant: &str, now_ms: u64) -> bool {
        let Some(given) = self.living(grant, now_ms) else { return false };
        given.ended_at_ms = Some(now_ms);
        self.version += 1;
        true
    }

    fn prune(&mut self, before_ms: u64) -> u64 {
        let rows = self.requests.len() + self.grants.len();
        self.requests.retain(|_, Asked { stored, .. }| {
            let settled = match stored.state {
                RequestState::Pending => Some(stored.request.expires_at_ms),
                RequestState::Approved | RequestState::Denied | RequestState::Expired => stored.answered_at_ms,
            };
            settled.is_none_or(|time| time >= before_ms)
        });
        self.grants.retain(|_, given| {
            [given.ended_at_ms, given.grant.expires_at_ms].into_iter().flatten().all(|time| time >= before_ms)
        });
        let dropped = (rows - self.requests.len() - self.grants.len()) as u64;
        self.version += u64::from(dropped > 0);
        dropped
    }
}

/// Evidence with its text, if the journal can take it.
fn checked(record: JournalRecord) -> Result<(JournalRecord, String), StoreError> {
    let text = Journal::check(&record)?;
    Ok((record, text))
}

/// The newest of a list, newest first.
fn newest<T, K: Ord>(items: impl DoubleEndedIterator<Item = T>, created: impl Fn(&T) -> K, limit: usize) -> Vec<T> {
    let mut items: Vec<T> = items.rev().collect();
    // Stable: those of one millisecond stay in the order of their coming, newest first.
    items.sort_by_key(|item| std::cmp::Reverse(created(item)));
    items.truncate(limit);
    items
}

/// Those that forbid, then those that allow, each newest first.
fn refusals_first<'g>(grants: impl DoubleEndedIterator<Item = &'g Grant>, limit: usize) -> Vec<Grant> {
    newest(grants, |grant| (!grant.allow, grant.created_at_ms), limit).into_iter().cloned().collect()
}

impl ApprovalStore for MemoryStore {
    fn park(
        &self,
        request: ApprovalRequest,
        most_pending: usize,
        now_ms: u64,
    ) -> BoxFuture<'_, Result<Parked, StoreError>> {
        ready(self.approvals.lock().park(request, most_pending, now_ms))
    }

    fn request<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<StoredRequest>, StoreError>> {
        let approvals = self.approvals.lock();
        let asked = approvals.requests.values().find(|asked| asked.stored.request.id == id);
        ready(Ok(asked.map(|asked| at(&asked.stored, now_ms))))
    }

    fn requests(&self, filter: RequestFilter, now_ms: u64) -> BoxFuture<'_, Result<Vec<StoredRequest>, StoreError>> {
        let approvals = self.approvals.lock();
        let found = approvals
            .requests
            .values()
            .map(|asked| &asked.stored)
            .filter(|stored| filter.tenant.as_ref().is_none_or(|tenant| *tenant == stored.request.principal.tenant))
            .filter(|stored| filter.state.is_none_or(|state| state == state_of_request(stored, now_ms)));
        let found = newest(found, |stored| stored.request.created_at_ms, filter.limit.min(bounds::LIST));
        ready(Ok(found.into_iter().map(|stored| at(stored, now_ms)).collect()))
    }

    fn answer<'a>(
        &'a self,
        id: &'a str,
        answer: RecordedAnswer,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<AnswerOutcome, StoreError>> {
        let answering = || {
            let evidence = answer.evidence.clone().map(checked).transpose()?;
            // Held until both are done, so that nobody sees one without the other.
            let mut approvals = self.approvals.lock();
            let outcome = approvals.answer(id, answer, now_ms)?;
            if let (AnswerOutcome::Recorded, Some((record, text))) = (outcome, evidence) {
                self.journal.lock().append(record, &text);
            }
            Ok(outcome)
        };
        ready(answering())
    }

    fn grants<'a>(
        &'a self,
        tenant: Option<&'a str>,
        limit: usize,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        let approvals = self.approvals.lock();
        let found = approvals
            .grants
            .values()
            .filter(|given| given.in_force(now_ms))
            .map(|given| &given.grant)
            .filter(|grant| tenant.is_none_or(|tenant| tenant == grant.principal.tenant));
        ready(Ok(refusals_first(found, limit.min(bounds::GRANTS))))
    }

    fn grants_for<'a>(
        &'a self,
        principal: &'a Principal,
        tool: &'a str,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        let approvals = self.approvals.lock();
        let theirs = |grant: &&Grant| {
            let owner = &grant.principal;
            grant.tool == tool
                && (&owner.tenant, &owner.user) == (&principal.tenant, &principal.user)
                && (grant.reach != Reach::Session || owner.session == principal.session)
        };
        let found = approvals.grants.values().filter(|given| given.in_force(now_ms)).map(|given| &given.grant);
        ready(Ok(refusals_first(found.filter(theirs), MOST_GRANTS)))
    }

    fn grant<'a>(&'a self, id: &'a str, now_ms: u64) -> BoxFuture<'a, Result<Option<Grant>, StoreError>> {
        ready(Ok(self.approvals.lock().living(id, now_ms).map(|given| given.grant.clone())))
    }

    fn take<'a>(&'a self, grant: &'a str, now_ms: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        ready(Ok(self.approvals.lock().take(grant, now_ms)))
    }

    fn revoke<'a>(
        &'a self,
        grant: &'a str,
        evidence: Option<JournalRecord>,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let revoking = || {
            let evidence = evidence.map(checked).transpose()?;
            let mut approvals = self.approvals.lock();
            let ended = approvals.revoke(grant, now_ms);
            if let (true, Some((record, text))) = (ended, evidence) {
                self.journal.lock().append(record, &text);
            }
            Ok(ended)
        };
        ready(revoking())
    }

    fn version(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(Ok(self.approvals.lock().version))
    }

    fn prune(&self, before_ms: u64) -> BoxFuture<'_, Result<u64, StoreError>> {
        ready(Ok(self.approvals.lock().prune(before_ms)))
    }
}
