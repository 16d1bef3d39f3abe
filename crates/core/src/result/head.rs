//! What is read of a result when it comes in: whether it tells of a failure, and whether it has the form of MCP.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, value::RawValue};

/// See [`super::ToolResult`]'s fields.
pub(super) struct Head {
    pub(super) is_error: bool,
    pub(super) formed: bool,
}

/// The same of a value.
pub(super) fn is_formed(value: &Value) -> bool {
    let content = match &value["content"] {
        Value::Null => true,
        Value::Array(blocks) => blocks.iter().all(Value::is_object),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    };
    content && matches!(value["isError"], Value::Null | Value::Bool(_))
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Head;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
        let (mut content, mut is_error): (Option<bool>, Option<Value>) = (None, None);
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                // Given twice, one counts for some readers and the other for others: to be looked at closely.
                Key::Content => content = Some(is_list_of_objects(map.next_value()?) && content.is_none()),
                Key::IsError if is_error.is_some() => return Err(A::Error::duplicate_field("isError")),
                Key::IsError => is_error = Some(map.next_value()?),
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let formed = content.unwrap_or(true) && matches!(is_error, None | Some(Value::Null | Value::Bool(_)));
        Ok(Head { is_error: is_error == Some(Value::Bool(true)), formed })
    }
}

enum Key {
    Content,
    IsError,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "content" => Key::Content,
                    "isError" => Key::IsError,
                    _ => Key::Other,
                })
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

/// Whether it is a list of objects, or null. Looks at where values begin only: what is in them need not be readable.
fn is_list_of_objects(content: &RawValue) -> bool {
    match content.get().as_bytes().first() {
        Some(b'n') => true,
        Some(b'[') => serde_json::from_str::<Objects>(content.get()).is_ok_and(|objects| objects.0),
        _ => false,
    }
}

/// Of a list: whether all its items are objects.
struct Objects(bool);

impl<'de> Deserialize<'de> for Objects {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Objects;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Objects, A::Error> {
                let mut objects = true;
                while let Some(item) = list.next_element::<&RawValue>()? {
                    objects &= item.get().starts_with('{');
                }
                Ok(Objects(objects))
            }
        }
        deserializer.deserialize_seq(Items)
    }
}
