//! Plugins: where folders are, and what a bad value costs.

use toolcrib_config::model::PluginsConfig;

use crate::{World, one, texts};

fn plugins(text: &str) -> (PluginsConfig, Vec<String>) {
    let loaded = one("toolcrib.toml", text);
    let told = texts(&loaded);
    (loaded.config.plugins, told)
}

#[test]
fn plugins_are_off_unless_switched_on() {
    assert_eq!(plugins("").0, PluginsConfig::default());
    assert!(!plugins("[plugins]\nfolders = ['x']").0.enabled);
    assert!(plugins("[plugins]\nenabled = true").0.enabled);
}

#[test]
fn folders_are_relative_to_their_file() {
    let world = World::default().within("/work").variable("HOME", "/home/ann");
    let text = "[plugins]\nfolders = ['plugins', '/opt/p', '~/mine']";
    let loaded = world.file("conf/toolcrib.toml", text).load(&["conf/toolcrib.toml"]).unwrap();
    assert_eq!(loaded.config.plugins.folders.unwrap(), ["/work/conf/plugins", "/opt/p", "/home/ann/mine"]);
}

#[test]
fn what_a_plugin_is_handed_is_expanded_and_hidden() {
    let text =
        "[plugins.settings.weather]\nconfig = { place = '${env:PLACE}', days = 3 }\nauth = { key = '${env:KEY}' }";
    let world = World::default().variable("PLACE", "Oslo").variable("KEY", "s3cret");
    let loaded = world.file("toolcrib.toml", text).load(&["toolcrib.toml"]).unwrap();
    let weather = &loaded.config.plugins.settings["weather"];
    assert_eq!((&weather.config["place"], &weather.config["days"]), (&"Oslo".into(), &3.into()));
    assert_eq!(weather.auth["key"].expose(), "s3cret");
    assert!(!format!("{loaded:?}").contains("s3cret"));
}

#[test]
fn a_bad_value_costs_one_plugin_or_switches_all_off() {
    let (config, told) =
        plugins("[plugins]\nenabled = true\n[plugins.settings.a]\nenv = 1\n[plugins.settings.b]\nenv_inherit = ['X']");
    assert!(config.enabled && config.settings.contains_key("b"));
    let off: Vec<_> = config.unusable.iter().map(|(id, finding)| (&**id, &*finding.key)).collect();
    assert_eq!(off, [("a", "plugins.settings.a.env")], "what it needs is not known, so it does not run");
    assert!(config.deny.is_empty(), "nobody wrote that");
    assert!(told[0].contains("toolcrib.toml:4") && told[0].contains("the plugin is off"), "{told:?}");
    // Who may not run is not known.
    let (config, told) = plugins("[plugins]\nenabled = true\ndeny = 7");
    assert!(!config.enabled && told[0].contains("all of it is off"), "{told:?}");
    let (config, told) = plugins("[plugins]\nenabled = true\nalow = ['x']");
    assert!(config.enabled && told[0].contains("did you mean allow?"), "{told:?}");
}
