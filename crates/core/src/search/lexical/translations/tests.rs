use super::{super::vocabulary::Vocabulary, FOREIGN_STOP_WORDS, MIN_PREFIX, TABLE, Translations};

/// English terms of the first line that knows the word.
#[track_caller]
fn check(word: &str, want: &str) {
    let mut vocabulary = Vocabulary::new(None);
    let table = Translations::new(&mut vocabulary);
    let terms = table.of(word, MIN_PREFIX).iter().flat_map(|line| table.terms(*line, |_| true));
    let got: Vec<&str> = terms.map(|(term, _)| vocabulary.term_text(term)).collect();
    assert_eq!(got.first().copied().unwrap_or_default(), want, "{word}: {got:?}");
}

#[test]
fn words_are_known_whole_or_by_their_beginning() {
    check("crear", "creat");
    check("archivos", "file");
    check("supprimer", "delet");
    check("datei", "file");
    check("задачу", "issu");
    // As the tokenizer gives them, without accents: файлы, найти.
    check("фаилы", "file");
    check("наити", "search");
    check("文件", "file");
    check("ファイル", "file");
    check("삭제", "delet");
    check("create", "");
    check("", "");
}

#[test]
fn words_are_found_in_scripts_without_blanks() {
    let table = Translations::new(&mut Vocabulary::new(None));
    let mut got = Vec::new();
    table.each_dense("在文件夹里搜索文件 and ファイルを検索", |word| got.push(word));
    assert_eq!(got, ["文件夹", "搜索", "文件", "ファイル", "検索"]);
    got.clear();
    table.each_dense("スクリーンショットを撮る", |word| got.push(word));
    assert_eq!(got, ["スクリーンショット"]);
}

#[test]
fn the_tables_are_well_formed() {
    assert!(FOREIGN_STOP_WORDS.is_sorted());
    for line in TABLE.trim().lines() {
        let (english, foreign) = line.split_once(" = ").unwrap();
        assert!(english.is_ascii() && !foreign.contains("  "), "{line}");
    }
}
