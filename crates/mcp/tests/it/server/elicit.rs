//! Asking the user something in the middle of a call.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolcrib_mcp::{
    server::{Caller, Connection, ElicitError, Frame, Framing, Outbox, Server, ServerOptions, StdioOptions, WayBack},
    wire,
};

use super::{
    asking::{question, told},
    fake::{Client, Fake, matches},
};

const FORMS: &str = r#"{"elicitation":{}}"#;

fn call(id: u32, name: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}"}}}}"#)
}

fn text(id: u32, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

fn cancel(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

const YES: &str = r#"{"action":"accept","content":{"ok":true}}"#;

async fn asker(service: &Arc<Fake>, version: &str, capabilities: &str) -> Client {
    let mut client = Client::connect(service);
    client.initialize_with(version, capabilities).await;
    client
}

// The id, as JSON text, of a question that must come next.
async fn asked(client: &mut Client) -> String {
    id_of(&client.receive().await)
}

#[track_caller]
fn id_of(line: &str) -> String {
    let message: Value = serde_json::from_str(line).unwrap();
    assert_eq!(message["method"], "elicitation/create", "{line}");
    message["id"].to_string()
}

fn withdrawn(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the answer is no longer needed"}}}}"#
    )
}

#[tokio::test]
async fn questions_are_as_their_revision_has_them() {
    for (version, capabilities, mode) in [
        ("2025-06-18", FORMS, ""),
        ("2025-06-18", r#"{"elicitation":{"form":{}}}"#, ""),
        ("2025-11-25", FORMS, r#""mode":"form","#),
        ("2025-11-25", r#"{"elicitation":{"form":{},"url":{}}}"#, r#""mode":"form","#),
    ] {
        let mut client = asker(&Fake::new(&[]), version, capabilities).await;
        client.send(&call(1, "ask")).await;
        let line = client.receive().await;
        let wants = format!(
            r#"{{"jsonrpc":"2.0","id":"ask-…","method":"elicitation/create","params":{{{mode}"message":"Run \"it\"?","requestedSchema":{}}}}}"#,
            question().schema
        );
        assert!(matches(&line, &wants), "{line}");
        client.exchange(&result(&id_of(&line), YES), &text(1, "accepted {'ok':true}")).await;
    }
}

#[tokio::test]
async fn clients_that_show_no_forms_are_not_asked() {
    for (version, capabilities) in [
        ("2025-11-25", "{}"),
        ("2025-11-25", r#"{"elicitation":{"url":{}}}"#),
        ("2025-11-25", r#"{"elicitation":null}"#),
        // Not in these revisions yet.
        ("2025-03-26", FORMS),
        ("2024-11-05", FORMS),
    ] {
        let mut client = asker(&Fake::new(&[]), version, capabilities).await;
        client.exchange(&call(1, "ask"), &text(1, "unable")).await;
        client
            .exchange(
                &call(2, "force"),
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the request broke…"}}"#,
            )
            .await;
    }
    // Nor may those be asked by resending that can be asked directly.
    let mut client = asker(&Fake::new(&[]), "2025-11-25", FORMS).await;
    client.exchange(&call(2, "force"), r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,…"#).await;
}

#[tokio::test]
async fn answers_and_what_becomes_of_them() {
    let mut client = asker(&Fake::new(&[]), "2025-11-25", FORMS).await;
    for (answer, wants) in [
        (r#""result":{"action":"accept","content":{"ok":true}}"#, "accepted {'ok':true}"),
        (r#""result":{"action":"accept","content":{"ok":false},"_meta":{"x":1}}"#, "accepted {'ok':false}"),
        (r#""result":{"action":"decline"}"#, "declined"),
        (r#""result":{"action":"cancel"}"#, "closed"),
        // Malformed, or not what was asked for.
        (r#""result":{}"#, "refused: action is missing"),
        (r#""result":true"#, "refused: it is not an object"),
        (r#""result":{"action":"yes"}"#, "refused: action 'yes' is none of accept, decline, cancel"),
        (r#""result":{"action":"accept"}"#, "refused: the field 'ok' is missing"),
        (
            r#""result":{"action":"accept","content":{"ok":"true"}}"#,
            "refused: /ok does not fit 'type' of the question's schema",
        ),
        (
            r#""result":{"action":"accept","content":{"ok":true,"all":true}}"#,
            "refused: the field 'all' was not asked for",
        ),
        (r#""result":{"action":"decline","action":"accept"}"#, "refused: key 'action' is given twice"),
        (
            r#""result":{"action":"accept"},"error":{"code":1,"message":""}"#,
            "refused: not a JSON-RPC 2.0 message: both 'result' and 'error'",
        ),
        // An error.
        (r#""error":{"code":-32601,"message":"no \u001b[2Jforms"}"#, "refused: error -32601 …forms'"),
    ] {
        client.send(&call(1, "ask")).await;
        let id = asked(&mut client).await;
        client.exchange(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#), &text(1, wants)).await;
    }
}

#[tokio::test]
async fn questions_at_once_are_told_apart_and_hold_up_nothing() {
    let mut client = asker(&Fake::new(&[]), "2025-11-25", FORMS).await;
    client.send(&call(1, "ask")).await;
    let first = asked(&mut client).await;
    client.send(&call(2, "ask")).await;
    let second = asked(&mut client).await;
    assert_ne!(first, second);
    client.expect_silence().await;
    client.exchange(&result(&second, r#"{"action":"decline"}"#), &text(2, "declined")).await;
    client.exchange(&result(&first, YES), &text(1, "accepted {'ok':true}")).await;
    // Two of one call.
    client.send(&call(3, "ask_twice")).await;
    let (first, second) = (asked(&mut client).await, asked(&mut client).await);
    client.send(&result(&second, r#"{"action":"cancel"}"#)).await;
    client.exchange(&result(&first, YES), &text(3, "accepted {'ok':true} and closed")).await;
}

#[tokio::test]
async fn a_cancelled_call_takes_its_question_back() {
    let service = Fake::new(&[]);
    let mut client = asker(&service, "2025-11-25", FORMS).await;
    client.send(&call(1, "ask")).await;
    client.send(&call(2, "ask")).await;
    let (first, second) = (asked(&mut client).await, asked(&mut client).await);
    client.exchange(&cancel(1), &withdrawn(&first)).await;
    service.cancelled.acquire().await.unwrap().forget();
    // Too late for the one; the other goes on.
    client.send(&result(&first, YES)).await;
    client.expect_silence().await;
    client.exchange(&result(&second, YES), &text(2, "accepted {'ok':true}")).await;
}

#[tokio::test]
async fn a_question_given_up_is_taken_back() {
    let service = Fake::new(&[]);
    let mut client = asker(&service, "2025-11-25", FORMS).await;
    client.send(&call(1, "ask_briefly")).await;
    let id = asked(&mut client).await;
    service.release.add_permits(1);
    assert_eq!(client.receive().await, withdrawn(&id));
    assert_eq!(client.receive().await, text(1, "gave up"));
    client.send(&result(&id, YES)).await;
    client.expect_silence().await;
}

#[tokio::test]
async fn the_end_of_the_input_answers_every_question() {
    let service = Fake::new(&[]);
    let mut client = asker(&service, "2025-11-25", FORMS).await;
    client.send(&call(1, "ask")).await;
    let id = asked(&mut client).await;
    client.close_input().await;
    assert_eq!(client.rest().await, [withdrawn(&id), text(1, "lost")]);
}

#[tokio::test]
async fn nothing_is_asked_once_the_call_is_over() {
    let service = Fake::new(&[]);
    let mut client = asker(&service, "2025-11-25", FORMS).await;
    client.exchange(&call(1, "keep"), &text(1, "kept")).await;
    let elicitor = service.kept.lock().clone().unwrap();
    assert_eq!(elicitor.elicit(&question()).await, Err(ElicitError::Lost));
    client.expect_silence().await;
}

#[tokio::test]
async fn open_questions_are_bounded() {
    let service = Fake::new(&[]);
    let options = ServerOptions { questions: 2, ..ServerOptions::default() };
    let mut client = Client::connect_with(&service, options, StdioOptions::default());
    client.initialize_with("2025-11-25", FORMS).await;
    client.send(&call(1, "ask_twice")).await;
    let (first, second) = (asked(&mut client).await, asked(&mut client).await);
    client.exchange(&call(2, "ask"), &text(2, "busy with 2")).await;
    client.send(&result(&first, YES)).await;
    client.expect_silence().await;
    client.send(&call(2, "ask")).await;
    let third = asked(&mut client).await;
    client.exchange(&result(&third, YES), &text(2, "accepted {'ok':true}")).await;
    client.exchange(&result(&second, YES), &text(1, "accepted {'ok':true} and accepted {'ok':true}")).await;
    assert_eq!(ServerOptions::default().questions, 32);
}

// ---- what only the table shows ----

struct Session {
    connection: Arc<Connection>,
    out: Outbox,
    frames: mpsc::Receiver<Frame>,
}

impl Session {
    async fn open(server: &Arc<Server>) -> Self {
        let connection = Connection::open(server, Framing::Legacy, Caller::default(), server.admission(), None);
        let (out, frames) = mpsc::channel(16);
        let mut session = Self { connection, out, frames };
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{FORMS}}}}}"#
        );
        session.send(&line, WayBack::AnswerAlone).await;
        session.receive().await;
        session
    }

    async fn send(&self, line: &str, way: WayBack) {
        self.connection.take(wire::parse(line.as_bytes()).unwrap(), &self.out, way).await;
    }

    async fn receive(&mut self) -> String {
        String::from_utf8(self.frames.recv().await.unwrap().json.to_vec()).unwrap()
    }
}

#[tokio::test]
async fn only_the_first_answer_of_the_right_session_counts() {
    let server = Server::new(Fake::new(&[]), ServerOptions::default());
    let (mut ann, mut bob) = (Session::open(&server).await, Session::open(&server).await);
    ann.send(&call(1, "ask"), WayBack::Questions).await;
    bob.send(&call(1, "ask"), WayBack::Questions).await;
    let (anns, bobs) = (id_of(&ann.receive().await), id_of(&bob.receive().await));
    assert_ne!(anns, bobs, "the counters agree, the ids must not");
    // Each in the other's session: nobody is answered.
    bob.send(&result(&anns, YES), WayBack::AnswerAlone).await;
    ann.send(&result(&bobs, YES), WayBack::AnswerAlone).await;
    // Guesses.
    for id in [r#""ask--1""#, "1", r#""1""#] {
        ann.send(&result(id, YES), WayBack::AnswerAlone).await;
    }
    ann.send(r#"{"jsonrpc":"2.0","error":{"code":1,"message":"which?"}}"#, WayBack::AnswerAlone).await;
    assert_eq!((ann.connection.stray_answers(), bob.connection.stray_answers()), (5, 1));
    assert_eq!((ann.connection.open_questions(), bob.connection.open_questions()), (1, 1));
    // The first answer counts; the second, and an error after it, change nothing.
    ann.send(&result(&anns, r#"{"action":"decline"}"#), WayBack::AnswerAlone).await;
    ann.send(&result(&anns, YES), WayBack::AnswerAlone).await;
    ann.send(&format!(r#"{{"jsonrpc":"2.0","id":{anns},"error":{{"code":1,"message":"no"}}}}"#), WayBack::AnswerAlone)
        .await;
    assert_eq!(ann.receive().await, text(1, "declined"));
    assert_eq!((ann.connection.stray_answers(), ann.connection.open_questions()), (7, 0));
}

#[tokio::test]
async fn a_lost_stream_loses_its_questions() {
    let server = Server::new(Fake::new(&[]), ServerOptions::default());
    let ann = Session::open(&server).await;
    let (out, mut frames) = mpsc::channel(16);
    ann.connection.take(wire::parse(call(1, "ask_twice").as_bytes()).unwrap(), &out, WayBack::Questions).await;
    drop(out);
    frames.recv().await.unwrap();
    frames.recv().await.unwrap();
    assert_eq!(ann.connection.open_questions(), 2);
    drop(frames);
    while ann.connection.in_flight() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ann.connection.open_questions(), 0);
}

#[tokio::test]
async fn an_abandoned_connection_has_no_open_questions() {
    let service = Fake::new(&[]);
    let server = Server::new(service.clone(), ServerOptions::default());
    let mut ann = Session::open(&server).await;
    ann.send(&call(1, "keep"), WayBack::Questions).await;
    ann.receive().await;
    ann.send(&call(2, "ask"), WayBack::Questions).await;
    ann.receive().await;
    ann.connection.abandon();
    service.cancelled.acquire().await.unwrap().forget();
    while ann.connection.in_flight() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ann.connection.open_questions(), 0);
    let kept = service.kept.lock().clone().unwrap();
    assert_eq!(told(&kept.elicit(&question()).await), "lost");
}

#[tokio::test]
async fn a_way_back_without_room_for_questions_carries_none() {
    let server = Server::new(Fake::new(&[]), ServerOptions::default());
    let mut ann = Session::open(&server).await;
    ann.send(&call(1, "ask"), WayBack::AnswerAlone).await;
    assert_eq!(ann.receive().await, text(1, "unable"));
}

// ---- the stateless revision ----

fn modern(id: u32, name: &str, capabilities: &str, members: &str) -> String {
    let meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}"#
    );
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"_meta":{{{meta}}},"name":"{name}"{members}}}}}"#
    )
}

fn complete(id: u32, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":{}}}]}}}}"#,
        json!(text)
    )
}

#[tokio::test]
async fn a_modern_call_ends_with_the_question_and_is_sent_again() {
    let mut client = Client::connect(&Fake::new(&[]));
    let wants = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{{"q\"1":{{"method":"elicitation/create","params":{{"mode":"form","message":"Run \"it\"?","requestedSchema":{}}}}}}},"requestState":"state \"1\"","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"toolcrib","version":"1"}}}}}}}}"#,
        question().schema
    );
    client.exchange(&modern(1, "ask", FORMS, ""), &wants).await;
    client.exchange(&modern(1, "ask", r#"{"elicitation":{"form":{}}}"#, ""), &wants).await;
    let state = r#","requestState":"state \"1\"""#;
    for (members, wants) in [
        (
            format!(r#"{state},"inputResponses":{{"q\"1":{YES},"b":{{"action":"decline"}}}}"#),
            r#"ByResending state "1" b=declined,q"1=accepted {'ok':true}"#,
        ),
        (format!(r#"{state},"inputResponses":{{"q":{{"action":"cancel"}}}}"#), r#"ByResending state "1" q=closed"#),
        (state.to_owned(), r#"ByResending state "1" "#),
    ] {
        client.exchange(&modern(2, "ask", FORMS, &members), &complete(2, wants)).await;
    }
    // What was sent along reaches the service also from a client that has become unable meanwhile.
    client.exchange(&modern(3, "ask", "{}", state), &complete(3, r#"Unable state "1" "#)).await;
}

#[tokio::test]
async fn modern_clients_that_show_no_forms_are_not_asked() {
    let mut client = Client::connect(&Fake::new(&[]));
    for capabilities in ["{}", r#"{"elicitation":{"url":{}}}"#, r#"{"sampling":{}}"#] {
        client.exchange(&modern(1, "ask", capabilities, ""), &complete(1, "unable")).await;
        client
            .exchange(&modern(2, "force", capabilities, ""), r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,…"#)
            .await;
    }
    // Nothing is taken from what other requests declared.
    client
        .exchange(
            &modern(3, "force", FORMS, ""),
            r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required",…"#,
        )
        .await;
    client.exchange(&modern(1, "ask", "{}", ""), &complete(1, "unable")).await;
    // A state that no client could send back.
    client.exchange(&modern(4, "huge", FORMS, ""), r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,…"#).await;
}

#[tokio::test]
async fn calls_sent_again_are_read_strictly() {
    let mut client = Client::connect(&Fake::new(&[]));
    for (members, wants) in [
        (r#","inputResponses":{"q":{"action":"accept"}}"#, "params.inputResponses came without params.requestState…"),
        (r#","requestState":7"#, "params.requestState is not a text"),
        (r#","requestState":"s","inputResponses":[]"#, "params.inputResponses is not an object"),
        (r#","requestState":"s","inputResponses":{"q":1}"#, r#"params.inputResponses[\"q\"]: it is not an object"#),
        (r#","requestState":"s","inputResponses":{"q":{},"q":{}}"#, r#"params: key \"q\" is given twice"#),
        (r#","requestState":"s","requestState":"t""#, r#"params: key \"requestState\" is given twice"#),
    ] {
        let wants = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"{wants}"}}}}"#);
        client.exchange(&modern(1, "ask", FORMS, members), &wants).await;
    }
}

#[tokio::test]
async fn a_connection_has_a_name_of_its_own() {
    let name = |line: String| {
        let message: Value = serde_json::from_str(&line).unwrap();
        message["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let server = Server::new(Fake::new(&[]), ServerOptions::default());
    let (mut ann, mut bob) = (Session::open(&server).await, Session::open(&server).await);
    let mut names = Vec::new();
    for session in [&mut ann, &mut bob] {
        session.send(&call(1, "session"), WayBack::Questions).await;
        let once = name(session.receive().await);
        session.send(&call(1, "session"), WayBack::Questions).await;
        assert_eq!(name(session.receive().await), once);
        assert!(once.ends_with(" Direct true") && once.len() > 22, "{once}");
        names.push(once);
    }
    assert_ne!(names[0], names[1]);
    // Requests that stand alone have nothing in common.
    let alone = Connection::open(&server, Framing::Modern, Caller::default(), server.admission(), None);
    let (out, mut frames) = mpsc::channel(4);
    let message = wire::parse(modern(1, "session", FORMS, "").as_bytes()).unwrap();
    alone.take(message, &out, WayBack::AnswerAlone).await;
    let line = String::from_utf8(frames.recv().await.unwrap().json.to_vec()).unwrap();
    assert_eq!(name(line), "none ByResending true");
}
