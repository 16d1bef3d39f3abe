//! From files, environment and flags to a configuration. One bad server or section costs only itself.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::{
    Config, Diagnostic, Severity, Surroundings,
    document::{Document, SyntaxError},
    expand::expand,
    layer::{Origin, Origins, overlay},
    model::{ProfileConfig, ServerConfig},
    reference,
    variables::VARIABLES,
};

/// A value set on the command line.
#[derive(Clone, Debug)]
pub struct Override {
    /// Key path.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The flag it came from.
    pub flag: String,
}

/// A loaded configuration.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Where its values were written.
    pub origins: Origins,
    /// What was found wrong on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// The files read, lowest layer first.
    pub files: Vec<PathBuf>,
}

/// A file that cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot read the configuration {}: {cause}", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// It is broken.
    #[error("cannot use the configuration {0}")]
    Syntax(#[from] SyntaxError),
}

/// Loads files (lowest layer first), then the environment, then overrides.
pub fn load(files: &[PathBuf], overrides: &[Override], surroundings: &dyn Surroundings) -> Result<Loaded, LoadError> {
    let mut loaded = Loaded::default();
    let mut tree = Map::new();
    for path in files {
        let bytes = surroundings.read(path).map_err(|cause| LoadError::Read { file: path.clone(), cause })?;
        let mut document = Document::parse(path, &bytes)?;
        normalise(&mut document.tree);
        if document.own {
            for mut finding in reference::unknown_keys(&document.tree) {
                finding.file = Some(path.clone());
                finding.line = document.line_of(&finding.key);
                loaded.diagnostics.push(finding);
            }
        } else {
            document.tree.retain(|key, _| key == "servers");
        }
        let laid = std::mem::take(&mut document.tree);
        overlay(&mut tree, laid, "", &mut loaded.origins, &|key| Origin::File {
            path: path.clone(),
            line: document.line_of(key),
        });
        loaded.files.push(path.clone());
    }
    for variable in VARIABLES.iter().filter(|variable| !variable.key.is_empty()) {
        if let Some(value) = surroundings.variable(variable.name).filter(|value| !value.is_empty()) {
            let laid = nest(variable.key, Value::from(value));
            overlay(&mut tree, laid, "", &mut loaded.origins, &|_| Origin::Variable(variable.name.to_owned()));
        }
    }
    for flag in overrides {
        let laid = nest(&flag.key, flag.value.clone());
        overlay(&mut tree, laid, "", &mut loaded.origins, &|_| Origin::Flag(flag.flag.clone()));
    }
    let mut findings = Vec::new();
    loaded.config = build(tree, &loaded.origins, surroundings, &mut findings);
    loaded.config.settle(&mut findings);
    for mut finding in findings {
        if let Some(Origin::File { path, line }) = loaded.origins.of(&finding.key) {
            finding.file = Some(path.clone());
            finding.line = *line;
        }
        loaded.diagnostics.push(finding);
    }
    Ok(loaded)
}

/// Shorthands become their long form, so that layers meet in one shape.
fn normalise(tree: &mut Map<String, Value>) {
    if let Some(disclosure) = tree.get_mut("disclosure").filter(|value| !value.is_object() && !value.is_null()) {
        *disclosure = json!({"enabled": disclosure.take()});
    }
}

fn nest(key: &str, value: Value) -> Map<String, Value> {
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop().unwrap_or_default().to_owned();
    let innermost = Map::from_iter([(last, value)]);
    parts.into_iter().rev().fold(innermost, |inner, part| Map::from_iter([(part.to_owned(), Value::Object(inner))]))
}

fn build(
    mut tree: Map<String, Value>,
    origins: &Origins,
    surroundings: &dyn Surroundings,
    findings: &mut Vec<Diagnostic>,
) -> Config {
    let mut config = Config::default();
    let servers = tree.shift_remove("servers");
    match servers {
        None => {}
        Some(Value::Object(servers)) => {
            for (name, value) in servers {
                if let Some(server) = build_server(&name, value, origins, surroundings, findings) {
                    config.servers.insert(name, server);
                }
            }
        }
        Some(_) => {
            findings.push(Diagnostic::error("servers", "it is not a map from names to servers; no server is used"))
        }
    }
    for (key, mut value) in tree {
        if let Err(finding) = expand_all(&mut value, &key, origins, surroundings) {
            findings.push(finding.hint("this section is left at its defaults"));
            continue;
        }
        let done = match key.as_str() {
            "disclosure" => section(&key, value, &mut config.disclosure),
            "names" => section(&key, value, &mut config.names),
            "builtin" => section(&key, value, &mut config.builtin),
            "policy" => section(&key, value, &mut config.policy),
            "permissions" => section(&key, value, &mut config.permissions),
            "groups" => section(&key, value, &mut config.groups),
            "profiles" => section(&key, value, &mut config.profiles),
            "profile" => section(&key, value, &mut config.profile),
            "gateway" => section(&key, value, &mut config.gateway),
            "store" => section(&key, value, &mut config.store),
            "limits" => section(&key, value, &mut config.limits),
            "results" => section(&key, value, &mut config.results),
            // Unknown keys were reported with their file.
            _ => Ok(()),
        };
        if let Err(finding) = done {
            // Lists that restrict must not fall back to "everything" because of a typo in them.
            if matches!(key.as_str(), "policy" | "profiles") {
                config.policy.allow = Some(Vec::new());
                findings.push(finding.hint("until this is mended no tool is shown"));
            } else {
                findings.push(finding.hint("this section is left at its defaults"));
            }
        }
    }
    for profile in config.profiles.values_mut() {
        let ProfileConfig { allow, also_allow, .. } = profile;
        if let Some(allow) = allow {
            allow.append(also_allow);
        }
    }
    config
}

