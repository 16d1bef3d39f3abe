use serde_json::json;

use super::*;

#[test]
fn chars4_counts_characters_of_compact_json() {
    #[track_caller]
    fn check(value: &Value, want: usize) {
        assert_eq!(TokenCounter::Chars4.json(value), want);
    }
    check(&json!("ab"), 1);
    check(&json!("abc"), 2);
    check(&json!({"a": [1, 2]}), 3);
    check(&json!("日本"), 1);
    check(&json!(null), 1);
    assert_eq!(TokenCounter::Chars4.text(""), 0);
    assert_eq!(TokenCounter::Chars4.text("абвгд"), 2);
}

#[test]
fn calibrated_reproduces_the_measured_factors() {
    #[track_caller]
    fn check(text: &str, low: f64, high: f64) {
        let factor = TokenCounter::Calibrated.text(text) as f64 / (text.chars().count() as f64 / 4.0);
        assert!((low..=high).contains(&factor), "{factor:.2} not in {low}..{high} for {text}");
    }
    check("Open a ticket in a repository. Labels and assignees are optional, as is the milestone.", 0.8, 1.05);
    check(
        r#"{"type":"object","properties":{"owner":{"type":"string","description":"Login of the account that owns the repository"}},"required":["owner"]}"#,
        0.75,
        1.05,
    );
    check("mcp__github__create_issue, mcp__github__list_pull_requests, mcp__github__merge", 1.1, 1.35);
    check("Открыть заявку в репозитории и назначить исполнителя для неё сегодня", 1.3, 1.7);
    check("日本語の説明文です二番目の文もあります", 3.6, 4.2);
    check("3f9a1c0b7d2e4a5588c1d0e9f7a6b5c4", 2.3, 2.9);
}

#[test]
fn parts_never_add_up_to_less_than_the_whole() {
    for counter in [TokenCounter::Chars4, TokenCounter::Calibrated] {
        let parts = ["Tools:\n", "github: a_b, c_d\n", "- x1: Does 3 things. Ok…\n", "日本語\n"];
        let sum: u64 = parts.iter().map(|part| counter.units(part)).sum();
        assert!(counter.text(&parts.concat()) <= tokens(sum), "{}", counter.label());
    }
}
