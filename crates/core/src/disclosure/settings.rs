//! The disclosure section of the configuration: read from any JSON value, never failing, with a diagnosis for
//! everything that was not understood (hermes §1.1).

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::bridge::suggest;

/// A switch with three positions. `auto` and `on` act the same today; the difference is kept for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// Decide from the situation.
    #[default]
    Auto,
    /// Explicitly wanted.
    On,
    /// Not wanted.
    Off,
}

impl Switch {
    /// Whether the switch is not [`Switch::Off`].
    pub fn is_on(self) -> bool {
        self != Self::Off
    }

    /// The position's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How tools are disclosed. Made by [`resolve`], so always within its limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Whether deferrable tools go behind the bridge. Default `auto`.
    pub enabled: Switch,
    /// The listing's share of the context window in per cent, 0 to 100. Default 5.
    pub threshold_pct: f64,
    /// Matches per query when a search names no limit, 1 to `max_search_limit`. Default 5.
    pub search_default_limit: usize,
    /// Most matches per query, 1 to 50. Default 20.
    pub max_search_limit: usize,
    /// Whether the deferred tools are listed in the search tool's description. Default `auto`.
    pub listing: Switch,
    /// Largest listing in tokens, 200 to 60000. Default 4000.
    pub listing_max_tokens: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: Switch::Auto,
            threshold_pct: 5.0,
            search_default_limit: 5,
            max_search_limit: 20,
            listing: Switch::Auto,
            listing_max_tokens: 4000,
        }
    }
}

/// Budget leg for a context window of unknown size, in tokens (5 % of 200k).
const UNKNOWN_CONTEXT_LEG: f64 = 10_000.0;

impl Settings {
    /// Tokens that the listing may take for a model with this context window: the smaller of `listing_max_tokens` and
    /// `threshold_pct` of the window. An absent, zero or negative length means "unknown" and counts as 10000 tokens.
    pub fn listing_budget(&self, context_length: Option<i64>) -> usize {
        let leg = match context_length {
            Some(length) if length > 0 => length as f64 * (self.threshold_pct / 100.0),
            _ => UNKNOWN_CONTEXT_LEG,
        };
        self.listing_max_tokens.min(leg as usize)
    }
}

/// Something in the settings that was not understood or not used as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingsProblem {
    /// The key, relative to the section; empty for the section itself.
    pub key: String,
    /// What stood there, shortened.
    pub found: String,
    /// What would be understood.
    pub expected: String,
    /// What is used instead.
    pub used: String,
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.key.is_empty() { "the disclosure setting" } else { &self.key };
        write!(f, "{key} is {}; expected {}; using {}", self.found, self.expected, self.used)
    }
}

/// Keys read by [`resolve`].
const OWN_KEYS: [&str; 6] =
    ["enabled", "threshold_pct", "search_default_limit", "max_search_limit", "listing", "listing_max_tokens"];
/// Keys of the same section that belong to other readers: selection, ranking and the listing's cap.
const OTHER_KEYS: [&str; 6] =
    ["always", "defer", "listing_max_share", "listing_floor_tokens", "ranker", "context_length"];

const SWITCH_WORDS: &str = "auto, on or off (or true, false)";

/// Reads the settings from what stands in the configuration: nothing, a boolean, a word, or an object. Never fails:
/// what is not understood falls back to its default and is reported.
pub fn resolve(raw: &Value) -> (Settings, Vec<SettingsProblem>) {
    let mut reader = Reader::default();
    let settings = match raw {
        Value::Null => Settings::default(),
        Value::Object(map) => reader.object(map),
        // The number 1 alone stays `auto`, which acts the same (case cfg-004).
        Value::Number(number) if number.as_i64() == Some(1) => Settings::default(),
        scalar => Settings {
            enabled: reader.switch("", Some(scalar), || format!("{SWITCH_WORDS}, or an object")),
            ..Settings::default()
        },
    };
    (settings, reader.problems)
}

#[derive(Default)]
struct Reader {
    problems: Vec<SettingsProblem>,
}

