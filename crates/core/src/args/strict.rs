//! A JSON reader without room for two readings: no key twice, nothing behind the value, bounded depth.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, value::RawValue};

use crate::shape::sanitize_text;

/// Why arguments cannot be read. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    /// The text is over the limit.
    #[error("the arguments have {bytes} bytes, the limit is {limit}; pass less, or a reference to the content")]
    TooLarge {
        /// Bytes of the text.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Nested beyond the limit.
    #[error("the arguments are nested deeper than {limit} levels; flatten them")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The text ends within a value.
    #[error(
        "the JSON of the arguments ends early, at line {line} column {column}; send the whole object again, it is not completed by guess"
    )]
    Truncated {
        /// Line of the end.
        line: usize,
        /// Column of the end.
        column: usize,
    },
    /// The text is not JSON.
    #[error("the arguments are not valid JSON: {problem} at line {line} column {column}; send one JSON object")]
    BadJson {
        /// What was found.
        problem: String,
        /// Line of the fault.
        line: usize,
        /// Column of the fault.
        column: usize,
    },
    /// Something follows the value.
    #[error("there is more text after the arguments, at line {line} column {column}; send exactly one JSON object")]
    Trailing {
        /// Line where it begins.
        line: usize,
        /// Column where it begins.
        column: usize,
    },
    /// A key is given twice.
    #[error("the key '{path}' is given twice; give it once")]
    DuplicateKey {
        /// JSON Pointer of the key.
        path: String,
    },
    /// The value is not an object.
    #[error("the arguments are of type {kind}, not an object; send a JSON object with one entry per parameter")]
    NotAnObject {
        /// The JSON type.
        kind: &'static str,
    },
}

impl ArgsError {
    pub(super) fn from_json(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        if error.is_eof() {
            return Self::Truncated { line, column };
        }
        let text = error.to_string();
        let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
        Self::BadJson { problem: sanitize_text(&problem.chars().take(200).collect::<String>()), line, column }
    }

    pub(super) fn trailing(text: &str, offset: usize) -> Self {
        let blanks = text[offset..].len() - text[offset..].trim_start().len();
        let before = &text[..offset + blanks];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self::Trailing { line, column }
    }
}

/// Reads one value from a text that holds nothing else.
pub(super) fn read(text: &str, depth: usize) -> Result<Value, ArgsError> {
    let mut fault = Fault::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let seed = Strict { fault: &mut fault, left: depth };
    let value = match seed.deserialize(&mut reader) {
        Ok(value) => value,
        Err(error) => return Err(fault.into_error(depth).unwrap_or_else(|| ArgsError::from_json(&error))),
    };
    reader.end().map_err(|error| ArgsError::from_json(&error))?;
    Ok(value)
}

/// The entries of an object, in order, each with its text as written; a key given twice is refused.
pub(super) fn entries(text: &str) -> Result<Vec<(String, &RawValue)>, ArgsError> {
    struct Entries<'f>(&'f mut Fault);
    impl<'de> Visitor<'de> for Entries<'_> {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries: Vec<(String, &'de RawValue)> = Vec::new();
            let mut seen = std::collections::HashSet::new();
            while let Some(key) = map.next_key::<String>()? {
                if !seen.insert(key.clone()) {
                    return Err(self.0.duplicate(key));
                }
                entries.push((key, map.next_value()?));
            }
            Ok(entries)
        }
    }
    let mut fault = Fault::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let entries = de::Deserializer::deserialize_map(&mut reader, Entries(&mut fault));
    entries.map_err(|error| fault.into_error(0).unwrap_or_else(|| ArgsError::from_json(&error)))
}

/// What the visitor found wrong; the path is completed while the error travels outwards.
#[derive(Default)]
struct Fault {
    kind: Option<FaultKind>,
    path: Vec<String>,
}

enum FaultKind {
    Duplicate,
    TooDeep,
}

impl Fault {
    fn duplicate<E: de::Error>(&mut self, key: String) -> E {
        self.kind = Some(FaultKind::Duplicate);
        self.path.push(key);
        E::custom("duplicate key")
    }

    fn within(&mut self, step: impl FnOnce() -> String) {
        if self.kind.is_some() {
            self.path.push(step());
        }
    }

    fn into_error(self, limit: usize) -> Option<ArgsError> {
        Some(match self.kind? {
            FaultKind::TooDeep => ArgsError::TooDeep { limit },
            FaultKind::Duplicate => {
                let steps = self.path.iter().rev().map(|step| format!("/{}", escaped(step)));
                let path: String = steps.collect::<String>().chars().take(200).collect();
                ArgsError::DuplicateKey { path: sanitize_text(&path) }
            }
        })
    }
}

/// A step of a JSON Pointer.
pub(super) fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

struct Strict<'f> {
    fault: &'f mut Fault,
    left: usize,
}

impl Strict<'_> {
    fn inner<E: de::Error>(self) -> Result<Self, E> {
        if let Some(left) = self.left.checked_sub(1) {
            return Ok(Self { left, ..self });
        }
        self.fault.kind = Some(FaultKind::TooDeep);
        Err(E::custom("nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let Strict { fault, left } = self.inner()?;
        let mut list = Vec::new();
        loop {
            match items.next_element_seed(Strict { fault: &mut *fault, left }) {
                Ok(Some(item)) => list.push(item),
                Ok(None) => return Ok(Value::Array(list)),
                Err(error) => {
                    fault.within(|| list.len().to_string());
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let Strict { fault, left } = self.inner()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(fault.duplicate(key));
            }
            match entries.next_value_seed(Strict { fault: &mut *fault, left }) {
                Ok(value) => map.insert(key, value),
                Err(error) => {
                    fault.within(|| key);
                    return Err(error);
                }
            };
        }
        Ok(Value::Object(map))
    }
}
