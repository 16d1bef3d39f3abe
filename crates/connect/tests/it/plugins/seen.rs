//! What is started and goes on running: what somebody sees, could load, or was granted; and tools whose definition only the
//! running plugin knows.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_connect::plugins::PluginState;
use toolcrib_core::{
    Scope, Source, ToolId,
    categories::{Book, CategorySpec, Loaded, Offered, Patterns, Unloaded, with_loaded},
};
use toolcrib_engine::{CallReport, CallRequest, Door, EngineSettings, Outcome};

use super::rig::{Rig, mark, text, time_to_start, tool, until};

/// A tool as only the running plugin says it.
fn offered(name: &str) -> Value {
    let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    json!({"name": name, "inputSchema": schema})
}

async fn call_as(rig: &Rig, scope: &Scope, name: &str, arguments: &Value) -> CallReport {
    let arguments = serde_json::value::to_raw_value(arguments).unwrap();
    rig.engine.call_report(CallRequest::new(name, Some(arguments), scope.clone(), Door::Library)).await
}

/// A scope with a grant for `plugin:p/echo`.
fn granted() -> Scope {
    Scope { grants: [ToolId::new(Source::Plugin("p".into()), "echo")].into(), ..Scope::default() }
}

/// A plugin `p` with an optional `echo` whose schema its manifest does not have.
async fn optional() -> (Rig, std::path::PathBuf) {
    let rig = Rig::plain();
    let config = json!({"offers": [offered("echo")]});
    let folder = rig.plugin_with("p", &tool("echo", "optional = true"), &config, &[]);
    rig.apply(|_| {}).await;
    (rig, folder)
}

/// Says that each of these names is the only tool of a category of its own that is hidden until it is loaded.
async fn hide(rig: &Rig, plugin: &str, tool: &str) {
    let mut settings = EngineSettings::clone(&rig.engine.settings());
    let old = settings.assemble.policy.categories.as_deref().cloned();
    let mut book = old.unwrap_or_else(|| Book { unloaded: Unloaded::Hidden, ..Book::default() });
    let id = plugin.parse().unwrap();
    book.upsert(
        id,
        CategorySpec { name: None, description: None, tools: vec![format!("plugin:{plugin}/{tool}").parse().unwrap()] },
    );
    settings.assemble.policy.categories = Some(Arc::new(book));
    rig.engine.replace_settings(settings);
    rig.host.refresh().await;
}

/// A scope that has loaded the category of this plugin.
fn loading(plugin: &str) -> Scope {
    let loaded = Loaded { categories: [plugin.parse().unwrap()].into(), ..Loaded::default() };
    with_loaded(&Scope::default(), &Arc::new(loaded))
}

#[tokio::test]
async fn the_first_call_of_a_granted_tool_learns_what_it_takes_and_is_held_against_that() {
    let (rig, folder) = optional().await;
    time_to_start().await;
    assert_eq!(mark(&folder, "started"), "");
    // What does not fit the schema, which was not known when the call came, does not get to the plugin.
    let refused = call_as(&rig, &granted(), "echo", &json!({"m": 1})).await;
    assert_eq!(refused.outcome, Outcome::Invalid, "{}", text(&refused));
    assert!(text(&refused).contains("\"required\":[\"n\"]"), "{}", text(&refused));
    assert_eq!((mark(&folder, "called").as_str(), mark(&folder, "started").lines().count()), ("", 1));
    let (rig, folder) = optional().await;
    // Repaired by the same schema: a text for a number.
    let ran = call_as(&rig, &granted(), "echo", &json!({"n": "1"})).await;
    assert_eq!((ran.outcome, text(&ran).as_str()), (Outcome::Ok, "{\"n\":1}"));
    assert_eq!(mark(&folder, "started").lines().count(), 1);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_description_waits_for_what_only_the_plugin_can_say() {
    let (rig, _) = optional().await;
    let report = call_as(&rig, &granted(), "tool_describe", &json!({"names": ["echo", "nothing"]})).await;
    let told: Value = serde_json::from_str(&text(&report)).unwrap();
    assert_eq!(told["found"][0]["inputSchema"]["required"], json!(["n"]), "{told}");
    let view = rig.engine.view_to_describe(&granted(), &["echo".to_owned()]).await.unwrap();
    assert_eq!(view.set.tool("echo").unwrap().input_schema()["required"], json!(["n"]));
    // Nobody else sees it, so nobody else's question would have started it.
    let other = call_as(&rig, &Scope::default(), "tool_describe", &json!({"names": ["echo"]})).await;
    assert!(text(&other).contains("not_found"), "{}", text(&other));
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_definition_that_nobody_could_learn_is_no_leave_to_run() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["echo"], &json!({"die": true}));
    rig.apply(|settings| settings.timing.failures = 1).await;
    rig.until_state("p", |state| matches!(state, PluginState::Down { .. })).await;
    let report = rig.call("echo", &json!({"n": 1})).await;
    assert_eq!(report.outcome, Outcome::Unavailable, "{}", text(&report));
    assert!(text(&report).contains("exited with status 3"), "{}", text(&report));
    assert_eq!(mark(&folder, "called"), "");
    rig.host.shutdown().await;
}

