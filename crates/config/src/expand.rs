//! The one expander for every text of a configuration.
//!
//! `${NAME}`, `${NAME:-default}`, `${env:NAME}` (environment), `${file:PATH}` (a file's text less its line end),
//! `${workspaceFolder}`, `${userHome}`; `$${` is a literal `${`. What comes out is never expanded again.

use std::path::Path;

use crate::Surroundings;

/// Largest file taken by `${file:…}` in bytes.
const MAX_SECRET_FILE: usize = 64 * 1024;
/// Largest text that an expansion may give, in bytes.
const MAX_EXPANDED: usize = 1024 * 1024;

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
    /// The result is too large.
    #[error("the expanded text is larger than {MAX_EXPANDED} bytes")]
    TooLarge,
}

/// Expands a text. Relative files are looked up from `folder`.
pub fn expand(text: &str, folder: &Path, surroundings: &dyn Surroundings) -> Result<String, ExpandError> {
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
        let end = inner.find('}').ok_or(ExpandError::Open)?;
        out.push_str(&resolve(&inner[..end], folder, surroundings)?);
        if out.len() > MAX_EXPANDED {
            return Err(ExpandError::TooLarge);
        }
        rest = &inner[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn resolve(inner: &str, folder: &Path, surroundings: &dyn Surroundings) -> Result<String, ExpandError> {
    match inner {
        "workspaceFolder" => return Ok(folder.display().to_string()),
        "userHome" => return variable("HOME", surroundings),
        _ => {}
    }
    if let Some((kind, rest)) = inner.split_once(':').filter(|(_, rest)| !rest.starts_with('-')) {
        return match kind {
            "env" => variable(rest, surroundings),
            "file" => file(rest, folder, surroundings),
            "input" => Err(ExpandError::Input(rest.chars().take(80).collect())),
            other => Err(ExpandError::Kind(other.chars().take(40).collect())),
        };
    }
    variable(inner, surroundings)
}

fn variable(text: &str, surroundings: &dyn Surroundings) -> Result<String, ExpandError> {
    let (name, default) = match text.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (text, None),
    };
    // As in a shell, `:-` also stands in for an empty variable.
    match surroundings.variable(name).filter(|value| default.is_none() || !value.is_empty()) {
        Some(value) => Ok(value),
        None => default.map(str::to_owned).ok_or_else(|| ExpandError::Unset(name.chars().take(80).collect())),
    }
}

fn file(path: &str, folder: &Path, surroundings: &dyn Surroundings) -> Result<String, ExpandError> {
    let fail = |cause: String| ExpandError::File(path.chars().take(200).collect(), cause);
    let full = match path.strip_prefix("~/").zip(surroundings.variable("HOME")) {
        Some((rest, home)) => Path::new(&home).join(rest),
        None => folder.join(path),
    };
    let bytes = surroundings.read(&full).map_err(|error| fail(error.to_string()))?;
    if bytes.len() > MAX_SECRET_FILE {
        return Err(fail(format!("it is larger than {MAX_SECRET_FILE} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8 text".to_owned()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests;
