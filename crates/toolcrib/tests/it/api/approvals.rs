//! Asking over HTTP: a caller's call is parked, an operator answers, the same call runs.

use serde_json::Value;

use super::{ANN, Api, BOB, OPERATOR, error_code};
use crate::http::Answer;

const CONFIG: &str = "permissions.ask = ['mcp:up/note_*']\napprovals.per_minute = 1000";
const ONCE: &str = r#"{"answer":"approve","reach":"once"}"#;
const ALWAYS: &str = r#"{"answer":"approve","reach":"always"}"#;

impl Api {
    /// The requests in a state, oldest first.
    fn requests(&self, state: &str) -> Vec<Value> {
        let answer = self.operator("GET", &format!("/v1/approvals?state={state}"), "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["approvals"].as_array().unwrap().clone()
    }

    /// The handle of the one request that waits.
    #[track_caller]
    fn waiting(&self) -> String {
        let waiting = self.requests("pending");
        assert_eq!(waiting.len(), 1, "{waiting:#?}");
        waiting[0]["id"].as_str().unwrap().to_owned()
    }

    fn answer(&self, id: &str, text: &str) -> Answer {
        self.operator("POST", &format!("/v1/approvals/{id}"), text)
    }

    fn grants(&self) -> Vec<Value> {
        self.operator("GET", "/v1/grants", "").json()["grants"].as_array().unwrap().clone()
    }
}

#[test]
fn approved_once_it_runs_once() {
    let api = Api::start(CONFIG);
    let arguments = r#"{"key":"a","n":1}"#;
    let parked = api.call("note", arguments);
    assert_eq!((parked.status, parked.json()["outcome"].as_str().unwrap()), (403, "denied"));
    assert_eq!(error_code(&parked), "approval_needed");
    let id = api.waiting();
    assert_eq!(parked.json()["approval"], id.as_str());
    assert!(parked.body.contains(&id), "the caller knows the handle to ask about: {parked:?}");
    let asked = &api.requests("pending")[0];
    assert_eq!((asked["exposed"].as_str(), asked["principal"]["user"].as_str()), (Some("up__note_http"), Some("ann")));
    assert!(asked["arguments"].as_str().unwrap().contains(r#""n":1"#), "{asked:#}");
    // The same call again is the same question.
    assert_eq!(api.call("note", arguments).status, 403);
    assert_eq!(api.waiting(), id);
    // Its own caller cannot answer.
    assert_eq!(api.of(ANN, "POST", &format!("/v1/approvals/{id}"), ONCE).status, 403);
    assert_eq!(api.call("note", arguments).status, 403);

    // What was not offered cannot be granted, and does not settle the question.
    let refused = api.answer(&id, r#"{"answer":"approve","reach":"session"}"#);
    assert_eq!(error_code(&refused), "not_offered");
    assert!(refused.body.contains("the reach 'session'; it offers once"), "{refused:?}");
    for unread in [
        r#"{"answer":"approve","reach":"once","patern":{"kind":"any"}}"#,
        r#"{"answer":"deny","reach":"always","pattern":{"kind":"any"}}"#,
        r#"{"answer":"deny","reach":"once","note":"no"}"#,
    ] {
        let refused = api.answer(&id, unread);
        assert_eq!((refused.status, error_code(&refused).as_str()), (400, "not_read"), "{unread}");
    }
    let wider = r#"{"answer":"approve","reach":"once","pattern":{"kind":"any"}}"#;
    assert_eq!(api.answer(&id, wider).status, 422);
    assert_eq!(api.waiting(), id);

    let answered = api.answer(&id, ONCE);
    assert_eq!((answered.status, &answered.json()["recorded"]), (200, &Value::Bool(true)), "{answered:?}");
    for late in [ONCE, ALWAYS, r#"{"answer":"deny","reach":"always"}"#] {
        let second = api.answer(&id, late);
        assert_eq!((second.status, error_code(&second).as_str()), (409, "settled"), "{second:?}");
        assert!(second.json()["detail"].as_str().unwrap().ends_with("approved"), "{second:?}");
    }
    let (approved, pending) = (api.requests("approved"), api.requests("pending"));
    assert_eq!((approved.len(), pending.len(), api.requests("all").len()), (1, 0, 1));
    assert!(approved[0]["answered_by"].as_str().unwrap().starts_with("http:"), "{approved:#?}");

    // It covers Ann, and these arguments.
    assert_eq!(api.call_as(BOB, "note", arguments, "").status, 403);
    assert_eq!(api.call("note", r#"{"key":"a","n":2}"#).status, 403);
    assert_eq!(api.scene.executions("a"), 0);
    assert_eq!(api.call("note", arguments).status, 200);
    assert_eq!(api.scene.executions("a"), 1);
    assert_eq!(api.call("note", arguments).status, 403);
    assert_eq!(api.scene.executions("a"), 1);
}

#[test]
fn granted_always_until_it_is_revoked() {
    let api = Api::start(CONFIG);
    assert_eq!(api.call("note", r#"{"key":"a","n":1}"#).status, 403);
    let wider = r#"{"answer":"approve","reach":"always","pattern":{"kind":"any"}}"#;
    let answered = api.answer(&api.waiting(), wider);
    assert_eq!(answered.status, 200, "{answered:?}");
    let grant = answered.json()["grant"]["id"].as_str().unwrap().to_owned();
    assert_eq!(api.grants().len(), 1);
    assert_eq!(api.grants()[0]["id"], grant.as_str());
    for n in 1..4 {
        assert_eq!(api.call("note", &format!(r#"{{"key":"a","n":{n}}}"#)).status, 200);
    }
    assert_eq!(api.call_as(BOB, "note", r#"{"key":"b"}"#, "").status, 403, "Bob was not meant");
    assert_eq!(api.of(ANN, "DELETE", &format!("/v1/grants/{grant}"), "").status, 403);
    assert_eq!(api.operator("DELETE", &format!("/v1/grants/{grant}"), "").json()["revoked"], true);
    assert_eq!(api.operator("DELETE", &format!("/v1/grants/{grant}"), "").status, 404);
    assert_eq!(api.grants().len(), 0);
    assert_eq!(api.call("note", r#"{"key":"a","n":1}"#).status, 403);
    assert_eq!((api.scene.executions("a"), api.scene.executions("b")), (3, 0));
    // Who answered and who took back is in the journal.
    let told = api.records("?tool=mcp:up/note_http&user=ann&limit=1000", |found| {
        found.iter().any(|record| record["detail"].as_str().is_some_and(|text| text.contains("revoked")))
    });
    for kind in ["asked", "answered", "grant"] {
        assert!(told.iter().any(|record| record["kind"] == kind), "{kind}: {told:#?}");
    }
}

#[test]
fn who_called_cannot_approve_where_two_are_needed() {
    let call = |api: &Api, key: &str| api.call_as(OPERATOR, "note", &format!(r#"{{"key":"{key}"}}"#), "");
    for (config, status) in [("", 200), ("approvals.four_eyes = false", 200), ("approvals.four_eyes = true", 403)] {
        let api = Api::start(&format!("{CONFIG}\n{config}"));
        assert_eq!(call(&api, "own").status, 403);
        let own = api.waiting();
        let answered = api.answer(&own, ONCE);
        assert_eq!(answered.status, status, "{config}: {answered:?}");
        if status == 403 {
            assert_eq!(error_code(&answered), "own_call");
            assert!(answered.body.contains("approvals.four_eyes"), "{answered:?}");
            assert_eq!(api.waiting(), own, "it stands for somebody else");
            assert_eq!(call(&api, "own").status, 403);
            assert_eq!(api.scene.executions("own"), 0);
            // Whoever called may take it back, for good, but not undo that.
            let denied = api.answer(&own, r#"{"answer":"deny","reach":"always"}"#);
            let grant = denied.json()["grant"]["id"].as_str().unwrap().to_owned();
            let kept = api.operator("DELETE", &format!("/v1/grants/{grant}"), "");
            assert_eq!((kept.status, error_code(&kept).as_str()), (403, "own_call"));
        }
        // Somebody else's call.
        assert_eq!(api.call("note", r#"{"key":"ann"}"#).status, 403);
        assert_eq!(api.answer(&api.waiting(), ONCE).status, 200, "{config}");
        assert_eq!(api.call("note", r#"{"key":"ann"}"#).status, 200);
    }
}

#[test]
fn denied_for_now_and_for_ever() {
    let api = Api::start(CONFIG);
    assert_eq!(api.call("note", r#"{"key":"a"}"#).status, 403);
    let first = api.waiting();
    assert_eq!(api.answer(&first, r#"{"answer":"deny","reach":"once"}"#).status, 200);
    assert_eq!(api.requests("denied").len(), 1);
    assert_eq!(api.call("note", r#"{"key":"a"}"#).status, 403);
    let second = api.waiting();
    assert_ne!(first, second, "no for now may be asked again");
    assert_eq!(api.answer(&second, r#"{"answer":"deny","reach":"always"}"#).status, 200);
    for arguments in [r#"{"key":"a"}"#, r#"{"key":"a","n":5}"#] {
        let refused = api.call("note", arguments);
        assert_eq!(refused.status, 403);
        assert!(refused.body.contains("never"), "{refused:?}");
    }
    assert_eq!(api.requests("pending").len(), 0, "nobody is asked any more");
    assert_eq!(api.call_as(BOB, "note", r#"{"key":"a"}"#, "").status, 403);
    assert_eq!(api.requests("pending").len(), 1, "Bob's calls are another matter");
    assert_eq!(api.scene.executions("a"), 0);
}

/// Of two answers at the same time one counts.
#[test]
fn answers_that_race() {
    let api = Api::start(CONFIG);
    for round in 0..10 {
        let arguments = format!(r#"{{"key":"r{round}"}}"#);
        assert_eq!(api.call("note", &arguments).status, 403);
        let id = api.waiting();
        let texts = [ONCE, r#"{"answer":"deny","reach":"once"}"#, ONCE, r#"{"answer":"deny","reach":"once"}"#];
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let answers: Vec<_> = texts.iter().map(|text| scope.spawn(|| api.answer(&id, text).status)).collect();
            answers.into_iter().map(|answer| answer.join().unwrap()).collect()
        });
        let won: Vec<usize> = (0..texts.len()).filter(|at| statuses[*at] == 200).collect();
        assert_eq!(won.len(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
        let approved = texts[won[0]] == ONCE;
        assert_eq!(api.call("note", &arguments).status, if approved { 200 } else { 403 });
        assert_eq!(api.scene.executions(&format!("r{round}")), usize::from(approved));
        if !approved {
            assert_eq!(api.answer(&api.waiting(), r#"{"answer":"deny","reach":"once"}"#).status, 200);
        }
    }
}

/// One approval, many calls at the same time: one runs.
#[test]
fn calls_that_race_for_an_approval() {
    let api = Api::start(CONFIG);
    let arguments = r#"{"key":"a"}"#;
    assert_eq!(api.call("note", arguments).status, 403);
    assert_eq!(api.answer(&api.waiting(), ONCE).status, 200);
    let ran: usize = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| api.call("note", arguments).status)).collect();
        calls.into_iter().map(|call| usize::from(call.join().unwrap() == 200)).sum()
    });
    assert_eq!((ran, api.scene.executions("a")), (1, 1));
}
