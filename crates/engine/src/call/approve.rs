//! Approve: what must be asked about is asked, and leave is taken at the last moment: a place in line, then the one use of
//! an approval.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;
use toolcrib_core::{
    ContentHash,
    args::{Arguments, canonical},
    permission::{Assessment, Risk},
};

use super::{
    CallReply, CallRequest, Cause, Progressing, Stop, admit, anew, authorize::denied, journal, resolve::Target,
};
use crate::{
    admit::Ticket,
    approval::{Asked, Asking, Covered, Grant, GrantUse},
    clock::now_ms,
    engine::{Engine, InForce},
    event::Outcome,
    identity::Principal,
    journal::Journal,
    permission::{Decision, Question, Standing},
    store::StoreError,
};

/// How often one call tries again because another used up the approval it was given.
const ROUNDS: usize = 4;

/// Everything a call needs to get leave to run.
pub(super) struct Leave<'c> {
    pub(super) engine: &'c Engine,
    pub(super) in_force: &'c Arc<InForce>,
    pub(super) request: &'c CallRequest,
    pub(super) target: &'c Target,
    pub(super) arguments: &'c Arguments,
    pub(super) principal: &'c Principal,
    pub(super) standing: &'c Standing,
}

/// What is known of a call that has leave.
pub(super) struct Admitted {
    pub(super) deadline: Instant,
    /// Whether the caller gave the tool less time than the operator does.
    pub(super) shortened: bool,
    pub(super) digest: ContentHash,
    /// Of what the arguments mean, for whatever keeps a call from running twice.
    pub(super) equivalent: ContentHash,
    pub(super) assessment: Arc<Assessment>,
    pub(super) principal: Principal,
}

