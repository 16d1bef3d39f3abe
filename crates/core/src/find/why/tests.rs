//! How reasons are worded.

use super::why;
use crate::{
    bridge::{Card, Directory as _},
    find::{Ask, find},
    search::{Document, Index, RankerKind},
};

const TOOLS: [(&str, &str, &str); 3] = [
    ("git", "git__create_pull_request", "Opens a pull request."),
    ("files", "files__read_file", "Reads the contents of a file."),
    ("files", "files__list", "Lists a folder."),
];

/// The reasons of the tool with this name in the answer.
#[track_caller]
fn check(query: &str, name: &str, via: &str, want: &[&str]) {
    let document = |(server, name, description): &(&str, &str, &str)| Document {
        name: (*name).to_owned(),
        server: (*server).to_owned(),
        description: (*description).to_owned(),
        ..Document::default()
    };
    let index = Index::build(RankerKind::Lexical, &TOOLS.iter().map(document).collect::<Vec<_>>());
    let nothing = serde_json::Value::Null;
    let cards = TOOLS.map(|(server, name, _)| Card { name, server, definition: &nothing, tool: None });
    let ask = Ask::default();
    let answer = find(cards.as_slice(), &index, query, &ask);
    let found = answer.hits.iter().find(|hit| cards[..].card(hit.index).name == name);
    let why = why(&index, query, &answer, found.unwrap_or_else(|| panic!("{query}: {answer:?}")));
    assert_eq!(why.via, via);
    let text = why.sentences().join("\n");
    for part in want {
        assert!(text.contains(part), "{query}: no {part} in\n{text}");
    }
    let value = why.to_value();
    assert_eq!(value["words"].as_array().map(Vec::len), why.words.as_ref().map(|words| words.matches.len()));
    assert_eq!(value["reasons"].as_array().map(Vec::len), Some(why.sentences().len()));
}

#[test]
fn each_reason_says_what_matched_and_where() {
    check("read file", "files__read_file", "words", &["'read' in its name, description", "of its name", "are enough"]);
    check("raed file", "files__read_file", "words", &["'raed' as misspelling of 'read'"]);
    check("directory", "files__list", "words", &["as synonym of"]);
}

#[test]
fn every_form_has_its_reason() {
    check("select:files__list", "files__list", "select", &["select: names it"]);
    check("files__read_file", "files__read_file", "name", &["the query is its name"]);
    check("call files__list for me", "files__list", "name", &["or holds it"]);
    check("files__", "files__list", "beginning", &["begins its name"]);
    check("read the file and then create a pull request", "files__read_file", "step", &["for the step 'read the"]);
}
