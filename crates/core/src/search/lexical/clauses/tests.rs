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

mod any_text {
    use proptest::prelude::*;

    use super::super::{MAX_CLAUSES, split};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// Pieces come in order, do not overlap, end at whole letters, and are no more than the text has borders.
        #[test]
        fn is_split_without_loss(
            pieces in prop::collection::vec(
                prop_oneof![
                    any::<String>(),
                    prop::sample::select(vec![". ", ", and ", "then ", "。", "\n", "; ", ",", "x y z ", "！"])
                        .prop_map(str::to_owned),
                ],
                0..40,
            ),
        ) {
            let text = pieces.concat();
            let split = split(&text);
            let mut end = 0;
            for (range, _) in &split {
                prop_assert!(range.start >= end && range.end > range.start && text.get(range.clone()).is_some());
                end = range.end;
            }
            prop_assert!(end <= text.len() && split.len() <= text.len());
            let clauses = split.iter().filter(|(_, clause)| *clause).count();
            prop_assert!(clauses == 0 || (2..=MAX_CLAUSES).contains(&clauses));
            let words = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
            prop_assert_eq!(split.iter().map(|(range, _)| words(&text[range.clone()])).sum::<usize>(), words(&text));
        }
    }
}
