use std::{collections::BTreeSet, fs, path::Path};

use super::*;
use crate::settings::KeyScope;

/// `UPDATE_GENERATED=1` writes it.
#[test]
fn the_document_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let want = seen(&serde_json::to_string_pretty(&document()).unwrap()) + "\n";
    // Escaped, and the same document.
    let told = |letter: char| letter == '\n' || letter > '\u{ffff}' || !is_hidden(letter);
    assert!(want.chars().all(told), "a reader sees all of it");
    assert_eq!(serde_json::from_str::<Value>(&want).unwrap(), document());
    assert_eq!(serde_json::from_str::<Value>(text()).unwrap(), document());
    if std::env::var("UPDATE_GENERATED").is_ok() {
        fs::write(&path, &want).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == want, "{} is out of date; run this test with UPDATE_GENERATED=1", path.display());
}

/// What is read and what is written share names only where they share schemas.
#[test]
fn a_type_has_one_schema() {
    let Parts { taken, given, .. } = parts();
    for (name, schema) in &taken {
        assert!(given.get(name).is_none_or(|other| other == schema), "{name} is read and written differently");
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for reference in found {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
}

/// docs/api.md has a row for each code and one for each operation, and none for what there is not.
#[test]
fn the_page_lists_what_there_is() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md")).unwrap();
    let rows = |heading: &str| -> BTreeSet<String> {
        let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
        section.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect()
    };
    let codes = Code::ALL.iter();
    let want = codes.map(|code| format!("| `{}` | {} | {} |", code.word(), code.status(), code.meaning().trim()));
    assert_eq!(rows("Problems"), want.collect());
    let want = operations::all().into_iter().map(|operation| {
        let scope = operation.needs.map_or("any key", KeyScope::word);
        format!("| `{} {}` | {scope} | {} |", operation.method, operation.path, operation.summary)
    });
    assert_eq!(rows("Routes"), want.collect());
}

#[test]
fn statuses_are_those_of_errors() {
    for code in Code::ALL {
        assert!((400..600).contains(&code.status()), "{code:?}");
        assert!(!code.title().is_empty() && code.meaning().ends_with('.'), "{code:?}");
    }
    let words: BTreeSet<&str> = Code::ALL.iter().map(|code| code.word()).collect();
    assert_eq!(words.len(), Code::ALL.len());
}
