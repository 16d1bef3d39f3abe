use std::{fs, path::Path};

use super::*;

/// Generated files are checked in; `UPDATE_GENERATED=1` writes them.
#[track_caller]
fn current(path: &str, want: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var("UPDATE_GENERATED").is_ok() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, want).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == want, "{} is out of date; run this test with UPDATE_GENERATED=1", path.display());
}

#[test]
fn the_schema_is_current() {
    current("schema/toolcrib.schema.json", &(serde_json::to_string_pretty(&json_schema()).unwrap() + "\n"));
}

#[test]
fn the_reference_is_current() {
    current("../../docs/config.md", &markdown());
}
