//! Putting a redactor together.

use std::fmt;

use serde_json::Value;

use super::{Redactor, known::Known, names::Names, patterns::Patterns};

/// Most known values.
const VALUES: usize = 10_000;
/// Bytes of all known values.
const BYTES: usize = 1024 * 1024;

/// Collects what a [`Redactor`] looks for. Shows no values.
#[derive(Clone, Default)]
pub struct RedactorBuilder {
    names: Vec<String>,
    values: Vec<String>,
}

/// Why a redactor cannot be built. Nothing should run without one.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// More known values than are looked for.
    #[error(
        "{count} known secrets with {bytes} bytes are over the limit of {VALUES} with {BYTES} bytes; declare fewer"
    )]
    TooMany {
        /// How many.
        count: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// The search for them cannot be built; the cause holds no values.
    #[error("the search for secrets cannot be built: {0}")]
    Search(&'static str),
}

impl RedactorBuilder {
    /// Adds a name under which secrets stand, however it is written (`my-pin`, `myPin` and `MY_PIN` are one).
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Adds names.
    #[must_use]
    pub fn names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds a value that is secret wherever it occurs. Blanks around it do not count; values under 8 characters are
    /// not looked for, as they would occur by chance. Of a value of several lines, long lines count by themselves.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Adds values.
    #[must_use]
    pub fn values<V: Into<String>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.values.extend(values.into_iter().map(Into::into));
        self
    }

    /// Builds it; takes milliseconds. For other values of the same names see [`Redactor::with_values`].
    pub fn build(self) -> Result<Redactor, BuildError> {
        let names = Names::new(&self.names);
        let patterns = Patterns::new(&self.names).ok_or(BuildError::Search("forms"))?;
        Ok(Redactor { known: known(self.values, &names)?, certain: None, patterns, names })
    }
}

impl Redactor {
    /// A redactor with the same names and forms that knows these values instead: for when secrets change.
    pub fn with_values<V: Into<String>>(&self, values: impl IntoIterator<Item = V>) -> Result<Redactor, BuildError> {
        let values = values.into_iter().map(Into::into).collect();
        let known = known(values, &self.names)?;
        Ok(Redactor { known, certain: None, patterns: self.patterns.clone(), names: self.names.clone() })
    }

    /// Says that of the known values only these are certainly secrets. The others (a folder in a server's environment)
    /// stay out of records, but a person who decides about a call sees them.
    pub fn certain_of<V: Into<String>>(mut self, values: impl IntoIterator<Item = V>) -> Result<Redactor, BuildError> {
        self.certain = Some(known(values.into_iter().map(Into::into).collect(), &self.names)?);
        Ok(self)
    }
}

fn known(mut values: Vec<String>, names: &Names) -> Result<Known, BuildError> {
    let bytes = values.iter().map(String::len).sum();
    if values.len() > VALUES || bytes > BYTES {
        return Err(BuildError::TooMany { count: values.len(), bytes });
    }
    // A secret that is JSON (the key file of a service) leaks by its parts too.
    let mut parts = Vec::new();
    for value in values.iter().filter(|value| value.trim_start().starts_with('{')) {
        if let Ok(value) = serde_json::from_str(value) {
            secret_parts(&value, names, &mut parts);
        }
    }
    values.extend(parts);
    Known::new(&values).ok_or(BuildError::Search("known values"))
}

/// The texts under names of secrets. As deep as the JSON reader goes.
fn secret_parts(value: &Value, names: &Names, parts: &mut Vec<String>) {
    let entries = value.as_object().into_iter().flatten();
    for (name, value) in entries {
        match value {
            Value::String(text) if names.is_secret(name) => parts.push(text.clone()),
            value => secret_parts(value, names, parts),
        }
    }
}

impl fmt::Debug for RedactorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedactorBuilder").field("names", &self.names.len()).field("values", &self.values.len()).finish()
    }
}
