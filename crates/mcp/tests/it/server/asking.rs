//! The scripted service's tools that ask the user something.

use serde_json::{Value, json};
use toolcrib_core::ToolResult;
use toolcrib_mcp::server::{Answer, Asking, Caller, ElicitError, Question, Reply, ToolCall};

use super::fake::Fake;

/// What is asked.
pub(crate) fn question() -> Question {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    Question { message: "Run \"it\"?".to_owned(), schema }
}

/// Tools by name: `ask` asks and tells the reply, `ask_twice` asks twice at once, `ask_briefly` gives up when released,
/// `keep` keeps the way to ask and ends, `force` ends with a question whoever calls, `huge` with too long a state,
/// `session` tells who calls.
pub(crate) async fn call(fake: &Fake, caller: &Caller, call: &ToolCall) -> Option<Answer> {
    let question = question();
    let text = match (call.name.as_str(), &call.asking) {
        ("ask" | "ask_twice" | "ask_briefly", Asking::Unable) if call.resumed.is_none() => "unable".to_owned(),
        ("ask", Asking::Direct(elicitor)) => {
            fake.started.add_permits(1);
            let reply = elicitor.elicit(&question).await;
            if call.cancel.is_cancelled() && reply == Err(ElicitError::Lost) {
                fake.cancelled.add_permits(1);
            }
            told(&reply)
        }
        ("ask_twice", Asking::Direct(elicitor)) => {
            let (one, two) = tokio::join!(elicitor.elicit(&question), elicitor.elicit(&question));
            format!("{} and {}", told(&one), told(&two))
        }
        ("ask_briefly", Asking::Direct(elicitor)) => tokio::select! {
            reply = elicitor.elicit(&question) => told(&reply),
            permit = fake.release.acquire() => {
                permit.unwrap().forget();
                "gave up".to_owned()
            }
        },
        ("keep", Asking::Direct(elicitor)) => {
            *fake.kept.lock() = Some(elicitor.clone());
            "kept".to_owned()
        }
        ("ask", _) => match &call.resumed {
            None => return Some(input_required("state \"1\"".to_owned())),
            Some(resumed) => {
                let replies: Vec<String> =
                    resumed.replies.iter().map(|(key, reply)| format!("{key}={}", told(&Ok(reply.clone())))).collect();
                format!("{:?} {} {}", call.asking, resumed.state, replies.join(","))
            }
        },
        ("force", _) => return Some(input_required("s".to_owned())),
        ("huge", _) => return Some(input_required("s".repeat(toolcrib_mcp::server::MAX_STATE + 1))),
        ("session", asking) => {
            let session = caller.session.as_deref().unwrap_or("none");
            format!("{session} {asking:?} {}", caller.can_elicit)
        }
        _ => return None,
    };
    Some(ToolResult::text(text).into())
}

fn input_required(state: String) -> Answer {
    Answer::InputRequired { key: "q\"1".to_owned(), question: question(), state }
}

/// A reply in a few words.
pub(crate) fn told(reply: &Result<Reply, ElicitError>) -> String {
    match reply {
        Ok(Reply::Accept(content)) => {
            format!("accepted {}", Value::Object(content.clone()).to_string().replace('"', "'"))
        }
        Ok(Reply::Decline) => "declined".to_owned(),
        Ok(Reply::Cancel) => "closed".to_owned(),
        Err(ElicitError::Lost) => "lost".to_owned(),
        Err(ElicitError::Refused(why)) => format!("refused: {}", why.replace('"', "'")),
        Err(ElicitError::Busy(limit)) => format!("busy with {limit}"),
    }
}
