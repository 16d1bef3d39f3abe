//! Lowering of one schema to a dialect: constructs that the target refuses are said in another way, told in the
//! description, or dropped, as the [`table`](super::dialect::TABLE) says. Passes repeat until nothing changes, so
//! lowering a lowered schema changes nothing.

use serde_json::{Map, Value, json};

use super::{
    Action, KeyMap, RefusedTool,
    dialect::{Construct, Dialect, Rule},
    inline::{WEIGHT, inline, weight},
    keys::rename,
    keyword::{self, Form, Keyword},
    merge::{merge, type_value, types, values},
    notes::{remark, shown},
    report::Report,
    root::flatten,
    strict::compiles,
};

mod finish;

/// Most passes; two are usual.
const PASSES: usize = 8;

/// A lowered schema.
pub(super) struct Lowered {
    /// The schema.
    pub(super) schema: Value,
    /// Remarks for the description of the tool.
    pub(super) remarks: Vec<String>,
    /// Renamed keys.
    pub(super) keys: KeyMap,
    /// What was lost: place, construct, action.
    pub(super) losses: Vec<(String, Construct, Action)>,
}

/// Lowers a schema of arguments.
pub(super) fn lower(schema: &Value, dialect: &Dialect) -> Result<Lowered, RefusedTool> {
    let mut report = Report::default();
    let mut current = match inline(schema, &mut report)? {
        Value::Object(root) => root,
        other => {
            if other == false {
                report.loss(Construct::BooleanSchema, Action::Cut);
            }
            Map::new()
        }
    };
    let mut remarks = Vec::new();
    for _ in 0..PASSES {
        let (flat, said) = flatten(current.clone(), dialect, &mut report)?;
        remarks.extend(said);
        let mut pass = Pass { dialect, report: &mut report, grown: 0 };
        let (next, said) = pass.node(flat)?;
        remarks.extend(said);
        let settled = next == current;
        current = next;
        if settled {
            break;
        }
    }
    let mut schema = Value::Object(current);
    let keys = rename(&mut schema, dialect.keys, &mut report);
    Ok(Lowered { schema, remarks, keys, losses: report.into_losses() })
}

struct Pass<'a> {
    dialect: &'a Dialect,
    report: &'a mut Report,
    grown: usize,
}

