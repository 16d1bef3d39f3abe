use super::{BadWord, HIDDEN, Word, check, compare, is_hidden, same};

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
    for hidden in ['\u{fe0f}', '\u{fe0e}', '\u{e0100}', '\u{2800}', '\u{1bca0}', '\u{3164}', '\u{e000}'] {
        refused(&format!("we{hidden}b"), &BadWord::Invisible(hidden));
    }
    for blank in ['\u{a0}', '\u{2003}', '\u{2028}', '\u{202f}', '\u{205f}', '\u{3000}', '\u{1680}'] {
        refused(&format!("we{blank}b"), &BadWord::OtherBlank(blank));
        refused(&format!("web{blank}"), &BadWord::OtherBlank(blank));
    }
    assert_eq!(check("a\u{a0}b").unwrap_err().to_string(), "it holds the blank U+00A0; write a plain space");
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

/// Of all characters that there are: what shows may stand in a label, what does not may not.
#[test]
fn what_shows_is_what_the_tables_of_characters_say() {
    assert!(HIDDEN.windows(2).all(|two| two[0].0 <= two[0].1 && two[0].1 < two[1].0), "in order");
    // Signs that are written under or around numbers show, though they are of the class of format characters.
    let shows = r"^(?:[\p{L}\p{N}\p{M}\p{P}\p{S} \u{600}-\u{605}\u{6DD}\u{70F}\u{890}\u{891}\u{8E2}\u{110BD}\u{110CD}--\p{DI}])$";
    let (shows, nothing_yet) = (regex::Regex::new(shows).unwrap(), regex::Regex::new(r"^\p{Cn}$").unwrap());
    let looks_blank = ['\u{2800}', '\u{13441}', '\u{13442}', '\u{16FE4}', '\u{1D159}'];
    for letter in '\0'..=char::MAX {
        let text = letter.to_string();
        let shown = shows.is_match(&text) && !looks_blank.contains(&letter);
        // A character of a later table may show.
        if shown || !nothing_yet.is_match(&text) {
            assert_eq!(is_hidden(letter), !shown, "U+{:04X}", u32::from(letter));
        }
    }
}
