//! Reading a tokenizer's file that nobody vouches for: the library trusts what it is given, so that a file may make it panic, or
//! blow up a text a thousandfold with a few rules.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use tokenizers::Tokenizer;

/// Most times that a text may become longer by replacements before it is cut into tokens.
const MAX_GROWTH: usize = 64;
/// Most rules that texts are prepared by.
const MAX_RULES: usize = 64;

/// The tokenizer of a file.
///
/// # Errors
/// When it is no tokenizer, makes texts longer than is ever needed, or the library panics on it.
pub(super) fn read(bytes: &[u8]) -> Result<Tokenizer, String> {
    let file: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let (mut rules, mut growth) = (0, 1);
    grow(&file["normalizer"], &mut rules, &mut growth);
    if rules > MAX_RULES {
        return Err(format!("its normalizer has {rules} rules; at most {MAX_RULES} are taken"));
    }
    if growth > MAX_GROWTH {
        return Err(format!("its normalizer makes texts {growth} times as long; at most {MAX_GROWTH} times is taken"));
    }
    let read = catch_unwind(AssertUnwindSafe(|| Tokenizer::from_bytes(bytes)));
    read.map_err(|_| "it leads outside of its own tables".to_owned())?.map_err(|error| error.to_string())
}

/// Counts the rules of a normalizer, and how many times longer they make a text in the worst case. Its depth is bounded by the
/// reader of JSON.
fn grow(rule: &Value, rules: &mut usize, growth: &mut usize) {
    *rules += usize::from(rule.is_object());
    if rule["type"] == "Replace" || rule["type"] == "Prepend" {
        let text = rule["content"].as_str().or_else(|| rule["prepend"].as_str()).unwrap_or_default();
        *growth = growth.saturating_mul(text.chars().count().max(1));
    }
    rule["normalizers"].as_array().into_iter().flatten().for_each(|inner| grow(inner, rules, growth));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[track_caller]
    fn check(normalizer: &Value, model: &Value, problem: &str) {
        let file = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": normalizer,
            "pre_tokenizer": null, "post_processor": null, "decoder": null, "model": model,
        });
        let read = super::read(file.to_string().as_bytes());
        match read {
            Ok(_) => assert_eq!(problem, "", "{file}"),
            Err(found) => assert!(!problem.is_empty() && found.contains(problem), "{found}"),
        }
    }

    fn replace(content: &str) -> Value {
        json!({"type": "Replace", "pattern": {"Regex": "."}, "content": content})
    }

    #[test]
    fn what_would_do_harm_is_refused() {
        let words = json!({"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"});
        let all = |rules: Vec<Value>| json!({"type": "Sequence", "normalizers": rules});
        check(&Value::Null, &words, "");
        check(&all(vec![json!({"type": "Lowercase"}), replace("▁")]), &words, "");
        check(&all(vec![replace(&"x".repeat(10)), replace(&"x".repeat(10))]), &words, "100 times as long");
        check(&all(vec![all(vec![replace(&"x".repeat(1_000))])]), &words, "1000 times as long");
        check(&all(vec![json!({"type": "Lowercase"}); 70]), &words, "71 rules");
        let outside = json!({"type": "Precompiled", "precompiled_charsmap": "////////AAAA"});
        check(&outside, &words, "outside of its own tables");
        let huge = json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 4_000_000_000_u32}, "merges": ["a b"]});
        check(&Value::Null, &huge, "outside of its own tables");
    }
}
