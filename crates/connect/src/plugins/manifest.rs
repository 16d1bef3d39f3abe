//! The manifest of a plugin, `plugin.toml`: what it declares before any of its code runs.
//!
//! Reading is strict: an unknown key, a wrong type or a value over its bound refuses the plugin, with file, line and key.

mod raw;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::{Map, Value, json};
use toml::Spanned;
use toolcrib_core::Annotations;

/// The file's name.
pub const FILE: &str = "plugin.toml";

/// Largest manifest in bytes.
pub(super) const MAX_BYTES: usize = 256 * 1024;
/// Most tools of one plugin.
const MAX_TOOLS: usize = 1_000;
/// Longest id in characters.
const MAX_ID: usize = 40;
/// Longest text (description, title) in characters.
const MAX_TEXT: usize = 4_000;
/// Most entries of a list, and most words of a command.
const MAX_LIST: usize = 64;
/// Longest word: a name, an entry of a list, a word of a command.
const MAX_WORD: usize = 256;

/// MCP has no greeting that could carry credentials.
const NO_AUTH: &str =
    "cannot be used with run.mcp: an MCP server gets credentials as environment variables, so name them in env";

/// What a plugin declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Its id: `a-z`, `0-9`, `_`, `-`, beginning with a letter, at most 40 characters. The source is `plugin:ID`.
    pub id: String,
    /// Its version, free text of at most 64 characters.
    pub version: String,
    /// One line on what it is for; shown in listings.
    pub description: String,
    /// How it runs.
    pub run: Run,
    /// How long it may take from its start until it has said what it offers. Default 10 s; 100 ms to 10 min.
    pub start_timeout: Duration,
    /// Globs of files in its folder that, when they change, mean a new generation, beside the manifest and the files that
    /// the command names.
    pub watch: Vec<String>,
    /// What all its tools need.
    pub requires: Requirements,
    /// Its tools.
    pub tools: Vec<DeclaredTool>,
}

/// How a plugin runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// An MCP server on its standard streams: program and arguments.
    Mcp(Vec<String>),
    /// A process that speaks the line protocol: program and arguments.
    Lines(Vec<String>),
    /// Code within this process, registered by the embedding program under this name.
    Factory(String),
}

impl Run {
    /// The kind's word: `mcp`, `lines` or `factory`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Mcp(_) => "mcp",
            Self::Lines(_) => "lines",
            Self::Factory(_) => "factory",
        }
    }

    /// The command, of what is started as a process.
    pub fn command(&self) -> Option<&[String]> {
        match self {
            Self::Mcp(command) | Self::Lines(command) => Some(command),
            Self::Factory(_) => None,
        }
    }
}

/// What must be there for a tool to be offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Keys of the plugin's configuration.
    pub config: BTreeSet<String>,
    /// Environment variables that the plugin is given.
    pub env: BTreeSet<String>,
    /// Credentials, by the name under which they are handed over.
    pub auth: BTreeSet<String>,
    /// What the client must be able to do; looked at for each scope.
    pub capabilities: BTreeSet<String>,
}

/// A permission that a plugin asks for its own tool. It can only raise caution: there is no "allow".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// A person is asked before a call.
    Ask,
    /// No call runs unless the configuration says otherwise.
    Deny,
}

/// One tool that a plugin declares.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredTool {
    /// Its name, as the plugin knows it. Compared exactly.
    pub name: String,
    /// Display title.
    pub title: Option<String>,
    /// What it does. What the plugin says when it runs stands in where this is left out.
    pub description: Option<String>,
    /// Whether it is shown only where a list names it (openclaw §1.2).
    pub optional: bool,
    /// What it needs, beside what all need.
    pub requires: Requirements,
    /// JSON Schema of the arguments. What the plugin says when it runs stands in where this is left out.
    pub input_schema: Option<Value>,
    /// JSON Schema of structured results.
    pub output_schema: Option<Value>,
    /// Behaviour hints. Believed, because whoever installed the plugin has this file before any code runs.
    pub hints: Annotations,
    /// The permission it asks for itself.
    pub permission: Option<Caution>,
}

