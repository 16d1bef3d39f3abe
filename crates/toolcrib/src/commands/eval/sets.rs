//! Labelled sets from files: tools, queries, and which tools answer them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use toolcrib_core::evaluate::{LabelledQuery, LabelledTools};

use crate::{args::EvalArgs, files::read_text};

/// Largest file of tools in bytes.
const MAX_TOOLS_FILE: u64 = 256 * 1024 * 1024;
/// Largest file of queries in bytes.
const MAX_QUERIES_FILE: u64 = 128 * 1024 * 1024;
/// Most sets of one folder.
const MAX_SETS: usize = 200;
/// The files of a set in its folder.
pub(super) const TOOLS: &str = "tools.jsonl";
/// See [`TOOLS`].
pub(super) const QUERIES: &str = "queries.jsonl";

/// What is searched, and by what.
pub(super) struct Labelled {
    /// The folder's name, or that of the file of queries.
    pub(super) name: String,
    pub(super) tools: LabelledTools,
    pub(super) queries: Vec<LabelledQuery>,
}

/// The set that the arguments name file by file.
pub(super) fn read_one(args: &EvalArgs) -> anyhow::Result<Labelled> {
    let queries = args.queries.as_deref().context("--queries FILE is missing")?;
    read(&args.tools, queries)
}

/// Every set of a folder, by name. Folders without queries are left out: catalogs may stand beside the sets.
pub(super) fn read_all(folder: &Path) -> anyhow::Result<Vec<Labelled>> {
    let shown = folder.display();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read the folder {shown}"))?;
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read the folder {shown}"))?.path();
        if path.join(QUERIES).is_file() && path.join(TOOLS).is_file() {
            folders.push(path);
        }
        if folders.len() > MAX_SETS {
            bail!("{shown} holds more than {MAX_SETS} sets; measure some of them at a time");
        }
    }
    if folders.is_empty() {
        bail!("{shown} holds no set: each is a folder with {TOOLS} and {QUERIES}");
    }
    folders.sort();
    folders
        .iter()
        .map(|set| {
            let name = set.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Ok(Labelled { name, ..read(&[set.join(TOOLS)], &set.join(QUERIES))? })
        })
        .collect()
}

pub(super) fn read(files: &[PathBuf], queries: &Path) -> anyhow::Result<Labelled> {
    let mut tools = LabelledTools::default();
    for file in files {
        tools.add(&read_text(file, "the file", MAX_TOOLS_FILE)?).with_context(|| file.display().to_string())?;
    }
    if tools.documents().is_empty() {
        bail!("there is no tool in {}", files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", "));
    }
    let text = read_text(queries, "the file", MAX_QUERIES_FILE)?;
    let name = queries.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let read = tools.read_queries(&text).with_context(|| queries.display().to_string())?;
    if read.is_empty() {
        bail!("there is no query in {}", queries.display());
    }
    Ok(Labelled { name, tools, queries: read })
}
