//! The one expander for every text of a configuration.
//!
//! `${NAME}`, `${NAME:-default}`, `${env:NAME}` (environment), `${file:PATH}` (a file's text less its line end),
//! `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`, `${pathSeparator}` (as VS Code and Cursor have them);
//! `$${` is a literal `${`. A default may hold references; what comes out of a variable or file is never expanded again.

use std::path::{Path, PathBuf};

use crate::Surroundings;

/// Largest file taken by `${file:…}` in bytes.
const MAX_SECRET_FILE: usize = 64 * 1024;
/// Largest text that an expansion may give, in bytes.
const MAX_EXPANDED: usize = 1024 * 1024;

/// Deepest nesting of defaults.
const MAX_DEPTH: usize = 8;

/// A reference that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The variable is not set and there is no default.
    #[error("environment variable {0} is not set; set it, or write ${{{0}:-default}}")]
    Unset(String),
    /// The file cannot be read.
    #[error("file {0} cannot be used: {1}")]
    File(String, String),
    /// `${input:…}` of VS Code asks a person, which cannot be done here.
    #[error("${{input:{0}}} asks in VS Code, which toolcrib cannot; use an environment variable instead")]
    Input(String),
    /// `${cmd:…}` would run a program while reading a file.
    #[error("${{{0}:…}} is not supported; use ${{env:NAME}} or ${{file:PATH}}")]
    Kind(String),
    /// The closing brace is missing.
    #[error("'${{' without its '}}'; write $${{ for a literal one")]
    Open,
    /// Defaults within defaults.
    #[error("defaults are nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The result is too large.
    #[error("the expanded text is larger than {MAX_EXPANDED} bytes")]
    TooLarge,
}

/// Expands a text. Relative files are looked up from `folder`, the one of the file that the text stands in.
pub fn expand(text: &str, folder: &Path, surroundings: &dyn Surroundings) -> Result<String, ExpandError> {
    Expander { folder, surroundings }.expand(text, MAX_DEPTH)
}

/// References that lead to folders and names which everybody knows.
const KNOWN_PLACES: [&str; 8] =
    ["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/", "HOME", "PWD", "USER"];

/// What the references in a text stand for, one by one; for hiding them where the text is shown. Well-known folders are
/// no secrets, and what leads nowhere has no value.
pub(crate) fn values(text: &str, folder: &Path, surroundings: &dyn Surroundings) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let inner = &rest[at + 2..];
        let Some(end) = closing(inner) else { break };
        let word = inner[..end].strip_prefix("env:").unwrap_or(&inner[..end]);
        // With a default it is still the same folder; with anything else behind it (HOMEBREW_TOKEN) it is another variable.
        let name = word.split_once(':').map_or(word, |(name, _)| name);
        if !rest[..at].ends_with('$') && !KNOWN_PLACES.contains(&name) {
            values.extend(expand(&rest[at..=at + 2 + end], folder, surroundings).ok());
        }
        rest = &inner[end + 1..];
    }
    values
}

/// A file named in a configuration: relative to `folder`, `~/` is the home folder, line ends at its end are dropped.
pub(crate) fn read_file(path: &str, folder: &Path, surroundings: &dyn Surroundings) -> Result<String, ExpandError> {
    let fail = |cause: String| ExpandError::File(shortened(path, 200), cause);
    let full = located(path, folder, surroundings);
    let bytes = surroundings.read(&full).map_err(|error| fail(error.to_string()))?;
    if bytes.len() > MAX_SECRET_FILE {
        return Err(fail(format!("it is larger than {MAX_SECRET_FILE} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8 text".to_owned()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Where a path of a configuration leads: relative to `folder`, `~/` is the home folder.
pub(crate) fn located(path: &str, folder: &Path, surroundings: &dyn Surroundings) -> PathBuf {
    match path.strip_prefix("~/").zip(home(surroundings)) {
        Some((rest, home)) => Path::new(&home).join(rest),
        None => folder.join(path),
    }
}

fn home(surroundings: &dyn Surroundings) -> Option<String> {
    surroundings.variable("HOME").or_else(|| surroundings.variable("USERPROFILE"))
}

fn shortened(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

struct Expander<'a> {
    folder: &'a Path,
    surroundings: &'a dyn Surroundings,
}

impl Expander<'_> {
    fn expand(&self, text: &str, depth: usize) -> Result<String, ExpandError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                out.push_str(&rest[..at - 1]);
                out.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            out.push_str(&rest[..at]);
            let inner = &rest[at + 2..];
            let end = closing(inner).ok_or(ExpandError::Open)?;
            out.push_str(&self.resolve(&inner[..end], depth)?);
            if out.len() > MAX_EXPANDED {
                return Err(ExpandError::TooLarge);
            }
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn resolve(&self, inner: &str, depth: usize) -> Result<String, ExpandError> {
        match inner {
            "workspaceFolder" => return Ok(self.workspace().display().to_string()),
            "workspaceFolderBasename" => {
                let name = self.workspace().file_name();
                return Ok(name.map_or_else(String::new, |name| name.to_string_lossy().into_owned()));
            }
            "pathSeparator" | "/" => return Ok(std::path::MAIN_SEPARATOR_STR.to_owned()),
            "userHome" => return home(self.surroundings).ok_or_else(|| ExpandError::Unset("HOME".to_owned())),
            _ => {}
        }
        if let Some((kind, rest)) = inner.split_once(':').filter(|(_, rest)| !rest.starts_with('-')) {
            return match kind {
                "env" => self.variable(rest, depth),
                "file" => read_file(rest, self.folder, self.surroundings),
                "input" => Err(ExpandError::Input(shortened(rest, 80))),
                other => Err(ExpandError::Kind(shortened(other, 40))),
            };
        }
        self.variable(inner, depth)
    }

    fn variable(&self, text: &str, depth: usize) -> Result<String, ExpandError> {
        let (name, default) = match text.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (text, None),
        };
        // As in a shell, `:-` also stands in for an empty variable.
        if let Some(value) = self.surroundings.variable(name).filter(|value| default.is_none() || !value.is_empty()) {
            return Ok(value);
        }
        let default = default.ok_or_else(|| ExpandError::Unset(shortened(name, 80)))?;
        // The default was written here, so it may refer to others.
        let depth = depth.checked_sub(1).ok_or(ExpandError::TooDeep)?;
        self.expand(default, depth)
    }

    /// The project's folder: clients keep their files in one of their own inside of it.
    fn workspace(&self) -> &Path {
        let of_client = self.folder.file_name().is_some_and(|name| name == ".vscode" || name == ".cursor");
        match self.folder.parent().filter(|_| of_client) {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => self.folder,
        }
    }
}

/// Where the brace that opened before `text` closes.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut opened = false;
    for (at, c) in text.char_indices() {
        match c {
            '{' if opened => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
        opened = c == '$';
    }
    None
}

#[cfg(test)]
mod tests;
