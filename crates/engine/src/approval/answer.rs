//! Answering: what was offered may be answered, nothing else.

use super::{
    broker::Approvals,
    handle,
    request::{Answer, ApprovalRequest, Grant, GrantPattern, Reach, RequestState},
    settings::ms,
    store::{AnswerOutcome, RecordedAnswer},
};
use crate::{identity::Principal, journal::JournalRecord, store::StoreError};

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Responder {
    /// The route and, where known, the person (`terminal`, `client`, `http:KEY`).
    pub by: String,
    /// Only requests and grants of this tenant exist for them; `None` = all (whoever owns the machine).
    pub tenant: Option<String>,
    /// The name that their own calls go by ([`crate::Principal::user`]), where the route knows it.
    pub user: Option<String>,
}

impl Responder {
    /// Somebody who may answer for every tenant.
    pub fn owner(by: impl Into<String>) -> Self {
        Self { by: by.into(), tenant: None, user: None }
    }

    /// Somebody who may answer for one tenant.
    pub fn of_tenant(by: impl Into<String>, tenant: impl Into<String>) -> Self {
        Self { tenant: Some(tenant.into()), ..Self::owner(by) }
    }

    /// The same, whose own calls go by this name.
    #[must_use]
    pub fn named(self, user: Option<String>) -> Self {
        Self { user, ..self }
    }
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Whether it counts.
    pub outcome: AnswerOutcome,
    /// What it grants or forbids from now on; `None` for a plain denial or an answer that does not count.
    pub grant: Option<Grant>,
}

/// An answer that cannot be taken.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AnswerError {
    /// This reach was not offered.
    #[error("request {id} does not offer the reach '{}'; it offers {}", reach.word(), words(offers))]
    ReachNotOffered {
        /// The request.
        id: String,
        /// What was answered.
        reach: Reach,
        /// What may be answered.
        offers: Vec<Reach>,
    },
    /// This pattern was not offered.
    #[error(
        "request {id} does not offer this pattern; take one of those it lists, or none for exactly these arguments"
    )]
    PatternNotOffered {
        /// The request.
        id: String,
    },
    /// An approval for once is for exactly the arguments that were shown.
    #[error(
        "an approval of request {id} for once covers exactly its arguments; leave the pattern out, or approve for the session"
    )]
    OnceIsExact {
        /// The request.
        id: String,
    },
    /// Who made a call may not let it run.
    #[error(
        "'{user}' made this call and may not let it run (approvals.four_eyes); somebody with another key has to answer"
    )]
    OwnCall {
        /// The name that caller and responder share.
        user: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn words(offers: &[Reach]) -> String {
    offers.iter().map(|reach| reach.word()).collect::<Vec<_>>().join(", ")
}

impl Approvals {
    /// Records a person's answer and what it grants, in one step. Of several answers to one request the first counts.
    pub async fn answer(
        &self,
        id: &str,
        answer: &Answer,
        by: &Responder,
        now_ms: u64,
    ) -> Result<Answered, AnswerError> {
        self.answer_on_record(id, answer, by, None, now_ms).await
    }

    /// As [`Self::answer`], and `evidence` is in the journal exactly if the answer counts: both are written in one step.
    pub async fn answer_on_record(
        &self,
        id: &str,
        answer: &Answer,
        by: &Responder,
        evidence: Option<JournalRecord>,
        now_ms: u64,
    ) -> Result<Answered, AnswerError> {
        let settled = |outcome| Answered { outcome, grant: None };
        let Some(stored) = self.request(id, by.tenant.as_deref(), now_ms).await? else {
            return Ok(settled(AnswerOutcome::Unknown));
        };
        if stored.state != RequestState::Pending {
            return Ok(settled(AnswerOutcome::Settled(stored.state)));
        }
        let approved = matches!(answer, Answer::Approve { .. });
        if approved {
            self.not_their_own(by, &stored.request.principal)?;
        }
        let grant = self.grant_of(&stored.request, answer, by, now_ms)?;
        let recorded = RecordedAnswer { approved, grant: grant.clone(), by: by.by.clone(), evidence };
        let outcome = self.store.answer(id, recorded, now_ms).await?;
        self.announce();
        if outcome != AnswerOutcome::Recorded {
            return Ok(settled(outcome));
        }
        if grant.as_ref().is_some_and(|grant| !grant.allow)
            && let Err(error) = self.refresh(now_ms).await
        {
            tracing::warn!(%error, "a denial is recorded but not in force for allowed calls until the store can be read");
        }
        Ok(Answered { outcome, grant })
    }

    /// Whether somebody may loosen what holds for this principal's calls: where [`super::ApprovalSettings::four_eyes`] is
    /// set, nobody may for their own.
    ///
    /// # Errors
    /// [`AnswerError::OwnCall`] if not.
    pub fn not_their_own(&self, by: &Responder, principal: &Principal) -> Result<(), AnswerError> {
        match &by.user {
            Some(user) if self.settings().four_eyes && principal.user.as_ref() == Some(user) => {
                Err(AnswerError::OwnCall { user: user.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Denies a request once.
    pub async fn deny(&self, id: &str, by: &Responder, now_ms: u64) -> Result<Answered, AnswerError> {
        self.answer(id, &Answer::Deny { reach: Reach::Once }, by, now_ms).await
    }

    fn grant_of(
        &self,
        request: &ApprovalRequest,
        answer: &Answer,
        by: &Responder,
        now_ms: u64,
    ) -> Result<Option<Grant>, AnswerError> {
        let id = || request.id.clone();
        let exact = GrantPattern::Exact { digest: request.arguments_digest.to_string() };
        let (reach, allow, pattern) = match answer {
            Answer::Deny { reach: Reach::Once } => return Ok(None),
            // Nothing to hold it on to, but still a denial.
            Answer::Deny { reach: Reach::Session } if request.principal.session.is_none() => return Ok(None),
            // Wider than what was shown, on purpose: a model that varies the arguments must not get past a "never".
            Answer::Deny { reach } => (*reach, false, GrantPattern::Any),
            Answer::Approve { reach, pattern } => {
                if !request.offers.contains(reach) {
                    return Err(AnswerError::ReachNotOffered {
                        id: id(),
                        reach: *reach,
                        offers: request.offers.clone(),
                    });
                }
                let pattern = pattern.clone().unwrap_or_else(|| exact.clone());
                if pattern != exact {
                    if !request.patterns.contains(&pattern) {
                        return Err(AnswerError::PatternNotOffered { id: id() });
                    }
                    if *reach == Reach::Once {
                        return Err(AnswerError::OnceIsExact { id: id() });
                    }
                }
                (*reach, true, pattern)
            }
        };
        if reach == Reach::Session && request.principal.session.is_none() {
            return Err(AnswerError::ReachNotOffered { id: id(), reach, offers: request.offers.clone() });
        }
        let settings = self.settings();
        let expires_at_ms = match reach {
            Reach::Once => Some(now_ms.saturating_add(ms(settings.once))),
            Reach::Session => Some(now_ms.saturating_add(ms(settings.session))),
            Reach::Always => None,
        };
        Ok(Some(Grant {
            id: handle::fresh()?,
            request: id(),
            principal: request.principal.clone(),
            tool: request.tool.to_string(),
            definition: request.definition.to_string(),
            pattern,
            reach,
            allow,
            uses_left: (reach == Reach::Once).then_some(1),
            created_at_ms: now_ms,
            expires_at_ms,
            by: by.by.clone(),
        }))
    }
}