impl Pass<'_> {
    fn keeps(&self, construct: Construct) -> bool {
        self.dialect.rule(construct) == Rule::Keep
    }

    fn schema(&mut self, schema: Value) -> Result<Value, RefusedTool> {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(_) if self.keeps(Construct::BooleanSchema) => return Ok(schema),
            Value::Bool(false) => {
                self.report.loss(Construct::BooleanSchema, Action::Described);
                let mut map = Map::new();
                map.insert("description".to_owned(), "Nothing is accepted here.".into());
                map
            }
            _ => Map::new(),
        };
        let (mut out, remarks) = self.node(map)?;
        remark(&mut out, &remarks);
        Ok(Value::Object(out))
    }

    /// Lowers one schema and everything below it; the remarks are not in its description yet.
    fn node(&mut self, mut map: Map<String, Value>) -> Result<(Map<String, Value>, Vec<String>), RefusedTool> {
        let mut remarks = Vec::new();
        self.combinators(&mut map, &mut remarks);
        self.respell(&mut map, &mut remarks);
        let mut out = Map::with_capacity(map.len());
        for (key, value) in map {
            let Some(keyword) = keyword::find(&key) else {
                if self.keeps(Construct::UnknownKeyword) {
                    out.insert(key, value);
                } else {
                    self.report.loss_at(&key, Construct::UnknownKeyword, Action::Dropped);
                }
                continue;
            };
            if self.stays(keyword, &value, &mut remarks) {
                self.report.enter(&key);
                let value = self.value(keyword, value);
                self.report.leave();
                out.insert(key, value?);
            }
        }
        self.finish(&mut out, &mut remarks)?;
        Ok((in_order(out), remarks))
    }

    /// Whether a keyword stays; notes the loss and the remark if not.
    fn stays(&mut self, keyword: &Keyword, value: &Value, remarks: &mut Vec<String>) -> bool {
        let construct = match (keyword.name, value) {
            ("additionalProperties", Value::Bool(true)) => {
                return self.keeps(Construct::ClosedObject);
            }
            ("additionalProperties", Value::Object(any)) if any.is_empty() => {
                return self.keeps(Construct::MapObject);
            }
            // Keys are always text.
            ("propertyNames", names) if *names == json!({"type": "string"}) => {
                return self.keeps(Construct::PatternProperties);
            }
            ("additionalProperties", Value::Bool(_)) => Construct::ClosedObject,
            ("additionalProperties", _) => Construct::MapObject,
            ("pattern", Value::String(pattern)) if self.dialect.strict && !compiles(pattern) => {
                self.report.loss_at("pattern", Construct::Pattern, Action::Described);
                remarks.push(format!("pattern: {}", shown(value)));
                return false;
            }
            ("format", Value::String(format))
                if self.dialect.formats.is_none_or(|known| known.contains(&format.as_str())) =>
            {
                return true;
            }
            _ => match keyword.construct {
                Some(construct) => construct,
                None => return true,
            },
        };
        let action = match self.dialect.rule(construct) {
            Rule::Keep => return true,
            Rule::Describe => {
                remarks.push(match keyword.name {
                    "additionalProperties" => format!("any other keys, each {}", shown(value)),
                    name => format!("{name}: {}", shown(value)),
                });
                Action::Described
            }
            Rule::Drop | Rule::Rewrite => Action::Dropped,
        };
        if construct != Construct::Marks {
            self.report.loss_at(keyword.name, construct, action);
        }
        false
    }

    fn value(&mut self, keyword: &Keyword, value: Value) -> Result<Value, RefusedTool> {
        match (keyword.form, value) {
            (Form::Schemas, Value::Array(list)) => {
                let mut schemas = Vec::with_capacity(list.len());
                for (index, schema) in list.into_iter().enumerate() {
                    self.report.enter(&index.to_string());
                    schemas.push(self.schema(schema)?);
                    self.report.leave();
                }
                Ok(Value::Array(schemas))
            }
            (Form::SchemaMap, Value::Object(map)) => {
                let mut schemas = Map::new();
                for (name, schema) in map {
                    self.report.enter(&name);
                    schemas.insert(name, self.schema(schema)?);
                    self.report.leave();
                }
                Ok(Value::Object(schemas))
            }
            // Here a boolean is no schema of its own but says whether more is allowed.
            (Form::Schema, value @ Value::Bool(_))
                if matches!(keyword.name, "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems") =>
            {
                Ok(value)
            }
            (Form::Schema, value) => self.schema(value),
            (_, value) => Ok(value),
        }
    }

    fn combinators(&mut self, map: &mut Map<String, Value>, remarks: &mut Vec<String>) {
        while !self.keeps(Construct::AllOf)
            && let Some(Value::Array(parts)) = map.shift_remove("allOf")
        {
            self.report.loss_at("allOf", Construct::AllOf, Action::Rewritten);
            let mut lost = Vec::new();
            for part in parts {
                if let Value::Object(part) = part {
                    merge(map, part, &mut lost);
                }
            }
            for key in lost {
                self.report.loss_at(&key, Construct::AllOf, Action::Dropped);
            }
        }
        if !self.keeps(Construct::OneOf)
            && let Some(choices) = map.shift_remove("oneOf")
        {
            if map.contains_key("anyOf") {
                self.report.loss_at("oneOf", Construct::OneOf, Action::Described);
                remarks.push(format!("exactly one of: {}", shown(&choices)));
            } else {
                self.report.loss_at("oneOf", Construct::OneOf, Action::Rewritten);
                map.insert("anyOf".to_owned(), choices);
            }
        }
        let Some(Value::Array(choices)) = map.get("anyOf") else { return };
        if !self.keeps(Construct::UndeclaredRequired)
            && let Some(forms) = choices.iter().map(required_only).collect::<Option<Vec<_>>>()
        {
            self.report.loss_at("anyOf", Construct::UndeclaredRequired, Action::Described);
            remarks.push(format!("give {}", forms.join(" or ")));
            map.shift_remove("anyOf");
            return;
        }
        if !self.keeps(Construct::Const)
            && !map.contains_key("enum")
            && let Some(lists) = choices.iter().map(values).collect::<Option<Vec<_>>>()
        {
            Self::enumerate(map, lists, remarks);
        }
    }

    /// Alternatives that are nothing but values become one list of values.
    fn enumerate(map: &mut Map<String, Value>, lists: Vec<Vec<Value>>, remarks: &mut Vec<String>) {
        let Some(Value::Array(choices)) = map.shift_remove("anyOf") else { return };
        let mut kinds: Vec<String> = Vec::new();
        let mut typed = true;
        for (choice, list) in choices.iter().zip(&lists) {
            let written = types(choice.get("type"));
            typed &= !written.is_empty();
            kinds.extend(written.into_iter().filter(|word| !kinds.contains(word)).collect::<Vec<_>>());
            let said = choice["description"].as_str().or_else(|| choice["title"].as_str());
            if let (Some(said), [value]) = (said, list.as_slice()) {
                remarks.push(format!("{}: {}", shown(value), shown(&said.into())));
            }
        }
        if typed && !map.contains_key("type") {
            map.insert("type".to_owned(), type_value(kinds));
        }
        let mut all: Vec<Value> = Vec::new();
        for value in lists.into_iter().flatten() {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        map.insert("enum".to_owned(), Value::Array(all));
    }

    /// Constructs that have another spelling in the dialect.
    fn respell(&mut self, map: &mut Map<String, Value>, remarks: &mut Vec<String>) {
        if !self.keeps(Construct::Const)
            && let Some(value) = map.shift_remove("const")
        {
            map.insert("enum".to_owned(), json!([value]));
        }
        if !self.keeps(Construct::OpenApi)
            && let Some(nullable) = map.shift_remove("nullable")
        {
            let mut kinds = types(map.get("type"));
            if nullable == true && !kinds.is_empty() && !kinds.iter().any(|kind| kind == "null") {
                kinds.push("null".to_owned());
                map.insert("type".to_owned(), type_value(kinds));
            }
        }
        if self.dialect.rule(Construct::ExclusiveBounds) == Rule::Rewrite {
            self.inclusive(map, "exclusiveMinimum", "minimum", 1, remarks);
            self.inclusive(map, "exclusiveMaximum", "maximum", -1, remarks);
        }
        if !self.keeps(Construct::Tuple)
            && let Some(Value::Array(places)) = map.shift_remove("prefixItems")
        {
            self.report.loss_at("prefixItems", Construct::Tuple, Action::Rewritten);
            remarks.push(format!("a list of {} places, each with its own form", places.len()));
            let mut choices: Vec<Value> = Vec::new();
            let rest = map.shift_remove("items").filter(|rest| rest.as_object().is_some_and(|rest| !rest.is_empty()));
            for place in places.into_iter().chain(rest).filter(Value::is_object) {
                if !choices.contains(&place) {
                    choices.push(place);
                }
            }
            let items = match choices.len() {
                0 => json!({}),
                1 => choices.swap_remove(0),
                _ => json!({"anyOf": choices}),
            };
            map.insert("items".to_owned(), items);
        }
        if !self.keeps(Construct::TypeList) {
            self.null_choice(map);
        }
    }

    fn inclusive(
        &mut self,
        map: &mut Map<String, Value>,
        exclusive: &str,
        bound: &str,
        step: i64,
        remarks: &mut Vec<String>,
    ) {
        let Some(value) = map.shift_remove(exclusive) else { return };
        let whole =
            types(map.get("type")).iter().all(|kind| kind == "integer" || kind == "null") && map.contains_key("type");
        let limit = match value.as_i64().and_then(|limit| limit.checked_add(step)) {
            Some(limit) if whole => limit.into(),
            _ => {
                self.report.loss_at(exclusive, Construct::ExclusiveBounds, Action::Rewritten);
                remarks.push(format!("{exclusive}: {}", shown(&value)));
                value
            }
        };
        let mut one = Map::new();
        one.insert(bound.to_owned(), limit);
        merge(map, one, &mut Vec::new());
    }

    /// An alternative that is only null makes the rest nullable.
    fn null_choice(&mut self, map: &mut Map<String, Value>) {
        let Some(Value::Array(choices)) = map.get_mut("anyOf") else { return };
        let before = choices.len();
        choices.retain(|choice| {
            types(choice.get("type")) != ["null"] && values(choice).is_none_or(|values| values != [Value::Null])
        });
        let only = match choices.as_mut_slice() {
            [] => Some(Value::Null),
            [only] => Some(only.take()),
            _ => None,
        };
        if choices.len() < before {
            map.insert("nullable".to_owned(), true.into());
        }
        if let Some(only) = only {
            map.shift_remove("anyOf");
            if let Value::Object(only) = only {
                self.join(map, only);
            }
        }
    }

    /// Merges a schema into the one around it.
    fn join(&mut self, map: &mut Map<String, Value>, inner: Map<String, Value>) {
        let mut lost = Vec::new();
        merge(map, inner, &mut lost);
        for key in lost {
            self.report.loss_at(&key, Construct::AnyOf, Action::Dropped);
        }
    }

    fn grow(&mut self, value: &Value) -> Result<(), RefusedTool> {
        self.grown += weight(value);
        if self.grown > WEIGHT { Err(RefusedTool::TooManySchemas) } else { Ok(()) }
    }
}

/// The keywords in the order in which they are written.
fn in_order(map: Map<String, Value>) -> Map<String, Value> {
    if map.keys().map(|key| keyword::rank(key)).is_sorted() {
        return map;
    }
    let mut entries: Vec<(usize, String, Value)> =
        map.into_iter().map(|(key, value)| (keyword::rank(&key), key, value)).collect();
    entries.sort_by_key(|(rank, ..)| *rank);
    entries.into_iter().map(|(_, key, value)| (key, value)).collect()
}

/// The names that an alternative requires, if that is all it says.
fn required_only(choice: &Value) -> Option<String> {
    let map = choice.as_object()?;
    if !map.keys().all(|key| matches!(key.as_str(), "required" | "type" | "title" | "description")) {
        return None;
    }
    let names: Vec<&str> = map.get("required")?.as_array()?.iter().filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| format!("({})", names.join(", ")))
}
