//! What plugins need and what they are handed.

use serde_json::json;
use toolcrib_connect::plugins::{PluginSettings, check};
use toolcrib_core::Scope;
use toolcrib_engine::{Outcome, PermissionSettings};

use super::rig::{Rig, launchers, mark, start_of, text, time_to_start, tool};

#[tokio::test]
async fn a_tool_is_offered_when_what_it_needs_is_there() {
    let rig = Rig::plain();
    let tables = tool("echo", "")
        + &tool("who", "requires = { config = [\"units\"] }")
        + &tool("pid", "requires = { env = [\"WEATHER_KEY\"] }");
    rig.plugin_with("p", &tables, &json!({}), &["echo", "who", "pid"]);
    rig.apply(|_| {}).await;
    assert_eq!(rig.names(), ["echo"]);
    let sentence = |name: &str| rig.engine.explain(&Scope::default(), name).unwrap()[0].sentence();
    assert!(sentence("plugin:p/who").contains("needs the setting 'units'"), "{}", sentence("plugin:p/who"));
    assert!(
        sentence("plugin:p/pid").contains("set plugins.settings.p.env.WEATHER_KEY"),
        "{}",
        sentence("plugin:p/pid")
    );
    rig.apply(|settings| {
        let plugin = settings.plugins.get_mut("p").unwrap();
        plugin.config.insert("units".to_owned(), json!("metric"));
        plugin.env.insert("WEATHER_KEY".to_owned(), "k".to_owned());
    })
    .await;
    rig.until_ready("p").await;
    assert_eq!(rig.names(), ["echo", "pid", "who"]);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_plugin_that_lacks_something_as_a_whole_is_not_started() {
    let rig = Rig::plain();
    let folder =
        rig.plugin_with("p", &format!("[requires]\nenv = [\"KEY\"]\n{}", tool("echo", "")), &json!({}), &["echo"]);
    rig.apply(|_| {}).await;
    assert!(rig.state("p").await.reason().is_some_and(|reason| reason.contains("needs the environment variable KEY")));
    time_to_start().await;
    assert_eq!(mark(&folder, "started"), "");
}

#[tokio::test]
async fn configuration_and_credentials_come_with_the_greeting_and_nothing_else_with_the_environment() {
    let rig = Rig::plain();
    let folder = rig.plugin("p", &["env"], &json!({"prefix": "hi"}));
    rig.apply(|settings| {
        let plugin = settings.plugins.get_mut("p").unwrap();
        plugin.env.insert("WEATHER_KEY".to_owned(), "k".to_owned());
        plugin.auth.insert("service".to_owned(), "a-long-secret".to_owned());
    })
    .await;
    let env = rig.ok("env", json!({})).await;
    let names: Vec<&str> = env.split(' ').collect();
    assert!(names.contains(&"WEATHER_KEY") && names.contains(&"PATH"), "{env}");
    // CARGO_MANIFEST_DIR is set for this test, and would be inherited.
    assert!(names.iter().all(|name| !name.starts_with("CARGO")), "{env}");
    let hello: serde_json::Value = serde_json::from_str(mark(&folder, "hello").lines().next().unwrap()).unwrap();
    assert_eq!((&hello["protocol"], &hello["auth"]["service"]), (&json!(1), &json!("a-long-secret")));
    assert_eq!((&hello["config"]["prefix"], &hello["plugin"]), (&json!("hi"), &json!({"id": "p", "version": "1"})));
    rig.host.shutdown().await;
}

#[tokio::test]
async fn a_permission_of_the_manifest_raises_caution() {
    let rig = Rig::plain();
    let tables = tool("echo", "") + &tool("who", "permission = \"ask\"") + &tool("pid", "permission = \"deny\"");
    rig.plugin_with("p", &tables, &json!({}), &["echo", "who", "pid"]);
    rig.apply(|_| {}).await;
    assert_eq!(rig.ok("echo", json!({})).await, "{}");
    // Nobody is there to be asked.
    let asked = rig.call("who", &json!({})).await;
    assert_eq!(asked.outcome, Outcome::Denied, "{}", text(&asked));
    assert_eq!(rig.names(), ["echo", "who"], "what is denied is hidden too");
    // The configuration's own list counts before the manifest's word.
    let mut settings = toolcrib_engine::EngineSettings::clone(&rig.engine.settings());
    settings.permissions = PermissionSettings { allow: vec!["who".parse().unwrap()], ..PermissionSettings::default() };
    rig.engine.replace_settings(settings);
    assert_eq!(rig.call("who", &json!({})).await.outcome, Outcome::Ok);
    rig.host.shutdown().await;
}

#[tokio::test]
async fn check_says_what_is_wrong_and_calls_nothing() {
    let rig = Rig::plain();
    let schema = "input_schema = { type = \"object\" }";
    let tables = tool("echo", schema) + &tool("who", "");
    let folder = rig.plugin_with("p", &tables, &json!({}), &[]);
    let offers = json!(["echo", {"name": "who", "inputSchema": {"type": "string"}}, "pid"]);
    let settings = |offers: serde_json::Value| {
        let config = json!({"offers": offers}).as_object().cloned().unwrap();
        PluginSettings { config, ..PluginSettings::default() }
    };
    let checked = check(start_of(&folder, settings(offers)), &launchers()).await;
    assert_eq!(checked.offered, ["echo", "who"]);
    assert!(
        checked.problems.iter().any(|problem| problem.contains("does not declare, which are dropped: pid")),
        "{checked:?}"
    );
    assert!(checked.problems.iter().any(|problem| problem.contains("'who' would not be served")), "{checked:?}");
    assert_eq!(mark(&folder, "called"), "");
    let good = json!([{"name": "who", "inputSchema": {"type": "object"}}, "echo"]);
    let checked = check(start_of(&folder, settings(good)), &launchers()).await;
    assert!(checked.problems.is_empty(), "{checked:?}");
    let mut dying = settings(json!([]));
    dying.config.insert("die".to_owned(), json!(true));
    let checked = check(start_of(&folder, dying), &launchers()).await;
    assert!(checked.problems.iter().any(|problem| problem.contains("exited with status 3")), "{checked:?}");
}
