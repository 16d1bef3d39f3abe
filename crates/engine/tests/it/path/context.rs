//! What a call is, from the door on: its number, its caller, its name, its arguments.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    Scope,
    select::{Allow, ListStage, Lists},
};
use toolcrib_engine::{CallReply, Door, Identity, Outcome};

use super::rig::{Act, MS, ONCE, Person, Setup, asking, paused, raw, request, text};

#[test]
fn o33_every_execution_has_a_number_of_its_own() {
    paused(async {
        let rig = Setup::trusting().build().await;
        let calls = (0..20).map(|at| rig.call("s__write", json!({"n": at})));
        let mut ids: Vec<_> = futures_util::future::join_all(calls).await.iter().map(|report| report.call_id).collect();
        let mut seen: Vec<_> = rig.tools.seen.lock().iter().map(|seen| seen.call).collect();
        ids.sort_unstable();
        seen.sort_unstable();
        assert_eq!(ids, seen);
        ids.dedup();
        assert_eq!(ids.len(), 20);
    });
}

/// O136, ours: whatever is switched while the call is on its way, the tool sees who made it.
#[test]
fn o136_who_calls_is_fixed_when_the_call_comes_in() {
    paused(async {
        let rig = Setup::default().build().await;
        let person = Person::saying(ONCE);
        let mut current = request("s__delete", &json!({}));
        current.asker = Some(person.clone());
        let running = {
            let (engine, request) = (rig.engine.clone(), current.clone());
            tokio::spawn(async move { engine.call_report(request).await })
        };
        tokio::time::sleep(MS).await;
        // The application switches to somebody else, and the operator to other settings, while the person thinks.
        current.scope = Scope { user: Some("bob".into()), ..Scope::default() };
        current.identity = Arc::new(Identity { session: Some("s2".into()), ..Identity::default() });
        let mut settings = (*rig.engine.settings()).clone();
        settings.limits.default_timeout = MS;
        rig.engine.replace_settings(settings);
        let report = running.await.unwrap();
        assert_eq!(report.outcome, Outcome::Ok, "{}", text(&report));
        let seen = rig.tools.seen.lock()[0].clone();
        assert_eq!((seen.user.as_deref(), seen.session.as_deref()), (Some("ann"), Some("s1")));
        assert!(seen.left > MS, "{:?}", seen.left);
        for record in rig.records().await {
            assert_eq!(record.principal.user.as_deref(), Some("ann"), "{record:?}");
        }
        // Nor is the answer one for the other.
        current.asker = None;
        assert_eq!(rig.run(current).await.outcome, Outcome::Denied);
    });
}

/// O21, O22 and C110: what is not there, and what is hidden, is an answer and not the end of anything.
#[test]
fn o21_o22_c110_unknown_and_hidden_tools_are_an_answer() {
    #[track_caller]
    fn check(name: &str, bridge: bool, want_code: Option<i64>) {
        paused(async {
            let hidden = ListStage {
                name: "global".into(),
                lists: Lists {
                    allow: Allow::All,
                    deny: vec!["mcp:s/write".parse().unwrap()],
                    origins: "test".into(),
                    ..Lists::default()
                },
            };
            let rig = Setup::trusting().with(|settings| settings.assemble.policy.push(hidden)).build().await;
            let report = if bridge {
                rig.call("tool_call", json!({"name": name, "arguments": {}})).await
            } else {
                rig.call(name, json!({})).await
            };
            assert_eq!((report.outcome, report.attempts, report.tool.clone()), (Outcome::Invalid, 0, None));
            match (&report.reply, want_code) {
                (CallReply::Protocol { code, .. }, Some(want)) => assert_eq!(*code, want),
                (CallReply::Result(result), None) => assert!(result.is_error()),
                (reply, _) => panic!("{reply:?}"),
            }
            assert_eq!(rig.tools.entered(), 0);
            assert_eq!(rig.call("s__look", json!({})).await.outcome, Outcome::Ok, "the turn goes on");
            assert_eq!(rig.outcomes().await, [Outcome::Invalid, Outcome::Ok]);
        });
    }
    check("s__nothing", false, Some(-32602));
    check("s__nothing", true, None);
    check("s__write", false, Some(-32602));
    check("s__write", true, None);
}

/// C113, C114: what a model wrote in place of arguments either means one thing or does not run.
#[test]
fn c113_c114_arguments_are_repaired_or_refused() {
    #[track_caller]
    fn check(tool: &str, written: &str, want: Option<Value>) {
        paused(async {
            let rig = Setup::trusting().build().await;
            let mut call = request(tool, &json!({}));
            call.arguments = Some(raw(written));
            let report = rig.run(call).await;
            let seen = rig.tools.seen.lock().first().map(|seen| seen.arguments.clone());
            assert_eq!(seen, want, "{written}: {}", text(&report));
            assert_eq!(report.outcome, if want.is_some() { Outcome::Ok } else { Outcome::Invalid }, "{written}");
            let events = rig.events.0.lock();
            assert_eq!(events[0].repairs, report.repairs.len());
        });
    }
    check("run_command", r#""ls""#, Some(json!({"command": "ls"})));
    check("run_command", r#"{"command":"ls"}"#, Some(json!({"command": "ls"})));
    check("run_command", r"{}", None);
    check("s__write", r#""{\"n\": \"7\"}""#, Some(json!({"n": 7})));
    check("s__write", r#""""#, Some(json!({})));
    check("s__write", r#""{\"n\": 1""#, None);
    check("s__write", r#""{broken""#, None);
    check("s__write", r#"{"n":1,"n":2}"#, None);
    check("s__write", r#"{"n":1,"else":2}"#, None);
}

#[test]
fn every_door_leads_through_the_same_path() {
    paused(async {
        for door in [Door::Direct, Door::Bridge, Door::Http, Door::Cli, Door::Library] {
            let rig = Setup::default().build().await;
            let mut call = request("s__write", &json!({"n": 1}));
            call.door = door;
            assert_eq!(rig.run(call).await.outcome, Outcome::Ok);
            let mut call = request("s__delete", &json!({"n": 1}));
            call.door = door;
            assert_eq!(rig.run(call).await.outcome, Outcome::Denied);
            assert_eq!(rig.outcomes().await, [Outcome::Ok, Outcome::Denied]);
            let records = rig.records().await;
            assert!(
                records.iter().filter(|record| record.call > 0).all(|record| record.door.is_none_or(|at| at == door))
            );
            rig.check_settled(&records);
        }
    });
}

/// A tool that waits keeps nobody waiting.
#[test]
fn a_slow_tool_holds_up_no_other() {
    paused(async {
        let rig = Setup::default().build().await;
        rig.tools.order("write", [Act::After(500 * MS, Box::new(Act::Say("slow")))]);
        let (slow, quick) = tokio::join!(rig.call("s__write", json!({})), rig.call("s__look", json!({})));
        assert_eq!((slow.outcome, quick.outcome), (Outcome::Ok, Outcome::Ok));
        assert!(quick.timings.total < 10 * MS && slow.timings.total >= 500 * MS);
    });
}

#[test]
fn an_asked_call_tells_nothing_of_another() {
    paused(async {
        let rig = Setup::default().build().await;
        let person = Person::saying(ONCE);
        let report = rig.run(asking("s__delete", &json!({}), &person)).await;
        assert_eq!(report.outcome, Outcome::Ok);
        assert!(report.evidence.authority.unwrap().starts_with("approval "));
    });
}
