//! Processes that speak the line protocol, well and badly, as calls see them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use tokio::time::Instant;
use toolcrib_connect::plugins::{Limits, PluginState};
use toolcrib_core::{Scope, Source, ToolId};
use toolcrib_engine::{CallContext, CallRequest, Door, Invocation, Outcome, Progress};

use super::rig::{Rig, mark, text, until};

const ALL: [&str; 14] = [
    "echo",
    "who",
    "pid",
    "fail",
    "sleep",
    "crash",
    "unreadable",
    "huge",
    "twice",
    "grow",
    "log",
    "env",
    "hang",
    "extra",
];

async fn running(config: serde_json::Value) -> (Rig, std::path::PathBuf) {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &ALL, &config);
    rig.apply(|_| {}).await;
    (rig, folder)
}

#[tokio::test]
async fn calls_are_answered_and_failures_are_the_tools_own() {
    let (rig, _) = running(json!({"prefix": "> "})).await;
    assert_eq!(rig.ok("echo", json!({"n": 1})).await, "> {\"n\":1}");
    let failed = rig.call("fail", &json!({})).await;
    assert_eq!((failed.outcome, text(&failed)), (Outcome::ToolError, "there is no such place".to_owned()));
    assert_eq!(rig.ok("log", json!({})).await, "logged");
    rig.host.shutdown().await;
}

#[tokio::test]
async fn many_calls_are_under_way_at_a_time() {
    let (rig, _) = running(json!({})).await;
    rig.until_ready("p").await;
    let began = Instant::now();
    let calls = (0..20_u64).map(|n| rig.ok("sleep", json!({"ms": 400 - n * 10})));
    let ended = futures_util::future::join_all(calls).await;
    assert_eq!(ended[19], "slept 210");
    assert!(began.elapsed() < Duration::from_secs(4), "one after the other they would take 6 s");
    rig.host.shutdown().await;
}

