//! Asking: the question is kept first, so that every route sees it, and then whoever answers first counts. Whatever
//! else happens (nobody there, too late, an answer that is none, the store failing) the call does not run (openclaw
//! case 120; theirs "no handler, so approved" of oneringai case 88 is not copied).

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use serde_json::value::RawValue;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use toolcrib_core::ContentHash;

use super::{
    answer::Responder,
    broker::{Approvals, GrantUse},
    coverage::Call,
    describe, handle, offer,
    request::{Answer, ApprovalRequest, AskError, Asker, Grant, RequestState},
    settings::{MOST_WAIT, ms},
    store::{AnswerOutcome, Parked},
};
use crate::{identity::Principal, permission::Question, store::StoreError};

/// How often the store is asked whether another process has answered.
const POLL: Duration = Duration::from_millis(250);
/// How often one call may put its question again because another call used the approval up.
const MOST_ROUNDS: usize = 8;

/// A call that a person is to be asked about.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The call.
    pub question: &'a Question<'a>,
    /// Whose it is.
    pub principal: &'a Principal,
    /// Digest of its canonical arguments.
    pub digest: ContentHash,
    /// Why it is asked about.
    pub reason: &'a str,
    /// Makes the arguments fit to be seen by whoever decides: JSON text with the secrets masked, and with everything else
    /// as it is.
    pub mask: &'a (dyn Fn(&RawValue) -> String + Send + Sync),
    /// What the tool says that the call will do, without secrets.
    pub says: Option<&'a str>,
    /// A shorter wait than the settings', for a caller with a deadline of its own.
    pub within: Option<Duration>,
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The call may run once [`Approvals::consume`] has taken the use.
    Approved {
        /// The request.
        request: String,
        /// The use to be taken.
        used: GrantUse,
        /// For records.
        authority: String,
    },
    /// It may not.
    Denied {
        /// The request, where there is one.
        request: Option<String>,
        /// Why, for records.
        reason: String,
        /// The same for the caller.
        sentence: String,
    },
    /// Nobody answered. The question stays open, and the same call runs once after somebody approved it.
    Parked {
        /// The request's handle.
        id: String,
        /// Why, for records.
        reason: String,
        /// What to tell the caller, with the handle and how a person approves it.
        sentence: String,
    },
    /// The answer comes with the caller's next attempt: end this call with the question.
    Later {
        /// The question.
        request: Box<ApprovalRequest>,
    },
    /// The call was cancelled while waiting; the question was taken back from the route (openclaw case 122).
    Cancelled {
        /// The request, which stays open until it expires.
        request: Option<String>,
    },
}

/// How a round of waiting ended.
enum Round {
    Done(Asked),
    /// Approved, but another call has used that approval up.
    UsedUp,
}

impl Approvals {
    /// Puts a question and waits for the answer. Waiting blocks nothing but this call. The wait ends with the answer,
    /// `cancel`, or [`super::ApprovalSettings::wait`].
    pub async fn ask(&self, asking: &Asking<'_>, asker: Option<&Arc<dyn Asker>>, cancel: &CancellationToken) -> Asked {
        let began = Instant::now();
        let settings = self.settings();
        let wait = settings.wait.min(MOST_WAIT).min(asking.within.unwrap_or(MOST_WAIT));
        let clock = Clock { began, at_ms: asking.question.now_ms };
        for _ in 0..MOST_ROUNDS {
            if cancel.is_cancelled() {
                return Asked::Cancelled { request: None };
            }
            if let Err(full) = self.prompts.take(asking.principal, settings.prompts_per_minute, clock.now_ms()) {
                let reason = format!(
                    "more than {} questions a minute; the next can be put in {} s",
                    settings.prompts_per_minute,
                    full.0.div_ceil(1_000)
                );
                return denied(asking, None, reason);
            }
            // Before the request is kept, or an answer in between would go unnoticed.
            let changed = self.changed.subscribe();
            let request = match self.put(asking, &settings, clock.now_ms()).await {
                Ok(request) => request,
                Err(error) => return denied(asking, None, format!("the question could not be kept: {error}")),
            };
            let Some(asker) = asker.filter(|_| !wait.is_zero()) else {
                return parked(asking, settings.reachable, &request.id, "nobody can be asked during this call");
            };
            match self.wait(asking, &request, asker, changed, began + wait, clock, cancel).await {
                Round::Done(asked) => return asked,
                Round::UsedUp => {}
            }
        }
        denied(asking, None, "other calls used up every approval that was given".to_owned())
    }

