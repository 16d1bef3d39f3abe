//! Eras, listings, last-known definitions, and what a call carries.

use std::{process::Command, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use toolcrib_core::{Source, SourceState};
use toolcrib_engine::{
    BoxFuture, CallContext, DefinitionStore, Hub, InvokeError, SourceOptions, StoreError, StoredDefinitions,
    hub::HubLimits,
};
use toolcrib_mcp::upstream::{Era, EraChoice, Upstream};

use crate::upstream::{MemoryStore, PATIENCE, Rig, fake};

/// A server of this kind ends up in this era, and serves.
#[track_caller]
fn settles(scenario: Value, choice: EraChoice, era: Era, restarts: u64) -> impl Future<Output = ()> {
    let mut settings = fake(&scenario);
    settings.era = choice;
    async move {
        let rig = Rig::start(settings);
        let entry = rig.ready().await;
        rig.works().await;
        let report = rig.report();
        assert_eq!((report.era, report.restarts), (Some(era), restarts), "{scenario}: {report:?}");
        assert_eq!(report.server_info.unwrap()["name"], "fake");
        assert_eq!(entry.instructions.as_deref(), Some("be nice"));
        rig.stop().await;
    }
}

#[tokio::test]
async fn the_era_is_found_out() {
    settles(json!({"era": "legacy"}), EraChoice::Auto, Era::Legacy, 0).await;
    settles(json!({"era": "both"}), EraChoice::Auto, Era::Modern, 0).await;
    settles(json!({"era": "modern"}), EraChoice::Auto, Era::Modern, 0).await;
    settles(json!({"era": "both"}), EraChoice::Legacy, Era::Legacy, 0).await;
    settles(json!({"era": "both"}), EraChoice::Modern, Era::Modern, 0).await;
}

#[tokio::test]
async fn a_legacy_server_that_cannot_stand_the_probe_works_all_the_same() {
    settles(json!({"probe": "late"}), EraChoice::Auto, Era::Legacy, 0).await;
    settles(json!({"probe": "hang"}), EraChoice::Auto, Era::Legacy, 0).await;
    settles(json!({"probe": "garbage"}), EraChoice::Auto, Era::Legacy, 0).await;
    settles(json!({"probe": "die"}), EraChoice::Auto, Era::Legacy, 1).await;
}

#[tokio::test]
async fn a_server_that_the_probe_makes_deaf_is_greeted_again() {
    let mut settings = fake(&json!({"probe": "deaf"}));
    settings.connect_timeout = Duration::from_millis(900);
    let rig = Rig::start(settings);
    rig.ready().await;
    rig.works().await;
    assert_eq!(rig.report().restarts, 1);
    rig.stop().await;
}

#[tokio::test]
async fn the_slow_start_of_a_modern_server_is_no_legacy_server() {
    settles(json!({"era": "modern", "startup": 600}), EraChoice::Auto, Era::Modern, 0).await;
}

#[tokio::test]
async fn any_older_legacy_version_is_accepted_and_no_unknown_one() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let rig = Rig::start(fake(&json!({"version": version})));
        rig.ready().await;
        assert_eq!(rig.report().version.as_deref(), Some(version));
        rig.stop().await;
    }
    let rig = Rig::start(fake(&json!({"version": "1999-01-01"})));
    assert!(rig.down().await.contains("version '1999-01-01', which is not supported"));
    rig.stop().await;
}

#[tokio::test]
async fn every_page_is_listed() {
    let rig = Rig::start(fake(&json!({"list": "pages"})));
    let paged: Vec<String> = rig.ready().await.tools.iter().map(|tool| tool.name().to_owned()).collect();
    let whole = Rig::start(fake(&json!({})));
    let names: Vec<String> = whole.ready().await.tools.iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(paged, names);
    assert!(paged.len() > 20);
    rig.stop().await;
    whole.stop().await;
}

/// OpenClaw cases 60, 62 and 63.
#[tokio::test]
async fn a_listing_is_all_or_nothing_and_the_connection_survives_a_bad_one() {
    for (how, reason) in [
        ("repeat", "repeats the cursor 'same'"),
        ("endless", "more than 20 pages"),
        ("many", "more than 1000 tools"),
        ("pages", "more than 300 bytes"),
        ("error", "no list today"),
        ("nolist", "no 'tools'"),
        ("huge", "larger than the limit"),
    ] {
        let mut settings = fake(&json!({"list": how}));
        settings.limits.pages = 20;
        settings.limits.tools = 1000;
        settings.limits.message_bytes = 8 * 1024 * 1024;
        if how == "huge" {
            settings.limits.message_bytes = 1024 * 1024;
        }
        if how == "pages" {
            settings.limits.listing_bytes = 300;
        }
        let rig = Rig::start(settings);
        let said = rig.down().await;
        assert!(said.contains(reason) && said.starts_with("connected, but"), "{how}: {said}");
        assert!(rig.entry().tools.is_empty(), "{how}");
        rig.works().await;
        assert_eq!(rig.report().restarts, 0, "{how}");
        rig.stop().await;
    }
}

