//! Reading the arguments of the five tools.

use serde_json::{Map, Value};

use super::StoreFault;

/// Longest key, in bytes.
const MAX_KEY: usize = 512;

/// The arguments of a call, taken apart.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// From the exact text that was validated.
    pub(super) fn read(text: &str) -> Result<Self, StoreFault> {
        match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => Ok(Self(arguments)),
            _ => Err(StoreFault::new("the arguments are not a JSON object")),
        }
    }

    /// A text that must be there.
    pub(super) fn text(&mut self, name: &str) -> Result<String, StoreFault> {
        self.optional_text(name)?.ok_or_else(|| StoreFault::new(format!("'{name}' is missing; give it as a text")))
    }

    /// A text that may be there.
    pub(super) fn optional_text(&mut self, name: &str) -> Result<Option<String>, StoreFault> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(StoreFault::new(format!("'{name}' is not a text; give it in quotes"))),
        }
    }

    /// A key.
    pub(super) fn key(&mut self) -> Result<String, StoreFault> {
        let key = self.text("key")?;
        check_key(&key)?;
        Ok(key)
    }

    /// A key that may be there.
    pub(super) fn optional_key(&mut self) -> Result<Option<String>, StoreFault> {
        let key = self.optional_text("key")?;
        key.as_deref().map_or(Ok(()), check_key)?;
        Ok(key)
    }

    /// How many entries a page may have.
    pub(super) fn limit(&mut self, default: usize, most: usize) -> Result<usize, StoreFault> {
        match self.0.remove("limit") {
            None | Some(Value::Null) => Ok(default),
            Some(given) => match given.as_u64().and_then(|limit| usize::try_from(limit).ok()) {
                Some(limit) if (1..=most).contains(&limit) => Ok(limit),
                _ => Err(StoreFault::new(format!("'limit' is a whole number from 1 to {most}"))),
            },
        }
    }

    /// Whether the caller confirms: `true` alone counts, no text that says so (oneringai case 116).
    pub(super) fn confirmed(&mut self) -> bool {
        self.0.remove("confirm") == Some(Value::Bool(true))
    }

    /// The rest: the object called `name` alone if there is one, else everything left beside it (case 113). A value of
    /// that name that is no object is a field like any other.
    pub(super) fn rest(mut self, name: &str) -> Map<String, Value> {
        match self.0.remove(name) {
            Some(Value::Object(fields)) => fields,
            Some(other) => {
                self.0.insert(name.to_owned(), other);
                self.0
            }
            None => self.0,
        }
    }
}

/// Whether entries may be kept under a key: 1 to 512 bytes, no control characters.
pub fn check_key(key: &str) -> Result<(), StoreFault> {
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(StoreFault::new(format!("a key has 1 to {MAX_KEY} bytes, this one has {}", key.len())));
    }
    if key.chars().any(char::is_control) {
        return Err(StoreFault::new("a key has no line breaks or other control characters"));
    }
    Ok(())
}
