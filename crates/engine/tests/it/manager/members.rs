//! The table of members in the documentation names what there is.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Everything in Rust below a folder.
fn sources(folder: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// Whether one of the files has this function in a block of this type's.
fn exists(all: &[String], of: &str, function: &str) -> bool {
    let heads = [format!(" {of} {{"), format!(" {of}<")];
    all.iter().any(|text| {
        text.split("\nimpl").skip(1).any(|block| {
            let head = block.lines().next().unwrap_or_default();
            heads.iter().any(|wanted| head.contains(wanted.as_str()))
                && (block.contains(&format!("fn {function}(")) || block.contains(&format!("fn {function}<")))
        })
    })
}

#[test]
fn every_item_of_the_table_is_there() {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for krate in ["core", "engine"] {
        sources(&root.join("crates").join(krate).join("src"), &mut all);
    }
    assert!(!exists(&all, "Manager", "no_such_function"));
    let table = fs::read_to_string(root.join("docs/members.md")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() > 35, "{}", rows.len());
    for row in rows {
        let item = row.split('|').nth(2).unwrap().trim().trim_matches('`');
        let (of, function) = item.split_once("::").unwrap();
        assert!(exists(&all, of, function), "{item} is not there");
    }
}

#[test]
fn the_program_on_the_page_is_the_example() {
    let page = include_str!("../../../../../docs/tools.md");
    let example = include_str!("../../../examples/manager.rs");
    let (_, program) = example.split_once("\n\n").unwrap();
    assert!(page.contains(&format!("```rust\n{program}```")), "docs/tools.md shows another program");
}