impl Reader {
    fn object(&mut self, map: &Map<String, Value>) -> Settings {
        self.unknown_keys(map);
        let default = Settings::default();
        let words = || SWITCH_WORDS.to_owned();
        let max_search_limit = self.integer(map, "max_search_limit", 1, 50, default.max_search_limit);
        // An unset default shrinks with the maximum without a word; a written one above it is reported.
        let fallback = default.search_default_limit.min(max_search_limit);
        Settings {
            enabled: self.switch("enabled", map.get("enabled"), words),
            threshold_pct: self.percentage(map.get("threshold_pct"), default.threshold_pct),
            search_default_limit: self.integer(map, "search_default_limit", 1, max_search_limit, fallback),
            max_search_limit,
            listing: self.switch("listing", map.get("listing"), words),
            listing_max_tokens: self.integer(map, "listing_max_tokens", 200, 60_000, default.listing_max_tokens),
        }
    }

    fn unknown_keys(&mut self, map: &Map<String, Value>) {
        let known = || OWN_KEYS.into_iter().chain(OTHER_KEYS);
        for key in map.keys().filter(|key| !known().any(|name| name == key.as_str())).take(50) {
            let expected = match suggest(key, known()).first() {
                Some(nearest) => format!("'{nearest}', if that is what was meant"),
                None => format!("one of {}", known().collect::<Vec<_>>().join(", ")),
            };
            self.report(&short(key), "not a known key".to_owned(), expected, "nothing from it".to_owned());
        }
    }

    fn switch(&mut self, key: &str, value: Option<&Value>, expected: impl Fn() -> String) -> Switch {
        let text = match value {
            None | Some(Value::Null) => return Switch::Auto,
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(on)) => on.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            Some(other) => return self.fallback(key, other, expected(), Switch::Auto),
        };
        match text.trim().to_ascii_lowercase().as_str() {
            "auto" => Switch::Auto,
            "on" | "true" | "yes" | "1" => Switch::On,
            "off" | "false" | "no" | "0" => Switch::Off,
            _ => self.fallback(key, value.unwrap_or(&Value::Null), expected(), Switch::Auto),
        }
    }

    fn percentage(&mut self, value: Option<&Value>, default: f64) -> f64 {
        const KEY: &str = "threshold_pct";
        let expected = || "a number from 0 to 100".to_owned();
        let number = match value {
            None | Some(Value::Null) => return default,
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        let raw = value.unwrap_or(&Value::Null);
        match number.filter(|number: &f64| !number.is_nan()) {
            None => self.fallback(KEY, raw, expected(), default),
            Some(number) if (0.0..=100.0).contains(&number) => number,
            Some(number) => self.fallback(KEY, raw, expected(), number.clamp(0.0, 100.0)),
        }
    }

    fn integer(&mut self, map: &Map<String, Value>, key: &str, min: usize, max: usize, default: usize) -> usize {
        let expected = || format!("a whole number from {min} to {max}");
        let Some(raw) = map.get(key).filter(|raw| !raw.is_null()) else { return default };
        match whole_number(raw) {
            None => self.fallback(key, raw, expected(), default.clamp(min, max)),
            Some(number) => {
                let used = usize::try_from(number).unwrap_or(if number < 0 { min } else { max }).clamp(min, max);
                if i64::try_from(used) == Ok(number) {
                    return used;
                }
                self.fallback(key, raw, expected(), used)
            }
        }
    }

    fn fallback<T: fmt::Display>(&mut self, key: &str, found: &Value, expected: String, used: T) -> T {
        self.report(key, short(&found.to_string()), expected, used.to_string());
        used
    }

    fn report(&mut self, key: &str, found: String, expected: String, used: String) {
        self.problems.push(SettingsProblem { key: key.to_owned(), found, expected, used });
    }
}

/// A whole number as people write them: a number (its fraction dropped) or integer text. Not a boolean.
pub(crate) fn whole_number(raw: &Value) -> Option<i64> {
    match raw {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn short(text: &str) -> String {
    super::text::clip(text, 80)
}

#[cfg(test)]
mod tests;