impl DeclaredTool {
    /// The definition in MCP shape as far as the manifest has it.
    pub fn definition(&self) -> Value {
        let mut definition = Map::new();
        definition.insert("name".to_owned(), json!(self.name));
        if let Some(title) = &self.title {
            definition.insert("title".to_owned(), json!(title));
        }
        definition.insert("description".to_owned(), json!(self.description.as_deref().unwrap_or_default()));
        definition
            .insert("inputSchema".to_owned(), self.input_schema.clone().unwrap_or_else(|| json!({"type": "object"})));
        if let Some(schema) = &self.output_schema {
            definition.insert("outputSchema".to_owned(), schema.clone());
        }
        if self.hints != Annotations::default() {
            definition.insert("annotations".to_owned(), json!(self.hints));
        }
        Value::Object(definition)
    }
}

/// A manifest that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {}{problem}", .file.display(), at(*.line), within(.key))]
pub struct ManifestError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The key path, such as `tools[0].name`; empty for the file as a whole.
    pub key: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

fn at(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(":{line}"))
}

fn within(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("'{key}' ") }
}

impl Manifest {
    /// Reads a manifest; `file` is named in errors.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ManifestError> {
        let reader = Reader { text, file };
        if text.len() > MAX_BYTES {
            return Err(reader.whole(format!("has {} bytes; at most {MAX_BYTES} are read", text.len())));
        }
        let raw = raw::read(text).map_err(|error| reader.refused(error))?;
        reader.manifest(raw)
    }

    /// Reads the manifest in a folder.
    pub fn load(folder: &Path) -> Result<Self, ManifestError> {
        let file = folder.join(FILE);
        let unreadable =
            |problem: String| ManifestError { file: file.clone(), line: None, key: String::new(), problem };
        let bytes = read_bounded(&file, MAX_BYTES).map_err(|error| unreadable(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("is not UTF-8 text".to_owned()))?;
        Self::parse(&text, &file)
    }

    /// The globs of [`Manifest::watch`].
    pub(super) fn watched(&self) -> GlobSet {
        // They were checked when the manifest was read.
        let mut builder = GlobSetBuilder::new();
        for glob in self.watch.iter().filter_map(|text| Glob::new(text).ok()) {
            builder.add(glob);
        }
        builder.build().unwrap_or_default()
    }
}

