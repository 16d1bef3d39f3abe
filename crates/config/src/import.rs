//! Taking over other clients' server lists into `toolcrib.toml`, comments and order kept.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Map, Value};
use toml_edit::{Array, Decor, DocumentMut, InlineTable, Item, Table, TableLike};

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
    /// Whether it runs or reaches something else than the one of the same name that it replaced or that was kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub differs: bool,
    /// The file that the other one of the same name was taken from in the same go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<PathBuf>,
    /// Environment variables that now stand where VS Code would have asked (`${input:…}`); they have to be set.
    pub set_variables: Vec<String>,
}

/// A target that is not TOML.
#[derive(Debug, thiserror::Error)]
#[error("the configuration to add to is not valid TOML: {0}")]
pub struct TargetError(#[from] toml_edit::TomlError);

/// Keys that are taken over; other spellings were brought to these when the file was read.
const KEPT_KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "env_file",
    "env_inherit",
    "cwd",
    "url",
    "headers",
    "bearer",
    "bearer_token_env_var",
    "enabled",
    "include",
    "exclude",
    "connect_timeout_ms",
    "call_timeout_ms",
];

/// The keys under which a target may keep its servers.
const LISTS: [&str; 3] = ["servers", "mcpServers", "mcp_servers"];

/// Adds servers to the text of a `toolcrib.toml`. Everything that is there stays as it is; a server of the same name is
/// replaced only with `force`.
pub fn merge(target: &str, found: &[Found], force: bool) -> Result<(String, Vec<ImportedServer>), TargetError> {
    let mut document: DocumentMut = target.trim_start_matches('\u{feff}').parse()?;
    let mut report = Vec::new();
    for Found { file, servers } in found {
        for (name, server) in servers {
            let mut entry = ImportedServer {
                name: name.clone(),
                file: file.clone(),
                taken: Taken::Added,
                plain_secrets: Vec::new(),
                left_out: Vec::new(),
                differs: false,
                other: None,
                set_variables: Vec::new(),
            };
            let mut cleaned = clean(server, &mut entry);
            entry.differs = standing(&document, name).is_some_and(|there| what_runs(there) != what_is_to_run(&cleaned));
            let earlier =
                |one: &&ImportedServer| one.name == *name && matches!(one.taken, Taken::Added | Taken::Replaced);
            entry.other = report.iter().rev().find(earlier).map(|one| one.file.clone());
            entry.taken = take(&mut document, name, server, &mut cleaned, force, &mut entry.set_variables);
            report.push(entry);
        }
    }
    Ok((document.to_string(), report))
}

/// What the target has under that name.
fn standing<'d>(document: &'d DocumentMut, name: &str) -> Option<&'d dyn TableLike> {
    let mut lists = LISTS.into_iter().filter_map(|list| document.get(list)?.as_table_like());
    lists.find_map(|list| list.get(name)?.as_table_like())
}

/// The parts of a server that tell which one it is.
type Runs = (Option<String>, Vec<String>, Option<String>);

fn what_runs(server: &dyn TableLike) -> Runs {
    let text = |key: &str| server.get(key).and_then(Item::as_str).map(str::to_owned);
    let arguments = server.get("args").and_then(Item::as_array).into_iter().flatten();
    let arguments = arguments.filter_map(|argument| argument.as_str().map(str::to_owned)).collect();
    (text("command"), arguments, text("url"))
}

fn what_is_to_run(server: &Map<String, Value>) -> Runs {
    // As it would be written down.
    let mut server = server.clone();
    server.values_mut().for_each(|value| answer_inputs(value, &mut Vec::new()));
    what_runs(&to_table(&server))
}

