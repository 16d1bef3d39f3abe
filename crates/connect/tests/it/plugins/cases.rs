//! The cases of the reference on resolution (openclaw §5.1), by number. Factories, because those can be counted from within;
//! the same host starts processes (`lines`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toolcrib_connect::plugins::{IdPatterns, PluginState};
use toolcrib_core::{Scope, Source, ToolId};
use toolcrib_engine::{Backend, CallContext, Invocation, Outcome};

use super::rig::{Counting, Making, Rig, manifest, mark, text, time_to_start, tool};

/// A host with one plugin `labs` that has these tools.
async fn labs(tables: &str, names: &[&str]) -> (Rig, Arc<Counting>) {
    let factory = Counting::of(names);
    let rig =
        Rig::new(&["read_file"], |builder| builder.embed(manifest("labs", tables)).factory("labs", factory.clone()));
    rig.apply(|_| {}).await;
    (rig, factory)
}

#[tokio::test]
async fn plugins_that_are_off_are_not_looked_for() {
    // Case 1. The folder does not exist, and nobody notices.
    let factory = Counting::of(&["draw"]);
    let rig =
        Rig::new(&[], |builder| builder.embed(manifest("labs", &tool("draw", ""))).factory("labs", factory.clone()));
    rig.apply(|settings| {
        settings.enabled = false;
        settings.folders = vec!["/no/such/folder".into()];
    })
    .await;
    let report = rig.report().await;
    assert!(report.plugins.is_empty() && report.findings.is_empty() && rig.names().is_empty());
    time_to_start().await;
    assert_eq!(factory.made(), 0);
    assert!(!rig.host.has_changed().await);
    // Switched on, the same folder is missed, and the plugin is there.
    rig.apply(|settings| settings.enabled = true).await;
    rig.until_ready("labs").await;
    assert_eq!((rig.names(), rig.report().await.findings.len()), (vec!["draw".to_owned()], 1));
    // And off again.
    rig.apply(|settings| settings.enabled = false).await;
    assert!(
        rig.names().is_empty() && !rig.engine.hub().catalog().sources().contains_key(&Source::Plugin("labs".into()))
    );
}

#[tokio::test]
async fn a_declared_tool_is_there_without_any_list() {
    // Case 2.
    let (rig, factory) = labs(&tool("draw", ""), &["draw"]).await;
    rig.until_ready("labs").await;
    assert_eq!(rig.names(), ["draw", "read_file"]);
    assert_eq!(rig.ok("draw", json!({})).await, "made");
    assert_eq!(factory.made(), 1);
}

#[tokio::test]
async fn optional_tools_want_to_be_named() {
    // Case 3: nobody names them, and nothing runs.
    let (rig, factory) = labs(&tool("draw", "optional = true"), &["draw"]).await;
    assert_eq!(rig.names(), ["read_file"]);
    assert!(matches!(rig.state("labs").await, PluginState::Unseen { reason } if reason.contains("it is optional")));
    time_to_start().await;
    assert_eq!(factory.made(), 0);
    // Case 4: by name, by the plugin's id, by group, by everything; a name of somebody else does not do.
    for (index, names) in
        [["draw"], ["labs"], ["plugin:labs"], ["group:plugins"], ["*"], ["plugin:labs/draw"]].iter().enumerate()
    {
        rig.policy(Some(names), &[]).await;
        rig.until_ready("labs").await;
        assert!(rig.names().contains(&"draw".to_owned()), "{names:?}");
        assert_eq!(factory.made(), index + 1, "one start for each time it is seen");
        rig.policy(Some(&["read_file"]), &[]).await;
        assert!(!rig.names().contains(&"draw".to_owned()));
        assert!(matches!(rig.state("labs").await, PluginState::Unseen { .. }));
    }
}

#[tokio::test]
async fn a_glob_names_optional_tools_without_regard_to_case() {
    // Case 5.
    let (rig, _) = labs(&tool("bridge__search", "optional = true"), &["bridge__search"]).await;
    rig.policy(Some(&["BRIDGE__*"]), &[]).await;
    assert_eq!(rig.names(), ["bridge__search"]);
}

