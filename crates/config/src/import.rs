//! Taking over other clients' server lists into `toolcrib.toml`, comments and order kept.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

use crate::document::{Document, SyntaxError};

/// A client whose configuration we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientKind {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// VS Code.
    Vscode,
    /// Codex.
    Codex,
}

impl ClientKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::ClaudeDesktop, Self::ClaudeCode, Self::Cursor, Self::Vscode, Self::Codex];

    /// The client's word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
        }
    }

    /// The client of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Where the client keeps its servers, for a home folder and a project folder; not all of them need exist.
    pub fn locations(self, home: &Path, project: &Path) -> Vec<PathBuf> {
        let config = home.join(".config");
        let library = home.join("Library/Application Support");
        let roaming = home.join("AppData/Roaming");
        match self {
            Self::ClaudeDesktop => {
                [config, library, roaming].map(|folder| folder.join("Claude/claude_desktop_config.json")).to_vec()
            }
            Self::ClaudeCode => vec![home.join(".claude.json"), project.join(".mcp.json")],
            Self::Cursor => vec![home.join(".cursor/mcp.json"), project.join(".cursor/mcp.json")],
            Self::Vscode => [config, library, roaming]
                .iter()
                .flat_map(|folder| ["Code/User/mcp.json", "Code/User/settings.json"].map(|file| folder.join(file)))
                .chain([project.join(".vscode/mcp.json")])
                .collect(),
            Self::Codex => vec![home.join(".codex/config.toml")],
        }
    }
}

/// Servers found in one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The file.
    pub file: PathBuf,
    /// Servers by name, as written.
    pub servers: BTreeMap<String, Map<String, Value>>,
}

/// Reads the servers of a client's file. Projects of a Claude Code file count with the rest.
pub fn read(path: &Path, bytes: &[u8]) -> Result<Found, SyntaxError> {
    let document = Document::parse(path, bytes)?;
    let mut servers = BTreeMap::new();
    let projects = document.tree.get("projects").and_then(Value::as_object);
    let nested = projects.into_iter().flat_map(Map::values).filter_map(|project| project["mcpServers"].as_object());
    for list in nested.chain(document.tree.get("servers").and_then(Value::as_object)) {
        for (name, server) in list {
            if let Value::Object(server) = server {
                servers.insert(name.clone(), server.clone());
            }
        }
    }
    Ok(Found { file: path.to_owned(), servers })
}

/// What became of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// It was added.
    Added,
    /// It took the place of one with the same name.
    Replaced,
    /// One with the same name is there already and stays.
    Kept,
    /// It cannot be used.
    Refused(String),
}

/// The report on one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportedServer {
    /// Its name.
    pub name: String,
    /// The file it came from.
    pub file: PathBuf,
    /// What became of it.
    pub taken: Taken,
    /// Key paths that hold what looks like a secret in plain text.
    pub plain_secrets: Vec<String>,
    /// Keys that were left out because nothing here reads them.
    pub left_out: Vec<String>,
}

/// A target that is not TOML.
#[derive(Debug, thiserror::Error)]
#[error("the configuration to add to is not valid TOML: {0}")]
pub struct TargetError(#[from] toml_edit::TomlError);

const KEPT_KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "bearer",
    "bearer_token_env_var",
    "enabled",
    "disabled",
    "include",
    "exclude",
];
const RENAMED_KEYS: &[(&str, &str)] = &[
    ("httpUrl", "url"),
    ("serverUrl", "url"),
    ("http_headers", "headers"),
    ("enabled_tools", "include"),
    ("includeTools", "include"),
    ("disabled_tools", "exclude"),
    ("excludeTools", "exclude"),
];

/// Adds servers to the text of a `toolcrib.toml`. Everything that is there stays as it is; a server of the same name is
/// replaced only with `force`.
pub fn merge(target: &str, found: &[Found], force: bool) -> Result<(String, Vec<ImportedServer>), TargetError> {
    let mut document: DocumentMut = target.parse()?;
    if !document.contains_key("servers") {
        let mut servers = Table::new();
        servers.set_implicit(true);
        document.insert("servers", Item::Table(servers));
    }
    let mut report = Vec::new();
    for Found { file, servers } in found {
        for (name, server) in servers {
            let mut entry = ImportedServer {
                name: name.clone(),
                file: file.clone(),
                taken: Taken::Added,
                plain_secrets: Vec::new(),
                left_out: Vec::new(),
            };
            let cleaned = clean(server, &mut entry);
            let known = document["servers"].as_table_like().is_some_and(|table| table.contains_key(name));
            entry.taken = match (known, force) {
                _ if !cleaned.contains_key("command") && !cleaned.contains_key("url") => {
                    Taken::Refused("it has neither command nor url".to_owned())
                }
                (true, false) => Taken::Kept,
                (true, true) => Taken::Replaced,
                (false, _) => Taken::Added,
            };
            if matches!(entry.taken, Taken::Added | Taken::Replaced)
                && let Some(table) = document["servers"].as_table_like_mut()
            {
                table.insert(name, Item::Table(to_table(&cleaned)));
            }
            report.push(entry);
        }
    }
    Ok((document.to_string(), report))
}

fn clean(server: &Map<String, Value>, entry: &mut ImportedServer) -> Map<String, Value> {
    let mut cleaned = Map::new();
    for (key, value) in server {
        let target = RENAMED_KEYS.iter().find(|(from, _)| from == key).map_or(key.as_str(), |(_, to)| to);
        if KEPT_KEYS.contains(&target) {
            cleaned.insert(target.to_owned(), value.clone());
        } else if key == "type" || key == "transport" {
            // Told by command or url; only the one we cannot speak has to be refused by name.
            if value == "sse" {
                cleaned.insert("transport".to_owned(), value.clone());
            }
        } else {
            entry.left_out.push(key.clone());
        }
    }
    for section in ["env", "headers"] {
        let pairs = cleaned.get(section).and_then(Value::as_object).into_iter().flatten();
        for (key, value) in pairs {
            let plain = value.as_str().is_some_and(|text| text.len() >= 8 && !text.contains("${"));
            if plain && sounds_secret(key) {
                entry.plain_secrets.push(format!("servers.{}.{section}.{key}", entry.name));
            }
        }
    }
    cleaned
}

fn sounds_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    ["token", "secret", "password", "passwd", "api_key", "apikey", "api-key", "authorization", "credential", "_key"]
        .iter()
        .any(|word| key.contains(word))
}

fn to_table(map: &Map<String, Value>) -> Table {
    let mut table = Table::new();
    for (key, value) in map {
        if let Some(value) = to_value(value) {
            table.insert(key, Item::Value(value));
        }
    }
    table
}

fn to_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        // TOML has no null; a key without a value means the default.
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().filter_map(to_value).collect::<Array>().into(),
        Value::Object(map) => {
            map.iter().filter_map(|(key, value)| Some((key.as_str(), to_value(value)?))).collect::<InlineTable>().into()
        }
    })
}

#[cfg(test)]
mod tests;
