//! The ways to a person: the client's own questions, and the terminal.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    sync::Arc,
};

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use toolcrib_engine::{
    BoxFuture,
    approval::{Answer, ApprovalRequest, AskError, Asker, GrantPattern, Reach, visible},
};
use toolcrib_mcp::server::{Asking, ElicitError, Elicitor, Question, Reply};

use crate::print;

/// The field of the form.
pub(crate) const FIELD: &str = "answer";
/// The key under which the question travels in the modern era.
pub(crate) const KEY: &str = "approval";

/// The asker for a client, if it can show questions.
pub(crate) fn of_client(asking: &Asking) -> Option<Arc<dyn Asker>> {
    match asking {
        Asking::Unable => None,
        Asking::Direct(elicitor) => Some(Arc::new(Client(elicitor.clone()))),
        Asking::ByResending => Some(Arc::new(Resending)),
    }
}

/// What may be answered: the word, what it means in the form, and the answer.
fn choices(request: &ApprovalRequest) -> Vec<(String, String, Answer)> {
    let mut choices = Vec::new();
    let mut approve = |word: String, title: String, reach, pattern| {
        choices.push((word, title, Answer::Approve { reach, pattern }));
    };
    for reach in &request.offers {
        match reach {
            Reach::Once => approve("approve_once".into(), "Run it, this once".into(), *reach, None),
            Reach::Session => {
                approve("approve_session".into(), "Run exactly this, for this session".into(), *reach, None);
                for (index, pattern) in request.patterns.iter().enumerate() {
                    let title = format!("Run {} for this session", in_words(pattern));
                    approve(format!("approve_session_{}", index + 1), title, *reach, Some(pattern.clone()));
                }
            }
            Reach::Always => approve("approve_always".into(), "Run exactly this, always".into(), *reach, None),
        }
    }
    choices.push(("deny".into(), "Do not run it".into(), Answer::Deny { reach: Reach::Once }));
    choices.push(("never".into(), "Never run this tool".into(), Answer::Deny { reach: Reach::Always }));
    choices
}

/// A pattern as a person reads it.
pub(crate) fn in_words(pattern: &GrantPattern) -> String {
    match pattern {
        GrantPattern::Exact { .. } => "exactly this".to_owned(),
        GrantPattern::Any => "this tool with any arguments".to_owned(),
        GrantPattern::Within { root } => format!("this tool within {}", visible(root)),
        GrantPattern::Host { host } => format!("this tool with {}", visible(host)),
        GrantPattern::Command { rule } => format!("commands {}", visible(rule)),
    }
}

/// The request as a form.
pub(crate) fn question(request: &ApprovalRequest) -> Question {
    let choices = choices(request);
    let words: Vec<&str> = choices.iter().map(|(word, ..)| word.as_str()).collect();
    let titles: Vec<&str> = choices.iter().map(|(_, title, _)| title.as_str()).collect();
    Question {
        message: format!(
            "{}\n\nArguments: {}\nRisk: {}. Asked because: {}.",
            visible(&request.description),
            visible(&request.arguments),
            request.risk.word(),
            visible(request.reason.trim_end_matches('.'))
        ),
        schema: json!({
            "type": "object",
            "properties": {FIELD: {
                "type": "string",
                "title": "Your decision",
                "enum": words,
                "enumNames": titles,
            }},
            "required": [FIELD],
        }),
    }
}

/// What a filled form says.
pub(crate) fn answer(request: &ApprovalRequest, content: &Map<String, Value>) -> Result<Answer, AskError> {
    let word = content.get(FIELD).and_then(Value::as_str).unwrap_or_default();
    let found = choices(request).into_iter().find(|(choice, ..)| choice == word);
    found
        .map(|(.., answer)| answer)
        .ok_or_else(|| AskError::Unusable("it is none of those that were offered".to_owned()))
}

/// Asks through the client while the call waits.
struct Client(Arc<dyn Elicitor>);

