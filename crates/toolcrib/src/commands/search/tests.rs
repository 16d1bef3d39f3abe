//! How reasons are worded.

use toolcrib_core::search::{Document, Lexical};

use super::{sentences, to_value};

fn index() -> Lexical {
    let document = |server: &str, name: &str, description: &str| Document {
        name: name.to_owned(),
        server: server.to_owned(),
        description: description.to_owned(),
        ..Document::default()
    };
    Lexical::build(&[
        document("git", "git__create_pull_request", "Opens a pull request."),
        document("files", "files__read_file", "Reads the contents of a file."),
        document("files", "files__list", "Lists a folder."),
    ])
}

#[track_caller]
fn check(query: &str, document: usize, want: &[&str]) {
    let why = index().explain(query, document).unwrap();
    let text = sentences(&why).join("\n");
    for part in want {
        assert!(text.contains(part), "{query}: no {part} in\n{text}");
    }
    let value = to_value(&why);
    assert_eq!(value["words"].as_array().map(Vec::len), Some(why.matches.len()));
    assert_eq!(value["answers"], why.answers);
}

#[test]
fn each_reason_says_what_matched_and_where() {
    check("read file", 1, &["'read' in its name, description", "of its name", "are enough for an answer"]);
    check("files__read_file", 1, &["the query is its name"]);
    check("raed file", 1, &["'raed' as misspelling of 'read'"]);
    check("directory", 2, &["as synonym of"]);
}

#[test]
fn nothing_is_said_of_a_tool_that_the_query_does_not_touch() {
    assert_eq!(index().explain("weather", 0), None);
}