#[tokio::test]
async fn a_grant_is_for_one_plugin_and_loses_to_a_denial() {
    let (one, other) = (Counting::of(&["x"]), Counting::of(&["x"]));
    let optional = tool("x", "optional = true");
    let rig = Rig::new(&[], |builder| {
        let builder = builder.embed(manifest("one", &optional)).embed(manifest("other", &optional));
        builder.factory("one", one.clone()).factory("other", other.clone())
    });
    rig.apply(|_| {}).await;
    let id = ToolId::new(Source::Plugin("other".into()), "x");
    let granted = Scope { grants: [id.clone()].into(), ..Scope::default() };
    // Case 6: the other one's, although the first has the same name.
    let view = rig.engine.view(&granted).unwrap();
    let map: Vec<_> = view.set.name_map().iter().map(|(name, id)| (name.to_owned(), id.clone())).collect();
    assert_eq!(map, [("x".to_owned(), id)]);
    // Nobody was known to see it when the host looked, so it starts when it is called.
    time_to_start().await;
    assert_eq!((one.made(), other.made()), (0, 0));
    let request = toolcrib_engine::CallRequest::new("x", None, granted.clone(), toolcrib_engine::Door::Library);
    assert_eq!(text(&rig.engine.call_report(request).await), "made");
    assert_eq!((one.made(), other.made()), (0, 1));
    // Case 7: and a denial takes it away again.
    rig.policy(None, &["plugin:other"]).await;
    assert!(rig.names_for(&granted).is_empty());
}