#[tokio::test]
async fn more_calls_than_the_bound_are_refused_at_once() {
    let (rig, _) = running(json!({})).await;
    rig.apply(|settings| settings.limits = Limits { in_flight: 2, ..Limits::default() }).await;
    rig.until_ready("p").await;
    let args = json!({"ms": 300});
    let (a, b, c) = tokio::join!(rig.call("sleep", &args), rig.call("sleep", &args), rig.call("sleep", &args));
    let mut outcomes = [a.outcome, b.outcome, c.outcome];
    outcomes.sort_by_key(|outcome| outcome.word());
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::Unavailable]);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn progress_reaches_whoever_asked_for_it() {
    let (rig, _) = running(json!({})).await;
    let seen: Arc<Mutex<Vec<serde_json::Value>>> = Arc::default();
    let arguments = serde_json::value::to_raw_value(&json!({"ms": 50})).unwrap();
    let mut request = CallRequest::new("sleep", Some(arguments), Scope::default(), Door::Library);
    let sink = seen.clone();
    request.progress = Some(Arc::new(move |step: Progress| sink.lock().unwrap().push(step.params)));
    assert_eq!(rig.engine.call_report(request).await.outcome, Outcome::Ok);
    assert_eq!(*seen.lock().unwrap(), [json!({"progress": 0.5, "total": 1.0, "message": "half"})]);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_cancelled_call_and_one_whose_time_is_up_are_told_to_the_process() {
    let (rig, folder) = running(json!({})).await;
    rig.until_ready("p").await;
    let request = CallRequest::new("hang", None, Scope::default(), Door::Library);
    let cancel = request.cancel.clone();
    let call = rig.engine.call_report(request);
    let (report, ()) = tokio::join!(call, async {
        until("it was called", || mark(&folder, "called").contains("hang")).await;
        cancel.cancel();
    });
    assert_eq!(report.outcome, Outcome::Cancelled);
    until("it was told", || mark(&folder, "cancelled") == "1\n").await;
    let mut request = CallRequest::new("hang", None, Scope::default(), Door::Library);
    request.timeout = Some(Duration::from_millis(200));
    assert_eq!(rig.engine.call_report(request).await.outcome, Outcome::TimedOut);
    until("it was told", || mark(&folder, "cancelled") == "1\n2\n").await;
    // It goes on being of use.
    assert_eq!(rig.ok("echo", json!({})).await, "{}");
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_crash_ends_its_calls_as_unknown_and_it_comes_back() {
    let (rig, folder) = running(json!({})).await;
    rig.until_ready("p").await;
    let long = json!({"ms": 60_000});
    let (sleeping, crashed) = tokio::join!(rig.call("sleep", &long), async {
        until("both are there", || mark(&folder, "called").contains("sleep")).await;
        rig.call("crash", &json!({})).await
    });
    // Neither had ended, and whether they did something is not known.
    assert_eq!(sleeping.outcome, Outcome::Unknown, "{}", text(&sleeping));
    assert_eq!(crashed.outcome, Outcome::Unknown, "{}", text(&crashed));
    assert!(text(&crashed).contains("exited with status 7"), "{}", text(&crashed));
    // The next call waits for it, and was never sent before.
    assert_eq!(rig.ok("echo", json!({})).await, "{}");
    assert_eq!(mark(&folder, "called").matches("crash").count(), 1, "nothing is sent twice");
    assert_eq!(mark(&folder, "started").lines().count(), 2);
    assert_eq!(rig.report().await.plugins[0].vitals.restarts, 1);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn one_that_never_comes_up_rests_and_says_why() {
    let (rig, folder) = running(json!({"die": true, "stderr": "I need a license"})).await;
    rig.until_state("p", |state| state.reason().is_some_and(|reason| reason.contains("3 times in a row"))).await;
    let reason = rig.state("p").await.reason().unwrap().to_owned();
    assert!(
        reason.contains("exited with status 3") && reason.contains("the last it said: I need a license"),
        "{reason}"
    );
    let starts = mark(&folder, "started").lines().count();
    let report = rig.call("echo", &json!({})).await;
    assert_eq!(report.outcome, Outcome::Unavailable, "{}", text(&report));
    assert_eq!((mark(&folder, "started").lines().count(), starts), (3, 3), "a call does not wake one that rests");
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["echo"], &json!({}));
    let manifest = std::fs::read_to_string(folder.join("plugin.toml")).unwrap();
    let program = env!("CARGO_BIN_EXE_toolcrib-connect-plugin");
    std::fs::write(folder.join("plugin.toml"), manifest.replace(program, "./gone.py")).unwrap();
    rig.apply(|_| {}).await;
    rig.until_state("p", |state| {
        state.reason().is_some_and(|reason| reason.contains("there is no") && reason.contains("gone.py"))
    })
    .await;
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_slow_start_holds_up_its_own_calls_only() {
    let rig = Rig::plain();
    rig.plugin("quick", &["echo"], &json!({}));
    rig.plugin("slow", &["pid"], &json!({"slow_ms": 1200}));
    let began = Instant::now();
    rig.apply(|_| {}).await;
    assert_eq!(rig.names(), ["echo", "pid"], "what is declared is there at once");
    assert_eq!(rig.ok("echo", json!({})).await, "{}");
    assert!(began.elapsed() < Duration::from_millis(1100));
    assert_eq!(rig.state("slow").await, PluginState::Starting);
    rig.ok("pid", json!({})).await;
    assert!(began.elapsed() >= Duration::from_millis(1200));
    let findings = rig.findings("slow").await;
    assert!(findings[0].contains("s to say what it offers"), "{findings:?}");
    rig.host.shutdown().await;
}

#[tokio::test]
async fn one_that_says_nothing_is_given_up_with_what_it_said_instead() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["echo"], &json!({"mute": true, "noise": ["Listening on port 80"]}));
    let manifest = std::fs::read_to_string(folder.join("plugin.toml")).unwrap();
    std::fs::write(folder.join("plugin.toml"), manifest.replace("5000", "300")).unwrap();
    rig.apply(|_| {}).await;
    rig.until_state("p", |state| {
        state.reason().is_some_and(|reason| {
            reason.contains("did not say what it offers") && reason.contains("Listening on port 80")
        })
    })
    .await;
    let report = rig.call("echo", &json!({})).await;
    assert_eq!(report.outcome, Outcome::Unavailable, "{}", text(&report));
    rig.host.shutdown().await;
}

#[tokio::test]
async fn another_version_of_the_protocol_is_told() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["echo"], &json!({"protocol": 2}));
    let manifest = std::fs::read_to_string(folder.join("plugin.toml")).unwrap();
    std::fs::write(folder.join("plugin.toml"), manifest.replace("5000", "300")).unwrap();
    rig.apply(|_| {}).await;
    rig.until_state("p", |state| state.reason().is_some_and(|reason| reason.contains("speaks version 2"))).await;
    rig.host.shutdown().await;
}

