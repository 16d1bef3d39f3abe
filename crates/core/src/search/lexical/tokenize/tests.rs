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
