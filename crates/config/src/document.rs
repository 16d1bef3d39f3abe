//! One file: bytes to a tree, whatever its format, and whichever client it was written for.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use self::{
    syntax::Broken,
    tree::{Flattened, Kind, Node, Places},
};
use crate::Diagnostic;

mod dialect;
mod syntax;
mod tree;

pub use self::tree::Place;

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
    /// Findings that only the file itself can give, such as keys written twice.
    pub findings: Vec<Diagnostic>,
    places: Places,
}

impl Document {
    /// Parses a file's bytes.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, SyntaxError> {
        let fail = |place: Option<Place>, message: String| SyntaxError {
            file: path.to_owned(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            message,
        };
        if bytes.len() > MAX_FILE {
            return Err(fail(None, format!("it is larger than {MAX_FILE} bytes, which no configuration is")));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let good = &bytes[..error.valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            let start = good.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let column = String::from_utf8_lossy(&good[start..]).chars().count() + 1;
            fail(Some(Place { line, column }), "it is not UTF-8 text; save it as UTF-8".to_owned())
        })?;
        let text = text.trim_start_matches('\u{feff}');
        let (language, node) = match Format::of(path, text) {
            _ if text.trim().is_empty() => ("", Ok(Node { place: Place::default(), kind: Kind::Map(Vec::new()) })),
            Format::Toml => ("TOML", syntax::toml(text)),
            Format::Yaml => ("YAML", syntax::yaml(text)),
            Format::Json => ("JSON", syntax::json(text)),
        };
        let node =
            node.map_err(|Broken { place, message }| fail(place, format!("it is not valid {language}: {message}")))?;
        if let Some(place) = too_deep(&node, MAX_DEPTH) {
            return Err(fail(Some(place), format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        let pairs = match node.kind {
            Kind::Map(pairs) => pairs,
            // A YAML file with nothing but comments.
            Kind::Scalar(Value::Null) => Vec::new(),
            Kind::Scalar(_) | Kind::List(_) => {
                return Err(fail(Some(node.place), "it holds no keys; a configuration is a set of keys".to_owned()));
            }
        };
        let mut document = Self {
            path: path.to_owned(),
            tree: Map::new(),
            own: path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("toolcrib")),
            findings: Vec::new(),
            places: Places::default(),
        };
        let pairs = document.gather_servers(pairs);
        let mut flattened = Flattened::default();
        document.tree = flattened.map(pairs, "");
        document.places = flattened.places;
        for (key, place) in flattened.valueless {
            if key.rsplit('.').next() == Some("allow") {
                let finding = Diagnostic::warning(key, "has no value, which counts as left out: everything is allowed");
                document.findings.push(finding.hint("write [] to allow nothing").at(path, Some(place)));
            }
        }
        for (key, place) in flattened.repeated {
            let finding = Diagnostic::warning(key, "written twice; the last one counts");
            document.findings.push(finding.at(path, Some(place)));
        }
        Ok(document)
    }

    /// The place of a key path, or of the nearest key around it.
    pub fn place_of(&self, key: &str) -> Option<Place> {
        self.places.of(key)
    }

    /// Brings the servers of any client's file under `servers`, and notices whether the file is a client's:
    /// `mcpServers` (Claude Desktop, Claude Code, Cursor), `mcp.servers` (VS Code settings), `mcp_servers` (Codex),
    /// `servers` with `inputs` (VS Code `mcp.json`).
    fn gather_servers(&mut self, pairs: Vec<(String, Node)>) -> Vec<(String, Node)> {
        let mut foreign = false;
        let mut lists = Vec::new();
        let mut rest = Vec::new();
        for (key, node) in pairs {
            match (key.as_str(), node.kind) {
                ("servers", kind) => lists.push(Node { place: node.place, kind }),
                ("mcpServers" | "mcp_servers" | "mcp.servers", kind) => {
                    foreign = true;
                    lists.push(Node { place: node.place, kind });
                }
                ("mcp", Kind::Map(inner)) if inner.iter().any(|(key, _)| key == "servers") => {
                    foreign = true;
                    lists.extend(inner.into_iter().filter(|(key, _)| key == "servers").map(|(_, list)| list));
                }
                ("projects", Kind::Map(mut projects)) => {
                    foreign = true;
                    for (_, project) in &mut projects {
                        if let Kind::Map(pairs) = &mut project.kind {
                            let lists = pairs.iter_mut().filter(|(key, _)| key == "mcpServers");
                            lists.for_each(|(_, list)| dialect::translate_servers(list));
                        }
                    }
                    rest.push((key, Node { place: node.place, kind: Kind::Map(projects) }));
                }
                ("inputs", kind @ Kind::List(_)) => {
                    foreign = true;
                    rest.push((key, Node { place: node.place, kind }));
                }
                (_, kind) => rest.push((key, Node { place: node.place, kind })),
            }
        }
        self.own |= !foreign;
        if let Some(first) = lists.first() {
            let place = first.place;
            let mut servers = Vec::new();
            for mut list in lists {
                dialect::translate_servers(&mut list);
                match list.kind {
                    Kind::Map(pairs) => servers.extend(pairs),
                    Kind::Scalar(Value::Null) => {}
                    Kind::Scalar(_) | Kind::List(_) => {
                        let finding = Diagnostic::error("servers", "it is not a map from names to servers");
                        self.findings.push(finding.hint("no server of it is used").at(&self.path, Some(list.place)));
                    }
                }
            }
            rest.push(("servers".to_owned(), Node { place, kind: Kind::Map(servers) }));
        }
        rest
    }
}

/// The place of something nested too deep.
fn too_deep(node: &Node, left: usize) -> Option<Place> {
    match &node.kind {
        Kind::Scalar(_) => None,
        Kind::List(_) | Kind::Map(_) if left == 0 => Some(node.place),
        Kind::List(items) => items.iter().find_map(|item| too_deep(item, left - 1)),
        Kind::Map(pairs) => pairs.iter().find_map(|(_, item)| too_deep(item, left - 1)),
    }
}

#[cfg(test)]
mod tests;
