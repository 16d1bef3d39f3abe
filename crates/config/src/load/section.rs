//! Reading one section or entry, so that a bad value costs as little as is safe.
//!
//! A value that cannot be used falls back to its default where that is harmless. Where the default would permit more
//! than the value was meant to, the section is closed instead.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serde_path_to_error::Segment;

use crate::{
    Diagnostic, Surroundings,
    diagnostic::nearest,
    expand::{expand, located},
    layer::{Origin, Origins},
};

/// What a value that cannot be used means for its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The default stands in.
    Default,
    /// Nothing is allowed.
    AllowNothing,
    /// Nothing is trusted.
    TrustNothing,
    /// The tools concerned are off.
    SwitchOff,
    /// Nobody approves a call of their own.
    FourEyes,
    /// The whole section is off.
    AllOff,
}

impl Rule {
    fn hint_for(self, key: &str) -> &'static str {
        match self {
            Self::Default if guards_the_door(key) => {
                "there is no such key, and until this is mended HTTP is not served"
            }
            Self::Default if decides_what_is_offered(key) => "until this is mended no tool is shown",
            Self::Default => "the default is used",
            Self::AllowNothing => "until this is mended no tool is shown",
            Self::TrustNothing => "until this is mended every call needs an allow rule or an approval",
            Self::SwitchOff => "until this is mended the tools concerned are off",
            Self::FourEyes => "until this is mended nobody may approve a call of their own",
            Self::AllOff => "until this is mended all of it is off",
        }
    }

    /// Takes the bad key (`None`: all of the section) out of the way.
    fn mend(self, map: &mut Map<String, Value>, bad: Option<&str>) {
        let inner = bad.and_then(|bad| map.shift_remove(bad));
        if bad.is_none() {
            map.clear();
        }
        match self {
            Self::Default => {}
            Self::FourEyes => {
                map.insert("four_eyes".to_owned(), json!(true));
            }
            Self::AllowNothing => {
                map.insert("allow".to_owned(), json!([]));
                map.shift_remove("also_allow");
            }
            // A bad list of exceptions only means fewer of them.
            Self::TrustNothing if bad == Some("allow") => {}
            Self::TrustNothing => {
                // What would have been denied or asked about is not known: neither may an allowance stand.
                if bad.is_none_or(|bad| bad != "trust") {
                    map.shift_remove("allow");
                    map.shift_remove("rules");
                }
                map.insert("trust".to_owned(), json!("none"));
            }
            Self::AllOff => {
                map.insert("enabled".to_owned(), json!(false));
            }
            Self::SwitchOff => match (bad, inner) {
                (Some(bad), Some(_)) if bad != "enabled" => {
                    map.insert(bad.to_owned(), json!({"enabled": false}));
                }
                _ => {
                    map.insert("enabled".to_owned(), json!(false));
                }
            },
        }
    }
}

/// Whether a bad value there would leave the HTTP face without its keys.
pub(super) fn guards_the_door(key: &str) -> bool {
    ["gateway.keys", "gateway.named_keys", "gateway.operator_keys"].iter().any(|keys| key.starts_with(keys))
        || key == "gateway"
}

/// Whether a bad value there leaves open which tools categories take away.
pub(super) fn decides_what_is_offered(key: &str) -> bool {
    let Some(rest) = key.strip_prefix("categories") else { return false };
    let key = rest.trim_start_matches('.').split(['.', '[']).next().unwrap_or_default();
    ["", "enabled", "unloaded", "only", "except", "connectors", "category"].contains(&key)
}

