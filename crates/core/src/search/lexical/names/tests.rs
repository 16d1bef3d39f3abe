use std::sync::Arc;

use super::{
    super::{super::Document, prepare::Prepared, prepare::Reader, vocabulary::Vocabulary},
    NameMatch, Names,
};

fn prepared() -> Vec<Arc<Prepared>> {
    let documents = [
        ("git-hub", "mcp__git_hub__create_issue", "Open an issue"),
        ("git-hub", "mcp__git_hub__list_issues", ""),
        ("github", "github_create_issue", ""),
        ("slack", "post", ""),
        ("slack", "slack", ""),
    ]
    .map(|(server, name, title)| Document {
        name: name.to_owned(),
        server: server.to_owned(),
        title: title.to_owned(),
        ..Document::default()
    });
    let vocabulary = Vocabulary::new(None);
    let mut reader = Reader::new(&vocabulary, None);
    documents.iter().map(|document| Arc::new(reader.read(document))).collect()
}

#[track_caller]
fn check(text: &str, want: &[(NameMatch, u32)]) {
    let documents = prepared();
    assert_eq!(Names::new(&documents).find(text, &documents), want, "{text}");
}

#[test]
fn a_name_is_found_in_every_spelling() {
    check("mcp__git_hub__create_issue", &[(NameMatch::Exact, 0)]);
    check("MCP git-hub create issue", &[(NameMatch::Spelling, 0)]);
    check("create_issue", &[(NameMatch::Short, 0), (NameMatch::Short, 2)]);
    check("createIssue", &[(NameMatch::Short, 0), (NameMatch::Short, 2)]);
    check("github/create_issue", &[(NameMatch::Spelling, 0), (NameMatch::Spelling, 2)]);
    check("slack.post", &[(NameMatch::Spelling, 3)]);
    check("open an issue", &[(NameMatch::Short, 0)]);
    check("slack", &[(NameMatch::Exact, 4)]);
    check("create", &[]);
    check("", &[]);
    check(&"x".repeat(1000), &[]);
}

#[test]
fn parts_of_names_are_found_from_three_letters_on() {
    assert_eq!(Names::containing("te_iss", &prepared()), [0, 2]);
    assert_eq!(Names::containing("is", &prepared()), [0u32; 0]);
}

#[test]
fn servers_are_called_by_label_or_by_its_parts() {
    let names = Names::new(&prepared());
    assert_eq!(names.servers_called("GitHub"), [0, 1]);
    assert_eq!(names.servers_called("git"), [0]);
    assert_eq!(names.servers_called("lack"), [0usize; 0]);
    assert_eq!(names.servers_called(""), [0usize; 0]);
}