fn section<T: serde::de::DeserializeOwned>(key: &str, value: Value, into: &mut T) -> Result<(), Diagnostic> {
    *into = typed(key, value)?;
    Ok(())
}

fn typed<T: serde::de::DeserializeOwned>(key: &str, value: Value) -> Result<T, Diagnostic> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let inner = error.path().to_string();
        let path = if inner == "." { key.to_owned() } else { format!("{key}.{inner}") };
        Diagnostic::error(path, scrub(&error.into_inner().to_string()))
    })
}

/// Deserialisation errors quote the value; a wrong value in the wrong place may be a secret.
fn scrub(message: &str) -> String {
    let mut out = String::new();
    let mut parts = message.split('"');
    out.push_str(parts.next().unwrap_or_default());
    for (index, part) in parts.enumerate() {
        if index % 2 == 0 {
            out.push('…');
        } else {
            out.push_str(part);
        }
    }
    out
}

fn build_server(
    name: &str,
    mut value: Value,
    origins: &Origins,
    surroundings: &dyn Surroundings,
    findings: &mut Vec<Diagnostic>,
) -> Option<ServerConfig> {
    let key = format!("servers.{name}");
    let skipped = "this server is skipped";
    if let Some(problem) = name_problem(name) {
        findings.push(Diagnostic::error(key, problem).hint(skipped));
        return None;
    }
    let off = value["enabled"] == false || value["disabled"] == true;
    if let Err(finding) = expand_all(&mut value, &key, origins, surroundings) {
        // A server that is switched off need not have its variables set.
        if !off {
            findings.push(finding.hint(skipped));
        }
        return None;
    }
    let mut server: ServerConfig = match typed(&key, value) {
        Ok(server) => server,
        Err(finding) => {
            findings.push(finding.hint(skipped));
            return None;
        }
    };
    if server.bearer.is_none()
        && let Some(variable) = &server.bearer_token_env_var
    {
        match surroundings.variable(variable) {
            Some(token) => server.bearer = Some(crate::Secret::new(token)),
            None if server.is_enabled() => {
                let message = format!("environment variable {variable} is not set");
                findings.push(Diagnostic::error(format!("{key}.bearer_token_env_var"), message).hint(skipped));
                return None;
            }
            None => {}
        }
    }
    if let Some((field, problem)) = server.problem().filter(|_| server.is_enabled()) {
        let key = if field.is_empty() { key } else { format!("{key}.{field}") };
        findings.push(Diagnostic::error(key, problem).hint(skipped));
        return None;
    }
    Some(server)
}

fn name_problem(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("the server's name is empty".to_owned());
    }
    if name.chars().count() > 128 {
        return Some("the server's name is longer than 128 characters".to_owned());
    }
    name.chars()
        .find(|c| *c == '/' || c.is_control())
        .map(|c| format!("the server's name holds {c:?}; use letters, digits, '-' and '_'"))
}

fn expand_all(
    value: &mut Value,
    key: &str,
    origins: &Origins,
    surroundings: &dyn Surroundings,
) -> Result<(), Diagnostic> {
    match value {
        Value::String(text) if text.contains("${") => {
            let folder = match origins.of(key) {
                Some(Origin::File { path, .. }) => path.parent().unwrap_or(Path::new(".")).to_owned(),
                Some(Origin::Variable(_) | Origin::Flag(_)) | None => PathBuf::from("."),
            };
            let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
            *text = expand(text, &folder, surroundings).map_err(|error| Diagnostic::error(key, error.to_string()))?;
            Ok(())
        }
        Value::Array(items) => items
            .iter_mut()
            .enumerate()
            .try_for_each(|(index, item)| expand_all(item, &format!("{key}[{index}]"), origins, surroundings)),
        Value::Object(map) => map
            .iter_mut()
            .try_for_each(|(inner, item)| expand_all(item, &format!("{key}.{inner}"), origins, surroundings)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

impl Loaded {
    /// Whether anything was found that costs a server or a section.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
    }
}

#[cfg(test)]
mod tests;