#[tokio::test]
async fn an_id_that_is_taken_is_refused_and_both_are_named() {
    // Case 8, and the same for servers and for two plugins; the case of letters and the sort of dashes do not count.
    let rig = Rig::new(&["read_file"], |builder| builder);
    for id in ["read-file", "git_hub", "twin"] {
        rig.plugin(id, &["echo"], &json!({}));
    }
    let second = rig.root.path().join("zz-copy");
    std::fs::create_dir(&second).unwrap();
    std::fs::copy(rig.root.path().join("twin/plugin.toml"), second.join("plugin.toml")).unwrap();
    rig.apply(|settings| {
        settings.reserved.insert("Git-Hub".to_owned(), "the MCP server 'Git-Hub'".to_owned());
    })
    .await;
    let report = rig.report().await;
    let reasons: Vec<&str> = report.refused.iter().map(|refused| &*refused.reason).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    for (reason, parts) in reasons.iter().zip([
        ["plugin 'git_hub'", "the MCP server 'Git-Hub'"],
        ["plugin 'read-file'", "the built-in tool 'read_file'"],
        ["zz-copy", "is taken by plugin 'twin' in"],
    ]) {
        assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
    }
    assert_eq!(report.plugins.iter().map(|plugin| &*plugin.id).collect::<Vec<_>>(), ["twin"]);
    assert!(rig.names().contains(&"echo".to_owned()));
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_plugin_may_have_a_tool_of_its_own_name() {
    // openclaw §1.1, stage 4.
    let (rig, _) = labs(&tool("labs", ""), &["labs"]).await;
    rig.until_ready("labs").await;
    assert_eq!(rig.names(), ["labs", "read_file"]);
}

#[tokio::test]
async fn a_built_in_tool_keeps_its_name_and_siblings_stay() {
    // Case 10; explained rather than logged, so that there is nothing to suppress (case 11).
    let (rig, _) = labs(&(tool("read_file", "") + &tool("other", "")), &["read_file", "other"]).await;
    rig.until_ready("labs").await;
    assert_eq!(rig.names(), ["other", "read_file"]);
    assert_eq!(rig.ok("read_file", json!({})).await, "built in");
    let told = rig.engine.explain(&Scope::default(), "plugin:labs/read_file").unwrap();
    assert!(told[0].sentence().contains("builtin/read_file has the name"), "{}", told[0].sentence());
    // A plugin of which that leaves nothing is not started.
    let (rig, factory) = labs(&tool("read_file", ""), &["read_file"]).await;
    assert!(matches!(rig.state("labs").await, PluginState::Unseen { reason } if reason.contains("builtin/read_file")));
    time_to_start().await;
    assert_eq!(factory.made(), 0);
}

#[tokio::test]
async fn of_two_plugins_the_first_by_id_has_the_name_whoever_is_ready_first() {
    // Case 12, the first one slow, then away, then both again. The one without a name of its own is not even started.
    let rig = Rig::plain();
    rig.plugin("alpha", &["echo"], &json!({"slow_ms": 300, "prefix": "alpha "}));
    let beta = rig.plugin("beta", &["echo"], &json!({"prefix": "beta "}));
    rig.apply(|_| {}).await;
    assert_eq!(rig.ok("echo", json!({})).await, "alpha {}", "the call waits for its plugin");
    assert!(
        rig.state("beta").await.reason().is_some_and(|reason| reason.contains("plugin:alpha/echo has the name echo"))
    );
    assert_eq!(mark(&beta, "started"), "");
    rig.apply(|settings| settings.deny = IdPatterns::new(["alpha".to_owned()]).unwrap()).await;
    assert_eq!(rig.ok("echo", json!({})).await, "beta {}");
    rig.apply(|settings| settings.deny = IdPatterns::default()).await;
    assert_eq!(rig.ok("echo", json!({})).await, "alpha {}");
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_factory_that_fails_costs_its_own_plugin_only() {
    // Case 13, in all its ways.
    let good = Counting::of(&["good"]);
    let rig = Rig::new(&[], |builder| {
        let builder = builder.embed(manifest("good", &tool("good", ""))).factory("good", good.clone());
        let bad = [("fails", Making::Fails), ("hangs", Making::Hangs), ("panics", Making::Panics)];
        bad.into_iter().fold(builder, |builder, (name, making)| {
            builder.embed(manifest(name, &tool(name, ""))).factory(name, Counting::new(making))
        })
    });
    rig.apply(|_| {}).await;
    rig.until_ready("good").await;
    assert_eq!(rig.ok("good", json!({})).await, "made");
    for (id, reason) in [
        ("fails", "its factory failed: no luck"),
        ("hangs", "did not end within 0.3 s"),
        ("panics", "its factory panicked"),
    ] {
        rig.until_state(id, |state| state.reason().is_some_and(|text| text.contains(reason))).await;
        let report = rig.call(id, &json!({})).await;
        assert_eq!(report.outcome, Outcome::Unavailable, "{}", text(&report));
        assert!(text(&report).contains(reason), "{}", text(&report));
    }
}

#[tokio::test]
async fn a_factory_that_nobody_registered_is_told() {
    let rig = Rig::new(&[], |builder| builder.embed(manifest("lost", &tool("x", ""))));
    rig.apply(|_| {}).await;
    rig.until_state("lost", |state| {
        state.reason().is_some_and(|text| text.contains("no factory is registered as 'lost'"))
    })
    .await;
}

#[tokio::test]
async fn a_factory_may_opt_out() {
    // Case 14: nothing, and no finding.
    let factory = Counting::new(Making::Nothing);
    let rig = Rig::new(&[], |builder| builder.embed(manifest("shy", &tool("x", ""))).factory("shy", factory.clone()));
    rig.apply(|_| {}).await;
    rig.until_state("shy", |state| *state == PluginState::OptedOut).await;
    assert!(rig.names().is_empty() && rig.findings("shy").await.is_empty());
    rig.host.refresh().await;
    assert!(rig.names().is_empty(), "also after another look");
}

#[tokio::test]
async fn each_tool_is_checked_alone() {
    // Case 15.
    let offered = vec![
        json!({"name": "a"}),
        json!({"description": "nameless"}),
        json!({"name": "bad", "inputSchema": {"type": "string"}}),
        json!({"name": "b"}),
    ];
    let factory = Counting::new(Making::Tools(offered));
    let tables = tool("a", "") + &tool("bad", "") + &tool("b", "");
    let rig = Rig::new(&[], |builder| builder.embed(manifest("labs", &tables)).factory("labs", factory.clone()));
    rig.apply(|_| {}).await;
    rig.until_ready("labs").await;
    assert_eq!(rig.names(), ["a", "b"]);
    assert_eq!(rig.findings("labs").await, ["1 of its 4 definitions have no name and are dropped"]);
    let told = rig.engine.explain(&Scope::default(), "plugin:labs/bad").unwrap();
    assert!(told[0].sentence().contains("its root type is \"string\""), "{}", told[0].sentence());
}

#[tokio::test]
async fn what_is_declared_and_not_offered_or_offered_and_not_declared_is_not_served() {
    // openclaw §1.1, stage 6: names are compared exactly.
    let (rig, _) = labs(&(tool("draw", "") + &tool("paint", "")), &["draw", "Paint", "erase"]).await;
    rig.until_ready("labs").await;
    assert_eq!(rig.names(), ["draw", "read_file"]);
    let told = rig.engine.explain(&Scope::default(), "plugin:labs/paint").unwrap();
    assert!(told[0].sentence().contains("its plugin declares it and does not offer it"), "{}", told[0].sentence());
    let findings = rig.findings("labs").await;
    assert!(
        findings[0].ends_with("dropped: Paint, erase") && findings[1].ends_with("does not offer: paint"),
        "{findings:?}"
    );
}

#[tokio::test]
async fn a_tool_may_need_something_of_the_client() {
    // Case 17. Nobody the host was told of has it, so the plugin is not started before somebody comes who does.
    let (rig, factory) = labs(&tool("map", "requires = { capabilities = [\"maps\"] }"), &["map"]).await;
    time_to_start().await;
    assert_eq!((rig.names(), factory.made()), (vec!["read_file".to_owned()], 0));
    let able = Scope { capabilities: ["maps".to_owned()].into(), ..Scope::default() };
    assert_eq!(rig.names_for(&able), ["map", "read_file"]);
    let told = rig.engine.explain(&Scope::default(), "plugin:labs/map").unwrap();
    assert!(told[0].sentence().contains("it needs the client capability 'maps'"), "{}", told[0].sentence());
}

#[tokio::test]
async fn a_credential_that_comes_and_goes_takes_its_tools_along() {
    // Case 18.
    let there = Arc::new(AtomicBool::new(true));
    let (probe, factory) = (there.clone(), Counting::of(&["draw"]));
    let rig = Rig::new(&[], |builder| {
        let builder = builder.embed(manifest("labs", &tool("draw", "requires = { auth = [\"service\"] }")));
        let probe =
            Arc::new(move |id: &str, name: &str| (id, name) == ("labs", "service") && probe.load(Ordering::SeqCst));
        builder.factory("labs", factory.clone()).auth(probe)
    });
    rig.apply(|_| {}).await;
    for (known, names) in [(true, vec!["draw"]), (false, vec![]), (true, vec!["draw"])] {
        there.store(known, Ordering::SeqCst);
        rig.host.refresh().await;
        assert_eq!(rig.names(), names);
    }
    there.store(false, Ordering::SeqCst);
    rig.host.refresh().await;
    let told = rig.engine.explain(&Scope::default(), "plugin:labs/draw").unwrap();
    let sentence = told[0].sentence();
    assert!(
        sentence.contains("needs the credential 'service'") && sentence.contains("plugins.settings.labs.auth.service"),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_tool_from_before_a_reload_is_no_longer_active() {
    // Case 19: also when the plugin is the same as before.
    let (rig, factory) = labs(&tool("draw", ""), &["draw"]).await;
    rig.until_ready("labs").await;
    let source = Source::Plugin("labs".into());
    let held = rig.engine.hub().catalog().get(&ToolId::new(source.clone(), "draw")).cloned().unwrap();
    let invoke = async |backend: &Arc<dyn Backend>| {
        let arguments = serde_json::value::to_raw_value(&json!({})).unwrap();
        let context = CallContext::new(1, std::time::Duration::from_secs(5));
        backend.invoke(Invocation { tool: &held, arguments: &arguments, context: &context }).await.unwrap()
    };
    let before = rig.engine.hub().backend(&source).unwrap();
    assert_eq!(invoke(&before).await.to_text(), "made");
    rig.apply(|settings| settings.enabled = false).await;
    assert!(invoke(&before).await.to_text().contains("no longer active"));
    rig.apply(|settings| settings.enabled = true).await;
    rig.until_ready("labs").await;
    let now = rig.engine.hub().backend(&source).unwrap();
    for backend in [&before, &now] {
        let result = invoke(backend).await;
        assert!(result.is_error() && result.to_text().contains("no longer active"), "{}", result.to_text());
    }
    assert_eq!((rig.ok("draw", json!({})).await, factory.made()), ("made".to_owned(), 2));
}

#[tokio::test]
async fn a_denied_plugin_never_runs() {
    // Case 20: by a pattern of ids, and by the policy of everybody.
    let (rig, factory) = labs(&tool("draw", ""), &["draw"]).await;
    rig.until_ready("labs").await;
    rig.apply(|settings| settings.enabled = false).await;
    rig.apply(|settings| {
        settings.enabled = true;
        settings.deny = IdPatterns::new(["LAB*".to_owned()]).unwrap();
    })
    .await;
    assert_eq!(rig.names(), ["read_file"]);
    let told = rig.engine.explain(&Scope::default(), "plugin:labs/draw").unwrap();
    assert!(told[0].sentence().contains("plugins.deny names its plugin 'labs'"), "{}", told[0].sentence());
    time_to_start().await;
    assert_eq!(factory.made(), 1, "only before it was denied");
    rig.policy(None, &["group:plugins"]).await;
    rig.apply(|settings| settings.deny = IdPatterns::default()).await;
    rig.apply(|settings| settings.allow = Some(IdPatterns::new(["other".to_owned()]).unwrap())).await;
    assert!(matches!(rig.state("labs").await, PluginState::Unseen { .. }));
    time_to_start().await;
    assert_eq!(factory.made(), 1);
    assert_eq!(rig.call("draw", &json!({})).await.outcome, Outcome::Invalid);
}

#[tokio::test]
async fn a_slow_start_is_told_once_whatever_kind_it_is() {
    // openclaw §1.1.
    let factory = Counting::of(&["draw"]);
    let rig = Rig::new(&[], |builder| builder.embed(manifest("made", &tool("draw", ""))).factory("made", factory));
    rig.plugin("ran", &["echo"], &json!({}));
    for (slow, told) in [(std::time::Duration::from_mins(1), 0), (std::time::Duration::ZERO, 1)] {
        rig.apply(|settings| settings.timing.slow = slow).await;
        for id in ["made", "ran"] {
            rig.until_ready(id).await;
            let findings = rig.findings(id).await;
            assert_eq!(findings.len(), told, "{findings:?}");
            assert!(findings.iter().all(|text| text.ends_with("s to say what it offers")), "{findings:?}");
        }
    }
    rig.host.shutdown().await;
}
