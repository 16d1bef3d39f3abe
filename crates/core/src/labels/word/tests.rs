use super::{BadWord, Word, check, compare, same};

#[track_caller]
fn refused(text: &str, why: &BadWord) {
    assert_eq!(check(text).as_ref(), Err(why), "{text:?}");
}

#[test]
fn what_may_be_a_label() {
    for text in ["web", "Web tools", "a:b", "größe", "日本", "🔧"] {
        assert_eq!(check(text), Ok(()), "{text:?}");
    }
    refused("", &BadWord::Empty);
    refused("  ", &BadWord::Empty);
    refused(" web", &BadWord::Blanks);
    refused("a,b", &BadWord::Comma);
    refused(&"x".repeat(65), &BadWord::Long);
    assert_eq!(check(&"ä".repeat(64)), Ok(()));
    for hidden in ['\n', '\u{7f}', '\u{200b}', '\u{200f}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{ad}', '\u{e0041}'] {
        refused(&format!("we{hidden}b"), &BadWord::Invisible(hidden));
    }
    assert_eq!(check("a\u{202e}b").unwrap_err().to_string(), "it holds the invisible character U+202E; take that out");
}

#[track_caller]
fn one(a: &str, b: &str) {
    assert!(same(a, b) && compare(a, b).is_eq() && Word::from(a) == Word::from(b), "{a} {b}");
}

#[test]
fn the_case_of_letters_does_not_count() {
    one("danger", "Danger");
    one("ÄRGER", "ärger");
    one("ß", "ß");
    for (a, b) in [("danger", "dangers"), ("a", "ä"), ("", "a")] {
        assert!(!same(a, b) && !compare(a, b).is_eq() && Word::from(a) != Word::from(b), "{a} {b}");
    }
}

proptest::proptest! {
    #[test]
    fn the_order_agrees_with_being_the_same(a in "\\PC{0,6}", b in "\\PC{0,6}") {
        proptest::prop_assert_eq!(same(&a, &b), compare(&a, &b).is_eq());
        proptest::prop_assert!(same(&a, &super::folded(&a)));
    }
}
