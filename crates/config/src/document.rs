//! One file: bytes to a tree, whatever its format, and whichever client it was written for.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// Largest configuration file in bytes.
pub const MAX_FILE: usize = 4 * 1024 * 1024;

/// Deepest nesting of a configuration.
const MAX_DEPTH: usize = 64;

/// Formats a configuration may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// JSON, comments and trailing commas allowed.
    Json,
}

impl Format {
    /// Told by the file's name, else by how the text begins.
    pub fn of(path: &Path, text: &str) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            Some("json" | "jsonc" | "json5") => Self::Json,
            _ => match text.trim_start().chars().next() {
                Some('{' | '/') => Self::Json,
                Some('[') => Self::Toml,
                _ if text.lines().any(|line| line.split_once('=').is_some_and(|(key, _)| is_bare(key.trim()))) => {
                    Self::Toml
                }
                _ => Self::Yaml,
            },
        }
    }
}

fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '"'))
}

/// A file that cannot be read as a configuration at all.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {message}", .file.display(), place(*.line, *.column))]
pub struct SyntaxError {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
}

fn place(line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!(":{line}:{column}"),
        (Some(line), None) => format!(":{line}"),
        _ => String::new(),
    }
}

/// A parsed file.
#[derive(Debug)]
pub struct Document {
    /// The file.
    pub path: PathBuf,
    /// Its tree, with servers under `servers` whatever the client called them.
    pub tree: Map<String, Value>,
    /// Whether it is ours (unknown keys are worth a word) or another client's (they are not).
    pub own: bool,
    text: String,
}

impl Document {
    /// Parses a file's bytes.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, SyntaxError> {
        let fail = |line, column, message: String| SyntaxError { file: path.to_owned(), line, column, message };
        if bytes.len() > MAX_FILE {
            return Err(fail(None, None, format!("it is larger than {MAX_FILE} bytes, which no configuration is")));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            fail(Some(line), None, "it is not UTF-8 text; save it as UTF-8".to_owned())
        })?;
        let text = text.trim_start_matches('\u{feff}');
        let value = if text.trim().is_empty() { Value::Object(Map::new()) } else { parse_text(path, text)? };
        if too_deep(&value, MAX_DEPTH) {
            return Err(fail(None, None, format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        let Value::Object(tree) = value else {
            return Err(fail(Some(1), None, "it holds no keys; a configuration is a set of keys".to_owned()));
        };
        let own = path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("toolcrib"));
        let (tree, foreign) = gather_servers(tree);
        Ok(Self { path: path.to_owned(), tree, own: own || !foreign, text: text.to_owned() })
    }

    /// The line of a key path, found by looking for its parts one after the other. Not for very large files, where
    /// the search would take longer than the loading.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        const MAX_SEARCHED: usize = 128 * 1024;
        if self.text.len() > MAX_SEARCHED {
            return None;
        }
        let mut at = 0;
        for part in key.split('.') {
            let part = part.split('[').next().unwrap_or(part);
            let alternatives: &[&str] =
                if part == "servers" { &["servers", "mcpServers", "mcp_servers"] } else { &[part] };
            let next = alternatives.iter().filter_map(|word| find_word(&self.text, word, at)).min();
            at = next?;
        }
        Some(self.text[..at].matches('\n').count() + 1)
    }
}

fn find_word(text: &str, word: &str, from: usize) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.get(from..)?.match_indices(word).map(|(at, _)| at + from).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[*at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

fn parse_text(path: &Path, text: &str) -> Result<Value, SyntaxError> {
    let fail = |line, column, message: String| SyntaxError { file: path.to_owned(), line, column, message };
    match Format::of(path, text) {
        Format::Toml => toml::from_str::<Value>(text).map_err(|error| {
            let (line, column) = error.span().map(|span| position(text, span.start)).unzip();
            fail(line, column, format!("it is not valid TOML: {}", error.message()))
        }),
        Format::Yaml => serde_saphyr::from_str::<Value>(text).map_err(|error| {
            let place = error.location();
            let line = place.map(|place| usize::try_from(place.line()).unwrap_or(0));
            let column = place.map(|place| usize::try_from(place.column()).unwrap_or(0));
            let message = error.to_string();
            fail(line, column, format!("it is not valid YAML: {}", message.lines().next().unwrap_or_default()))
        }),
        Format::Json => {
            let options = jsonc_parser::ParseOptions::default();
            match jsonc_parser::parse_to_serde_value::<Value>(text, &options) {
                Ok(value) => Ok(value),
                Err(error) => {
                    let (line, column) = (error.line_display(), error.column_display());
                    Err(fail(Some(line), Some(column), format!("it is not valid JSON: {}", error.kind())))
                }
            }
        }
    }
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

fn too_deep(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left == 0 || items.iter().any(|item| too_deep(item, left - 1)),
        Value::Object(map) => left == 0 || map.values().any(|item| too_deep(item, left - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Brings the servers of any client's file under `servers`, and says whether the file is a client's:
/// `mcpServers` (Claude Desktop, Claude Code, Cursor), `mcp.servers` (VS Code settings), `mcp_servers` (Codex), `servers`
/// with `inputs` (VS Code `mcp.json`).
fn gather_servers(mut tree: Map<String, Value>) -> (Map<String, Value>, bool) {
    let mut servers = Map::new();
    let mut foreign = false;
    let mut take = |value: Option<Value>| {
        if let Some(Value::Object(found)) = value {
            servers.extend(found);
        }
    };
    if matches!(tree.get("servers"), Some(Value::Object(_)) | None) {
        foreign |= tree.contains_key("inputs");
        take(tree.shift_remove("servers"));
    }
    for key in ["mcpServers", "mcp_servers"] {
        if matches!(tree.get(key), Some(Value::Object(_))) {
            foreign = true;
            take(tree.shift_remove(key));
        }
    }
    if let Some(Value::Object(mcp)) = tree.get_mut("mcp")
        && mcp.contains_key("servers")
    {
        foreign = true;
        take(mcp.shift_remove("servers"));
    }
    if !servers.is_empty() {
        tree.insert("servers".to_owned(), Value::Object(servers));
    }
    (tree, foreign)
}

#[cfg(test)]
mod tests;
