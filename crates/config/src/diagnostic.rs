//! What is wrong with a configuration, where, and what to do.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::document::Place;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Warning,
    /// The value, section or server named is not used.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file, where the finding is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// Key path, such as `servers.github.url`; empty for the whole file.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A warning about a key.
    pub fn warning(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            file: None,
            line: None,
            column: None,
            key: key.into(),
            message: message.into(),
            hint: None,
        }
    }

    /// An error about a key.
    pub fn error(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, ..Self::warning(key, message) }
    }

    /// With the file, and the place in it where that is known.
    #[must_use]
    pub fn at(mut self, file: &Path, place: Option<Place>) -> Self {
        self.file = Some(file.to_owned());
        self.line = place.map(|place| place.line);
        self.column = place.map(|place| place.column);
        self
    }

    /// With advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
                if let Some(column) = self.column {
                    write!(f, "{column}:")?;
                }
            }
            write!(f, " ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

/// The known name nearest to a mistyped one, if one is near enough.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = name.to_lowercase().replace(['-', '_'], "");
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&folded, &candidate.to_lowercase().replace(['-', '_'], "")), candidate))
        .filter(|(similarity, _)| *similarity > 0.84)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