/// OpenClaw case 58.
#[tokio::test]
async fn one_bad_tool_is_set_aside_alone() {
    let rig = Rig::start(fake(&json!({"list": "bad"})));
    let entry = rig.ready().await;
    assert_eq!(entry.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(entry.quarantined.len(), 4);
    rig.stop().await;
}

/// T15: a definition over the limit is set aside alone, with its size as the reason.
#[tokio::test]
async fn one_giant_tool_is_set_aside_alone() {
    let store = Arc::new(MemoryStore::default());
    let rig = Rig::with_store(fake(&json!({"list": "giant"})), Some(store.clone()));
    let entry = rig.ready().await;
    assert_eq!(entry.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["good"]);
    let [refused] = &*entry.quarantined else { panic!("{:?}", entry.quarantined) };
    assert_eq!(refused.name, "big");
    assert!(refused.reason.to_string().contains("too large: 3000"), "{}", refused.reason);
    // Nor is it kept.
    assert!(Value::from(store.kept.lock()["mcp:fake"].tools.clone()).to_string().len() < 1000);
    rig.stop().await;
}

/// A server with more tools than are served of one is served up to that number.
#[tokio::test]
async fn a_long_listing_is_cut_and_not_refused() {
    let hub = Hub::new(HubLimits { tools_per_source: 50, ..HubLimits::default() });
    let settings = fake(&json!({"list": "many", "count": 200}));
    let upstream = Upstream::spawn(settings, &hub, SourceOptions::default(), None, "print".to_owned());
    let rig = Rig { hub, upstream };
    let entry = rig.ready().await;
    assert_eq!((entry.tools.len(), entry.quarantined.len()), (50, 1));
    assert!(entry.quarantined[0].reason.to_string().contains("limits.tools_per_server"));
    rig.works().await;
    rig.stop().await;
}

/// Kills the child when its listing is kept, which is just before it is published.
struct Killer(watch::Receiver<Option<i64>>);

impl DefinitionStore for Killer {
    fn load<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Option<StoredDefinitions>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn save<'a>(&'a self, _: &'a str, _: StoredDefinitions) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let pid = self.0.clone().wait_for(Option::is_some).await.unwrap().unwrap();
            Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
            Ok(())
        })
    }

    fn forget<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

/// A publication that takes its time does not outlive the news that the server is gone.
#[tokio::test]
async fn a_dead_server_is_not_shown_as_ready() {
    let (tell, pid) = watch::channel(None);
    let mut settings = fake(&json!({"list": "many", "count": 5000}));
    settings.timing.backoff_min = Duration::from_mins(1);
    settings.timing.backoff_max = Duration::from_mins(1);
    let rig = Rig::with_store(settings, Some(Arc::new(Killer(pid))));
    tell.send_replace(Some(rig.pid().await));
    rig.down().await;
    // All of the publication came before.
    assert_eq!(rig.entry().tools.len(), 5000);
    rig.stop().await;
}

#[tokio::test]
async fn a_changed_list_is_listed_again_in_both_eras() {
    for era in ["legacy", "modern"] {
        let rig = Rig::start(fake(&json!({"era": era})));
        rig.ready().await;
        rig.call("add", json!({"name": "fresh"})).await.unwrap();
        rig.until("listed again", |entry| entry.tools.iter().any(|tool| tool.name() == "fresh")).await;
        rig.stop().await;
    }
}

#[tokio::test]
async fn last_known_definitions_are_listed_before_the_server_is_up() {
    let store = Arc::new(MemoryStore::default());
    let rig = Rig::with_store(fake(&json!({})), Some(store.clone()));
    rig.ready().await;
    rig.stop().await;
    let kept = store.kept.lock()["mcp:fake"].clone();
    assert_eq!((kept.fingerprint.as_str(), kept.instructions.as_deref()), ("print", Some("be nice")));

    // The next start, with a server that hangs: everything is there, marked as old.
    let rig = Rig::with_store(fake(&json!({"startup": "hang"})), Some(store.clone()));
    let entry = rig.until("stale", |entry| entry.stale && entry.state == SourceState::Starting).await;
    assert_eq!(entry.tools.len(), kept.tools.len());
    assert_eq!(entry.instructions.as_deref(), Some("be nice"));
    rig.stop().await;

    // Under another configuration they are not used.
    store.kept.lock().get_mut("mcp:fake").unwrap().fingerprint = "other".to_owned();
    let rig = Rig::with_store(fake(&json!({"startup": "exit"})), Some(store));
    rig.down().await;
    assert!(rig.entry().tools.is_empty());
    rig.stop().await;
}

#[tokio::test]
async fn a_lazy_server_starts_with_its_first_call() {
    let store = Arc::new(MemoryStore::default());
    let tools = vec![json!({"name": "echo", "inputSchema": {"type": "object"}})];
    let known = StoredDefinitions { fingerprint: "print".into(), tools, instructions: None, fetched_at_ms: 1 };
    store.kept.lock().insert(Source::Mcp("fake".into()).to_string(), known);
    let mut settings = fake(&json!({}));
    settings.lazy = true;
    let rig = Rig::with_store(settings, Some(store));
    rig.until("listed", |entry| entry.stale && entry.state == SourceState::Ready).await;
    assert_eq!(rig.report().pid, None);
    rig.works().await;
    assert!(rig.report().pid.is_some());
    rig.until("fresh", |entry| !entry.stale && entry.tools.len() > 1).await;
    rig.stop().await;
}

