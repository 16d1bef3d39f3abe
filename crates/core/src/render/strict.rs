//! Strict modes: the provider holds the model to the schema while it writes. They take less of JSON Schema and only so
//! much of it in one request, so a tool is strict only where that is asked for, fits, and is still in the budget
//! (standards reference §4.2, §4.3).
//!
//! The schema comes lowered to the target's strict dialect; here objects are closed, keys that may be left out become
//! nullable where none may be left out, and sizes are counted.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Action, KeyMap, RenderOptions, Rendered, Target,
    dialect::Construct,
    merge::{type_value, types},
    report::Report,
};

/// What a strict mode takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrictRules {
    /// Whether every declared key is required, so that one which may be left out is nullable.
    pub all_required: bool,
    /// Most strict tools in one request.
    pub tools: Option<usize>,
    /// Most keys that may be left out, in all strict tools of one request.
    pub optional: Option<usize>,
    /// Most places with alternatives or several types, in all strict tools of one request.
    pub unions: Option<usize>,
    /// Most properties of one tool.
    pub properties: usize,
    /// Deepest nesting of objects in one tool.
    pub depth: usize,
    /// Most characters of keys and values of one tool.
    pub chars: usize,
    /// Most values of enumerations of one tool.
    pub values: usize,
}

impl StrictRules {
    /// The rules of a target; none where it has no strict mode for single tools ([`validates`] for whole requests).
    /// DeepSeek's is on an endpoint of its own, so its models are not known to take it unless the configuration says so.
    pub fn of(target: Target) -> Option<&'static Self> {
        match target {
            Target::Anthropic | Target::Bedrock => Some(&ANTHROPIC),
            Target::OpenAiChat | Target::OpenAiResponses | Target::Mistral | Target::DeepSeek => Some(&OPENAI),
            _ => None,
        }
    }
}

/// Whether the target has a mode that holds the model to the schemas of all tools of a request: Gemini's VALIDATED
/// (standards reference §4.4).
pub(super) fn validates(target: Target) -> bool {
    matches!(target, Target::Gemini | Target::GeminiParameters)
}

/// Most tools of a request in that mode. Large sets fail with "too many states" at an undocumented size; this is as many
/// as are advised.
pub(super) const MOST_VALIDATED: usize = 20;

/// Turns the mode for whole requests on if every tool is to be strict; says of each what became of it.
pub(super) fn validate(rendered: &mut Rendered, options: &RenderOptions) {
    let wished: Vec<&String> = rendered.listed.iter().filter(|name| options.strict.contains(*name)).collect();
    let refused = if !options.strict_model {
        Some(NotStrict::Model)
    } else if wished.len() < rendered.listed.len() {
        Some(NotStrict::AllOrNone)
    } else if wished.len() > MOST_VALIDATED {
        Some(NotStrict::Budget { what: "tools in the mode VALIDATED", limit: MOST_VALIDATED })
    } else {
        None
    };
    let reason = refused.map(|reason| reason.to_string());
    let verdict =
        |name: &String| StrictVerdict { tool: name.clone(), strict: reason.is_none(), reason: reason.clone() };
    rendered.strict = wished.into_iter().map(verdict).collect();
    if reason.is_none() && !rendered.strict.is_empty() {
        rendered.tool_config = Some(json!({"functionCallingConfig": {"mode": "VALIDATED"}}));
    }
}

/// §4.2. What is not numbered there is held to OpenAI's numbers: "schema too complex" comes at an undocumented size.
static ANTHROPIC: StrictRules =
    StrictRules { all_required: false, tools: Some(20), optional: Some(24), unions: Some(16), ..OPENAI };

/// §4.3.
static OPENAI: StrictRules = StrictRules {
    all_required: true,
    tools: None,
    optional: None,
    unions: None,
    properties: 5000,
    depth: 10,
    chars: 120_000,
    values: 1000,
};

/// Why a tool that was to be strict is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStrict {
    /// The target has none.
    #[error("{0} has no strict mode for tools")]
    NoMode(Target),
    /// The model has none.
    #[error("the model is not known to take strict tools; say so in the configuration if it does")]
    Model,
    /// Such a tool takes what strict mode cannot say.
    #[error("{path} {what}, which strict mode cannot say")]
    Unsayable {
        /// JSON Pointer into the schema.
        path: String,
        /// What is there.
        what: &'static str,
    },
    /// Too large by itself.
    #[error("its schema has {count} {what}, more than the {limit} of a strict tool")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Others come first.
    #[error("the strict tools before it leave no room: a request has at most {limit} {what}")]
    Budget {
        /// What was counted.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// The target's mode is one of the whole request.
    #[error("the target's mode holds for all tools of a request or for none; name all of them (\"*\")")]
    AllOrNone,
    /// Programs cannot call strict tools.
    #[error("programs may call it, and they cannot call strict tools")]
    Programmatic,
}

