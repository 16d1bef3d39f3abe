//! The key-value tools.

use std::sync::Arc;

use serde_json::json;
use toolcrib_connect::builtin::{BuiltinSettings, KeyValueSettings};
use toolcrib_core::Scope;
use toolcrib_engine::KeyValueStore;
use toolcrib_store::MemoryStore;

use crate::tools::Tools;

fn tools() -> Tools {
    let key_values = KeyValueSettings { max_keys: 3, max_value_bytes: 10, ..KeyValueSettings::default() };
    Tools::new(BuiltinSettings { key_values, ..BuiltinSettings::default() })
}

#[tokio::test]
async fn values_are_stored_read_listed_and_deleted() {
    let tools = tools();
    assert_eq!(tools.ok("kv_list", json!({})).await, "no keys");
    assert_eq!(tools.ok("kv_set", json!({"key": "a/x", "value": "1 ü"})).await, "stored 4 bytes under 'a/x'");
    tools.ok("kv_set", json!({"key": "b", "value": ""})).await;
    assert_eq!(tools.ok("kv_get", json!({"key": "a/x"})).await, "1 ü");
    assert_eq!(tools.ok("kv_get", json!({"key": "b"})).await, "");
    assert_eq!(tools.ok("kv_list", json!({})).await, "a/x\nb");
    assert_eq!(tools.ok("kv_list", json!({"prefix": "a/"})).await, "a/x");
    assert_eq!(tools.ok("kv_list", json!({"after": "a/x"})).await, "b");
    assert_eq!(tools.ok("kv_delete", json!({"key": "b"})).await, "deleted 'b'");
    assert_eq!(tools.ok("kv_delete", json!({"key": "b"})).await, "there was no value under 'b'");
}

#[tokio::test]
async fn every_tenant_and_user_has_values_of_their_own() {
    let tools = tools();
    // The last two would meet if the names were only joined.
    let callers = [("", None), ("", Some("ann")), ("", Some("bob")), ("acme", None), ("acme", Some("ann"))];
    let callers = [&callers[..], &[("a\u{1f}b", Some("c")), ("a", Some("b\u{1f}c"))]].concat();
    let scope = |(tenant, user): (&str, Option<&str>)| Scope {
        tenant: tenant.to_owned(),
        user: user.map(str::to_owned),
        ..Scope::default()
    };
    for (n, caller) in callers.iter().enumerate() {
        tools.call_as(scope(*caller), "kv_set", json!({"key": "k", "value": n.to_string()})).await.unwrap();
    }
    for (n, caller) in callers.iter().enumerate() {
        assert_eq!(tools.call_as(scope(*caller), "kv_get", json!({"key": "k"})).await.unwrap(), n.to_string());
    }
    let ann = || scope(("", Some("ann")));
    tools.call_as(ann(), "kv_delete", json!({"key": "k"})).await.unwrap();
    assert_eq!(tools.call_as(ann(), "kv_list", json!({})).await.unwrap(), "no keys");
    assert_eq!(tools.call_as(scope(("", Some("bob"))), "kv_list", json!({})).await.unwrap(), "k");
    for key in ["a", "b", "c"] {
        tools.call_as(ann(), "kv_set", json!({"key": key, "value": ""})).await.expect("a quota of her own");
    }
}

#[tokio::test]
async fn values_of_nobody_in_particular_stay_where_they_were() {
    let store = Arc::new(MemoryStore::new());
    store.set("default", "k", "from before", 10).await.unwrap();
    let tools = Tools::over(store, BuiltinSettings::default());
    assert_eq!(tools.ok("kv_get", json!({"key": "k"})).await, "from before");
    let profiled = Scope { profile: Some("work".to_owned()), user: Some(String::new()), ..Scope::default() };
    assert_eq!(tools.call_as(profiled, "kv_get", json!({"key": "k"})).await.unwrap(), "from before");
}

#[tokio::test]
async fn mistakes_say_what_to_do() {
    let tools = tools();
    let check = async |tool: &str, arguments, part: &str| {
        let text = tools.err(tool, arguments).await;
        assert!(text.contains(part), "{tool}: {text}");
    };
    check("kv_get", json!({"key": "none"}), "kv_list shows the keys").await;
    check("kv_get", json!({"kee": "none"}), "unknown field `kee`").await;
    check("kv_set", json!({"key": "k"}), "missing field `value`").await;
    check("kv_set", json!({"key": "", "value": ""}), "1 to 256 bytes").await;
    check("kv_set", json!({"key": "k".repeat(300), "value": ""}), "1 to 256 bytes").await;
    check("kv_set", json!({"key": "a\nb", "value": ""}), "line breaks").await;
    check("kv_set", json!({"key": "k", "value": "12345678901"}), "at most 10").await;
    for key in ["a", "b", "c"] {
        tools.ok("kv_set", json!({"key": key, "value": ""})).await;
    }
    check("kv_set", json!({"key": "d", "value": ""}), "already 3 keys").await;
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let tools = Tools::new(BuiltinSettings::default());
    for n in 0..201 {
        tools.ok("kv_set", json!({"key": format!("{n:03}"), "value": ""})).await;
    }
    let page = tools.ok("kv_list", json!({})).await;
    assert!(page.ends_with("199\n[more keys follow; continue with after '199']"), "{page}");
    assert_eq!(tools.ok("kv_list", json!({"after": "199"})).await, "200");
}

#[tokio::test]
async fn the_time_is_told() {
    let tools = Tools::new(BuiltinSettings::default());
    let text = tools.ok("current_time", json!({"timezone": "Asia/Tokyo"})).await;
    assert!(text.starts_with("UTC: 2") && text.contains("\nAsia/Tokyo: 2") && text.contains("+09:00"), "{text}");
    assert!(tools.ok("current_time", json!({})).await.starts_with("UTC: 2"));
    assert!(tools.err("current_time", json!({"timezone": "Nowhere"})).await.contains("IANA"));
}
