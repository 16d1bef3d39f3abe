//! From files, environment and flags to a configuration. One bad server or section costs only itself.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::{
    Config, Diagnostic, Severity, Surroundings,
    document::{Document, SyntaxError},
    layer::{Origin, Origins, overlay},
    model::ProfileConfig,
    reference,
    variables::VARIABLES,
};

use section::{Reader, Rule, decides_what_is_offered, guards_the_door, typed};

mod exclusive;
mod plugins;
mod section;
mod server;

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
    let mut documents = Vec::new();
    for path in files {
        let bytes = surroundings.read(path).map_err(|cause| LoadError::Read { file: path.clone(), cause })?;
        let mut document = Document::parse(path, &bytes)?;
        loaded.diagnostics.append(&mut document.findings);
        let laid = admit(&mut document, &mut loaded.diagnostics);
        make_room(&mut tree, &laid);
        overlay(&mut tree, laid, "", &mut loaded.origins, &|key| Origin::File {
            path: path.clone(),
            line: document.place_of(key).map(|place| place.line),
        });
        loaded.files.push(path.clone());
        documents.push(document);
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
    let mut reader = Reader { origins: &loaded.origins, surroundings, findings: Vec::new() };
    loaded.config = build(tree, &mut reader);
    let mut findings = reader.findings;
    loaded.config.settle(&mut findings);
    for finding in findings {
        loaded.diagnostics.push(match loaded.origins.of(&finding.key) {
            Some(Origin::File { path, .. }) => {
                let place = documents.iter().rfind(|document| document.path == *path);
                let place = place.and_then(|document| document.place_of(&finding.key));
                finding.at(path, place)
            }
            Some(origin @ (Origin::Variable(_) | Origin::Flag(_))) => {
                let message = format!("{} (from {origin})", finding.message);
                Diagnostic { message, ..finding }
            }
            None => finding,
        });
    }
    Ok(loaded)
}

/// What of a file counts: all of ours, the servers of another client's.
fn admit(document: &mut Document, diagnostics: &mut Vec<Diagnostic>) -> Map<String, Value> {
    let mut tree = std::mem::take(&mut document.tree);
    // Shorthands become their long form, so that layers meet in one shape.
    if let Some(disclosure) = tree.get_mut("disclosure").filter(|value| !value.is_object()) {
        *disclosure = json!({"enabled": disclosure.take()});
    }
    let keys = tree.get_mut("gateway").and_then(|gateway| gateway.get_mut("named_keys")).and_then(Value::as_object_mut);
    for (_, key) in keys.into_iter().flatten().filter(|(_, key)| !key.is_object()) {
        *key = json!({"key": key.take()});
    }
    if document.own {
        for key in exclusive::settle(&mut tree) {
            let finding = Diagnostic::error(&key, "allow and also_allow stand in one place of one file")
                .hint("put all of it into allow; until this is mended nothing is allowed here");
            diagnostics.push(finding.at(&document.path, document.place_of(&key)));
        }
        for finding in reference::unknown_keys(&tree) {
            let place = document.place_of(&finding.key);
            diagnostics.push(finding.at(&document.path, place));
        }
    } else {
        let projects = tree.get("projects").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let passed_over =
            projects.filter(|project| project["mcpServers"].as_object().is_some_and(|list| !list.is_empty())).count();
        if passed_over > 0 {
            let finding =
                Diagnostic::warning("projects", format!("the servers of {passed_over} projects are not used"))
                    .hint("take them over with toolcrib import claude-code");
            let place = document.place_of("projects");
            diagnostics.push(finding.at(&document.path, place));
        }
        // A rule that somebody wrote for us into such a file must not be passed over without a word.
        for key in tree.keys().filter(|key| *key != "servers" && reference::is_section(key)) {
            let finding = Diagnostic::warning(key, "it is not used, because this is another client's file")
                .hint("to use it, name the list of servers 'servers', or begin the file's name with 'toolcrib'");
            diagnostics.push(finding.at(&document.path, document.place_of(key)));
        }
        tree.retain(|key, _| key == "servers");
    }
    tree
}

/// A later file may move a server from a command to an address or back; what belonged to the other kind goes.
fn make_room(tree: &mut Map<String, Value>, laid: &Map<String, Value>) {
    let Some(below) = tree.get_mut("servers").and_then(Value::as_object_mut) else { return };
    for (name, server) in laid.get("servers").and_then(Value::as_object).into_iter().flatten() {
        let gone: &[&str] = match (server.get("command"), server.get("url")) {
            (None, Some(_)) => &["command", "args", "cwd", "env", "env_inherit", "transport"],
            (Some(_), None) => &["url", "headers", "bearer", "bearer_token_env_var", "transport"],
            _ => continue,
        };
        if let Some(below) = below.get_mut(name).and_then(Value::as_object_mut) {
            below.retain(|key, _| !gone.contains(&key.as_str()));
        }
    }
}