#[tokio::test]
async fn whoever_gives_up_while_a_plugin_starts_gets_the_answer_at_once() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["echo"], &json!({"mute": true}));
    rig.apply(|_| {}).await;
    let request = CallRequest::new("echo", None, Scope::default(), Door::Library);
    let cancel = request.cancel.clone();
    let began = std::time::Instant::now();
    let (report, ()) = tokio::join!(rig.engine.call_report(request), async {
        until("it is greeted", || !mark(&folder, "hello").is_empty()).await;
        cancel.cancel();
    });
    assert_eq!(report.outcome, Outcome::Cancelled, "{}", text(&report));
    // Its time to start is 5 s.
    assert!(began.elapsed().as_secs() < 4, "{:?}", began.elapsed());
    rig.host.shutdown().await;
}

#[tokio::test]
async fn what_runs_for_a_grant_goes_on_while_the_grant_counts() {
    let (rig, folder) = optional().await;
    assert_eq!(call_as(&rig, &granted(), "echo", &json!({"n": 1})).await.outcome, Outcome::Ok);
    // Another plugin comes, so everything is looked at again.
    rig.plugin("q", &["pid"], &json!({}));
    rig.apply(|_| {}).await;
    rig.until_ready("q").await;
    assert_eq!(rig.state("p").await, PluginState::Ready);
    assert_eq!(call_as(&rig, &granted(), "echo", &json!({"n": 2})).await.outcome, Outcome::Ok);
    assert_eq!((mark(&folder, "started").lines().count(), mark(&folder, "ended").as_str()), (1, ""));
    // Its successor is there for the same.
    rig.apply(|settings| settings.plugins.get_mut("p").unwrap().config.extend([("prefix".to_owned(), json!("2 "))]))
        .await;
    rig.until_ready("p").await;
    // A denial counts before any grant.
    rig.policy(None, &["plugin:p"]).await;
    assert!(matches!(rig.state("p").await, PluginState::Unseen { .. }));
    until("both have ended", || mark(&folder, "ended").lines().count() == 2).await;
    rig.host.shutdown().await;
}

#[tokio::test]
async fn what_can_be_loaded_is_started_although_nobody_has_loaded_it() {
    let rig = Rig::plain();
    let config = json!({"offers": [offered("echo")]});
    let folder = rig.plugin_with("web", &tool("echo", ""), &config, &[]);
    hide(&rig, "web", "echo").await;
    rig.apply(|_| {}).await;
    assert!(rig.names().is_empty());
    // The first call after loading, however soon.
    let ran = call_as(&rig, &loading("web"), "echo", &json!({"n": "1"})).await;
    assert_eq!((ran.outcome, text(&ran).as_str()), (Outcome::Ok, "{\"n\":1}"));
    rig.until_ready("web").await;
    rig.host.refresh().await;
    assert_eq!((rig.state("web").await, mark(&folder, "started").lines().count()), (PluginState::Ready, 1));
    // What may not be loaded is not started, and what ran for it ends.
    let mut settings = EngineSettings::clone(&rig.engine.settings());
    let mut book = settings.assemble.policy.categories.as_deref().cloned().unwrap();
    book.offered = Offered::Only(Patterns::parse(["other"]).unwrap());
    settings.assemble.policy.categories = Some(Arc::new(book));
    rig.engine.replace_settings(settings);
    rig.host.refresh().await;
    until("it has ended", || !mark(&folder, "ended").is_empty()).await;
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_name_that_is_only_lost_to_what_need_not_be_loaded_is_not_lost() {
    let rig = Rig::plain();
    let alpha = rig.plugin("alpha", &["echo"], &json!({"prefix": "alpha "}));
    let beta = rig.plugin("beta", &["echo"], &json!({"prefix": "beta "}));
    hide(&rig, "alpha", "echo").await;
    hide(&rig, "beta", "echo").await;
    rig.apply(|_| {}).await;
    rig.until_ready("alpha").await;
    rig.until_ready("beta").await;
    for plugin in ["alpha", "beta"] {
        let ran = call_as(&rig, &loading(plugin), "echo", &json!({})).await;
        assert_eq!(text(&ran), format!("{plugin} {{}}"));
    }
    assert_eq!((mark(&alpha, "started").lines().count(), mark(&beta, "started").lines().count()), (1, 1));
    rig.host.shutdown().await;
}
