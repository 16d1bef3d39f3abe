//! Hooks on the path: who sees the call when, and that what hooks make of it is judged as if the caller had written it.

use serde_json::{Value, json};
use toolcrib_core::{ToolResult, permission::Effect};
use toolcrib_engine::{
    Outcome,
    intercept::{After, Before, OnError, Stage},
    journal::Kind,
    permission::Verdict,
};

use super::rig::{Act, Hook, ONCE, Person, Said, Setup, asking, paused, raw, request, text, value};

fn replace(text: &str) -> Said<Before> {
    Said::Is(Before::Replace(raw(text)))
}

#[test]
fn o24_o27_guards_come_first_and_what_a_transform_changed_is_judged_again() {
    paused(async {
        let rig = Setup::trusting()
            .hook("form", Stage::Normalise, |_| {})
            .hook("eye", Stage::Observe, |_| {})
            .hook("late", Stage::Transform, |hook| hook.priority = 200)
            .hook("usual", Stage::Transform, |hook| hook.before = |_| replace(r#"{"n":2}"#))
            .hook("early", Stage::Transform, |hook| hook.priority = 10)
            .hook("guard", Stage::Guard, |hook| hook.priority = 10_000)
            .judge(60, |_| Verdict::Abstain)
            .build()
            .await;
        let report = rig.call("s__write", json!({"n": 1})).await;
        assert_eq!(text(&report), r#"{"n":2}"#);
        let want = [
            r#"guard {"n":1}"#,
            r#"judge60 {"n":1}"#,
            r#"early {"n":1}"#,
            r#"usual {"n":1}"#,
            r#"late {"n":2}"#,
            r#"guard {"n":2}"#,
            r#"judge60 {"n":2}"#,
            r#"eye {"n":2}"#,
            r#"tool {"n":2}"#,
            "late after",
            "usual after",
            "early after",
            "form after",
            "eye after",
        ];
        assert_eq!(*rig.log.lock(), want);
    });
}

#[test]
fn a_transform_cannot_make_of_an_allowed_call_one_that_is_not() {
    #[track_caller]
    fn check(before: fn(&toolcrib_engine::intercept::Intercepted<'_>) -> Said<Before>, want: Outcome, want_text: &str) {
        paused(async {
            let rig = Setup::trusting()
                .with(|settings| settings.permissions.path_roots = Some(vec!["/workspace".into()]))
                .hook("rewrites", Stage::Transform, |hook| hook.before = before)
                .build()
                .await;
            let report = rig.call("s__write", json!({"path": "/workspace/a", "n": 1})).await;
            assert_eq!(report.outcome, want, "{}", text(&report));
            assert!(text(&report).contains(want_text), "{}", text(&report));
            assert_eq!(rig.tools.entered(), usize::from(want == Outcome::Ok));
            assert_eq!(rig.outcomes().await, [want]);
        });
    }
    check(|_| replace(r#"{"path":"/workspace/b"}"#), Outcome::Ok, "/workspace/b");
    check(|_| replace(r#"{"path":"/etc/passwd"}"#), Outcome::Denied, "out of the allowed folders");
    check(|_| replace(r#"{"path":"/workspace/../etc/passwd"}"#), Outcome::Denied, "out of the allowed folders");
    check(|_| replace(r#"{"n":"not a number"}"#), Outcome::Invalid, "not acceptable");
    check(|_| replace(r#"{"unknown":1}"#), Outcome::Invalid, "unknown");
    check(|_| replace(r#"{"n":1,"n":2}"#), Outcome::Invalid, "n");
    check(|_| replace("[1]"), Outcome::Unavailable, "not a JSON object");
    // O31: a transform that fails runs nothing.
    check(|_| Said::Fails, Outcome::Unavailable, "rewrites");
    check(|_| Said::Panics, Outcome::Unavailable, "rewrites");
    check(|_| Said::Hangs, Outcome::Unavailable, "15000 ms");
    check(|_| Said::Is(Before::Deny("not today".into())), Outcome::Denied, "not today");
}

#[test]
fn an_approval_covers_what_runs_and_not_what_was_written() {
    paused(async {
        let person = Person::saying(ONCE);
        let rig = Setup::default()
            .hook("rewrites", Stage::Transform, |hook| hook.before = |_| replace(r#"{"path":"/data/b"}"#))
            .build()
            .await;
        let report = rig.run(asking("s__delete", &json!({"path": "/data/a"}), &person)).await;
        assert_eq!(report.outcome, Outcome::Ok, "{}", text(&report));
        let shown = person.asked.lock()[0].arguments.clone();
        assert_eq!(shown, r#"{"path":"/data/b"}"#);
        assert_eq!(rig.tools.seen.lock()[0].arguments, json!({"path": "/data/b"}));
        let intent = rig.records().await.into_iter().find(|record| record.kind == Kind::Intent).unwrap();
        assert_eq!(intent.arguments, report.evidence.arguments.map(|digest| digest.to_string()));
    });
}

/// A call that its policy asks about stays asked about, whatever a transform makes of it.
#[test]
fn a_question_about_what_was_written_is_not_answered_by_changing_it() {
    paused(async {
        let rig = Setup::default()
            .judge(60, |question| {
                if question.arguments["path"] == "/secret" {
                    return Verdict::Ask { rule: "secret".into(), reason: "it is secret".into() };
                }
                Verdict::Abstain
            })
            .hook("rewrites", Stage::Transform, |hook| hook.before = |_| replace(r#"{"path":"/public"}"#))
            .build()
            .await;
        assert_eq!(rig.call("s__write", json!({"path": "/secret"})).await.outcome, Outcome::Denied);
        assert_eq!(rig.call("s__write", json!({"path": "/else"})).await.outcome, Outcome::Ok);
        assert_eq!(rig.tools.entered(), 1);
    });
}

#[test]
fn a_short_circuit_runs_nothing_and_uses_up_no_approval() {
    paused(async {
        let rig = Setup::default()
            .hook("cache", Stage::Transform, |hook| {
                hook.before = |call| {
                    if call.arguments_value()["n"] == 2 {
                        return Said::Is(Before::Continue);
                    }
                    Said::Is(Before::ShortCircuit(ToolResult::text("from memory")))
                };
            })
            .hook("eye", Stage::Observe, |_| {})
            .build()
            .await;
        rig.approve("s__delete", json!({"n": 2})).await;
        let before = rig.grants().await;
        for _ in 0..3 {
            let report = rig.call("s__delete", json!({"n": 1})).await;
            assert_eq!((report.outcome, text(&report).as_str(), report.attempts), (Outcome::Ok, "from memory", 0));
        }
        assert_eq!((rig.tools.entered(), rig.grants().await), (0, before));
        assert!(rig.engine.admission().breakers().is_empty());
        assert!(rig.records().await.iter().all(|record| record.kind != Kind::Intent));
        // The observer sees what came out.
        assert_eq!(rig.log.lock().iter().filter(|line| *line == "eye after").count(), 3);
        assert_eq!(rig.call("s__delete", json!({"n": 2})).await.outcome, Outcome::Ok);
    });
}

/// C117: guards deny whatever they do but answer; and nobody recovers from that.
#[test]
fn c117_a_guard_that_does_not_answer_denies() {
    #[track_caller]
    fn check(change: fn(&mut Hook), want: Outcome, want_text: &str) {
        paused(async {
            let rig = Setup::trusting()
                .hook("guard", Stage::Guard, change)
                .hook("saves", Stage::Transform, |hook| {
                    hook.on_error = |_| Said::Is(OnError::Recover(ToolResult::text("saved")));
                })
                .judge(60, |_| Verdict::Abstain)
                .build()
                .await;
            let report = rig.call("s__write", json!({})).await;
            assert_eq!(report.outcome, want, "{}", text(&report));
            assert!(text(&report).contains(want_text), "{}", text(&report));
            if want == Outcome::Denied {
                assert_eq!(rig.log.lock().len(), 1, "nobody else saw the call: {:?}", rig.log.lock());
                assert_eq!(report.evidence.authority.as_deref(), Some("interceptor guard"));
            }
        });
    }
    check(|_| {}, Outcome::Ok, "{}");
    check(|hook| hook.before = |_| Said::Is(Before::Deny("not here".into())), Outcome::Denied, "not here");
    check(|hook| hook.before = |_| Said::Fails, Outcome::Denied, "does not answer denies");
    check(|hook| hook.before = |_| Said::Panics, Outcome::Denied, "does not answer denies");
    check(|hook| hook.before = |_| Said::Hangs, Outcome::Denied, "15000 ms");
    check(|hook| hook.before = |_| replace("{}"), Outcome::Denied, "may not give");
}

#[test]
fn o26_o29_o30_results_and_failures_pass_the_hooks() {
    #[track_caller]
    fn check(act: Act, hooks: [fn(&mut Hook); 2], want: Outcome, want_error: bool, want_text: &str) {
        paused(async {
            let [one, two] = hooks;
            let rig = Setup::trusting()
                .hook("one", Stage::Transform, |hook| {
                    hook.priority = 1;
                    one(hook);
                })
                .hook("two", Stage::Transform, two)
                .build()
                .await;
            rig.tools.order("write", [act]);
            let report = rig.run(request("s__write", &json!({}))).await;
            assert_eq!(report.outcome, want);
            assert!(text(&report).contains(want_text), "{}", text(&report));
            assert_eq!(value(&report)["isError"] == json!(true), want_error);
            assert_eq!(rig.outcomes().await, [want]);
        });
    }
    let adds: fn(&mut Hook) = |hook| {
        hook.after = |_, result| {
            let mut value = result.to_value();
            value["content"][0]["text"] = Value::from(format!("{} and more", result.to_text()));
            Said::Is(After::Replace(ToolResult::from_value(&value)))
        };
    };
    let saves_one: fn(&mut Hook) = |hook| hook.on_error = |_| Said::Is(OnError::Recover(ToolResult::text("by one")));
    let saves_two: fn(&mut Hook) = |hook| hook.on_error = |_| Said::Is(OnError::Recover(ToolResult::text("by two")));
    let rewords: fn(&mut Hook) = |hook| hook.on_error = |_| Said::Is(OnError::Replace("in other words".into()));
    let panics: fn(&mut Hook) = |hook| hook.on_error = |_| Said::Panics;
    let nothing: fn(&mut Hook) = |_| {};
    check(Act::Say("this"), [adds, nothing], Outcome::Ok, false, "this and more");
    check(Act::Say("this"), [adds, adds], Outcome::Ok, false, "this and more and more");
    check(Act::Lost, [saves_one, saves_two], Outcome::Unknown, false, "by one");
    check(Act::Lost, [nothing, saves_two], Outcome::Unknown, false, "by two");
    check(Act::Lost, [panics, saves_two], Outcome::Unknown, false, "by two");
    check(Act::Lost, [rewords, saves_two], Outcome::Unknown, true, "in other words");
    check(Act::Lost, [nothing, nothing], Outcome::Unknown, true, "broken pipe");
    // A result with `isError` is a result: there is nothing to recover from.
    check(Act::Fail, [saves_one, nothing], Outcome::ToolError, true, "disk on fire");
}

/// O32: what a hook leaves for later is there in the same call only.
#[test]
fn o32_metadata_lives_as_long_as_its_call() {
    paused(async {
        let rig = Setup::trusting()
            .hook("keeps", Stage::Transform, |hook| {
                hook.before = |call| {
                    assert!(call.metadata.get("n").is_none());
                    call.metadata.set("n", call.arguments_value()["n"].clone());
                    Said::Is(Before::Continue)
                };
                hook.after = |call, _| {
                    let kept = call.metadata.get("n").unwrap_or_default();
                    Said::Is(After::Replace(ToolResult::text(kept.to_string())))
                };
            })
            .build()
            .await;
        let calls = (0..5).map(|n| rig.call("s__write", json!({"n": n})));
        let texts: Vec<_> = futures_util::future::join_all(calls).await.iter().map(text).collect();
        assert_eq!(texts, ["0", "1", "2", "3", "4"]);
    });
}

/// What a call does is judged by what is known of the tool, not by what a hook says.
#[test]
fn the_intent_is_written_for_what_the_tool_is() {
    paused(async {
        let rig = Setup::trusting().build().await;
        for (tool, want) in
            [("s__look", Effect::ReadOnly), ("s__write", Effect::Mutating), ("s__delete", Effect::Destructive)]
        {
            let report = rig.call(tool, json!({})).await;
            assert_eq!(report.evidence.journaled, want != Effect::ReadOnly, "{tool}");
        }
    });
}
