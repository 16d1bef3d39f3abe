//! A request's parameters, read strictly.

use std::{collections::HashSet, fmt};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, value::RawValue};

use crate::wire::{RpcError, code};

/// The members of a `params` object. No key is given twice at any depth (T18), and nothing is nested deeper than the
/// JSON parser's limit of 128 (T16).
#[derive(Debug, Default)]
pub(super) struct Params {
    members: Vec<(String, Box<RawValue>)>,
    meta: Option<Map<String, Value>>,
}

impl Params {
    /// Reads them; absent parameters are an empty object.
    pub(super) fn read(params: Option<&RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = params else { return Ok(Self::default()) };
        let refuse = |error: serde_json::Error| invalid(format!("params: {}", without_position(&error)));
        let mut json = serde_json::Deserializer::from_str(raw.get());
        Strict.deserialize(&mut json).map_err(refuse)?;
        let Members(members) = serde_json::from_str(raw.get()).map_err(refuse)?;
        let mut params = Self { members, meta: None };
        if let Some(meta) = params.get("_meta") {
            let meta = serde_json::from_str(meta.get()).map_err(|_| invalid("params._meta is not an object"))?;
            params.meta = Some(meta);
        }
        Ok(params)
    }

    /// A member as it was written; `null` counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        self.members
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| &**value)
            .filter(|value| value.get() != "null")
    }

    /// A text member.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, RpcError> {
        self.get(name)
            .map(|raw| serde_json::from_str(raw.get()).map_err(|_| invalid(format!("params.{name} is not a text"))))
            .transpose()
    }

    /// A text member that must be there.
    pub(super) fn required_text(&self, name: &str) -> Result<String, RpcError> {
        self.text(name)?.ok_or_else(|| invalid(format!("params.{name} is missing")))
    }

    /// An object member as it was written.
    pub(super) fn object(&self, name: &str) -> Result<Option<&RawValue>, RpcError> {
        match self.get(name) {
            Some(raw) if !raw.get().starts_with('{') => Err(invalid(format!("params.{name} is not an object"))),
            found => Ok(found),
        }
    }

    /// The members of an object member, as they were written; none when it is absent.
    pub(super) fn members(&self, name: &str) -> Result<Vec<(String, Box<RawValue>)>, RpcError> {
        let Some(raw) = self.object(name)? else { return Ok(Vec::new()) };
        let Members(members) =
            serde_json::from_str(raw.get()).map_err(|_| invalid(format!("params.{name} is not an object")))?;
        Ok(members)
    }

    /// `_meta`.
    pub(super) fn meta(&self) -> Option<&Map<String, Value>> {
        self.meta.as_ref()
    }

    /// `_meta` less what belongs to this hop alone: the progress token and the keys MCP reserves. Trace context stays.
    pub(super) fn forwarded_meta(&self) -> Option<Value> {
        let kept: Map<String, Value> = self
            .meta
            .as_ref()?
            .iter()
            .filter(|(key, _)| *key != "progressToken" && !is_reserved(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        (!kept.is_empty()).then_some(Value::Object(kept))
    }

    /// The token progress is to be reported under, as its JSON text.
    pub(super) fn progress_token(&self) -> Result<Option<String>, RpcError> {
        match self.meta.as_ref().and_then(|meta| meta.get("progressToken")) {
            None | Some(Value::Null) => Ok(None),
            Some(token @ (Value::String(_) | Value::Number(_))) => Ok(Some(token.to_string())),
            Some(_) => Err(invalid("params._meta.progressToken is neither a text nor a number")),
        }
    }
}

/// Reads a value in which no key is given twice at any depth (T18); the error says what is wrong.
pub(super) fn strict(raw: &RawValue) -> Result<Value, String> {
    let refuse = |error: serde_json::Error| without_position(&error);
    Strict.deserialize(&mut serde_json::Deserializer::from_str(raw.get())).map_err(refuse)?;
    serde_json::from_str(raw.get()).map_err(refuse)
}

/// An invalid-parameters error.
pub(super) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, message)
}

// Reserved: a prefix whose second label is `modelcontextprotocol` or `mcp` (MCP, general fields).
fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    matches!(prefix.split('.').nth(1), Some("modelcontextprotocol" | "mcp"))
}

fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.clone(), |at| text[..at].to_owned())
}

struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Walks a value and fails on a key that an object has twice, also when the two are spelt differently.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Strict)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(Strict)?;
            if let Some(twice) = seen.replace(key) {
                let shown: String = twice.chars().take(64).collect();
                return Err(A::Error::custom(format_args!("key {shown:?} is given twice")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
