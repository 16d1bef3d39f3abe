//! House rules that a machine can hold.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![crates()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 100, "the walk finds the source");
    files
}

#[track_caller]
fn no_file(what: &str, is_bad: impl Fn(&Path, &str) -> bool) {
    let bad: Vec<_> =
        rust_files().into_iter().filter(|path| is_bad(path, &fs::read_to_string(path).unwrap())).collect();
    assert!(bad.is_empty(), "{what}: {bad:#?}");
}

#[test]
fn no_file_is_over_800_lines() {
    no_file("over 800 lines, split by concept", |_, text| text.lines().count() > 800);
}

#[test]
fn modules_are_files_beside_their_folder() {
    no_file("mod.rs", |path, _| path.ends_with("mod.rs"));
}

#[test]
fn every_source_file_says_what_it_owns() {
    no_file("no module header", |path, text| {
        let tests = path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs");
        !tests && !text.starts_with("//!")
    });
}

/// Which crate may name which library (the table in ARCHITECTURE.md).
#[test]
fn libraries_stay_in_their_crate() {
    for (library, home) in [("axum", "gateway"), ("rusqlite", "store"), ("jsonschema", "core"), ("clap", "toolcrib")] {
        for entry in fs::read_dir(crates()).unwrap() {
            let folder = entry.unwrap().path();
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let normal = manifest.split("[dev-dependencies]").next().unwrap();
            let names_it = normal.lines().any(|line| line.starts_with(&format!("{library} =")));
            assert!(!names_it || folder.ends_with(home), "{} names {library}", folder.display());
        }
    }
    let core = fs::read_to_string(crates().join("core/Cargo.toml")).unwrap();
    for impure in ["tokio", "reqwest", "rusqlite", "tracing"] {
        assert!(!core.contains(&format!("\n{impure} =")), "core must stay pure, it names {impure}");
    }
}
