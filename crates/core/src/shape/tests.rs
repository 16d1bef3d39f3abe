use serde_json::{Value, json, value::RawValue};

use super::*;

fn result(value: &Value) -> ToolResult {
    ToolResult::from_value(value)
}

fn texts(count: usize, text: &str) -> Value {
    json!({"content": vec![json!({"type": "text", "text": text}); count]})
}

#[track_caller]
fn cut_to(result: &ToolResult, limits: &ShapeLimits) -> Value {
    assert!(is_over(result, limits));
    match shape(result, limits, Some("r-1")) {
        Shaped::Cut(cut) => cut.to_value(),
        Shaped::Untouched => panic!("it must be cut"),
    }
}

const SMALL: ShapeLimits = ShapeLimits { max_chars: 100, preview_chars: 20, max_bytes: 1_000 };

#[test]
fn within_the_budget_nothing_changes() {
    for value in [
        texts(1, &"é".repeat(100)),
        texts(10, "0123456789"),
        json!({"content": [{"type": "image", "data": "A".repeat(500), "mimeType": "image/png"}]}),
        json!({"content": [{"type": "resource", "resource": {"uri": "x:y", "text": "t".repeat(500)}}]}),
        json!({"structuredContent": {"a": "b".repeat(80)}}),
        json!({}),
    ] {
        let result = result(&value);
        assert!(!is_over(&result, &SMALL), "{value}");
        assert!(matches!(shape(&result, &SMALL, None), Shaped::Untouched), "{value}");
    }
}

#[test]
fn the_preview_ends_at_the_last_line_break_past_the_middle() {
    let cases = [
        ("aaaaaaaaaaaa\nbbbb\ncccccccc", "aaaaaaaaaaaa\nbbbb"),
        ("aaaa\nbbbbbbbbbbbbbbbbbbbbbbbbbbb", "aaaa\nbbbbbbbbbbbbbbb"),
        ("ééééééééééééééééééééééééé", "éééééééééééééééééééé"),
    ];
    for (start, preview) in cases {
        let text = format!("{start}{}", "x".repeat(100));
        let cut = cut_to(&result(&texts(1, &text)), &SMALL);
        assert_eq!(cut["content"][0]["text"], preview);
        let notice = cut["content"][1]["text"].as_str().unwrap();
        let chars = text.chars().count();
        assert!(notice.contains(&format!("of {chars} characters")), "{notice}");
        assert!(notice.contains("handle 'r-1'"), "{notice}");
    }
}

