use serde_json::json;

use super::*;

const FILE: &str = include_str!("../../../tests/data/hermes/config.json");

/// Cases where ours is the better behaviour of `quirks.json`, with the fields that differ.
fn better(id: &str) -> Value {
    match id {
        // Both spellings of true mean on.
        "cfg-001" | "cfg-005" => json!({"enabled": "on"}),
        "cfg-003" | "cfg-006" => json!({"enabled": "off"}),
        // Neither NaN nor a boolean is a percentage or a number of matches.
        "cfg-042" | "cfg-043" => json!({"threshold_pct": 5.0}),
        "cfg-059" => json!({"search_default_limit": 5, "max_search_limit": 20}),
        _ => json!({}),
    }
}

#[test]
fn settings_follow_the_vectors() {
    let file: Value = serde_json::from_str(FILE).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 92);
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let mut want = case["want"].clone();
        for (key, value) in better(id).as_object().unwrap() {
            want[key] = value.clone();
        }
        assert_eq!(serde_json::to_value(resolve(&case["raw"]).0).unwrap(), want, "{id}");
    }
}

#[test]
fn budgets_follow_the_vectors() {
    let file: Value = serde_json::from_str(FILE).unwrap();
    let cases = file["listing_budget"].as_array().unwrap();
    assert_eq!(cases.len(), 84);
    for case in cases {
        let budget = resolve(&case["raw"]).0.listing_budget(case["context_length"].as_i64());
        assert_eq!(json!(budget), case["want"], "{}", case["id"]);
    }
}

#[test]
fn what_is_understood_is_not_reported() {
    #[track_caller]
    fn check(raw: &Value) {
        assert_eq!(resolve(raw).1, [], "{raw}");
    }
    for raw in [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!("off"),
        json!(" Yes "),
        json!({}),
        json!({"enabled": null, "threshold_pct": null, "max_search_limit": null}),
        json!({"enabled": "ON", "threshold_pct": " 7.5 ", "max_search_limit": "30", "listing": false}),
        json!({"max_search_limit": 3}),
        json!({"always": ["a"], "defer": [], "listing_max_share": 0.01, "listing_floor_tokens": 1, "ranker": "bm25",
            "context_length": 200_000}),
    ] {
        check(&raw);
    }
}

#[test]
fn what_is_not_understood_is_named_with_what_would_be() {
    #[track_caller]
    fn check(raw: &Value, want: &str) {
        let problems = resolve(raw).1;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].to_string(), want);
    }
    check(
        &json!("sometimes"),
        r#"the disclosure setting is "sometimes"; expected auto, on or off (or true, false), or an object; using auto"#,
    );
    check(
        &json!(["on"]),
        r#"the disclosure setting is ["on"]; expected auto, on or off (or true, false), or an object; using auto"#,
    );
    check(
        &json!(3.5),
        "the disclosure setting is 3.5; expected auto, on or off (or true, false), or an object; using auto",
    );
    check(
        &json!({"enabled": "enabled"}),
        r#"enabled is "enabled"; expected auto, on or off (or true, false); using auto"#,
    );
    check(&json!({"listing": "none"}), r#"listing is "none"; expected auto, on or off (or true, false); using auto"#);
    check(&json!({"threshold_pct": "ten"}), r#"threshold_pct is "ten"; expected a number from 0 to 100; using 5"#);
    check(&json!({"threshold_pct": true}), "threshold_pct is true; expected a number from 0 to 100; using 5");
    check(&json!({"threshold_pct": 250}), "threshold_pct is 250; expected a number from 0 to 100; using 100");
    check(
        &json!({"max_search_limit": true}),
        "max_search_limit is true; expected a whole number from 1 to 50; using 20",
    );
    check(
        &json!({"search_default_limit": 9, "max_search_limit": 4}),
        "search_default_limit is 9; expected a whole number from 1 to 4; using 4",
    );
    check(
        &json!({"listing_max_tokens": "9k"}),
        r#"listing_max_tokens is "9k"; expected a whole number from 200 to 60000; using 4000"#,
    );
    check(
        &json!({"treshold_pct": 3}),
        "treshold_pct is not a known key; expected 'threshold_pct', if that is what was meant; using nothing from it",
    );
    check(
        &json!({"max_search_limit": 1e30}),
        "max_search_limit is 1e+30; expected a whole number from 1 to 50; using 50",
    );
}