    /// Keeps the question, or finds the same one standing.
    async fn put(
        &self,
        asking: &Asking<'_>,
        settings: &super::ApprovalSettings,
        now_ms: u64,
    ) -> Result<ApprovalRequest, StoreError> {
        let Asking { question, principal, digest, reason, mask, says, .. } = *asking;
        let shown = mask(question.raw);
        let arguments = describe::arguments(&shown);
        // Who has not seen everything decides about this one call and no other.
        let offers =
            if arguments.whole { offer::reaches(question, principal, settings) } else { vec![super::Reach::Once] };
        let patterns = offer::patterns(question, &offers).await;
        let request = ApprovalRequest {
            id: handle::fresh()?,
            principal: principal.clone(),
            tool: question.tool.id().clone(),
            exposed: question.exposed.to_owned(),
            definition: question.tool.hash(),
            arguments_digest: digest,
            arguments: arguments.text,
            description: describe::description(question, &shown, says),
            reason: describe::reason(reason),
            risk: question.assessment.risk,
            offers,
            patterns,
            created_at_ms: now_ms,
            expires_at_ms: now_ms.saturating_add(ms(settings.open.max(settings.wait))),
        };
        match self.store.park(request.clone(), settings.most_pending, now_ms).await? {
            Parked::New => Ok(request),
            Parked::Standing(id) => match self.store.request(&id, now_ms).await? {
                Some(standing) => Ok(standing.request),
                None => Err(StoreError::Failed {
                    operation: "read a request",
                    cause: format!("request {id} was there a moment ago and is gone"),
                }),
            },
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one place, all different types")]
    async fn wait(
        &self,
        asking: &Asking<'_>,
        request: &ApprovalRequest,
        asker: &Arc<dyn Asker>,
        changed: watch::Receiver<u64>,
        until: Instant,
        clock: Clock,
        cancel: &CancellationToken,
    ) -> Round {
        let id = request.id.as_str();
        let reachable = self.settings().reachable;
        let asked = AssertUnwindSafe(async { asker.ask(request).await }).catch_unwind();
        // Leaving this block drops the route's future, which takes the question back.
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Round::Done(Asked::Cancelled { request: Some(id.to_owned()) });
            }
            state = self.settled(request, changed, clock) => return self.by_state(asking, request, state, clock).await,
            answer = asked => answer,
            () = tokio::time::sleep_until(until) => {
                return Round::Done(parked(asking, reachable, id, "nobody answered in time"));
            }
        };
        let answer = answer.unwrap_or_else(|_| Err(AskError::Unusable("the route's code panicked".into())));
        let answer = match answer {
            Ok(answer) => answer,
            Err(AskError::Later) => return Round::Done(Asked::Later { request: Box::new(request.clone()) }),
            Err(error) => return Round::Done(parked(asking, reachable, id, &error.to_string())),
        };
        let by = Responder::owner(asker.route());
        match self.answer(id, &answer, &by, clock.now_ms()).await {
            Err(super::AnswerError::Store(error)) => {
                Round::Done(denied(asking, Some(id), format!("the answer could not be kept: {error}")))
            }
            // Not among what was offered: as good as no answer.
            Err(error) => Round::Done(parked(asking, reachable, id, &error.to_string())),
            Ok(answered) => match (answered.outcome, answered.grant) {
                (AnswerOutcome::Recorded, Some(grant)) if grant.allow => Round::Done(approved(id, &grant)),
                (AnswerOutcome::Recorded, _) => {
                    Round::Done(denied(asking, Some(id), refusal(matches!(answer, Answer::Deny { .. }), &by.by)))
                }
                // Another route was first, and its answer counts.
                (AnswerOutcome::Settled(state), _) => self.by_state(asking, request, state, clock).await,
                (AnswerOutcome::Unknown, _) => Round::Done(denied(asking, Some(id), "the request is gone".to_owned())),
            },
        }
    }

