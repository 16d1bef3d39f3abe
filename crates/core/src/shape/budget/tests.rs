use serde_json::json;

use super::*;

/// Hermes reference §3, "Results": 15 % and 30 %, with floors and ceilings.
#[test]
fn budgets_follow_the_context_window() {
    for (tokens, result, turn) in [
        (0, 8_000, 16_000),
        (4_000, 8_000, 16_000),
        (32_000, 19_200, 38_400),
        (128_000, 76_800, 153_600),
        (200_000, 100_000, 200_000),
        (u64::MAX, 100_000, 200_000),
    ] {
        assert_eq!(ShapeLimits::for_context(tokens).max_chars, result, "{tokens}");
        assert_eq!(TurnBudget::for_context(tokens).max_chars, turn, "{tokens}");
    }
}

#[test]
fn explicit_settings_stay_the_most() {
    let set = ShapeLimits { max_chars: 10_000, preview_chars: 9_000, max_bytes: 5 };
    assert_eq!(set.within_context(200_000), set);
    assert_eq!(set.within_context(1), ShapeLimits { max_chars: 8_000, preview_chars: 8_000, max_bytes: 5 });
    assert_eq!(TurnBudget::for_context(128_000).capped(1_000).max_chars, 1_000);
    assert_eq!(TurnBudget::default().max_chars, 200_000);
}

#[test]
fn late_results_of_a_turn_get_what_is_left() {
    let mut turn = TurnBudget::new(100);
    for (asked, answer, left) in [(60, None, 40), (40, None, 0), (0, None, 0), (1, Some(0), 0)] {
        assert_eq!((turn.allow(asked), turn.left()), (answer, left), "{asked}");
    }
    let mut turn = TurnBudget { max_chars: 100, used: 90 };
    assert_eq!((turn.allow(usize::MAX), turn.used, turn.allow(5)), (Some(10), 100, Some(0)));
}

#[test]
fn characters_of_a_result() {
    for (value, chars) in [
        (json!({}), 0),
        (json!({"content": [{"type": "text", "text": "éé"}, {"type": "image", "data": "AAAA"}]}), 2),
        (json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}}), 7),
    ] {
        assert_eq!(result_chars(&ToolResult::from_value(&value)), chars, "{value}");
    }
}
