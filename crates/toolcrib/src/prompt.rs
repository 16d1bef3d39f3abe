//! `request_user_input` behind the doors: questions are shown through the client while the call waits, where it can show
//! any, and are answered from the terminal or over HTTP otherwise.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use serde_json::{Value, json};
use toolcrib_core::{Scope, Source, ToolResult, bridge::TOOL_CALL, shape::sanitize_text};
use toolcrib_engine::{
    BoxFuture, CallContext, Engine, Identity, Principal, StoreError,
    pending::{
        Pending, PendingKind, PendingWork, Prompter, Read, ResumeError, Shown, Suspender, USER_INPUT_TOOL,
        UserInputDelivery, UserPrompt,
    },
};
use toolcrib_mcp::server::{Asking, Elicitor, Question, Reply};

/// The field of the form.
const FIELD: &str = "answer";
/// Longest answer in the form, in characters.
const MAX_ANSWER: usize = 20_000;

/// The key of the question in the modern era.
pub(crate) const KEY: &str = "user_input";

/// The question that a suspended call waits with, for a client that brings the answer with the call sent again.
pub(crate) async fn waiting(engine: &Engine, scope: &Scope, handle: &str) -> Option<Question> {
    let mine = Principal::of(scope, &Identity::default());
    match engine.pending()?.read(handle, &mine).await.ok()?? {
        Read::Waiting(piece) => question_of(&piece),
        Read::Done(_) | Read::Expired(_) => None,
    }
}

fn question_of(piece: &Pending) -> Option<Question> {
    let ours = piece.kind == PendingKind::Suspended && piece.tool == format!("{}/{USER_INPUT_TOOL}", Source::Builtin);
    let text = piece.metadata["prompt"].as_str().filter(|_| ours)?;
    Some(question(&UserPrompt { text: text.to_owned() }))
}

/// Takes the answer that a client brings with the call `name` sent again, and gives what came of the question. `None` if
/// the handle is not that of such a question. Somebody may have been first; then that answer counts.
pub(crate) async fn answered(
    engine: &Engine,
    scope: &Scope,
    handle: &str,
    name: &str,
    replies: &BTreeMap<String, Reply>,
) -> Option<ToolResult> {
    let pending = engine.pending().filter(|_| PendingWork::is_handle(handle))?;
    let mine = Principal::of(scope, &Identity::default());
    let failed = |error: StoreError| ToolResult::error(format!("The answer cannot be looked up: {error}."));
    let piece = match pending.read(handle, &mine).await {
        Ok(Some(Read::Waiting(piece))) => piece,
        Ok(found) => return found.map(Read::into_result),
        Err(error) => return Some(failed(error)),
    };
    let (question, correlation) = (question_of(&piece)?, piece.correlation.as_deref()?);
    if name != piece.exposed && name != TOOL_CALL {
        return None;
    }
    let answer = match replies.get(KEY)? {
        Reply::Accept(content) => match question.check(content) {
            Ok(()) => content.get(FIELD).and_then(Value::as_str).map(str::to_owned),
            Err(error) => return Some(ToolResult::error(format!("The answer cannot be used: {error}."))),
        },
        Reply::Decline | Reply::Cancel => None,
    };
    let answer = answer.unwrap_or_else(|| DECLINED.to_owned());
    if let Err(ResumeError::Store(error)) = pending.reply(&scope.tenant, correlation, ToolResult::text(answer)).await {
        return Some(failed(error));
    }
    match pending.read(handle, &mine).await {
        Ok(found) => found.map(Read::into_result),
        Err(error) => Some(failed(error)),
    }
}

/// What the model is told when the person said no.
const DECLINED: &str = "The user was asked and does not want to answer.";

/// How calls of a client may wait for a person: shown there and then where the client can show questions and is to be
/// asked, kept until somebody replies otherwise.
pub(crate) fn suspender(asking: &Asking, may_ask: bool) -> Suspender {
    match asking {
        Asking::Direct(elicitor) if may_ask => {
            Suspender::accepting().asking_through(Arc::new(Client(elicitor.clone())))
        }
        Asking::Direct(_) | Asking::ByResending | Asking::Unable => Suspender::accepting(),
    }
}

/// Leaves the question with the call, for whoever looks at what waits.
pub(crate) struct Desk;

impl UserInputDelivery for Desk {
    fn deliver<'a>(&'a self, _: &'a UserPrompt, context: &'a CallContext) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let id = new_id()?;
            tracing::info!(
                call_id = context.call_id,
                id,
                "a tool asks the user; `toolcrib approvals reply {id} TEXT` answers"
            );
            Ok(id)
        })
    }

    fn told(&self, correlation: &str) -> String {
        format!(
            "The question could not be shown here and now, so it waits for the user under {correlation}. Tell the user: it is answered under that handle where toolcrib runs or, by an operator, over HTTP (POST /v1/resume/{correlation})."
        )
    }
}

fn new_id() -> Result<String, String> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|error| format!("the operating system gives no random bytes: {error}"))?;
    Ok(random.iter().fold("ask-".to_owned(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    }))
}

struct Client(Arc<dyn Elicitor>);

impl Prompter for Client {
    fn show<'a>(&'a self, prompt: &'a UserPrompt) -> BoxFuture<'a, Shown> {
        Box::pin(async move {
            match self.0.elicit(&question(prompt)).await {
                Ok(Reply::Accept(content)) => match content.get(FIELD).and_then(Value::as_str) {
                    Some(answer) => Shown::Answered(answer.to_owned()),
                    None => Shown::Declined,
                },
                Ok(Reply::Decline | Reply::Cancel) => Shown::Declined,
                Err(error) => Shown::Unreachable(error.to_string()),
            }
        })
    }
}

/// The prompt as a form. A model wrote it: the person is told so, and nothing in it can pass for more than text.
fn question(prompt: &UserPrompt) -> Question {
    Question {
        message: format!("The model asks:\n\n{}", sanitize_text(&prompt.text)),
        schema: json!({
            "type": "object",
            "properties": {FIELD: {"type": "string", "title": "Your answer", "maxLength": MAX_ANSWER}},
            "required": [FIELD],
        }),
    }
}
