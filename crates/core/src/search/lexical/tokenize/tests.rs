use super::{TokenKind, Tokenizer};

/// Parts are separated by blanks, whole words in one piece are in brackets.
#[track_caller]
fn check(text: &str, want: &str) {
    let mut got: Vec<String> = Vec::new();
    Tokenizer::default().each(text, |token, kind| match kind {
        TokenKind::Plain => got.push(token.to_owned()),
        TokenKind::Joined => got.push(format!("[{token}]")),
    });
    assert_eq!(got.join(" "), want, "{text}");
}

#[test]
fn identifiers_are_split_where_people_would_split_them() {
    check("create_issue", "create issue");
    check("kebab-case.dotted:colon/slash", "kebab case dotted colon slash");
    check("createIssue", "create issue [createissue]");
    check("getHTTPResponse", "get http response [gethttpresponse]");
    check("HTTPServer2XX", "http server2 xx [httpserver2xx]");
    check("parseURL", "parse url [parseurl]");
    check("GitHub", "git hub [github]");
    check("listCoreV1NamespacedPod", "list core v1 namespaced pod");
    check("mcp__github__create_issue", "mcp github create issue");
    check("k8s s3 oauth2 v2", "k8s s3 oauth2 v2");
}

#[test]
fn acronyms_keep_their_plural() {
    check("PRs URLs APIs", "prs urls apis");
    check("listPRsFor", "list prs for [listprsfor]");
    check("ID", "id");
    check("A", "a");
}

#[test]
fn accents_are_folded_and_unsplittable_letters_spelt() {
    check("Zürich café", "zurich cafe");
    check("Straße Ærø Łódź", "strasse aero lodz");
    check("cafe\u{301}", "cafe");
    check("ｆｕｌｌＷｉｄｔｈ", "full width [fullwidth]");
    check("co\u{ad}operate", "cooperate");
}

#[test]
fn other_scripts_are_words() {
    check("Создать задачу", "создать задачу");
    check("ΔημιουργίαΑρχείου", "δημιουργια αρχειου [δημιουργιααρχειου]");
    check("إنشاء ملف", "انشاء ملف");
}

#[test]
fn scripts_without_blanks_come_as_pairs() {
    check("日本語", "日本 本語");
    check("水", "水");
    check("搜索GitHub仓库", "搜索 git hub [github] 仓库");
    check("파일 삭제", "파일 삭제");
}

#[test]
fn blobs_and_nothing_give_nothing() {
    check("", "");
    check("… !? --", "");
    check(&"x".repeat(200), "");
}

mod any_text {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::super::{TokenKind, Tokenizer};

    /// Pieces that make a tokenizer work: borders of every kind, marks, ligatures that expand, scripts without blanks.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => any::<String>(),
            4 => "[a-zA-Z0-9_.:/-]{0,30}",
            2 => prop::sample::select(vec![
                "aBcDeFgH", "ABCDEFs", "PRs", "\u{fdfa}", "e\u{301}\u{301}\u{301}", "\u{200b}", "日本語のテスト", "한국어",
                "ﬁﬂ", "İI\u{307}", "ßẞ", "\u{0}", "\u{10ffff}", "𝒜𝓑", "ไทย", "ａＢ",
            ]).prop_map(str::to_owned),
            1 => ("[a-zA-Z\u{e9}\u{65e5}]{1,3}", 1usize..400).prop_map(|(text, times)| text.repeat(times)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// No panic; every token is made of lower-case letters and digits; and what is given out, which is all that is
        /// done for it, stays in proportion to the text.
        #[test]
        fn is_read_in_linear_work(pieces in prop::collection::vec(piece(), 0..12)) {
            let text = pieces.join(" ");
            let letters = text.nfkc().count();
            let mut work = 0;
            let mut well_formed = true;
            Tokenizer::default().each(&text, |token, kind| {
                work += 1 + token.chars().count();
                let lower = token.chars().all(|c| !c.is_ascii_uppercase() && (!c.is_ascii() || c.is_ascii_alphanumeric()));
                well_formed &= lower && !token.is_empty() && (kind == TokenKind::Plain || token.len() <= 64);
            });
            prop_assert!(well_formed);
            // A letter alone costs two, one of a pair three; a whole beside its parts costs each letter once more, and
            // some letters are spelt with two.
            prop_assert!(work <= 5 * letters + 8, "{work} for {letters} letters");
        }
    }
}