impl Leave<'_> {
    /// Gets leave: asks where the decision says so, waits for a place, takes the approval's use.
    pub(super) async fn obtain(&self, decision: Decision, state: &mut Progressing) -> Result<(Ticket, Admitted), Stop> {
        let assessment = &self.standing.assessment;
        // Made when it was judged, of what was judged last.
        let digest = state.evidence.arguments.unwrap_or_else(|| canonical::digest(&self.arguments.raw));
        for _ in 0..ROUNDS {
            let used = self.allowed(&decision, assessment, digest, state).await?;
            let (time, shortened) = self.time();
            let deadline = Instant::now() + time;
            let ticket = admit::admit(self, assessment, digest, deadline, state).await?;
            // Before the approval is taken: a call that comes too soon must not use it up.
            let counted = if self.in_force.chain.limits_rates() {
                let counted = self.in_force.chain.count(&self.question(assessment, state)).transpose();
                counted.map_err(|(authority, reason)| denied(self.target, authority, reason, state))?
            } else {
                None
            };
            if self.request.cancel.is_cancelled() {
                return Err(journal::cancelled("before it left"));
            }
            if used.is_some()
                && state.mutating
                && let Some(Err(error)) = self.engine.journal().map(Journal::health)
            {
                return Err(journal::unwritable(&self.target.exposed).because(error.to_string()));
            }
            if let Some(used) = &used
                && !self.take(used).await?
            {
                // Another call was first: its place goes back before anybody is asked again.
                continue;
            }
            self.last_look(assessment, used.is_some() || ticket.waited() > Duration::ZERO, state).await?;
            state.approved_once = used.as_ref().is_some_and(|used| used.must_take);
            if let Some(counted) = counted {
                counted.keep();
            }
            let principal = self.principal.clone();
            let equivalent = canonical::equivalent_digest_from(&self.arguments.raw, digest);
            let assessment = assessment.clone();
            return Ok((ticket, Admitted { deadline, shortened, digest, equivalent, assessment, principal }));
        }
        Err(Stop::denied(&self.target.exposed, "other calls used up every approval that was given")
            .because("every approval was used by another call"))
    }

    pub(super) fn question<'q>(&'q self, assessment: &'q Assessment, state: &Progressing) -> Question<'q> {
        Question {
            tool: &self.target.tool,
            exposed: &self.target.exposed,
            arguments: &self.arguments.value,
            raw: &self.arguments.raw,
            scope: &self.request.scope,
            identity: &self.request.identity,
            door: state.door,
            assessment,
            now_ms: now_ms(),
        }
    }

    /// Whether somebody has said "never" meanwhile, and whether the engine knows yet of those who said so before.
    async fn last_look(&self, assessment: &Assessment, waited: bool, state: &mut Progressing) -> Result<(), Stop> {
        let Some(approvals) = self.engine.approvals() else { return Ok(()) };
        if waited || !approvals.is_informed() {
            // A store that cannot be read says nothing of what it forbids.
            Box::pin(approvals.refresh(now_ms())).await.map_err(|error| self.undecided(&error))?;
        }
        let found = approvals.forbidden(&self.question(assessment, state), self.principal).await;
        match found.map_err(|error| self.undecided(&error))? {
            Some(never) => Err(self.forbidden(&never, state)),
            None => Ok(()),
        }
    }

    /// The time the tool has, from now on: the operator's, and less where the caller wants less; and whether it does.
    fn time(&self) -> (Duration, bool) {
        let limits = &self.in_force.settings.limits;
        let groups = &self.in_force.settings.permissions.groups;
        let (tool, exposed) = (&self.target.tool, &self.target.exposed);
        let by_tool = || {
            let mut fits = limits.tool_timeouts.iter().filter(|(selector, _)| selector.matches(tool, exposed, groups));
            fits.next().map(|(_, limit)| *limit)
        };
        let most = by_tool()
            .or_else(|| limits.source_timeouts.get(tool.source()).copied())
            .unwrap_or_else(|| match (self.request.in_background, self.engine.pending()) {
                (Some(_), Some(pending)) => pending.time(),
                _ => limits.default_timeout,
            })
            .min(limits.max_timeout);
        self.request.timeout.map_or((most, false), |wanted| (wanted.min(most), wanted < most))
    }

    /// By whose leave the call runs; the use of an approval is still to be taken.
    pub(super) async fn allowed(
        &self,
        decision: &Decision,
        assessment: &Assessment,
        digest: ContentHash,
        state: &mut Progressing,
    ) -> Result<Option<GrantUse>, Stop> {
        match decision {
            Decision::Allow { authority } => {
                state.evidence.authority = Some(authority.to_string());
                Ok(None)
            }
            Decision::Ask { authority, reason, by_trust } => {
                Box::pin(self.approved((authority, reason, *by_trust), assessment, digest, state)).await.map(Some)
            }
            Decision::Deny { authority, reason, .. } => {
                Err(denied(self.target, authority.clone(), reason.clone(), state))
            }
        }
    }

    /// By whose approval the call runs that must be asked about: by whose rule, why, and whether only trust asks.
    async fn approved(
        &self,
        (authority, reason, by_trust): (&str, &str, bool),
        assessment: &Assessment,
        digest: ContentHash,
        state: &mut Progressing,
    ) -> Result<GrantUse, Stop> {
        let question = self.question(assessment, state);
        let Some(approvals) = self.engine.approvals() else {
            let why = format!(
                "it needs a person's approval ({reason}), and nobody can be asked here; a person can allow it by adding \"{}\" to permissions.allow",
                self.target.tool.id()
            );
            return Err(denied(self.target, authority.to_string(), why, state));
        };
        match approvals.covered(&question, self.principal, digest).await {
            Covered::Yes(used) => {
                state.evidence.authority = Some(used.authority());
                return Ok(used);
            }
            Covered::Forbidden(never) => return Err(self.forbidden(&never, state)),
            Covered::No => {}
        }
        state.evidence.authority = Some(authority.to_string());
        let schema = self.target.tool.input_schema();
        let mask = |raw: &serde_json::value::RawValue| self.in_force.mask_for_person(raw, schema);
        let says = self.says();
        let asking = Asking {
            question: &question,
            principal: self.principal,
            digest,
            reason,
            mask: &mask,
            says: says.as_deref(),
            within: None,
        };
        let asker = self.request.asker.as_ref().or(self.engine.asker());
        let began = Instant::now();
        let asked = approvals.ask(&asking, asker, &self.request.cancel).await;
        state.timings.asking += began.elapsed();
        self.engine.note_asked(&asked, self.principal, &self.target.tool, state.call_id).await;
        match asked {
            Asked::Approved { used, authority, .. } => {
                anew::judge(self, state).await?;
                state.evidence.authority = Some(authority);
                Ok(used)
            }
            Asked::Denied { reason, sentence, .. } => Err(Stop::told(Outcome::Denied, sentence).because(reason)),
            Asked::Parked { mut sentence, reason, id } => {
                state.evidence.authority = Some(format!("request {id}"));
                // Nothing but the trust level asked, and nothing stands against a rule that allows it.
                if by_trust && assessment.risk < Risk::Critical {
                    let tool = self.target.tool.id();
                    sentence.push_str(&format!(
                        " To let the tool run from now on, a person can add \"{tool}\" to permissions.allow."
                    ));
                }
                Err(Stop::told(Outcome::Denied, sentence).because(reason).for_programs(Cause::Approval { request: id }))
            }
            Asked::Later { request } => Err(Stop {
                outcome: Outcome::Denied,
                reason: Some(format!(
                    "a person is asked (request {}); the answer comes with the next attempt",
                    request.id
                )),
                cause: Some(Cause::Approval { request: request.id.clone() }),
                reply: CallReply::Question(request),
            }),
            Asked::Cancelled { .. } => Err(Stop::told(
                Outcome::Cancelled,
                "The call was cancelled before anybody approved it. Nothing was run.",
            )
            .because("cancelled while waiting for an approval")),
        }
    }

    /// What the tool's own code says of the call, for the person who is asked.
    fn says(&self) -> Option<String> {
        let backend = self.engine.hub().backend(self.target.tool.source())?;
        let (tool, raw) = (&self.target.tool, &self.arguments.raw);
        let said = AssertUnwindSafe(|| backend.describe_call(tool, raw, &self.request.scope));
        let said = catch_unwind(said).unwrap_or_else(|_| {
            tracing::error!(tool = %tool.id(), "the code that describes this tool's calls panicked");
            None
        });
        said.map(|text| self.in_force.mask_text(&text).into_owned())
    }

    fn forbidden(&self, never: &Grant, state: &mut Progressing) -> Stop {
        let by = &never.by;
        let reason = if never.is_unreadable() {
            format!(
                "a stored answer that cannot be read may have refused it; a person can revoke it under its handle {}",
                never.id
            )
        } else {
            format!("{by} decided that it is never to run")
        };
        denied(self.target, format!("grant by {by}"), reason, state)
    }

    fn undecided(&self, error: &StoreError) -> Stop {
        Stop::denied(&self.target.exposed, "what people decided about it cannot be read at the moment")
            .because(error.to_string())
    }

    async fn take(&self, used: &GrantUse) -> Result<bool, Stop> {
        let Some(approvals) = self.engine.approvals() else { return Ok(false) };
        approvals.consume(used, now_ms()).await.map_err(|error| {
            Stop::denied(&self.target.exposed, "its approval could not be taken from the store")
                .because(error.to_string())
        })
    }
}