    /// Waits until the store says that the request is not open any more.
    async fn settled(
        &self,
        request: &ApprovalRequest,
        mut changed: watch::Receiver<u64>,
        clock: Clock,
    ) -> RequestState {
        let mut seen = None;
        loop {
            let now_ms = clock.now_ms();
            match self.store.version().await {
                Ok(version) if seen == Some(version) => {}
                Ok(version) => match self.store.request(&request.id, now_ms).await {
                    Ok(Some(stored)) if stored.state != RequestState::Pending => return stored.state,
                    Ok(Some(_)) => seen = Some(version),
                    Ok(None) => return RequestState::Expired,
                    Err(error) => tracing::debug!(%error, "a request cannot be read at the moment"),
                },
                Err(error) => tracing::debug!(%error, "the approvals cannot be read at the moment"),
            }
            if now_ms >= request.expires_at_ms {
                return RequestState::Expired;
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// What a state that somebody else brought about means for this call.
    async fn by_state(
        &self,
        asking: &Asking<'_>,
        request: &ApprovalRequest,
        state: RequestState,
        clock: Clock,
    ) -> Round {
        let id = request.id.as_str();
        let now_ms = clock.now_ms();
        match state {
            RequestState::Approved => {
                let tool = request.tool.to_string();
                match self.store.grants_for(asking.principal, &tool, now_ms).await {
                    Err(error) => Round::Done(denied(asking, Some(id), format!("grants cannot be read: {error}"))),
                    Ok(grants) => {
                        let call = Call::new(asking.question, asking.principal, asking.digest);
                        match grants.iter().find(|grant| grant.request == id && grant.allow) {
                            Some(grant) if call.is_covered_by(grant).await => Round::Done(approved(id, grant)),
                            _ => Round::UsedUp,
                        }
                    }
                }
            }
            RequestState::Denied => {
                let by = match self.store.request(id, now_ms).await {
                    Ok(Some(stored)) => stored.answered_by.unwrap_or_default(),
                    Ok(None) | Err(_) => String::new(),
                };
                Round::Done(denied(asking, Some(id), refusal(true, &by)))
            }
            RequestState::Expired | RequestState::Pending => {
                Round::Done(denied(asking, Some(id), "the question expired unanswered".to_owned()))
            }
        }
    }
}

/// Wall-clock time that goes on from when the call was judged.
#[derive(Clone, Copy)]
struct Clock {
    began: Instant,
    at_ms: u64,
}

impl Clock {
    fn now_ms(self) -> u64 {
        self.at_ms.saturating_add(ms(self.began.elapsed()))
    }
}

fn approved(request: &str, grant: &Grant) -> Asked {
    let used = GrantUse::of(grant);
    let authority = used.authority();
    Asked::Approved { request: request.to_owned(), used, authority }
}

fn refusal(denied: bool, by: &str) -> String {
    match (denied, by) {
        (true, "") => "a person refused it".to_owned(),
        (true, by) => format!("a person refused it ({by})"),
        (false, _) => "the answer granted nothing".to_owned(),
    }
}

fn denied(asking: &Asking<'_>, request: Option<&str>, reason: String) -> Asked {
    let sentence = format!(
        "{} was not run: {reason}. Do not retry or work around this.",
        describe::visible(asking.question.exposed)
    );
    Asked::Denied { request: request.map(str::to_owned), reason, sentence }
}

fn parked(asking: &Asking<'_>, reachable: bool, id: &str, reason: &str) -> Asked {
    let reason = describe::reason(reason);
    let how = if reachable {
        // Models read this: who has to be told is told, how it is done is for that person to know.
        "Tell the user: a person can approve it under that handle, where toolcrib runs or over HTTP, and the same call then runs once. Do not retry before, and do not work around this.".to_owned()
    } else {
        "Nothing is kept here (store.path), so nobody outside this process can approve it: a person can do so over HTTP while it serves, or name a file in store.path for the next time. Do not work around this.".to_owned()
    };
    let sentence = format!(
        "{} was not run: it needs a person's approval ({id}), and {reason}. {how}",
        describe::visible(asking.question.exposed)
    );
    Asked::Parked { id: id.to_owned(), reason, sentence }
}