fn nest(key: &str, value: Value) -> Map<String, Value> {
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop().unwrap_or_default().to_owned();
    let innermost = Map::from_iter([(last, value)]);
    parts.into_iter().rev().fold(innermost, |inner, part| Map::from_iter([(part.to_owned(), Value::Object(inner))]))
}

/// Unknown keys are left where they are: they were reported with their file.
fn build(mut tree: Map<String, Value>, reader: &mut Reader<'_>) -> Config {
    let mut take = |key: &str| tree.shift_remove(key);
    let mut search: crate::model::SearchConfig = reader.section("search", take("search"), Rule::Default);
    if let Some(folder) = search.encoder.as_mut().and_then(|encoder| encoder.folder.as_mut()) {
        *folder = reader.place(folder, &reader.folder("search.encoder.folder"));
    }
    let mut config = Config {
        servers: std::collections::BTreeMap::new(),
        plugins: plugins::read(take("plugins"), reader),
        disclosure: reader.section("disclosure", take("disclosure"), Rule::Default),
        categories: reader.section("categories", take("categories"), Rule::Default),
        search,
        names: reader.section("names", take("names"), Rule::Default),
        payloads: reader.section("payloads", take("payloads"), Rule::Default),
        builtin: reader.section("builtin", take("builtin"), Rule::SwitchOff),
        policy: reader.section("policy", take("policy"), Rule::AllowNothing),
        permissions: reader.section("permissions", take("permissions"), Rule::TrustNothing),
        approvals: reader.section("approvals", take("approvals"), Rule::FourEyes),
        calls: reader.section("calls", take("calls"), Rule::Default),
        audit: reader.section("audit", take("audit"), Rule::Default),
        groups: std::collections::BTreeMap::new(),
        profiles: std::collections::BTreeMap::new(),
        profile: None,
        agents: std::collections::BTreeMap::new(),
        callers: std::collections::BTreeMap::new(),
        gateway: reader.section("gateway", take("gateway"), Rule::Default),
        store: reader.section("store", take("store"), Rule::Default),
        limits: reader.section("limits", take("limits"), Rule::Default),
        results: reader.section("results", take("results"), Rule::Default),
    };
    if let Some(finding) = reader.findings.iter().find(|finding| guards_the_door(&finding.key)) {
        config.gateway.unusable = Some(finding.to_string());
    }
    if reader.findings.iter().any(|finding| decides_what_is_offered(&finding.key)) {
        config.policy.allow_nothing();
    }
    for (name, server) in entries("servers", take("servers"), reader) {
        if let Some(server) = reader.server(&name, server) {
            config.servers.insert(name, server);
        }
    }
    // A group that is missing is unknown, and selectors of unknown groups fail closed.
    for (name, mut selectors) in entries("groups", take("groups"), reader) {
        let key = format!("groups.{name}");
        match reader.expand_all(&mut selectors, &key).and_then(|()| typed(&key, &selectors)) {
            Ok(selectors) => {
                config.groups.insert(name, selectors);
            }
            Err(finding) => reader.findings.push(finding.hint("this group is unknown until it is mended")),
        }
    }
    for (name, profile) in entries("profiles", take("profiles"), reader) {
        let mut profile: ProfileConfig = reader.section(&format!("profiles.{name}"), Some(profile), Rule::AllowNothing);
        if let Some(allow) = &mut profile.allow {
            allow.append(&mut profile.also_allow);
        }
        config.profiles.insert(name, profile);
    }
    // Who an agent or a caller is restricts what is seen: where that cannot be read, nobody sees anything.
    for key in ["agents", "callers"] {
        let Some(value) = take(key) else { continue };
        if !value.is_object() {
            config.policy.allow_nothing();
        }
        for (name, entry) in entries(key, Some(value), reader) {
            let place = format!("{key}.{name}");
            if key == "agents" {
                config.agents.insert(name, reader.section(&place, Some(entry), Rule::AllowNothing));
            } else {
                config.callers.insert(name, reader.section(&place, Some(entry), Rule::AllowNothing));
            }
        }
    }
    if let Some(mut profile) = take("profile") {
        match reader.expand_all(&mut profile, "profile").and_then(|()| typed("profile", &profile)) {
            Ok(name) => config.profile = name,
            Err(finding) => {
                config.policy.allow_nothing();
                reader.findings.push(finding.hint("until this is mended no tool is shown"));
            }
        }
    }
    config
}

fn entries(key: &str, value: Option<Value>, reader: &mut Reader<'_>) -> Map<String, Value> {
    match value {
        None => Map::new(),
        Some(Value::Object(map)) => map,
        Some(_) => {
            reader.findings.push(Diagnostic::error(key, "it is not a map of named entries").hint("none of it is used"));
            Map::new()
        }
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