fn take(
    document: &mut DocumentMut,
    name: &str,
    server: &Map<String, Value>,
    cleaned: &mut Map<String, Value>,
    force: bool,
    variables: &mut Vec<String>,
) -> Taken {
    if server.get("transport").is_some_and(|transport| transport == "sse") {
        return Taken::Refused("it uses the SSE transport, which is not supported".to_owned());
    }
    if !cleaned.contains_key("command") && !cleaned.contains_key("url") {
        return Taken::Refused("it has neither command nor url".to_owned());
    }
    let holds =
        |list: &str| document.get(list).and_then(Item::as_table_like).is_some_and(|list| list.contains_key(name));
    let home = LISTS.into_iter().find(|list| holds(list));
    if home.is_some() && !force {
        return Taken::Kept;
    }
    let mut fresh = Table::new();
    fresh.set_implicit(true);
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let list = document.entry(home.unwrap_or(LISTS[0])).or_insert(Item::Table(fresh));
    let inline = list.is_inline_table();
    let Some(list) = list.as_table_like_mut() else {
        return Taken::Refused("servers of the target is not a table".to_owned());
    };
    cleaned.values_mut().for_each(|value| answer_inputs(value, variables));
    let mut table = to_table(cleaned);
    let mut moved = false;
    if let Some(Item::Table(old)) = list.get(name) {
        // In place of the old one, with the comments above it.
        *table.decor_mut() = old.decor().clone();
        table.set_position(old.position());
    } else if !inline && !trailing.is_empty() {
        // Comments at the end of the file stay above what is added.
        *table.decor_mut() = Decor::new(format!("{trailing}\n"), "");
        moved = true;
    }
    list.insert(name, Item::Table(table));
    if moved {
        document.set_trailing("");
    }
    if home.is_some() { Taken::Replaced } else { Taken::Added }
}

fn clean(server: &Map<String, Value>, entry: &mut ImportedServer) -> Map<String, Value> {
    let mut cleaned = Map::new();
    for (key, value) in server {
        if KEPT_KEYS.contains(&key.as_str()) {
            cleaned.insert(key.clone(), value.clone());
        } else if key != "transport" {
            // The transport is told by command or url.
            entry.left_out.push(key.clone());
        }
    }
    let key = |rest: String| format!("servers.{}.{rest}", entry.name);
    for section in ["env", "headers"] {
        let pairs = cleaned.get(section).and_then(Value::as_object).into_iter().flatten();
        let plain = pairs.filter(|(name, value)| sounds_secret(name) && value.as_str().is_some_and(is_plain));
        entry.plain_secrets.extend(plain.map(|(name, _)| key(format!("{section}.{name}"))));
    }
    let mut flag = "";
    for (index, argument) in cleaned.get("args").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let argument = argument.as_str().unwrap_or_default();
        let secret = match argument.split_once('=') {
            Some((name, value)) => sounds_secret(name) && is_plain(value),
            None => sounds_secret(flag) && !argument.starts_with('-') && is_plain(argument),
        };
        if secret {
            entry.plain_secrets.push(key(format!("args[{index}]")));
        }
        flag = if argument.starts_with('-') && !argument.contains('=') { argument } else { "" };
    }
    if cleaned.get("url").and_then(Value::as_str).is_some_and(url_holds_secret) {
        entry.plain_secrets.push(key("url".to_owned()));
    }
    if cleaned.get("bearer").and_then(Value::as_str).is_some_and(is_plain) {
        entry.plain_secrets.push(key("bearer".to_owned()));
    }
    cleaned
}

fn is_plain(text: &str) -> bool {
    text.len() >= 8 && !text.contains("${")
}

fn url_holds_secret(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let password = host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let named = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(name, value)| (sounds_secret(name) || name.eq_ignore_ascii_case("key")) && is_plain(value))
    };
    (password && !host.contains("${")) || query.split('&').any(named)
}

fn sounds_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    ["token", "secret", "password", "passwd", "api_key", "apikey", "api-key", "authorization", "credential", "_key"]
        .iter()
        .any(|word| key.contains(word))
}

/// Puts an environment variable where VS Code would ask: `${input:github-token}` becomes `${GITHUB_TOKEN}`.
fn answer_inputs(value: &mut Value, variables: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            while let Some((before, rest)) = text.split_once("${input:")
                && let Some((id, after)) = rest.split_once('}')
            {
                let name: String =
                    id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
                *text = format!("{before}${{{name}}}{after}");
                if !variables.contains(&name) {
                    variables.push(name);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| answer_inputs(item, variables)),
        Value::Object(map) => map.values_mut().for_each(|item| answer_inputs(item, variables)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
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
