use serde_json::json;

use super::*;
use crate::{model::ModelTable, render::Target};

fn counter(name: &str) -> ModelCounter {
    ModelCounter::new(&ModelTable::with(Vec::new()).unwrap().model(name, Target::Anthropic))
}

/// Standards reference §5: factors over o200k, and a margin for models nobody knows.
#[test]
fn families_weigh_differently() {
    let definition =
        json!({"name": "read_file", "description": "Read a file.".repeat(40), "inputSchema": {"type": "object"}});
    let count = |name: &str| counter(name).json(&definition) as f64;
    let base = count("gpt-4o");
    for (name, factor) in
        [("claude-opus-5", 1.53), ("claude-sonnet-4-5", 1.18), ("house-model", 1.25), ("mistral-large", 1.07)]
    {
        let found = count(name) / base;
        assert!((found - factor).abs() < 0.03, "{name}: {found}");
    }
}

#[test]
fn labels_say_what_the_numbers_are() {
    for name in ["claude-opus-5", "gemini-3-pro", "house-model", "gpt-4o", "gpt-4"] {
        let counter = counter(name);
        let word = if counter.is_exact() { "exact" } else { "estimate" };
        assert!(counter.label().starts_with(word), "{}", counter.label());
        assert_eq!(counter.is_exact(), cfg!(feature = "exact-tokens") && name.starts_with("gpt"), "{name}");
    }
    assert!(counter("claude-opus-5").preamble() > 0);
}

/// Counts by the published vocabularies.
#[cfg(feature = "exact-tokens")]
#[test]
fn exact_counts() {
    assert_eq!(counter("gpt-4o").text("hello world"), 2);
    assert_eq!(counter("gpt-4").text("hello world"), 2);
    assert_eq!(counter("gpt-4o").text(r#"{"type":"object","properties":{}}"#), 9);
}

#[test]
fn counts_are_made_once_and_the_cache_is_bounded() {
    let (mut cache, counter, other) = (TokenCache::new(2), counter("gpt-4o"), counter("claude-opus-5"));
    let hash = |text: &str| ContentHash::of_bytes(text.as_bytes());
    let first = cache.count(&counter, hash("a"), &json!("some words that count"));
    // The hash stands for the definition, so another text under it is not looked at.
    assert_eq!(cache.count(&counter, hash("a"), &json!("x")), first);
    assert_ne!(cache.count(&other, hash("a"), &json!("some words that count and many more of them")), first);
    cache.count(&counter, hash("b"), &json!("y"));
    assert_eq!((cache.len(), cache.is_empty()), (2, false));
}
