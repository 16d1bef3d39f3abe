//! What a plugin requires and what of that is there.

use super::{manifest::Requirements, running::PluginSettings};

/// A requirement that is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lack {
    /// What is missing.
    pub(super) rule: String,
    /// What would help.
    pub(super) fix: String,
}

/// The requirements that are not met, in the order config, environment, credentials. Whether a credential is known
/// elsewhere is for `known` to say. What clients must be able to do is looked at for each scope.
pub(super) fn lacking<'a>(
    id: &'a str,
    requires: &'a Requirements,
    settings: &'a PluginSettings,
    known: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Lack> + 'a {
    let lack = move |what: &str, part: &str, name: &str| Lack {
        rule: format!("it needs the {what}"),
        fix: format!("set plugins.settings.{id}.{part}.{name}"),
    };
    let config =
        requires.config.iter().filter(|name| settings.config.get(*name).is_none_or(serde_json::Value::is_null));
    let env = requires.env.iter().filter(|name| settings.env.get(*name).is_none_or(String::is_empty));
    let auth =
        requires.auth.iter().filter(move |name| settings.auth.get(*name).is_none_or(String::is_empty) && !known(name));
    let config = config.map(move |name| lack(&format!("setting '{name}'"), "config", name));
    let env = env.map(move |name| lack(&format!("environment variable {name}"), "env", name));
    let auth = auth.map(move |name| lack(&format!("credential '{name}'"), "auth", name));
    config.chain(env).chain(auth)
}