#[test]
fn text_counts_over_all_blocks_and_ends_where_it_was_cut() {
    let cut = cut_to(&result(&texts(30, "0123456789abcdef")), &SMALL);
    let shown: Vec<_> =
        cut["content"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(shown[..2], ["0123456789abcdef", "0123"]);
    assert_eq!(shown.len(), 3);
}

#[test]
fn other_blocks_and_members_stay_as_they_are() {
    let text = format!(
        r#"{{"content":[{{"type":"image","data":"AA==","mimeType":"image/png","n":12345678901234567890123}},{{"type":"text","text":"{}"}},{{"type":"resource_link","uri":"x:1"}}],"isError":true,"_meta":{{"k":1.0}}}}"#,
        "t".repeat(200)
    );
    let whole = ToolResult::from_raw(RawValue::from_string(text).unwrap()).unwrap();
    let Shaped::Cut(cut) = shape(&whole, &SMALL, None) else { panic!("it must be cut") };
    assert!(cut.raw().get().contains("12345678901234567890123"));
    assert!(cut.raw().get().contains(r#""_meta":{"k":1.0}"#));
    assert!(cut.is_error());
    let value = cut.to_value();
    let kinds: Vec<_> =
        value["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["image", "text", "resource_link", "text"]);
    assert!(value["content"][3]["text"].as_str().unwrap().contains("was not kept"));
}

#[test]
fn structured_content_over_the_budget_is_left_out_and_named() {
    let both = json!({"content": [{"type": "text", "text": "short"}], "structuredContent": {"a": "b".repeat(200)}});
    let cut = cut_to(&result(&both), &SMALL);
    assert!(cut.get("structuredContent").is_none());
    assert_eq!(cut["content"][0]["text"], "short");
    assert!(cut["content"][1]["text"].as_str().unwrap().contains("/structuredContent"));
    let small = json!({"content": texts(1, &"x".repeat(200))["content"], "structuredContent": {"a": 1}});
    assert_eq!(cut_to(&result(&small), &SMALL)["structuredContent"], json!({"a": 1}));
}

#[test]
fn a_result_over_the_bytes_loses_what_does_not_fit() {
    let image = |size| json!({"type": "image", "data": "A".repeat(size), "mimeType": "image/png"});
    let cut =
        cut_to(&result(&json!({"content": [image(400), image(2_000)], "_meta": {"x": "y".repeat(2_000)}})), &SMALL);
    assert_eq!(cut["content"].as_array().unwrap().len(), 2);
    assert!(cut.get("_meta").is_none());
    let notice = cut["content"][1]["text"].as_str().unwrap();
    assert!(notice.contains("1 blocks") && notice.contains("'_meta'"), "{notice}");
    let many = texts(5_000, "");
    assert!(is_over(&result(&many), &ShapeLimits::default()));
    let cut = cut_to(&result(&many), &ShapeLimits::default());
    assert!(cut["content"].as_array().unwrap().len() <= BLOCKS + 1);
}

/// Whatever there is to read counts, wherever it stands.
#[test]
fn no_text_goes_past_the_budget_under_another_name() {
    let long = "x".repeat(3_000_000);
    let limits = ShapeLimits { max_bytes: 8 * 1024 * 1024, ..ShapeLimits::default() };
    let short = json!({"type": "text", "text": "short"});
    for value in [
        json!({"content": long}),
        json!({"content": [long]}),
        json!({"content": [short], "_meta": {"a": long}}),
        json!({"content": [short], "more": [long]}),
        json!({"content": [short], (long.as_str()): 1}),
        json!({"content": [short, {"type": "resource_link", "uri": format!("x:{long}"), "name": "n"}]}),
        json!({"content": [short, {"type": "resource_link", "uri": "x:y", "name": long}]}),
        json!({"content": [short, {"type": "resource", "resource": {"uri": "x:y", "text": long}}]}),
        json!({"content": [short, {"type": "odd", "data": long}]}),
        json!({"content": [short, {"type": "image", "data": "AA==", "mimeType": long}]}),
        json!({"content": [short, {"type": "image", "data": [long]}]}),
        json!({"content": [{"type": "text", "text": "short", "annotations": {"a": long}}]}),
        json!({"content": vec![json!({"type": "resource_link", "uri": "x".repeat(1_000)}); 900]}),
    ] {
        let result = result(&value);
        assert!(is_over(&result, &limits) && result_chars(&result) > 500_000);
        let Shaped::Cut(cut) = shape(&result, &limits, Some("r-1")) else { panic!("it must be cut") };
        let (text, shown) = (cut.raw().get(), cut.to_value());
        assert!(text.chars().count() < limits.max_chars + 2 * BESIDE, "{}", text.len());
        assert!(text.contains("handle 'r-1'"));
        assert!(
            shown["content"].as_array().unwrap().len() < 2
                || text.contains("short")
                || text.contains("x:")
                || text.contains("xxx")
        );
    }
    // Data is no text.
    for value in [
        json!({"content": [{"type": "image", "data": long, "mimeType": "image/png"}]}),
        json!({"content": [{"type": "audio", "data": long, "mimeType": "audio/wav"}]}),
        json!({"content": [{"type": "resource", "resource": {"uri": "x:y", "blob": long}}]}),
    ] {
        let result = result(&value);
        assert!(!is_over(&result, &limits) && result_chars(&result) == 0);
    }
}

fn slice(whole: &str, query: SliceQuery<'_>) -> String {
    read_slice(whole, &query).unwrap()
}

#[test]
fn slices_of_lines() {
    let text: Vec<String> = (0..500).map(|i| format!("line {i}")).collect();
    let whole = texts(1, &text.join("\n")).to_string();
    let page = slice(&whole, SliceQuery { offset: Some(10), limit: Some(2), ..SliceQuery::default() });
    assert_eq!(page, "[2 lines from line 10, of 500; continue with offset 12]\nline 10\nline 11\n");
    assert!(slice(&whole, SliceQuery::default()).starts_with("[200 lines from line 0, of 500; continue"));
    let last = slice(&whole, SliceQuery { offset: Some(499), ..SliceQuery::default() });
    assert_eq!(last, "[1 lines from line 499, of 500]\nline 499\n");
    let past = read_slice(&whole, &SliceQuery { offset: Some(500), ..SliceQuery::default() });
    assert_eq!(past, Err(SliceError::PastEnd { offset: 500, lines: 500 }));
}

#[test]
fn long_lines_are_folded_and_answers_bounded() {
    let whole = texts(1, &"é".repeat(4_500)).to_string();
    let second = slice(&whole, SliceQuery { offset: Some(1), limit: Some(1), ..SliceQuery::default() });
    assert_eq!(second, format!("[1 lines from line 1, of 3; continue with offset 2]\n{}\n", "é".repeat(2_000)));
    let huge = texts(1, &"x\n".repeat(1_000).replace('x', &"y".repeat(1_000))).to_string();
    let page = slice(&huge, SliceQuery { limit: Some(1_000_000), ..SliceQuery::default() });
    assert!(page.chars().count() < 51_000, "{}", page.len());
    assert!(page.starts_with("[49 lines from line 0, of 1000; continue with offset 49]"), "{}", &page[..80]);
}

#[test]
fn pointers_keep_digits() {
    let whole = r#"{"content":[{"type":"text","text":"hi"}],"structuredContent":{"a/b":[{"n":123456789012345678901234567890,"e":{},"s":"{\"x\":1}"}]}}"#;
    let at = |pointer| read_slice(whole, &SliceQuery { pointer: Some(pointer), ..SliceQuery::default() });
    assert_eq!(at("/content/0/text").unwrap(), "[1 lines from line 0, of 1]\nhi\n");
    assert_eq!(
        at("/structuredContent/a~1b/0").unwrap(),
        "[5 lines from line 0, of 5]\n{\n  \"n\": 123456789012345678901234567890,\n  \"e\": {},\n  \"s\": \"{\\\"x\\\":1}\"\n}\n"
    );
    assert_eq!(
        at("/structuredContent/x").unwrap_err().to_string(),
        "the result holds nothing at '/structuredContent/x'; '/structuredContent' is an object with the keys a/b"
    );
    assert!(matches!(at("content"), Err(SliceError::BadPointer(_))));
    let no_text = r#"{"structuredContent":{"a":1}}"#;
    assert!(slice(no_text, SliceQuery::default()).contains("\"a\": 1"));
}

#[test]
fn grep_gives_numbers_that_offsets_understand() {
    let long = format!("{}Needle{}", "a".repeat(2_500), "b".repeat(2_000));
    let whole = texts(1, &format!("first\n{long}\nneedle two\nNEEDLE three")).to_string();
    let grep =
        |offset, limit| slice(&whole, SliceQuery { grep: Some("needle"), offset, limit, ..SliceQuery::default() });
    let all = grep(None, None);
    assert!(all.starts_with("[3 of 3 lines with 'needle', with their numbers]\n2: …"), "{all}");
    assert!(all.contains("\n4: needle two\n5: NEEDLE three\n"), "{all}");
    assert!(all.len() < 500, "a long line is excerpted");
    assert_eq!(
        grep(Some(1), Some(1)),
        "[1 of 3 lines with 'needle', with their numbers; continue with offset 2]\n4: needle two\n"
    );
    let none = slice(&whole, SliceQuery { grep: Some("(x"), ..SliceQuery::default() });
    assert!(none.starts_with("[0 of 0 lines"), "{none}");
}

/// Threat T14.
#[test]
fn text_of_others_is_cleaned() {
    let cases = [
        ("plain\ttext\nhere", "plain\ttext\nhere"),
        ("größe 尺寸 📦", "größe 尺寸 📦"),
        ("a\u{1b}[2Jb\u{1b}[1;31mc", "abc"),
        ("\u{1b}]8;;https://evil\u{1b}\\click\u{1b}]8;;\u{1b}\\", "click"),
        ("\u{1b}]0;title\u{7}x", "x"),
        ("\u{9b}31mred\u{9d}0;t\u{9c}x", "redx"),
        ("\u{1b}(Bx\u{1b}cx\u{1b}", "xx"),
        ("open \u{1b}]8;;never closed", "open 8;;never closed"),
        ("a\u{0}b\u{8}c\r\nd\u{7f}e", "abc\nde"),
        ("a\u{202E}b\u{2066}c\u{2069}d\u{200F}e", "abcde"),
        ("z\u{200B}e\u{200D}r\u{FEFF}o\u{00AD}\u{2060}", "zero"),
        ("x\u{E0041}\u{E0020}\u{E007F}y\u{E0100}", "xy"),
        ("✔\u{FE0F}\u{FE0F}\u{FE0E}", "✔\u{FE0F}"),
        ("a\u{2028}b\u{2029}c", "a\nb\nc"),
        ("e\u{301}", "e\u{301}"),
    ];
    for (text, clean) in cases {
        assert_eq!(sanitize_text(text), clean, "{text:?}");
        assert_eq!(sanitize_text(clean), clean, "cleaning twice changes nothing: {clean:?}");
    }
    let pile = format!("a{}b", "\u{301}".repeat(10_000));
    assert_eq!(sanitize_text(&pile).chars().count(), 10);
}
