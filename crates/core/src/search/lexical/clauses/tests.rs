use super::split;

/// Clauses are separated by ` | `; pieces that do not count are in brackets.
#[track_caller]
fn check(text: &str, want: &str) {
    let got: Vec<String> = split(text)
        .into_iter()
        .map(|(range, clause)| {
            let piece = text[range].trim();
            if clause { piece.to_owned() } else { format!("[{piece}]") }
        })
        .collect();
    assert_eq!(got.join(" | "), want);
}

#[test]
fn one_clause_is_none() {
    check("list all open issues", "[list all open issues]");
    check("", "");
    check("Search v2.1 docs, please", "[Search v2.1 docs, please]");
}

#[test]
fn sentences_and_connectives_separate_clauses() {
    check("Find the report. Send it to Bob!", "Find the report. | Send it to Bob!");
    check("find the report, and send it to Bob", "find the report | and send it to Bob");
    check("find the report then send it to Bob", "find the report | then send it to Bob");
    check("one two three\nfour five six", "one two three | four five six");
    check("Thanks. Find the report; send it to Bob", "[Thanks.] | Find the report; | send it to Bob");
}

#[test]
fn too_many_clauses_are_none() {
    let text = "a b c. ".repeat(9);
    assert!(split(&text).iter().all(|(_, clause)| !clause));
}

#[test]
fn any_bytes_are_safe() {
    check("é. ü ö ä; ß", "[é.] | [ü ö ä;] | [ß]");
    check("也。 好", "[也] | [好]");
}
