use super::*;

#[test]
fn places_of_entries_and_items() {
    let text = r#" { "a" : [1, {"x":"]}"} ,null],"b\n":"q\"\\" , "a":-1.5e3 }"#;
    let found = members(text, 0);
    let shown: Vec<_> = found.iter().map(|member| (member.key.as_ref(), &text[member.value.clone()])).collect();
    assert_eq!(shown, [("a", r#"[1, {"x":"]}"} ,null]"#), ("b\n", r#""q\"\\""#), ("a", "-1.5e3")]);
    let list = r#"[ 1 , "a,b" ,[[]],{} ]"#;
    let shown: Vec<_> = items(list, 0).into_iter().map(|range| &list[range]).collect();
    assert_eq!(shown, ["1", "\"a,b\"", "[[]]", "{}"]);
}

#[test]
fn other_text_is_answered_too() {
    for text in ["", "{", "[", "\"", "{\"a\"", "{\"a\":", "[1", "\"\\", "}", "]", "nonsense", "{\"a\":\"\\", "{]", "[}"]
    {
        let _ = (members(text, 0).len(), items(text, 0).len(), value_end(text.as_bytes(), 0));
    }
}

#[test]
fn halves_of_pairs_are_read_as_well_as_can_be() {
    assert_eq!(readable(r#""a\\ud800\"""#), r#"a\ud800""#);
    for (quoted, text) in [
        (r#""a\ud800b\n""#, "a\u{FFFD}b\n"),
        (r#""\udc00\ud834\udd1e""#, "\u{FFFD}𝄞"),
        (r#""\ud834\ud834\udd1e\ud834""#, "\u{FFFD}𝄞\u{FFFD}"),
    ] {
        assert_eq!(decoded(quoted), None, "{quoted}");
        assert_eq!(readable(quoted), text);
    }
}

#[test]
fn replacing_leaves_the_rest() {
    assert_eq!(replace("abcdef", vec![(4..4, "-".to_owned()), (1..3, "X".to_owned())]), "aXd-ef");
    assert_eq!(replace("é", Vec::new()), "é");
}