/// Turns trees into types, keeping what it finds.
pub(super) struct Reader<'a> {
    pub(super) origins: &'a Origins,
    pub(super) surroundings: &'a dyn Surroundings,
    pub(super) findings: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// A section, or its default where it is not written.
    pub(super) fn section<T: DeserializeOwned + Default>(&mut self, key: &str, value: Option<Value>, rule: Rule) -> T {
        let mut map = match value {
            None => return T::default(),
            Some(Value::Object(map)) => map,
            Some(other) => {
                let finding = Diagnostic::error(key, format!("it is {}; expected a map", kind(&other)));
                let hint = rule.hint_for(&finding.key);
                self.findings.push(finding.hint(hint));
                return closed(rule);
            }
        };
        let names: Vec<String> = map.keys().cloned().collect();
        for name in names {
            if let Some(value) = map.get_mut(&name)
                && let Err(finding) = self.expand_all(value, &format!("{key}.{name}"))
            {
                let hint = rule.hint_for(&finding.key);
                self.findings.push(finding.hint(hint));
                rule.mend(&mut map, Some(&name));
            }
        }
        // Every round takes one bad key away.
        for _ in 0..map.len() + 2 {
            match serde_path_to_error::deserialize::<_, T>(Value::Object(map.clone())) {
                Ok(section) => return section,
                Err(error) => {
                    let (finding, bad) = explain(key, &Value::Object(map.clone()), &error);
                    let hint = rule.hint_for(&finding.key);
                    self.findings.push(finding.hint(hint));
                    rule.mend(&mut map, bad.as_deref());
                }
            }
        }
        closed(rule)
    }

    /// A path as it is written in a file of `folder`; `~/` is the home folder.
    pub(super) fn place(&self, path: &str, folder: &Path) -> String {
        located(path, folder, self.surroundings).to_string_lossy().into_owned()
    }

    /// The folder of the file that a key stands in; what relative paths are relative to.
    pub(super) fn folder(&self, key: &str) -> PathBuf {
        let folder = match self.origins.of(key) {
            Some(Origin::File { path, .. }) => path.parent(),
            Some(Origin::Variable(_) | Origin::Flag(_)) | None => None,
        };
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match self.surroundings.working_dir() {
            Some(here) if folder == Path::new(".") => here,
            Some(here) => here.join(folder),
            None => folder.to_owned(),
        }
    }

    /// Expands the texts of a value that stands at `key`.
    pub(super) fn expand_all(&self, value: &mut Value, key: &str) -> Result<(), Box<Diagnostic>> {
        match value {
            Value::String(text) if text.contains("${") => {
                *text = expand(text, &self.folder(key), self.surroundings)
                    .map_err(|error| Box::new(Diagnostic::error(key, error.to_string())))?;
                Ok(())
            }
            Value::Array(items) => items
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, item)| self.expand_all(item, &format!("{key}[{index}]"))),
            Value::Object(map) => {
                map.iter_mut().try_for_each(|(inner, item)| self.expand_all(item, &format!("{key}.{inner}")))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }
}

fn closed<T: DeserializeOwned + Default>(rule: Rule) -> T {
    let mut map = Map::new();
    rule.mend(&mut map, None);
    serde_json::from_value(Value::Object(map)).unwrap_or_default()
}

/// A typed value, all or nothing.
pub(super) fn typed<T: DeserializeOwned>(key: &str, value: &Value) -> Result<T, Box<Diagnostic>> {
    serde_path_to_error::deserialize(value).map_err(|error| Box::new(explain(key, value, &error).0))
}

/// The finding for a value of the wrong kind, and the key of `value` that has to go. What was found is told by its
/// kind only: a wrong value in the wrong place may be a secret.
fn explain(
    key: &str,
    value: &Value,
    error: &serde_path_to_error::Error<serde_json::Error>,
) -> (Diagnostic, Option<String>) {
    let mut found = Some(value);
    let mut path = key.to_owned();
    let mut bad = None;
    for segment in error.path() {
        match segment {
            Segment::Map { key } => {
                bad = bad.or_else(|| Some(key.clone()));
                path = format!("{path}.{key}");
                found = found.and_then(|value| value.get(key));
            }
            Segment::Seq { index } => {
                path = format!("{path}[{index}]");
                found = found.and_then(|value| value.get(index));
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    let text = error.inner().to_string();
    let expected = text.rfind("expected ").map_or("something else", |at| &text[at + "expected ".len()..]);
    let message = match found {
        _ if text.starts_with("unknown field") => {
            let word: String = text.split('`').nth(1).unwrap_or_default().chars().take(40).collect();
            let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
            match nearest(&word, known.iter().copied()) {
                Some(near) => format!("it has an unknown key '{word}'; did you mean {near}?"),
                None => format!("it has an unknown key '{word}'; known: {}", known.join(", ")),
            }
        }
        _ if text.starts_with("missing field") => {
            format!("it has no key '{}', which it needs", text.split('`').nth(1).unwrap_or_default())
        }
        // Only fields with a closed set of words get here, and none of those is a secret.
        Some(Value::String(word)) if text.starts_with("unknown variant") => {
            let words: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
            let word: String = word.chars().take(40).collect();
            match nearest(&word, words.iter().copied()) {
                Some(near) => format!("'{word}' is not one of {}; did you mean {near}?", words.join(", ")),
                None => format!("'{word}' is not one of {}", words.join(", ")),
            }
        }
        _ => format!("it is {}; expected {}", found.map_or("missing", kind), in_words(expected)),
    };
    (Diagnostic::error(path, message), bad)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(number) if number.as_u64().is_none() => "a negative number",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

fn in_words(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list",
        "a string" | "string" => "a text",
        "u64" => "a whole number, zero or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "string or map" => "a word",
        other if other.starts_with("struct ") => "a map",
        other => other,
    }
}
