use super::{INTRODUCTIONS, Written, each_piece, is_time_or_number};

/// What is written like a value is in brackets, a subject in braces.
#[track_caller]
fn check(text: &str, want: &str) {
    let mut got = Vec::new();
    each_piece(text, |piece, written| {
        got.push(match written {
            Written::AsValue => format!("[{piece}]"),
            Written::AsSubject => format!("{{{piece}}}"),
            Written::Plainly => piece.to_owned(),
        });
    });
    assert_eq!(got.join(" "), want);
}

#[test]
fn capitals_within_sentences_are_values() {
    check("What is the weather in Miami now? Tell me.", "What is the weather in [Miami] now? Tell me.");
    check("Create an issue on GitHub via the API", "Create an issue on GitHub via the API");
    check("Create Pull Request Now", "Create Pull Request Now");
    check("open Jira issue", "open Jira issue");
}

#[test]
fn quotations_are_values() {
    check("play 'bohemian rhapsody' please", "play ['bohemian] [rhapsody'] please");
    check("post \"hi\" to it", "post [\"hi\"] to it");
    check("don't stop", "don't stop");
    check("“never closed", "[“never] [closed]");
}

#[test]
fn what_is_introduced_is_a_subject() {
    check("search for repos about kubernetes", "search for repos about {kubernetes}");
    check("a channel named \"ops\" or called dev", "a channel named [\"ops\"] or called {dev}");
    check("tell me about", "tell me about");
}

#[test]
fn numbers_and_dates_are_values() {
    for token in ["10", "10th", "2023", "tomorrow", "march"] {
        assert!(is_time_or_number(token), "{token}");
    }
    assert!(!is_time_or_number("calendar"));
}

#[test]
fn the_table_is_in_order() {
    assert!(super::TIME_WORDS.is_sorted() && INTRODUCTIONS.is_sorted());
}
