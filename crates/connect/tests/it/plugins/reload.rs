//! Plugins that come, go and change while everything runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use toolcrib_engine::Outcome;

use super::rig::{Rig, mark, text, time_to_start, until};

#[tokio::test]
async fn what_did_not_change_is_not_touched() {
    let rig = Rig::plain();
    let (a, b) = (rig.plugin("a", &["echo"], &json!({})), rig.plugin("b", &["pid"], &json!({})));
    rig.apply(|_| {}).await;
    rig.until_ready("a").await;
    rig.until_ready("b").await;
    let pid = rig.ok("pid", json!({})).await;
    assert!(!rig.host.has_changed().await);
    // A changed manifest, a new plugin, one that is gone.
    let manifest = std::fs::read_to_string(a.join("plugin.toml")).unwrap();
    std::fs::write(a.join("plugin.toml"), manifest.replace("version = \"1\"", "version = \"2\"")).unwrap();
    rig.plugin("c", &["who"], &json!({}));
    assert!(rig.host.has_changed().await);
    rig.apply(|_| {}).await;
    assert_eq!(rig.names(), ["echo", "pid", "who"]);
    assert_eq!(rig.ok("pid", json!({})).await, pid, "the same process");
    assert_eq!(mark(&b, "started").lines().count(), 1);
    assert_eq!(rig.ok("echo", json!({})).await, "{}");
    assert_eq!(rig.report().await.plugins[0].version, "2");
    std::fs::remove_dir_all(&a).unwrap();
    rig.apply(|_| {}).await;
    assert_eq!(rig.names(), ["pid", "who"]);
    // A manifest that breaks takes its plugin away, and says so.
    std::fs::write(b.join("plugin.toml"), "id = ").unwrap();
    rig.apply(|_| {}).await;
    let report = rig.report().await;
    assert_eq!(rig.names(), ["who"]);
    assert!(report.refused[0].reason.contains("plugin.toml:1"), "{:?}", report.refused);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn new_settings_are_a_new_generation_of_one_plugin() {
    let rig = Rig::plain();
    rig.plugin("a", &["echo"], &json!({"prefix": "1 "}));
    let other = rig.plugin("b", &["pid"], &json!({}));
    rig.apply(|_| {}).await;
    assert_eq!(rig.ok("echo", json!({})).await, "1 {}");
    rig.apply(|settings| {
        settings.plugins.get_mut("a").unwrap().config.insert("prefix".to_owned(), json!("2 "));
    })
    .await;
    assert_eq!(rig.ok("echo", json!({})).await, "2 {}");
    rig.until_ready("b").await;
    assert_eq!(mark(&other, "started").lines().count(), 1);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn calls_under_way_end_in_the_generation_they_began_in() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["sleep", "pid"], &json!({}));
    rig.apply(|_| {}).await;
    rig.until_ready("p").await;
    let before = rig.ok("pid", json!({})).await;
    let arguments = json!({"ms": 700});
    let slow = rig.call("sleep", &arguments);
    let (slow, after) = tokio::join!(slow, async {
        until("it is under way", || mark(&folder, "called").contains("sleep")).await;
        rig.apply(|settings| settings.plugins.get_mut("p").unwrap().config.extend([("x".to_owned(), json!(1))])).await;
        rig.ok("pid", json!({})).await
    });
    assert_eq!((slow.outcome, text(&slow).as_str()), (Outcome::Ok, "slept 700"));
    assert_ne!(before, after);
    // The old process is let go when its last call has ended.
    until("it has ended", || !mark(&folder, "ended").is_empty()).await;
    rig.host.shutdown().await;
}

#[tokio::test]
async fn reloads_under_load_lose_no_call() {
    let rig = Arc::new(Rig::plain());
    rig.plugin("p", &["echo"], &json!({"prefix": "0 "}));
    rig.apply(|_| {}).await;
    rig.until_ready("p").await;
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let (rig, stop) = (rig.clone(), stop.clone());
            tokio::spawn(async move {
                let (mut ended, mut stale) = (0_u32, 0_u32);
                while !stop.load(Ordering::SeqCst) {
                    // Other arguments each time: many equal calls in a row would be remarked upon.
                    let report = rig.call("echo", &json!({"worker": worker, "call": ended})).await;
                    let text = text(&report);
                    match report.outcome {
                        Outcome::Ok => assert!(text.contains(&format!("\"worker\":{worker}")), "{text}"),
                        Outcome::ToolError if text.contains("no longer active") => stale += 1,
                        other => panic!("{other:?}: {text}"),
                    }
                    ended += 1;
                }
                (ended, stale)
            })
        })
        .collect();
    for round in 1..=5 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let prefix = json!(format!("{round} "));
        rig.apply(|settings| settings.plugins.get_mut("p").unwrap().config.extend([("prefix".to_owned(), prefix)]))
            .await;
        // A call made after the reload is answered by the new generation.
        let said = rig.ok("echo", json!({})).await;
        assert_eq!(said, format!("{round} {{}}"));
    }
    stop.store(true, Ordering::SeqCst);
    let (mut all, mut stale) = (0, 0);
    for worker in workers {
        let (ended, old) = worker.await.unwrap();
        (all, stale) = (all + ended, stale + old);
    }
    assert!(all > 40 && stale * 10 < all, "{stale} of {all}");
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_denied_plugin_is_never_started_seen_from_outside() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["echo"], &json!({}));
    rig.policy(None, &["plugin:p"]).await;
    rig.apply(|_| {}).await;
    rig.host.refresh().await;
    assert!(rig.state("p").await.reason().is_some_and(|reason| reason.contains("global stage")));
    assert_eq!(rig.call("echo", &json!({})).await.outcome, Outcome::Invalid);
    time_to_start().await;
    assert_eq!(mark(&folder, "started"), "");
    // Allowed, it starts; denied again, it ends, and its tools with it.
    rig.policy(None, &[]).await;
    rig.until_ready("p").await;
    rig.policy(None, &["echo"]).await;
    until("it ends", || !mark(&folder, "ended").is_empty()).await;
    assert_eq!(mark(&folder, "started").lines().count(), 1);
    assert!(rig.names().is_empty());
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_host_that_was_shut_down_starts_nothing() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["echo"], &json!({}));
    rig.apply(|_| {}).await;
    rig.until_ready("p").await;
    rig.host.shutdown().await;
    rig.apply(|settings| settings.plugins.get_mut("p").unwrap().config.extend([("x".to_owned(), json!(1))])).await;
    let report = rig.call("echo", &json!({})).await;
    assert!(text(&report).contains("no longer active"), "{}", text(&report));
    time_to_start().await;
    assert_eq!(mark(&folder, "started").lines().count(), 1);
}