/// Whether a tool that was to be strict is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StrictVerdict {
    /// Exposed name of the tool.
    pub tool: String,
    /// Whether it is strict.
    pub strict: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What is used up of a request's budget.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    tools: usize,
    optional: usize,
    unions: usize,
}

/// What one schema takes up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    optional: usize,
    unions: usize,
    properties: usize,
    depth: usize,
    chars: usize,
    values: usize,
}

impl Budget {
    /// Takes a tool in, if there is room for it.
    pub(super) fn admit(&mut self, size: &Size, rules: &StrictRules) -> Result<(), NotStrict> {
        for (what, count, limit) in [
            ("properties", size.properties, rules.properties),
            ("levels of objects", size.depth, rules.depth),
            ("characters of keys and values", size.chars, rules.chars),
            ("values of enumerations", size.values, rules.values),
        ] {
            if count > limit {
                return Err(NotStrict::TooLarge { what, count, limit });
            }
        }
        let next =
            Self { tools: self.tools + 1, optional: self.optional + size.optional, unions: self.unions + size.unions };
        for (what, count, limit) in [
            ("strict tools", next.tools, rules.tools),
            ("optional parameters of strict tools", next.optional, rules.optional),
            ("parameters of several types in strict tools", next.unions, rules.unions),
        ] {
            if let Some(limit) = limit.filter(|limit| count > *limit) {
                return Err(NotStrict::Budget { what, limit });
            }
        }
        *self = next;
        Ok(())
    }
}

/// Constructs that a strict schema cannot stand in for: something would be lost that calls may need.
pub(super) fn unsayable(losses: &[(String, Construct, Action)]) -> Option<NotStrict> {
    losses.iter().find_map(|(path, construct, _)| {
        let what = match construct {
            Construct::Recursion => "leads back into itself",
            Construct::Nesting => "nests too deeply",
            Construct::ForeignReference => "refers to another document",
            Construct::MapObject | Construct::PatternProperties => "takes keys that are not declared",
            Construct::Untyped => "may be anything",
            _ => return None,
        };
        Some(NotStrict::Unsayable { path: shown(path), what })
    })
}

/// Makes a lowered schema strict.
pub(super) fn tighten(
    schema: &mut Value,
    rules: &StrictRules,
    report: &mut Report,
) -> Result<(KeyMap, Size), NotStrict> {
    let mut walk = Walk { rules, report, size: Size::default(), place: Vec::new() };
    let keys = walk.schema(schema, 0)?;
    Ok((keys, walk.size))
}

struct Walk<'a> {
    rules: &'a StrictRules,
    report: &'a mut Report,
    size: Size,
    place: Vec<String>,
}

