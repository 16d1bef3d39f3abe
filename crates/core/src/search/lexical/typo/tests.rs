use super::{super::vocabulary::Vocabulary, NearWords};

fn vocabulary(words: &str) -> Vocabulary {
    let mut vocabulary = Vocabulary::new();
    for word in words.split_whitespace() {
        vocabulary.intern(word);
    }
    vocabulary
}

#[track_caller]
fn check(word: &str, want: &str) {
    let vocabulary = vocabulary("calendar issue kubernetes repository github list lists post");
    let mut got = Vec::new();
    NearWords::new(&vocabulary).each_repair(word, |term| got.push(vocabulary.term_text(term).to_owned()));
    assert_eq!(got.join(" "), want, "{word}");
}

#[test]
fn one_edit_is_repaired() {
    check("calender", "calendar");
    check("isue", "issu");
    check("issuee", "issu");
    check("kuberentes", "kubernet");
    check("githb", "github");
    check("lsit", "list");
    check("ilst", "list");
    check("pots", "post");
}

#[test]
fn two_edits_short_words_and_numbers_are_not() {
    check("calandr", "");
    check("lst", "");
    check("issue", "");
    check("12345", "");
    check("ghub", "");
    check("mist", "");
}

#[test]
fn a_beginning_is_completed() {
    let vocabulary = vocabulary("authentication authorize author list");
    let complete = |word: &str| {
        let mut got = Vec::new();
        NearWords::new(&vocabulary).each_completion(word, |term| got.push(vocabulary.term_text(term).to_owned()));
        got.join(" ")
    };
    assert_eq!(complete("auth"), "authent author author");
    assert_eq!(complete("authe"), "authent");
    assert_eq!(complete("au"), "");
    assert_eq!(complete("zebra"), "");
}
