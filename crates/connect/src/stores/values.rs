//! `values`: texts under keys, the same that the `kv_` tools keep.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_core::Scope;
use toolcrib_engine::{
    BoxFuture, KeyValueStore,
    store_tools::{ListQuery, Listing, Owner, Store, StoreFault, StoreSpec},
};

use super::{StoreSettings, fields};
use crate::builtin::{KeyValueSettings, namespace};

pub(super) const ID: &str = "values";

/// Values under keys.
pub struct Values {
    values: Arc<dyn KeyValueStore>,
    settings: StoreSettings,
}

impl Values {
    /// Values kept in `values`, in the place where the `kv_` tools keep theirs.
    pub fn new(values: Arc<dyn KeyValueStore>, settings: StoreSettings) -> Self {
        Self { values, settings }
    }
}

fn place(owner: &Owner) -> String {
    let user = (!owner.user.is_empty()).then(|| owner.user.clone());
    let scope = Scope { tenant: owner.tenant.clone(), user, ..Scope::default() };
    namespace(&KeyValueSettings::default().namespace, &scope).into_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    value: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Filter {
    prefix: String,
}

impl Store for Values {
    fn spec(&self) -> StoreSpec {
        StoreSpec {
            id: ID.to_owned(),
            display_name: "Values".to_owned(),
            description: "Short texts under keys.".to_owned(),
            usage_hint: String::new(),
            fields: "value (text)".to_owned(),
            filters: "prefix (of the key)".to_owned(),
            actions: Vec::new(),
        }
    }

    fn get<'a>(&'a self, owner: &'a Owner, key: &'a str) -> BoxFuture<'a, Result<Option<Value>, StoreFault>> {
        Box::pin(async move { Ok(self.values.get(&place(owner), key).await?.map(|value| json!({"value": value}))) })
    }

    fn set<'a>(
        &'a self,
        owner: &'a Owner,
        key: &'a str,
        fields: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Value, StoreFault>> {
        Box::pin(async move {
            let Fields { value } = fields::read(fields, "a value", "value (text)")?;
            if value.len() > self.settings.max_entry_bytes {
                return Err(StoreFault::new(format!(
                    "the value has {} bytes, at most {} are kept; shorten or split it",
                    value.len(),
                    self.settings.max_entry_bytes
                )));
            }
            let most = usize::try_from(self.settings.quota.entries).unwrap_or(usize::MAX);
            self.values.set(&place(owner), key, &value, most).await?;
            Ok(json!({"key": key, "bytes": value.len()}))
        })
    }

    fn delete<'a>(&'a self, owner: &'a Owner, key: &'a str) -> BoxFuture<'a, Result<bool, StoreFault>> {
        Box::pin(async move { Ok(self.values.delete(&place(owner), key).await?) })
    }

    fn list<'a>(&'a self, owner: &'a Owner, query: ListQuery) -> BoxFuture<'a, Result<Listing, StoreFault>> {
        Box::pin(async move {
            let Filter { prefix } = fields::read(query.filter, "the filter of values", "prefix")?;
            let one_more = query.limit + 1;
            let mut keys = self.values.list(&place(owner), &prefix, query.after.as_deref(), one_more).await?;
            let more = keys.len() == one_more;
            keys.truncate(query.limit);
            let next = keys.last().filter(|_| more).cloned();
            Ok(Listing { entries: keys.iter().map(|key| json!({"key": key})).collect(), total: None, next })
        })
    }
}