impl Asker for Client {
    fn route(&self) -> &'static str {
        "client"
    }

    // Questions go out on the way that the call came in on, and end with it.
    fn outlives_call(&self) -> bool {
        false
    }

    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(async move {
            match self.0.elicit(&question(request)).await {
                Ok(Reply::Accept(content)) => answer(request, &content),
                Ok(Reply::Decline | Reply::Cancel) => Ok(Answer::Deny { reach: Reach::Once }),
                Err(ElicitError::Lost) => Err(AskError::Unreachable("the client is gone".to_owned())),
                Err(ElicitError::Refused(why)) => Err(AskError::Unusable(why)),
                Err(error @ ElicitError::Busy(_)) => Err(AskError::Unreachable(error.to_string())),
            }
        })
    }
}

/// The client gets the question as the end of the call and comes again with the answer.
struct Resending;

impl Asker for Resending {
    fn route(&self) -> &'static str {
        "client"
    }

    fn ask<'a>(&'a self, _request: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(std::future::ready(Err(AskError::Later)))
    }

    fn outlives_call(&self) -> bool {
        false
    }
}

/// Asks on the terminal, where there is one.
pub(crate) struct Terminal;

impl Terminal {
    /// The terminal, if somebody sits there.
    pub(crate) fn if_attended() -> Option<Arc<dyn Asker>> {
        let attended = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        attended.then(|| Arc::new(Self) as Arc<dyn Asker>)
    }
}

impl Asker for Terminal {
    fn route(&self) -> &'static str {
        "terminal"
    }

    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(async move {
            // Written before the thread waits: the question must not depend on it.
            show(request);
            let line = read_line().await.map_err(|error| AskError::Unreachable(error.to_string()))?;
            let line = line.ok_or_else(|| AskError::Unreachable("the terminal's input has ended".to_owned()))?;
            Ok(choice(request, &line))
        })
    }
}

/// Prints a request with the numbers of its choices.
pub(crate) fn show(request: &ApprovalRequest) {
    let question = question(request);
    print::note(&question.message);
    for (number, (_, title, _)) in choices(request).iter().enumerate() {
        print::note(format!("  {}) {title}", number + 1));
    }
    let mut out = std::io::stderr();
    let _ = write!(out, "Your decision (number; anything else refuses): ");
    let _ = out.flush();
}

/// The choice with the number on a line; anything else refuses.
pub(crate) fn choice(request: &ApprovalRequest, line: &str) -> Answer {
    let number: usize = line.trim().parse().unwrap_or_default();
    let chosen = number.checked_sub(1).and_then(|index| choices(request).into_iter().nth(index));
    chosen.map_or(Answer::Deny { reach: Reach::Once }, |(.., answer)| answer)
}

/// Longest line that is an answer, in bytes.
const LINE: usize = 256;

/// The next line that somebody types; `None` at the end of the input. Giving up the wait does not hold up the process,
/// and the line that then comes answers nothing.
pub(crate) async fn read_line() -> io::Result<Option<String>> {
    let (done, line) = oneshot::channel();
    // A thread of our own: one of the runtime's would have to end before the process can.
    std::thread::Builder::new().name("answer".to_owned()).spawn(move || {
        let _ = done.send(bounded_line(&mut io::stdin().lock()));
    })?;
    line.await.unwrap_or_else(|_| Err(io::Error::other("the terminal cannot be read")))
}

/// The line, unless the interrupt comes first or nothing comes any more.
pub(crate) async fn line_unless(
    interrupted: impl Future,
    line: impl Future<Output = io::Result<Option<String>>>,
) -> io::Result<Option<String>> {
    tokio::select! {
        biased;
        _ = interrupted => Ok(None),
        line = line => line,
    }
}

/// The next line, `None` if nothing comes any more. A line that is too long is read to its end, or the rest of it would
/// be the next answer, and is then as good as an empty one; so is one that is no text.
fn bounded_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let (mut line, mut length) = (Vec::new(), 0);
    loop {
        let piece = match input.fill_buf() {
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = piece.iter().position(|byte| *byte == b'\n');
        let (taken, over) = (end.unwrap_or(piece.len()), piece.is_empty() || end.is_some());
        line.extend_from_slice(&piece[..taken.min(LINE - line.len())]);
        length += taken;
        let used = taken + usize::from(end.is_some());
        let nothing = piece.is_empty() && length == 0;
        input.consume(used);
        if nothing {
            return Ok(None);
        }
        if over {
            return Ok(Some(if length > LINE { String::new() } else { String::from_utf8(line).unwrap_or_default() }));
        }
    }
}

#[cfg(test)]
mod tests;
