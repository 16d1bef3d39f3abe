//! The last step at one schema: types, values, and what arrays and objects must have.

use serde_json::{Map, Value, json};

use super::Pass;
use crate::{
    render::{
        Action, RefusedTool,
        dialect::{Construct, Rule},
        keyword,
        merge::{type_value, types},
        notes::{shown, with_remarks},
    },
    schema::type_name,
};

impl Pass<'_> {
    pub(super) fn finish(
        &mut self,
        out: &mut Map<String, Value>,
        remarks: &mut Vec<String>,
    ) -> Result<(), RefusedTool> {
        let mut kinds = types(out.get("type"));
        let combined = ["anyOf", "oneOf", "allOf"].iter().any(|key| out.contains_key(*key));
        if kinds.is_empty() && out.contains_key("properties") && !self.keeps(Construct::BareObject) {
            kinds.push("object".to_owned());
        }
        self.values(out, &mut kinds, remarks);
        let rewrite_types = self.dialect.rule(Construct::TypeList) == Rule::Rewrite;
        if rewrite_types {
            self.nullable(out, &mut kinds);
        }
        if kinds.is_empty() && !combined && self.dialect.rule(Construct::Untyped) == Rule::Rewrite {
            kinds.push(self.guess(out));
        }
        if rewrite_types && kinds.len() > 1 {
            Self::split(out, &mut kinds);
        }
        if kinds.is_empty() {
            out.shift_remove("type");
        } else {
            out.insert("type".to_owned(), type_value(kinds.clone()));
        }
        let is = |kind: &str| kinds.iter().any(|known| known == kind);
        if is("array") && !out.contains_key("items") && !self.keeps(Construct::BareArray) {
            self.report.enter("items");
            let items = self.schema(json!({}));
            self.report.leave();
            out.insert("items".to_owned(), items?);
        }
        if is("object") && !out.contains_key("properties") && !self.keeps(Construct::BareObject) {
            out.insert("properties".to_owned(), json!({}));
        }
        self.required(out);
        if !self.keeps(Construct::AnyOfSiblings) && out.len() > 1 {
            self.push_down(out)?;
        }
        Ok(())
    }

    /// `enum`: no value twice, and only text where the target takes only text.
    fn values(&mut self, out: &mut Map<String, Value>, kinds: &mut Vec<String>, remarks: &mut Vec<String>) {
        let Some(Value::Array(list)) = out.get("enum") else { return };
        let mut values: Vec<Value> = Vec::new();
        for value in list {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        if values.is_empty() {
            self.report.loss_at("enum", Construct::Malformed, Action::Dropped);
            out.shift_remove("enum");
            return;
        }
        if !self.keeps(Construct::MixedEnum) {
            let null = values.iter().any(Value::is_null);
            let text = values.iter().all(|value| value.is_string() || value.is_null())
                && values.iter().any(Value::is_string)
                && (kinds.is_empty() || kinds.iter().any(|kind| kind == "string"));
            if !text {
                self.report.loss_at("enum", Construct::MixedEnum, Action::Described);
                remarks.push(format!("one of: {}", values.iter().map(shown).collect::<Vec<_>>().join(", ")));
                if kinds.is_empty() {
                    for value in &values {
                        let kind = type_name(value);
                        if !kinds.iter().any(|known| known == kind) {
                            kinds.push(kind.to_owned());
                        }
                    }
                }
                out.shift_remove("enum");
                return;
            }
            values.retain(Value::is_string);
            if kinds.is_empty() {
                kinds.push("string".to_owned());
                if null {
                    kinds.push("null".to_owned());
                }
            } else if kinds.len() > usize::from(kinds.iter().any(|kind| kind == "null")) + 1 {
                // Values of text among several types mean text.
                kinds.retain(|kind| kind == "string" || kind == "null");
            }
        }
        out.insert("enum".to_owned(), Value::Array(values));
    }

    /// The type `null` becomes `nullable`.
    fn nullable(&mut self, out: &mut Map<String, Value>, kinds: &mut Vec<String>) {
        let before = kinds.len();
        kinds.retain(|kind| kind != "null");
        if kinds.len() < before {
            out.insert("nullable".to_owned(), true.into());
            if kinds.is_empty() {
                self.report.loss_at("type", Construct::TypeList, Action::Rewritten);
                kinds.push("string".to_owned());
            }
        }
        if kinds.iter().any(|kind| kind == "number") {
            kinds.retain(|kind| kind != "integer");
        }
    }

    /// Several types become alternatives of one type each, with the keywords that concern it.
    fn split(out: &mut Map<String, Value>, kinds: &mut Vec<String>) {
        if out.contains_key("anyOf") {
            // The alternatives say their types themselves.
            kinds.clear();
            return;
        }
        let mut choices: Vec<Map<String, Value>> = Vec::new();
        for kind in kinds.drain(..) {
            let mut choice = Map::new();
            for (key, value) in &*out {
                let applies = match keyword::find(key).and_then(|keyword| keyword.applies) {
                    Some("number") => kind == "number" || kind == "integer",
                    Some(applies) => applies == kind,
                    None => (key == "enum" || key == "format") && kind == "string",
                };
                if applies {
                    choice.insert(key.clone(), value.clone());
                }
            }
            choice.insert("type".to_owned(), kind.into());
            choices.push(choice);
        }
        out.retain(|key, _| {
            key != "enum" && key != "format" && keyword::find(key).is_none_or(|keyword| keyword.applies.is_none())
        });
        out.insert("anyOf".to_owned(), choices.into_iter().map(Value::Object).collect());
    }

    /// A type for a schema that names none: by its keywords, else text.
    fn guess(&mut self, out: &Map<String, Value>) -> String {
        let by_keyword = out.keys().find_map(|key| keyword::find(key)?.applies);
        if by_keyword.is_none() {
            self.report.loss(Construct::Untyped, Action::Rewritten);
        }
        by_keyword.unwrap_or("string").to_owned()
    }

    /// `required`: texts, each once, and only declared ones where the target wants that.
    fn required(&mut self, out: &mut Map<String, Value>) {
        let Some(Value::Array(names)) = out.get("required") else { return };
        let prune = !self.keeps(Construct::UndeclaredRequired);
        let properties = out.get("properties").and_then(Value::as_object);
        let mut kept: Vec<Value> = Vec::new();
        for name in names {
            let Some(text) = name.as_str() else { continue };
            if prune && !properties.is_some_and(|properties| properties.contains_key(text)) {
                self.report.loss_at("required", Construct::UndeclaredRequired, Action::Dropped);
            } else if !kept.contains(name) {
                kept.push(name.clone());
            }
        }
        if kept.is_empty() {
            out.shift_remove("required");
        } else {
            out.insert("required".to_owned(), Value::Array(kept));
        }
    }

    /// Keywords beside `anyOf` move into every alternative.
    fn push_down(&mut self, out: &mut Map<String, Value>) -> Result<(), RefusedTool> {
        let Some(Value::Array(choices)) = out.shift_remove("anyOf") else { return Ok(()) };
        let mut outer = std::mem::take(out);
        let description = outer.shift_remove("description");
        let outer = Value::Object(outer);
        let mut pushed = Vec::new();
        for choice in choices {
            let Value::Object(mut choice) = choice else { continue };
            self.grow(&outer)?;
            if let Value::Object(outer) = outer.clone() {
                self.join(&mut choice, outer);
            }
            if let Some(Value::String(outer)) = &description {
                let own = choice.get("description").and_then(Value::as_str).map(str::to_owned);
                let both = with_remarks(outer, &own.into_iter().collect::<Vec<_>>());
                choice.insert("description".to_owned(), both.into());
            }
            pushed.push(Value::Object(choice));
        }
        out.insert("anyOf".to_owned(), Value::Array(pushed));
        Ok(())
    }
}
