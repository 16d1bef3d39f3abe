//! Reading the fields that a call gives, strictly: what a store does not know is refused, not dropped.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use toolcrib_engine::store_tools::StoreFault;

/// Fields as a type with `deny_unknown_fields`. `of` says whose they are: `notes takes …`.
pub(super) fn read<T: DeserializeOwned>(fields: Map<String, Value>, of: &str, takes: &str) -> Result<T, StoreFault> {
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| StoreFault::new(format!("{of} takes {takes}; {error}")))
}

/// A value as JSON text, at most `most` bytes.
pub(super) fn text(value: &impl Serialize, most: usize) -> Result<String, StoreFault> {
    let text = serde_json::to_string(value).map_err(|error| StoreFault::new(error.to_string()))?;
    if text.len() > most {
        return Err(StoreFault::new(format!(
            "the entry has {} bytes, at most {most} are kept; shorten or split it",
            text.len()
        )));
    }
    Ok(text)
}

/// The first characters of a text, on one line.
pub(super) fn preview(text: &str) -> String {
    const MOST: usize = 100;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST {
        return line;
    }
    let short: String = line.chars().take(MOST - 1).collect();
    format!("{short}…")
}

/// A time as RFC 3339 says it.
pub(super) fn time(ms: u64) -> String {
    jiff::Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(i64::MAX))
        .map(|time| time.to_string())
        .unwrap_or_default()
}