#[tokio::test]
async fn a_call_waits_for_a_server_that_is_still_starting() {
    let rig = Rig::start(fake(&json!({"startup": 300})));
    rig.works().await;
    rig.stop().await;

    let rig = Rig::start(fake(&json!({"startup": "hang"})));
    let error = rig.call_in("echo", json!({}), CallContext::new(1, Duration::from_millis(100))).await.unwrap_err();
    assert!(matches!(&error, InvokeError::Unavailable(text) if text.contains("still starting")), "{error:?}");
    rig.stop().await;
}

#[tokio::test]
async fn arguments_results_and_meta_pass_through() {
    for era in ["legacy", "modern"] {
        let rig = Rig::start(fake(&json!({"era": era})));
        let mut context = CallContext::new(1, PATIENCE);
        context.meta = Some(json!({"traceparent": "00-ab", "progressToken": "theirs"}));
        let arguments = json!({"n": 1.0, "deep": {"é": [null, "\u{1f600}"]}});
        let result = rig.call_in("echo", arguments.clone(), context).await.unwrap().to_value();
        assert_eq!(result["structuredContent"], arguments);
        assert_eq!(result["isError"], false);
        assert_eq!(result["_meta"]["seen"]["traceparent"], "00-ab");
        assert_eq!(result["_meta"]["seen"].get("progressToken"), None);
        assert_eq!(result.get("resultType"), None, "belongs to the hop");
        rig.stop().await;
    }
}

#[tokio::test]
async fn an_error_of_the_server_is_passed_on_as_it_is() {
    let rig = Rig::start(fake(&json!({})));
    let error = rig.call("fail", json!({})).await.unwrap_err();
    let InvokeError::Refused { code, message, data } = error else { panic!("{error:?}") };
    assert_eq!((code, message.as_str(), data), (-32000, "it is broken", Some(json!({"why": [1]}))));
    rig.works().await;
    rig.stop().await;
}

#[tokio::test]
async fn a_modern_server_that_asks_for_input_is_said_plainly() {
    let rig = Rig::start(fake(&json!({"era": "modern"})));
    let error = rig.call("input", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("asks for input"), "{error}");
    rig.works().await;
    rig.stop().await;
}

#[tokio::test]
async fn progress_reaches_its_caller_and_nobody_else() {
    for era in ["legacy", "modern"] {
        let rig = Rig::start(fake(&json!({"era": era})));
        let steps: Arc<Mutex<Vec<Value>>> = Arc::default();
        let sink = steps.clone();
        let mut context = CallContext::new(1, PATIENCE);
        context.progress = Some(Arc::new(move |step| sink.lock().push(step.params)));
        rig.call_in("progress", json!({"count": 3}), context).await.unwrap();
        rig.works().await;
        let steps = steps.lock().clone();
        assert_eq!(steps.len(), 3, "{steps:?}");
        assert_eq!(steps[1]["message"], "m1");
        assert_eq!(steps[1].get("progressToken"), None);
        // Without somebody who listens no token is sent.
        assert_eq!(rig.ask("progress", json!({"count": 0})).await, json!({"token": null}));
        rig.stop().await;
    }
}

#[tokio::test]
async fn a_server_may_ask_whether_we_are_there_and_nothing_else() {
    let rig = Rig::start(fake(&json!({})));
    let replies = rig.ask("ask", json!({})).await;
    assert_eq!(replies, json!({"s0": "ok", "s1": -32601, "s2": -32601, "s3": -32601}));
    rig.stop().await;
}

#[tokio::test]
async fn only_the_allowed_environment_reaches_a_child() {
    let rig = Rig::start(fake(&json!({})));
    let env = rig.ask("env", json!({})).await;
    let env = env.as_object().unwrap();
    assert_eq!(env["API_KEY"], "hunter2-secret");
    assert!(env.contains_key("PATH"));
    let strangers: Vec<_> =
        env.keys().filter(|name| name.starts_with("CARGO") || name.starts_with("NEXTEST")).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    rig.stop().await;
}

#[tokio::test]
async fn a_legacy_server_that_ignores_pings_is_replaced() {
    for (silent, restarted) in [(true, true), (false, false)] {
        let mut settings = fake(&json!({"silent_ping": silent}));
        settings.timing.keepalive = Some(Duration::from_millis(60));
        let rig = Rig::start(settings);
        rig.ready().await;
        if restarted {
            let reason = rig.down().await;
            assert!(reason.contains("does not answer pings"), "{reason}");
            rig.ready().await;
        } else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            rig.works().await;
            assert_eq!(rig.report().restarts, 0);
        }
        rig.stop().await;
    }
}
