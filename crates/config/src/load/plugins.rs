//! Plugins: what is handed to one that cannot be read switches that one off, anything else all of them.

use serde_json::Value;

use super::{
    entries,
    section::{Reader, Rule, typed},
};
use crate::{
    Diagnostic,
    model::{PluginConfig, PluginsConfig},
};

pub(super) fn read(value: Option<Value>, reader: &mut Reader<'_>) -> PluginsConfig {
    let Some(mut value) = value else { return PluginsConfig::default() };
    let settings = value.as_object_mut().and_then(|map| map.shift_remove("settings"));
    let mut plugins: PluginsConfig = reader.section("plugins", Some(value), Rule::AllOff);
    let folder = reader.folder("plugins.folders");
    for path in plugins.folders.iter_mut().flatten() {
        *path = reader.place(path, &folder);
    }
    for (id, mut entry) in entries("plugins.settings", settings, reader) {
        let key = format!("plugins.settings.{id}");
        let read = reader.expand_all(&mut entry, &key).and_then(|()| typed::<PluginConfig>(&key, &entry));
        match read {
            Ok(plugin) => {
                plugins.settings.insert(id, plugin);
            }
            Err(finding) => {
                plugins.unusable.insert(id, Diagnostic::clone(&finding));
                reader.findings.push(finding.hint("until this is mended the plugin is off"));
            }
        }
    }
    plugins
}