/// The bytes of a file, refused when there are more than `most`.
pub(super) fn read_bounded(file: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    // Opening a pipe waits for whoever writes to it.
    if !std::fs::metadata(file)?.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    std::fs::File::open(file)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(std::io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

struct Reader<'a> {
    text: &'a str,
    file: &'a Path,
}

impl Reader<'_> {
    fn whole(&self, problem: String) -> ManifestError {
        ManifestError { file: self.file.to_owned(), line: None, key: String::new(), problem }
    }

    fn error(&self, at: usize, key: impl Into<String>, problem: impl Into<String>) -> ManifestError {
        let line = self.text.get(..at).map(|before| before.matches('\n').count() + 1);
        ManifestError { file: self.file.to_owned(), line, key: key.into(), problem: problem.into() }
    }

    fn refused(&self, error: raw::ReadError) -> ManifestError {
        let raw::ReadError { at, key, problem } = error;
        match at {
            Some(at) => self.error(at, key, problem),
            None => ManifestError { key, ..self.whole(problem) },
        }
    }

    fn manifest(&self, raw: raw::Manifest) -> Result<Manifest, ManifestError> {
        let id_at = raw.id.span().start;
        let id = raw.id.into_inner();
        if let Some(problem) = id_problem(&id) {
            return Err(self.error(id_at, "id", problem));
        }
        let version = self.word(&raw.version, "version", 64)?;
        let description = self.text_of(&raw.description, "description")?;
        if description.trim().is_empty() {
            return Err(self.error(
                raw.description.span().start,
                "description",
                "is empty; say what the plugin is for",
            ));
        }
        let run = self.run(&raw.run)?;
        let run_at = raw.run.span().start;
        let raw_run = raw.run.into_inner();
        let start_ms = raw_run.start_timeout_ms.unwrap_or(10_000);
        if !(100..=600_000).contains(&start_ms) {
            return Err(self.error(run_at, "run.start_timeout_ms", format!("is {start_ms}; use 100 to 600000")));
        }
        if raw_run.watch.len() > MAX_LIST {
            return Err(self.error(run_at, "run.watch", format!("has more than {MAX_LIST} entries")));
        }
        for glob in &raw_run.watch {
            if let Err(error) = Glob::new(glob) {
                return Err(self.error(run_at, "run.watch", format!("has '{glob}', which is no pattern: {error}")));
            }
        }
        let requires = self.requirements(raw.requires, "requires")?;
        let with_auth = |requires: &Requirements| matches!(run, Run::Mcp(_)) && !requires.auth.is_empty();
        if with_auth(&requires) {
            return Err(self.error(run_at, "requires.auth", NO_AUTH));
        }
        if raw.tools.is_empty() {
            return Err(self.whole("declares no tool; add a [[tools]] table for each".to_owned()));
        }
        if raw.tools.len() > MAX_TOOLS {
            return Err(self.whole(format!("declares {} tools; at most {MAX_TOOLS} are taken", raw.tools.len())));
        }
        let mut tools = Vec::with_capacity(raw.tools.len());
        let mut names = BTreeSet::new();
        for (index, tool) in raw.tools.into_iter().enumerate() {
            let at = tool.name.span().start;
            let tool = self.tool(index, tool)?;
            if with_auth(&tool.requires) {
                return Err(self.error(at, format!("tools[{index}].requires.auth"), NO_AUTH));
            }
            if !names.insert(tool.name.clone()) {
                let problem = format!("is '{}', which an earlier tool has; names are declared once", tool.name);
                return Err(self.error(at, format!("tools[{index}].name"), problem));
            }
            tools.push(tool);
        }
        let start_timeout = Duration::from_millis(start_ms);
        Ok(Manifest { id, version, description, run, start_timeout, watch: raw_run.watch, requires, tools })
    }

    fn run(&self, raw: &Spanned<raw::Run>) -> Result<Run, ManifestError> {
        let at = raw.span().start;
        let raw::Run { mcp, lines, factory, .. } = raw.get_ref();
        let command = |key: &str, words: &Vec<String>| -> Result<Vec<String>, ManifestError> {
            let fail = |problem: String| Err(self.error(at, format!("run.{key}"), problem));
            if words.first().is_none_or(|word| word.trim().is_empty()) {
                return fail("names no program; write it as a list: [\"PROGRAM\", \"ARGUMENT\"]".to_owned());
            }
            if words.len() > MAX_LIST {
                return fail(format!("has {} words; at most {MAX_LIST} are taken", words.len()));
            }
            match words.iter().find(|word| word.len() > 4096 || word.contains('\0')) {
                Some(_) => fail("has a word that is longer than 4096 bytes or holds a NUL".to_owned()),
                None => Ok(words.clone()),
            }
        };
        match (mcp, lines, factory) {
            (Some(words), None, None) => Ok(Run::Mcp(command("mcp", words)?)),
            (None, Some(words), None) => Ok(Run::Lines(command("lines", words)?)),
            (None, None, Some(name)) if name.trim().is_empty() || name.chars().count() > MAX_WORD => {
                Err(self.error(at, "run.factory", format!("must be a name of 1 to {MAX_WORD} characters")))
            }
            (None, None, Some(name)) => Ok(Run::Factory(name.clone())),
            (None, None, None) => Err(self.error(at, "run", "says nothing; give one of mcp, lines and factory")),
            _ => Err(self.error(at, "run", "says more than one of mcp, lines and factory; keep one")),
        }
    }

    fn tool(&self, index: usize, raw: raw::Tool) -> Result<DeclaredTool, ManifestError> {
        let at = raw.name.span().start;
        let key = |part: &str| format!("tools[{index}].{part}");
        let name = self.word(&raw.name, &key("name"), 128)?;
        for (part, text) in [("title", &raw.title), ("description", &raw.description)] {
            if text.as_ref().is_some_and(|text| text.chars().count() > MAX_TEXT) {
                return Err(self.error(at, key(part), format!("is longer than {MAX_TEXT} characters")));
            }
        }
        for (part, schema) in [("input_schema", &raw.input_schema), ("output_schema", &raw.output_schema)] {
            match schema {
                Some(Value::Object(_)) if schema.as_ref().is_some_and(holds_datetime) => {
                    return Err(self.error(at, key(part), "holds a date; JSON has none, so write it as a text"));
                }
                None | Some(Value::Object(_)) => {}
                Some(_) => return Err(self.error(at, key(part), "is not a table")),
            }
        }
        let raw::Hints { read_only, destructive, idempotent, open_world } = raw.hints;
        let permission = match raw.permission.as_deref() {
            None => None,
            Some("ask") => Some(Caution::Ask),
            Some("deny") => Some(Caution::Deny),
            Some("allow") => {
                let problem = "cannot be \"allow\": a plugin does not grant itself anything; leave it out, and let \
                               permissions.allow in the configuration name the tool";
                return Err(self.error(at, key("permission"), problem));
            }
            Some(other) => {
                let other: String = other.chars().take(40).collect();
                return Err(self.error(at, key("permission"), format!("is '{other}'; use \"ask\" or \"deny\"")));
            }
        };
        Ok(DeclaredTool {
            name,
            title: raw.title,
            description: raw.description,
            optional: raw.optional,
            requires: self.requirements(raw.requires, &key("requires"))?,
            input_schema: raw.input_schema,
            output_schema: raw.output_schema,
            hints: Annotations {
                read_only_hint: read_only,
                destructive_hint: destructive,
                idempotent_hint: idempotent,
                open_world_hint: open_world,
            },
            permission,
        })
    }

    fn requirements(&self, raw: Option<Spanned<raw::Requires>>, key: &str) -> Result<Requirements, ManifestError> {
        let Some(raw) = raw else { return Ok(Requirements::default()) };
        let at = raw.span().start;
        let raw::Requires { config, env, auth, capabilities } = raw.into_inner();
        let list = |part: &str, list: Vec<String>| -> Result<BTreeSet<String>, ManifestError> {
            let fail = |problem: String| Err(self.error(at, format!("{key}.{part}"), problem));
            if list.len() > MAX_LIST {
                return fail(format!("has {} entries; at most {MAX_LIST} are taken", list.len()));
            }
            match list.iter().find(|entry| word_problem(entry, MAX_WORD).is_some()) {
                Some(entry) => fail(format!("has an entry that {}", word_problem(entry, MAX_WORD).unwrap_or_default())),
                None => Ok(list.into_iter().collect()),
            }
        };
        Ok(Requirements {
            config: list("config", config)?,
            env: list("env", env)?,
            auth: list("auth", auth)?,
            capabilities: list("capabilities", capabilities)?,
        })
    }

    fn word(&self, value: &Spanned<String>, key: &str, most: usize) -> Result<String, ManifestError> {
        match word_problem(value.get_ref(), most) {
            Some(problem) => Err(self.error(value.span().start, key, problem)),
            None => Ok(value.get_ref().clone()),
        }
    }

    fn text_of(&self, value: &Spanned<String>, key: &str) -> Result<String, ManifestError> {
        if value.get_ref().chars().count() > MAX_TEXT {
            return Err(self.error(value.span().start, key, format!("is longer than {MAX_TEXT} characters")));
        }
        Ok(value.get_ref().clone())
    }
}

/// What is wrong with an id, if anything.
pub(super) fn id_problem(id: &str) -> Option<String> {
    let shown: String = id.chars().take(60).collect();
    let fits = id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
        && id.len() <= MAX_ID;
    (!fits).then(|| {
        format!(
            "is '{shown}'; use 1 to {MAX_ID} of the characters a-z, 0-9, '_' and '-', beginning with a letter, so that rules can name it"
        )
    })
}

fn word_problem(word: &str, most: usize) -> Option<String> {
    if word.trim().is_empty() {
        return Some("is empty".to_owned());
    }
    if word.trim() != word {
        return Some("begins or ends with a blank".to_owned());
    }
    if word.chars().count() > most {
        return Some(format!("is longer than {most} characters"));
    }
    word.chars().find(|c| c.is_control()).map(|c| format!("holds the control character U+{:04X}", c as u32))
}

/// A date of TOML comes as a map with a key of the reader's own.
fn holds_datetime(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.iter().any(|(key, value)| key.starts_with("$__toml_private") || holds_datetime(value))
        }
        Value::Array(items) => items.iter().any(holds_datetime),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
