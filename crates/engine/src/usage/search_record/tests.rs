use toolcrib_core::usage::{Asked, label};

use super::{MAX_BYTES, detail, read, searches};
use crate::{
    event::Outcome,
    journal::{JournalRecord, Kind},
};

fn asked(text: &str, found: &[&str]) -> Asked {
    Asked { text: text.to_owned(), found: found.iter().map(|id| (*id).to_owned()).collect() }
}

#[test]
fn a_detail_is_read_as_it_was_written() {
    let queries = vec![asked("read a file", &["builtin/read_file", "mcp:a/b"]), asked("\"odd\\ \u{1}", &[])];
    assert_eq!(read(&detail(&queries)), Some(queries));
    assert_eq!(read("{}"), None);
    assert_eq!(read("request 7: why"), None);
}

#[test]
fn a_detail_is_bounded_whatever_was_asked() {
    let id = format!("mcp:server/{}", "x".repeat(400));
    for text in ["y".repeat(5_000), "\u{1}\"\\".repeat(500), "語".repeat(900)] {
        let queries: Vec<Asked> = (0..7).map(|_| asked(&text, &[id.as_str(); 5])).collect();
        let detail = detail(&queries);
        assert!(detail.len() <= MAX_BYTES);
        let kept = read(&detail).unwrap();
        assert!(!kept.is_empty() && kept.iter().all(|asked| text.starts_with(&asked.text)));
    }
}

#[test]
fn records_become_labelled_queries() {
    let record = |kind: Kind, session: Option<&str>, run: &str| {
        let mut record = JournalRecord::new(kind, 1_000, run);
        record.principal.session = session.map(str::to_owned);
        record
    };
    let search = |session: Option<&str>, run: &str, text: &str| {
        let mut record = record(Kind::Search, session, run);
        record.detail = Some(detail(&[asked(text, &["mcp:a/one"])]));
        record
    };
    let call = |session: Option<&str>, run: &str, tool: &str, outcome: Outcome| {
        let mut record = record(Kind::Outcome, session, run);
        (record.tool, record.outcome) = (Some(tool.to_owned()), Some(outcome));
        record
    };
    let records = [
        search(Some("s"), "r", "make a ticket"),
        search(None, "r", "read mail"),
        call(Some("s"), "r2", "mcp:a/one", Outcome::Ok),
        call(None, "r2", "mcp:a/other", Outcome::Ok),
        call(None, "r", "mcp:a/failed", Outcome::ToolError),
        record(Kind::Gap, None, "r"),
        call(None, "r", "mcp:a/two", Outcome::Ok),
    ];
    let labelled = label(searches(&records));
    let got: Vec<(&str, &[String], bool)> =
        labelled.iter().map(|one| (one.query.as_str(), one.gold.as_slice(), one.shown)).collect();
    assert_eq!(
        got,
        [("make a ticket", &["mcp:a/one".to_owned()][..], true), ("read mail", &["mcp:a/two".to_owned()][..], false)]
    );
}
