//! A query costs what its bounds allow, whatever it holds.

use proptest::prelude::*;

use super::{super::Lexical, Context, ENGLISH_ONLY, MAX_WORDS, Plan, Translations};
use crate::search::{Document, lexical::Parts, tests::golden};

/// Most terms that one word can bring: itself, four slips, twelve completions, its synonyms and translations.
const MAX_TERMS_OF_A_WORD: usize = 160;

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => any::<String>(),
        3 => "[a-z]{3,9}",
        2 => prop::sample::select(vec![
            "create", "list", "get", "pr", "supprimer", "文件夹", "calender", "+must", "select:a,b", "github:", "\"Ann Lee\"",
            "then", ". ", ", and ", "k8s", "auth",
        ]).prop_map(str::to_owned),
        1 => ("[a-z ]{1,4}", 1usize..300).prop_map(|(text, times)| text.repeat(times)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_is_bounded(pieces in prop::collection::vec(piece(), 0..60)) {
        let documents: Vec<Document> = golden::documents("medium");
        let index = Lexical::build_hybrid(&documents);
        let text = pieces.join(" ");
        let lexicon = index.stock.lexicon();
        let mut slots = Vec::new();
        let plan = Plan::new(&text, &text, Context { index: &index, lexicon: &lexicon, without: Parts::NONE }, &mut slots);
        prop_assert!(plan.words.len() <= MAX_WORDS);
        prop_assert!(plan.terms.len() <= plan.words.len() * MAX_TERMS_OF_A_WORD);
        prop_assert!(plan.about.len() <= 1 + usize::from(plan.clauses));
        prop_assert!(slots.iter().all(|slot| *slot == 0), "the scratch space is left as it was");
        let mut terms: Vec<_> = plan.terms.iter().map(|term| term.term).collect();
        terms.sort_unstable();
        terms.dedup();
        prop_assert_eq!(terms.len(), plan.terms.len(), "each term once");
        prop_assert!((0.0..=1.0).contains(&plan.known_share));
    }
}

/// Words of sentences that the other languages build with as well tell nothing of English.
#[test]
fn english_words_are_of_no_other_language() {
    assert!(ENGLISH_ONLY.is_sorted());
    for word in ["an", "as", "be", "by", "do", "in", "is", "me", "my", "no", "of", "on", "to", "want", "was", "will"] {
        assert!(!ENGLISH_ONLY.contains(&word), "{word}");
    }
    for word in ENGLISH_ONLY {
        assert!(!Translations::is_stop_word(word), "{word}");
    }
}
