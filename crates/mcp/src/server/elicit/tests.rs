use serde_json::{json, value::RawValue};

use super::*;
use crate::server::params::Params;

#[track_caller]
fn shows(capabilities: &Value, wants: bool) {
    assert_eq!(can_show_forms(capabilities), wants, "{capabilities}");
}

#[test]
fn a_client_shows_forms_if_it_declares_them_or_nothing_more_precise() {
    shows(&json!({"elicitation": {}}), true);
    shows(&json!({"elicitation": {"form": {}}}), true);
    shows(&json!({"elicitation": {"form": {}, "url": {}}}), true);
    shows(&json!({"elicitation": {"schemaValidation": true}}), true);
    shows(&json!({"elicitation": {"url": {}}}), false);
    shows(&json!({"elicitation": {"form": null, "url": {}}}), false);
    shows(&json!({"elicitation": {"form": false}}), false);
    shows(&json!({"elicitation": true}), false);
    shows(&json!({"elicitation": null}), false);
    shows(&json!({"sampling": {}}), false);
    shows(&json!({}), false);
}

#[track_caller]
fn reads(text: &str, wants: Result<Reply, &str>) {
    let raw = RawValue::from_string(text.to_owned()).unwrap();
    let got = reply(&raw);
    match wants {
        Ok(wants) => assert_eq!(got, Ok(wants), "{text}"),
        Err(wants) => assert!(got.as_ref().is_err_and(|why| why.contains(wants)), "{text}: {got:?}"),
    }
}

fn accepted(content: Value) -> Reply {
    let Value::Object(fields) = content else { panic!("not an object") };
    Reply::Accept(fields)
}

#[test]
fn replies_are_read_strictly() {
    reads(r#"{"action":"decline"}"#, Ok(Reply::Decline));
    reads(r#"{"action":"cancel","content":{"a":{"ignored":1}}}"#, Ok(Reply::Cancel));
    reads(r#"{"action":"accept"}"#, Ok(accepted(json!({}))));
    reads(r#"{"action":"accept","content":null}"#, Ok(accepted(json!({}))));
    reads(
        r#"{"action":"accept","content":{"a":"x","b":1.5,"c":true,"d":["p","q"]},"_meta":{"z":{}}}"#,
        Ok(accepted(json!({"a": "x", "b": 1.5, "c": true, "d": ["p", "q"]}))),
    );
    reads("{}", Err("action is missing"));
    reads("true", Err("not an object"));
    reads(r#"{"action":true}"#, Err("action is not a text"));
    reads(r#"{"action":"ACCEPT"}"#, Err(r#"action "ACCEPT" is none"#));
    reads(r#"{"action":"accept","content":[]}"#, Err("content is not an object"));
    reads(r#"{"action":"accept","content":{"a":null}}"#, Err(r#"field "a" is not"#));
    reads(r#"{"action":"accept","content":{"a":{"b":1}}}"#, Err(r#"field "a" is not"#));
    reads(r#"{"action":"accept","content":{"a":[1]}}"#, Err(r#"field "a" is not"#));
    // Which of the two would be meant? (T18)
    reads(r#"{"action":"decline","action":"accept"}"#, Err("given twice"));
    reads(r#"{"action":"accept","content":{"ok":false,"\u006fk":true}}"#, Err("given twice"));
    let many: Map<String, Value> = (0..65).map(|n| (n.to_string(), json!(1))).collect();
    reads(&json!({"action": "accept", "content": many}).to_string(), Err("65 fields"));
    reads(
        &json!({"action": "accept", "content": {"a": "x".repeat(70_000)}}).to_string(),
        Err("bytes, more than 65536"),
    );
}

#[track_caller]
fn resumes(params: &Value, wants: Result<Option<Resumed>, &str>) {
    let raw = RawValue::from_string(params.to_string()).unwrap();
    let got = resumed(&Params::read(Some(&raw)).unwrap()).map_err(|error| error.message);
    match wants {
        Ok(wants) => assert_eq!(got, Ok(wants)),
        Err(wants) => assert!(got.as_ref().is_err_and(|why| why.contains(wants)), "{got:?}"),
    }
}

#[test]
fn what_comes_with_a_call_sent_again_is_bounded() {
    let state = |state: &str, replies: &[(&str, Reply)]| {
        let replies = replies.iter().map(|(key, reply)| ((*key).to_owned(), reply.clone())).collect();
        Ok(Some(Resumed { state: state.to_owned(), replies }))
    };
    resumes(&json!({}), Ok(None));
    resumes(&json!({"inputResponses": {}, "requestState": null}), Ok(None));
    resumes(&json!({"requestState": "s"}), state("s", &[]));
    resumes(
        &json!({"requestState": "s", "inputResponses": {"q": {"action": "decline"}, "_meta": {"action": "cancel"}}}),
        state("s", &[("q", Reply::Decline), ("_meta", Reply::Cancel)]),
    );
    resumes(&json!({"inputResponses": {"q": {"action": "decline"}}}), Err("without params.requestState"));
    resumes(&json!({"requestState": 1}), Err("requestState is not a text"));
    resumes(&json!({"requestState": "s", "inputResponses": []}), Err("inputResponses is not an object"));
    resumes(
        &json!({"requestState": "s", "inputResponses": {"q": {}}}),
        Err(r#"inputResponses["q"]: action is missing"#),
    );
    resumes(&json!({"requestState": "s".repeat(MAX_STATE)}), state(&"s".repeat(MAX_STATE), &[]));
    resumes(&json!({"requestState": "s".repeat(MAX_STATE + 1)}), Err("8193 bytes"));
    let many: Map<String, Value> = (0..17).map(|n| (n.to_string(), json!({"action": "cancel"}))).collect();
    resumes(&json!({"requestState": "s", "inputResponses": many}), Err("17 members"));
    resumes(&json!({"requestState": "s", "inputResponses": {"k".repeat(257): {}}}), Err("257 bytes"));
}

#[test]
fn an_accepted_reply_fits_its_question() {
    let question = Question {
        message: "m".to_owned(),
        schema: json!({"type": "object", "required": ["scope"], "properties": {
            "scope": {"type": "string", "enum": ["once", "session"]},
            "days": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1}}}),
    };
    let check = |content: Value, wants: Result<(), &str>| {
        let got = question.check(content.as_object().unwrap());
        assert_eq!(got.as_ref().copied().map_err(String::as_str), wants, "{content}");
    };
    check(json!({"scope": "once"}), Ok(()));
    check(json!({"scope": "session", "days": 2, "tags": ["b"]}), Ok(()));
    check(json!({}), Err(r#"the field "scope" is missing"#));
    check(json!({"scope": "always"}), Err(r#"/scope does not fit "enum" of the question's schema"#));
    check(json!({"scope": "once", "days": 0}), Err(r#"/days does not fit "minimum" of the question's schema"#));
    check(json!({"scope": "once", "days": "2"}), Err(r#"/days does not fit "type" of the question's schema"#));
    check(
        json!({"scope": "once", "tags": ["a", "b"]}),
        Err(r#"/tags does not fit "maxItems" of the question's schema"#),
    );
    check(json!({"scope": "once", "root": true}), Err(r#"the field "root" was not asked for"#));
}
