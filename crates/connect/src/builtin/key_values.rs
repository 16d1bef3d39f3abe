//! `kv_get`, `kv_set`, `kv_delete`, `kv_list`: a small memory that outlives the process.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use toolcrib_core::Scope;
use toolcrib_engine::StoreError;

use super::{
    Shared, arguments,
    definition::{Behaviour, define},
    failure::Failure,
};

/// Most bytes of a key.
const MAX_KEY_BYTES: usize = 256;
/// Keys listed at once.
const PAGE: usize = 200;

pub(crate) fn get() -> Value {
    define("kv_get", "Get value", "Read a stored value.", &key(), &["key"], Behaviour::Reads)
}

pub(crate) fn set() -> Value {
    define(
        "kv_set",
        "Set value",
        "Store text under a key, lastingly.",
        &json!({"key": {"type": "string"}, "value": {"type": "string"}}),
        &["key", "value"],
        Behaviour::Overwrites,
    )
}

pub(crate) fn delete() -> Value {
    define("kv_delete", "Delete value", "Delete a stored value.", &key(), &["key"], Behaviour::Overwrites)
}

pub(crate) fn list() -> Value {
    define(
        "kv_list",
        "List keys",
        "List stored keys.",
        &json!({"prefix": {"type": "string"}, "after": {"type": "string"}}),
        &[],
        Behaviour::Reads,
    )
}

fn key() -> Value {
    json!({"key": {"type": "string"}})
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    after: Option<String>,
}

pub(crate) async fn run(shared: &Shared, tool: &str, raw: &RawValue, scope: &Scope) -> Result<String, Failure> {
    let settings = &shared.settings.key_values;
    let (store, namespace) = (&shared.store, &*namespace(&settings.namespace, scope));
    let failed = |error: StoreError| Failure::new(error.to_string());
    match tool {
        "kv_get" => {
            let Key { key } = arguments(tool, raw)?;
            let value = store.get(namespace, &key).await.map_err(failed)?;
            value.ok_or_else(|| Failure::new(format!("there is no value under '{key}'; kv_list shows the keys")))
        }
        "kv_set" => {
            let Pair { key, value } = arguments(tool, raw)?;
            check_key(&key)?;
            if value.len() > settings.max_value_bytes {
                return Err(Failure::new(format!(
                    "the value has {} bytes, at most {} are kept; store a shorter one or split it",
                    value.len(),
                    settings.max_value_bytes
                )));
            }
            store.set(namespace, &key, &value, settings.max_keys).await.map_err(failed)?;
            Ok(format!("stored {} bytes under '{key}'", value.len()))
        }
        "kv_delete" => {
            let Key { key } = arguments(tool, raw)?;
            let deleted = store.delete(namespace, &key).await.map_err(failed)?;
            Ok(if deleted { format!("deleted '{key}'") } else { format!("there was no value under '{key}'") })
        }
        _ => {
            let Page { prefix, after } = arguments(tool, raw)?;
            let prefix = prefix.unwrap_or_default();
            let mut keys = store.list(namespace, &prefix, after.as_deref(), PAGE + 1).await.map_err(failed)?;
            if keys.is_empty() {
                return Ok("no keys".to_owned());
            }
            if keys.len() > PAGE {
                keys.truncate(PAGE);
                let last = keys[PAGE - 1].clone();
                keys.push(format!("[more keys follow; continue with after '{last}']"));
            }
            Ok(keys.join("\n"))
        }
    }
}

/// Where a caller's values are: apart by tenant and user. Somebody without either, as on a single-user machine, has
/// the plain namespace.
pub(crate) fn namespace<'a>(plain: &'a str, scope: &Scope) -> Cow<'a, str> {
    let user = scope.user.as_deref().unwrap_or_default();
    if scope.tenant.is_empty() && user.is_empty() {
        return plain.into();
    }
    // The separator must not come out of a name, else ("a␟b", "c") would be ("a", "b␟c").
    let part = |name: &str| name.replace('\u{1e}', "\u{1e}0").replace('\u{1f}', "\u{1e}1");
    format!("{plain}\u{1f}{}\u{1f}{}", part(&scope.tenant), part(user)).into()
}

fn check_key(key: &str) -> Result<(), Failure> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(Failure::new(format!("a key has 1 to {MAX_KEY_BYTES} bytes, this one has {}", key.len())));
    }
    if key.chars().any(char::is_control) {
        return Err(Failure::new("a key has no line breaks or other control characters"));
    }
    Ok(())
}
