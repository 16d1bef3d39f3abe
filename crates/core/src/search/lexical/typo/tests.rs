use super::{super::vocabulary::Vocabulary, NearWords};

fn vocabulary(words: &str) -> Vocabulary {
    let mut vocabulary = Vocabulary::new(None);
    for word in words.split_whitespace() {
        let new = vocabulary.describe(word);
        vocabulary.add(&new);
    }
    vocabulary
}

#[track_caller]
fn check(word: &str, want: &str) {
    let vocabulary = vocabulary("calendar issue kubernetes repository github list lists post");
    let (mut near, mut got) = (NearWords::default(), Vec::new());
    near.extend(&vocabulary);
    near.each_repair(word, &vocabulary, |_| true, |near| got.push(vocabulary.term_text(near.term).to_owned()));
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
        let (mut near, mut got) = (NearWords::default(), Vec::new());
        near.extend(&vocabulary);
        near.each_completion(word, &vocabulary, |_| true, |near| got.push(vocabulary.term_text(near.term).to_owned()));
        got.join(" ")
    };
    assert_eq!(complete("auth"), "authent author author");
    assert_eq!(complete("authe"), "authent");
    assert_eq!(complete("au"), "");
    assert_eq!(complete("zebra"), "");
}

#[test]
fn words_may_come_bit_by_bit_and_those_that_nobody_holds_do_not_count() {
    let mut vocabulary = vocabulary("calendar list");
    let mut near = NearWords::default();
    near.extend(&vocabulary);
    for word in ["calendars", "calender", "apple"] {
        let new = vocabulary.describe(word);
        vocabulary.add(&new);
        near.extend(&vocabulary);
    }
    let mut got = Vec::new();
    near.each_repair("calendir", &vocabulary, |_| true, |word| got.push(word.text.to_string()));
    assert_eq!(got, ["calendar", "calender"]);
    let held = vocabulary.word("calender").unwrap().term;
    got.clear();
    near.each_repair("calendir", &vocabulary, |term| term == held, |word| got.push(word.text.to_string()));
    assert_eq!(got, ["calender"]);
}