impl Walk<'_> {
    fn enter(&mut self, step: &str) {
        self.report.enter(step);
        self.place.push(step.to_owned());
    }

    fn leave(&mut self) {
        self.report.leave();
        self.place.pop();
    }

    fn unsayable(&self, what: &'static str) -> NotStrict {
        NotStrict::Unsayable { path: shown(&self.place.iter().flat_map(|step| ["/", step]).collect::<String>()), what }
    }

    fn schema(&mut self, schema: &mut Value, depth: usize) -> Result<KeyMap, NotStrict> {
        let Value::Object(map) = schema else { return Err(self.unsayable("may be anything")) };
        let kinds = types(map.get("type"));
        if kinds.is_empty() && !["anyOf", "enum", "const"].iter().any(|key| map.contains_key(*key)) {
            return Err(self.unsayable("may be anything"));
        }
        if kinds.len() > 1 || map.contains_key("anyOf") {
            self.size.unions += 1;
        }
        for value in map.get("enum").and_then(Value::as_array).into_iter().flatten() {
            self.size.values += 1;
            self.size.chars += value.as_str().map_or(1, |text| text.chars().count());
            if value.is_object() || value.is_array() {
                return Err(self.unsayable("is one of several objects or lists"));
            }
        }
        let mut keys = KeyMap::default();
        if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
            self.enter("anyOf");
            for (index, choice) in choices.iter_mut().enumerate() {
                self.enter(&index.to_string());
                keys.absorb(self.schema(choice, depth)?);
                self.leave();
            }
            self.leave();
        }
        if kinds.iter().any(|kind| kind == "array") {
            self.enter("items");
            let inner = self.schema(map.entry("items").or_insert(Value::Null), depth)?;
            self.leave();
            if !inner.is_empty() {
                keys.items.get_or_insert_default().absorb(inner);
            }
        }
        if kinds.iter().any(|kind| kind == "object") {
            keys.absorb(self.object(map, depth + 1)?);
        }
        Ok(keys)
    }

    fn object(&mut self, map: &mut Map<String, Value>, depth: usize) -> Result<KeyMap, NotStrict> {
        self.size.depth = self.size.depth.max(depth);
        let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
        let mut properties = match map.get_mut("properties") {
            Some(Value::Object(properties)) => std::mem::take(properties),
            _ => Map::new(),
        };
        let open = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => false,
            // Nothing declared and nothing closed is a place for anything, except where a tool takes no arguments.
            None => properties.is_empty() && depth > 1,
            Some(_) => true,
        };
        if open {
            return Err(self.unsayable("takes keys that are not declared"));
        }
        if !closed {
            self.report.loss(Construct::ClosedObject, Action::Rewritten);
        }
        let required: BTreeSet<String> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let mut keys = KeyMap::default();
        self.enter("properties");
        for (name, schema) in &mut properties {
            self.enter(name);
            self.size.properties += 1;
            self.size.chars += name.chars().count();
            let inner = self.schema(schema, depth)?;
            if !inner.is_empty() {
                keys.inner.insert(name.clone(), inner);
            }
            if !required.contains(name) {
                self.size.optional += 1;
                if self.rules.all_required {
                    if make_nullable(schema) {
                        keys.absent.insert(name.clone());
                    }
                    self.report.loss(Construct::OptionalKey, Action::Rewritten);
                }
            }
            self.leave();
        }
        self.leave();
        if self.rules.all_required && !properties.is_empty() {
            let all: Vec<&String> = properties.keys().collect();
            map.insert("required".to_owned(), json!(all));
        }
        map.insert("properties".to_owned(), Value::Object(properties));
        map.insert("additionalProperties".to_owned(), false.into());
        Ok(keys)
    }
}

/// Lets a schema accept `null`; false if it does already, so that `null` has a meaning of its own.
fn make_nullable(schema: &mut Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let mut kinds = types(map.get("type"));
    let plain = !map.contains_key("anyOf") && !map.contains_key("const");
    if accepts_null(map) {
        return false;
    }
    if !plain {
        if let Some(Value::Array(choices)) = map.get_mut("anyOf")
            && kinds.is_empty()
        {
            choices.push(json!({"type": "null"}));
        } else {
            let description = map.shift_remove("description");
            let inner = std::mem::take(map);
            map.extend(description.map(|text| ("description".to_owned(), text)));
            map.insert("anyOf".to_owned(), json!([inner, {"type": "null"}]));
        }
        return true;
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.push(Value::Null);
    }
    if !kinds.is_empty() {
        kinds.push("null".to_owned());
        map.insert("type".to_owned(), type_value(kinds));
    }
    true
}

fn accepts_null(map: &Map<String, Value>) -> bool {
    let kinds = types(map.get("type"));
    let typed = kinds.is_empty() || kinds.iter().any(|kind| kind == "null");
    let listed = map.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(&Value::Null));
    let fixed = map.get("const").is_none_or(Value::is_null);
    let chosen = map
        .get("anyOf")
        .and_then(Value::as_array)
        .is_none_or(|choices| choices.iter().any(|choice| choice.as_object().is_some_and(accepts_null)));
    typed && listed && fixed && chosen
}

fn shown(path: &str) -> String {
    if path.is_empty() { "its root".to_owned() } else { path.to_owned() }
}

/// Whether a pattern is of the kind that strict modes compile: no looking around, no references back, no `\b`.
pub(super) fn compiles(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<=", "(?<!", "\\b", "\\B"].iter().any(|part| pattern.contains(part));
    let bytes = pattern.as_bytes();
    let refers = bytes.windows(2).any(|pair| pair[0] == b'\\' && (pair[1].is_ascii_digit() || pair[1] == b'k'));
    !looks && !refers
}
