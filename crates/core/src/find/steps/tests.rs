//! What is taken apart, and what is not.

use super::{VERBS, split};

#[track_caller]
fn check(text: &str, want: &[&str]) {
    assert_eq!(split(text), want, "{text}");
}

#[test]
fn requests_of_several_steps_are_taken_apart() {
    check("create an issue and then post it to slack", &["create an issue", "post it to slack"]);
    check("create an issue and post it to slack", &["create an issue", "post it to slack"]);
    check(
        "Find the mail about the contract, then create a reminder",
        &["Find the mail about the contract", "create a reminder"],
    );
    check(
        "download the report, convert it to pdf, and email it to ann",
        &["download the report", "convert it to pdf", "email it to ann"],
    );
    check("Read the file a.txt. Please send it to Bob.", &["Read the file a.txt", "send it to Bob"]);
    check("1. list pods 2. delete the failed ones", &["list pods", "delete the failed ones"]);
    check("list the pods; delete the failed ones", &["list the pods", "delete the failed ones"]);
    check("fetch page -> summarize the text", &["fetch page", "summarize the text"]);
    check("crea una incidencia y luego publica en slack", &["crea una incidencia y", "publica en slack"]);
    check("创建一个问题然后发布到slack", &["创建一个问题", "发布到slack"]);
}

#[test]
fn one_thing_stays_one_thing() {
    check("create github issue", &[]);
    check("search and replace text", &[]);
    check("list pods and services", &[]);
    check("read and write files", &[]);
    check("My name is Ann. I live in Paris. What is the weather?", &[]);
    check("find files in a, b and c", &[]);
    check("then", &[]);
    check("and then and then", &[]);
    check("what happens then in the file", &["what happens", "in the file"]);
    check("slack +post and then send mail", &[]);
    check("", &[]);
    check(&"do this, create that, ".repeat(8), &[]);
}

#[test]
fn the_verbs_are_in_order() {
    assert!(VERBS.is_sorted());
}
