//! `request_user_input`: a built-in tool that hands a prompt to the application and waits for the answer to come back
//! (oneringai §2.10, case 126).

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use serde_json::{Value, json};
use toolcrib_core::ToolResult;

use super::{ResumeAs, Suspender, Suspension};
use crate::backend::{BoxFuture, CallContext, Invocation};

/// The tool's name.
pub const USER_INPUT_TOOL: &str = "request_user_input";

/// Longest prompt, in characters.
const MAX_PROMPT: usize = 8_000;

/// Most characters of a prompt that are kept with the call if it does not fit as a whole: within what metadata may take,
/// however they are written.
const MAX_KEPT_PROMPT: usize = 2_000;

/// What a person is to be shown. Written by a model: it must never be rendered as anything but text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPrompt {
    /// The question; not blank, at most 8,000 characters.
    pub text: String,
}

/// Brings a prompt to a person, however the application does that: a page, a mail, a chat.
pub trait UserInputDelivery: Send + Sync + 'static {
    /// Delivers it and returns the correlation id the answer will come back under. An error fails the call.
    fn deliver<'a>(&'a self, prompt: &'a UserPrompt, context: &'a CallContext)
    -> BoxFuture<'a, Result<String, String>>;

    /// What the model is told of a prompt that was delivered.
    fn told(&self, _correlation: &str) -> String {
        "The question was delivered. The answer will come when the user gives it.".to_owned()
    }
}

/// A way to show a prompt to a person while the call waits.
pub trait Prompter: Send + Sync + 'static {
    /// Shows it and waits for the answer. Dropping the future takes the question back.
    fn show<'a>(&'a self, prompt: &'a UserPrompt) -> BoxFuture<'a, Shown>;
}

/// What came of showing a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The person's answer.
    Answered(String),
    /// The person saw it and does not want to answer.
    Declined,
    /// It could not be shown, or the way to the person was lost.
    Unreachable(String),
}

/// How much of the call's time is kept for delivering a prompt that nobody answered while it was shown.
const RESERVE: Duration = Duration::from_secs(2);

/// The tool.
#[derive(Clone)]
pub struct UserInput {
    delivery: Arc<dyn UserInputDelivery>,
    resume_as: ResumeAs,
}

impl UserInput {
    /// The tool over an application's delivery. The answer comes back as the result of the call.
    pub fn new(delivery: Arc<dyn UserInputDelivery>) -> Self {
        Self { delivery, resume_as: ResumeAs::ToolResult }
    }

    /// The same with the answer coming back otherwise.
    #[must_use]
    pub fn resuming_as(mut self, resume_as: ResumeAs) -> Self {
        self.resume_as = resume_as;
        self
    }

    /// The tool's definition, to be published among the built-in ones.
    pub fn definition() -> Value {
        json!({
            "name": USER_INPUT_TOOL,
            "title": "Ask the user",
            "description": "Asks the user a question and waits for the answer, which may take days. Use it only when the work cannot go on without the answer.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "prompt": {"type": "string", "minLength": 1, "maxLength": MAX_PROMPT, "description": "The question, complete in itself."}
                },
                "required": ["prompt"],
                "additionalProperties": false
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false}
        })
    }

    /// Runs the tool. Where the caller can show questions the answer is the result; otherwise, and when no answer comes
    /// while the call lasts, the prompt is delivered and the call suspended. Every failure is a result with `isError`.
    pub async fn run(&self, invocation: &Invocation<'_>, suspender: &Suspender) -> ToolResult {
        match self.ask(invocation, suspender).await {
            Ok(told) => ToolResult::text(told),
            Err(problem) => ToolResult::error(problem),
        }
    }

    async fn ask(&self, invocation: &Invocation<'_>, suspender: &Suspender) -> Result<String, String> {
        let arguments: Value = serde_json::from_str(invocation.arguments.get()).unwrap_or_default();
        let text = arguments["prompt"].as_str().unwrap_or_default();
        if text.trim().is_empty() {
            return Err("The question is missing: give it as \"prompt\".".to_owned());
        }
        if text.chars().count() > MAX_PROMPT {
            return Err(format!("The question is too long: at most {MAX_PROMPT} characters."));
        }
        let (prompt, context) = (UserPrompt { text: text.to_owned() }, invocation.context);
        if let Some(prompter) = suspender.prompter() {
            let shown = AssertUnwindSafe(async { prompter.show(&prompt).await }).catch_unwind();
            let until = context.deadline.checked_sub(RESERVE).unwrap_or(context.deadline);
            tokio::select! {
                biased;
                shown = shown => match shown {
                    Ok(Shown::Answered(answer)) => return Ok(answer),
                    Ok(Shown::Declined) => return Ok("The user was asked and does not want to answer.".to_owned()),
                    Ok(Shown::Unreachable(cause)) => tracing::debug!(cause, "a question could not be shown during its call"),
                    Err(_) => tracing::error!("the code that shows questions panicked"),
                },
                () = context.cancel.cancelled() => return Err("The call was cancelled before the question was answered.".to_owned()),
                () = tokio::time::sleep_until(until) => {}
            }
        }
        // Asked before anything is delivered: an answer to a question nobody waits on would be lost.
        if !suspender.is_open() {
            return Err(
                "The question was not asked: this call cannot wait, or another call of this turn waits already."
                    .to_owned(),
            );
        }
        let delivering = AssertUnwindSafe(async { self.delivery.deliver(&prompt, context).await }).catch_unwind();
        let correlation = tokio::select! {
            biased;
            delivered = delivering => match delivered {
                Ok(Ok(correlation)) => correlation,
                Ok(Err(problem)) => return Err(format!("The question could not be delivered: {problem}.")),
                Err(_) => return Err("The question could not be delivered: the application's code failed.".to_owned()),
            },
            () = context.cancel.cancelled() => return Err("The call was cancelled before the question was delivered.".to_owned()),
            () = tokio::time::sleep_until(context.deadline) => return Err("The question could not be delivered in time.".to_owned()),
        };
        let told = self.delivery.told(&correlation);
        // The question is kept with the call, so that whoever looks at what waits can read it.
        let whole = json!({"prompt": prompt.text});
        let metadata = if toolcrib_core::ingest::json_len(&whole) <= super::suspend::MAX_METADATA {
            whole
        } else {
            json!({"prompt": prompt.text.chars().take(MAX_KEPT_PROMPT).collect::<String>()})
        };
        let suspension = Suspension { resume_as: self.resume_as, metadata, ..Suspension::new(correlation) };
        match suspender.suspend(suspension) {
            Ok(true) => Ok(told),
            Ok(false) => {
                Err("Another call of this turn waits already, so nobody waits for the answer to this question."
                    .to_owned())
            }
            Err(problem) => Err(format!("The question was delivered, but its answer cannot come back: {problem}.")),
        }
    }
}
