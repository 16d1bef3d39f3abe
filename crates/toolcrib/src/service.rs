//! The engine as a service for MCP clients.

use std::sync::Arc;

use tokio::sync::watch;
use toolcrib_core::{Scope, ToolResult};
use toolcrib_engine::{
    BoxFuture, CallReply, CallRequest, Door, Engine, Identity,
    approval::{Answer, AnswerOutcome, Reach, Responder},
};
use toolcrib_mcp::{
    server::{self, Asking, Caller, Reply, Resumed, ToolCall, ToolList, ToolService},
    wire::RpcError,
};

use crate::{asker, callers::Callers, evidence, prompt, seal::Seal};

/// What every client is told. Fixed text: it is part of the prompt prefix that clients cache.
const INSTRUCTIONS: &str = "This server gathers the tools of several servers. Only a few are listed; the others are found with tool_search, \
looked at with tool_describe and run with tool_call. Before you say that something cannot be done, search for it.";

/// Most characters of a server's own instructions that are passed on.
const MAX_RELAYED: usize = 2_000;

/// Serves an engine's tools to MCP clients.
pub(crate) struct EngineService {
    engine: Engine,
    callers: Arc<Callers>,
    seal: Seal,
}

impl EngineService {
    /// A service for these callers.
    pub(crate) fn new(engine: Engine, callers: Arc<Callers>, seal: Seal) -> Arc<Self> {
        Arc::new(Self { engine, callers, seal })
    }

    fn scope(&self, caller: &Caller) -> Scope {
        self.callers.scope(caller.principal.as_deref(), caller.profile.as_deref())
    }

    /// The same with what the conversation has loaded.
    fn scope_now(&self, caller: &Caller) -> Scope {
        self.engine.in_session(self.scope(caller), caller.session.as_deref())
    }

    /// Takes the answer that a client brings with a call it sends again. Whether the call may run is then for the call
    /// path to see: the answer counts for the request it belongs to, and that only covers the call that was shown.
    async fn resume(&self, scope: &Scope, resumed: &Resumed) -> Option<ToolResult> {
        let approvals = self.engine.approvals()?;
        let now = crate::callers::now_ms();
        // The handle alone is known to whoever was refused; the seal only to the client whose user was asked.
        let handle = self.seal.open(&resumed.state, scope.user.as_deref())?;
        let found = approvals.request(handle, Some(&scope.tenant), now).await.ok().flatten()?;
        if found.request.principal.user != scope.user {
            return None;
        }
        let refused = |why: &str| {
            Some(ToolResult::error(format!(
                "{} was not run: {why}. Do not retry or work around this.",
                found.request.exposed
            )))
        };
        let by = Responder::of_tenant("client", &scope.tenant);
        match resumed.replies.get(asker::KEY)? {
            Reply::Accept(content) => {
                if let Err(error) = asker::question(&found.request).check(content) {
                    return refused(&format!("the answer cannot be used: {error}"));
                }
                let answer = match asker::answer(&found.request, content) {
                    Ok(answer) => answer,
                    Err(error) => return refused(&error.to_string()),
                };
                let record = evidence::of_run(&self.engine, evidence::answered(&found.request, &answer, &by.by));
                let denied = matches!(answer, Answer::Deny { .. });
                let answered = approvals.answer_on_record(&found.request.id, &answer, &by, record.clone(), now).await;
                if answered.as_ref().is_ok_and(|answered| answered.outcome == AnswerOutcome::Recorded) {
                    evidence::tell(&self.engine, record.as_ref());
                }
                match answered {
                    Ok(answered) if denied && answered.outcome == AnswerOutcome::Recorded => {
                        refused("the person who was asked said no")
                    }
                    Ok(_) => None,
                    Err(error) => refused(&error.to_string()),
                }
            }
            Reply::Decline | Reply::Cancel => {
                let deny = Answer::Deny { reach: Reach::Once };
                let record = evidence::of_run(&self.engine, evidence::answered(&found.request, &deny, &by.by));
                match approvals.answer_on_record(&found.request.id, &deny, &by, record.clone(), now).await {
                    Ok(answered) if answered.outcome == AnswerOutcome::Recorded => {
                        evidence::tell(&self.engine, record.as_ref());
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "a refusal could not be recorded"),
                }
                refused("the person who was asked said no")
            }
        }
    }
}

impl ToolService for EngineService {
    fn list(&self, caller: &Caller) -> ToolList {
        ToolList::of(&self.engine, &self.scope_now(caller))
    }

    fn call<'a>(&'a self, caller: &'a Caller, call: ToolCall) -> BoxFuture<'a, Result<server::Answer, RpcError>> {
        Box::pin(async move {
            let scope = self.scope(caller);
            let (user, asked_of) = (scope.user.clone(), scope.clone());
            let resends = self.callers.may_ask() && matches!(call.asking, Asking::ByResending);
            if let Some(resumed) = call.resumed.as_ref().filter(|_| resends) {
                if let Some(handle) = self.seal.open(&resumed.state, user.as_deref())
                    && let Some(told) =
                        prompt::answered(&self.engine, &scope, handle, &call.name, &resumed.replies).await
                {
                    return Ok(told.into());
                }
                if let Some(refusal) = self.resume(&scope, resumed).await {
                    return Ok(refusal.into());
                }
            }
            let mut request = CallRequest::new(call.name, call.arguments, scope, Door::Direct);
            request.identity = Arc::new(Identity {
                session: caller.session.clone(),
                roles: self.callers.roles(caller.principal.as_deref()),
                ..Identity::default()
            });
            request.asker = if self.callers.may_ask() { asker::of_client(&call.asking) } else { None };
            request.suspender = prompt::suspender(&call.asking, self.callers.may_ask());
            request.cancel = call.cancel;
            request.progress = call.progress;
            request.meta = call.meta;
            let report = self.engine.call_report(request).await;
            if let Some(handle) = report.pending.as_deref().filter(|_| resends)
                && let Some(question) = prompt::waiting(&self.engine, &asked_of, handle).await
            {
                let state = self.seal.close(handle, user.as_deref());
                return Ok(server::Answer::InputRequired { key: prompt::KEY.to_owned(), question, state });
            }
            match report.reply {
                CallReply::Result(result) => Ok(result.into()),
                CallReply::Question(request) => Ok(server::Answer::InputRequired {
                    key: asker::KEY.to_owned(),
                    question: asker::question(&request),
                    state: self.seal.close(&request.id, user.as_deref()),
                }),
                CallReply::Protocol { code, message, data } => Err(RpcError::of(code, message, data.as_ref())),
            }
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.engine.hub().watch()
    }

    fn instructions(&self, caller: &Caller) -> Option<String> {
        let scope = self.scope_now(caller);
        let view = self.engine.view(&scope).ok()?;
        let mut text = if view.set.disclosure.active { INSTRUCTIONS.to_owned() } else { String::new() };
        let catalog = self.engine.hub().catalog_for(&scope);
        for source in self.engine.settings().relay_instructions.iter().filter(|source| view.knows(source)) {
            let Some(own) = catalog.sources().get(source).and_then(|entry| entry.instructions.as_deref()) else {
                continue;
            };
            // Marked as the server's words, so that nobody takes them for ours.
            let own: String = toolcrib_core::shape::sanitize_text(own).chars().take(MAX_RELAYED).collect();
            let break_ = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(&format!("{break_}The server {} says of itself: {own}", source.group()));
        }
        if let Some(digest) = self.engine.categories(&scope, caller.session.as_deref()).digest() {
            let break_ = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(&format!("{break_}{digest}"));
        }
        (!text.is_empty()).then_some(text)
    }
}