#[tokio::test]
async fn lines_that_are_no_frames_are_passed_over_and_told_once() {
    let noise = ["Listening on port 80", "Listening on port 80", "{\"type\":\"ready\"}", "{}"];
    let (rig, _) = running(json!({"noise": noise})).await;
    rig.until_ready("p").await;
    assert_eq!(rig.ok("echo", json!({})).await, "{}");
    let findings = rig.findings("p").await;
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(findings[0].contains("'Listening on port 80' is not a JSON object with a type"), "{findings:?}");
    assert_eq!(rig.report().await.plugins[0].vitals.bad_lines, 4);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn one_that_only_talks_nonsense_is_ended() {
    let noise: Vec<String> = (0..30).map(|n| format!("line {n}")).collect();
    let rig = Rig::plain();
    rig.plugin("p", &["echo"], &json!({"noise": noise}));
    rig.apply(|settings| settings.limits = Limits { bad_lines: 20, ..Limits::default() }).await;
    rig.until_state("p", |state| state.reason().is_some_and(|reason| reason.contains("does not speak the protocol")))
        .await;
    rig.host.shutdown().await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_or_is_too_long_costs_one_call() {
    let (rig, _) = running(json!({})).await;
    rig.apply(|settings| settings.limits = Limits { frame_bytes: 10_000, ..Limits::default() }).await;
    let unreadable = rig.call("unreadable", &json!({})).await;
    assert!(text(&unreadable).contains("unknown field `more`"), "{}", text(&unreadable));
    assert!(!matches!(unreadable.outcome, Outcome::Ok | Outcome::Unavailable), "it did run");
    let huge = rig.call("huge", &json!({"bytes": 50_000})).await;
    assert!(text(&huge).contains("at most 10000 are taken"), "{}", text(&huge));
    assert_eq!(rig.ok("huge", json!({"bytes": 9_000})).await.len(), 9_000);
    // The second answer to a call is passed over, and one to a call that never was is told.
    assert_eq!(rig.ok("twice", json!({})).await, "first");
    until("it is told", || {
        futures_util::FutureExt::now_or_never(rig.findings("p"))
            .is_some_and(|found| found.iter().any(|text| text.contains("999999")))
    })
    .await;
    assert_eq!(
        mark(&rig.root.path().join("p"), "started").lines().count(),
        2,
        "once before and once after the new bound"
    );
    rig.host.shutdown().await;
}

#[tokio::test]
async fn what_it_offers_may_change_while_it_runs() {
    let later = json!([{"name": "grow"}, {"name": "echo", "description": "Says it again"}]);
    let (rig, _) = running(json!({"offers": ["grow"], "later": later})).await;
    rig.until_ready("p").await;
    assert_eq!(rig.names(), ["grow"]);
    assert_eq!(rig.ok("grow", json!({})).await, "grown");
    until("the other tool is there", || rig.names() == ["echo", "grow"]).await;
    let catalog = rig.engine.hub().catalog();
    assert!(catalog.tools().any(|tool| tool.description() == "Says it again"));
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_sub_agent_reaches_its_parents_plugin_and_never_more() {
    // openclaw §1.7: the same process, which is told for whom it works.
    let (rig, _) = running(json!({"offers": ["who", "pid"]})).await;
    rig.until_ready("p").await;
    let parent = Arc::new(Scope { agent: Some("chief".into()), user: Some("ann".into()), ..Scope::default() });
    let child = parent.child(Some("worker".to_owned()));
    let ask = async |name: &str, scope: &Scope| {
        text(&rig.engine.call_report(CallRequest::new(name, None, scope.clone(), Door::Library)).await)
    };
    assert_eq!(ask("pid", &parent).await, ask("pid", &child).await);
    assert_eq!(ask("who", &child).await, r#"{"user":"ann","agent":"worker","parents":["chief"]}"#);
    let grandchild = Arc::new(child).child(None);
    assert_eq!(ask("who", &grandchild).await, r#"{"user":"ann","parents":["worker","chief"]}"#);
    rig.host.shutdown().await;
}

fn alive(pid: &str) -> bool {
    let pid = pid.trim();
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie is gone for our purposes.
    !pid.is_empty() && !state.is_empty() && !state.contains(") Z ")
}

#[tokio::test]
async fn its_whole_process_tree_ends_with_it() {
    for guard in [None, Some(env!("CARGO_BIN_EXE_toolcrib-connect-guard").into())] {
        let rig = Rig::plain();
        let folder = rig.plugin("p", &["echo"], &json!({"child": "sleep 600", "stubborn": true}));
        rig.apply(|settings| settings.guard = guard).await;
        rig.until_ready("p").await;
        let pids = [mark(&folder, "started"), mark(&folder, "child")];
        assert!(pids.iter().all(|pid| alive(pid)), "{pids:?}");
        rig.host.shutdown().await;
        assert_eq!(mark(&folder, "ended"), "by the end of its input\n", "it was asked before it was made to");
        until("both are gone", || !pids.iter().any(|pid| alive(pid))).await;
    }
}

#[tokio::test]
async fn arguments_are_never_held_to_a_schema_that_was_guessed() {
    // The manifest says nothing of arguments, and the call comes before the plugin has: it waits.
    let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let config = json!({"slow_ms": 300, "offers": [{"name": "echo", "inputSchema": schema}]});
    let (rig, folder) = running(config.clone()).await;
    let early = rig.call("echo", &json!({"m": 1})).await;
    assert_eq!(early.outcome, Outcome::Invalid, "{}", text(&early));
    assert_eq!(mark(&folder, "called"), "");
    assert_eq!(rig.ok("echo", json!({"n": 1})).await, "{\"n\":1}");
    // Whoever runs the definition of before, past the call path, is told.
    let (rig, folder) = running(config).await;
    let id = ToolId::new(Source::Plugin("p".into()), "echo");
    let (held, backend) = (rig.engine.hub().catalog().get(&id).cloned(), rig.engine.hub().backend(&id.source));
    let arguments = serde_json::value::to_raw_value(&json!({"m": 1})).unwrap();
    let context = CallContext::new(1, Duration::from_secs(5));
    let invocation = Invocation { tool: &held.unwrap(), arguments: &arguments, context: &context };
    let told = backend.unwrap().invoke(invocation).await.unwrap();
    assert!(told.is_error() && told.to_text().contains("no longer active"), "{}", told.to_text());
    assert_eq!(mark(&folder, "called"), "");
    // One that says nothing either takes what it is given, also at once.
    let (rig, _) = running(json!({"slow_ms": 300, "offers": ["echo"]})).await;
    assert_eq!(rig.ok("echo", json!({"m": 1})).await, "{\"m\":1}");
    rig.host.shutdown().await;
}
