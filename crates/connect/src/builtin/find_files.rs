//! `find_files`: files by glob.

use std::ops::ControlFlow;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    blocking::Stop,
    definition::{Behaviour, define},
    failure::Failure,
    tree::{self, Found, WalkEnd, printable},
};

/// Files returned.
const MAX_FOUND: usize = 1_000;

pub(crate) fn definition() -> Value {
    define(
        "find_files",
        "Find files",
        "Find files by glob, e.g. '*.rs' or 'src/**/*.ts'.",
        &json!({"pattern": {"type": "string"}, "path": {"type": "string"}}),
        &["pattern"],
        Behaviour::Reads,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

/// A glob over paths below a folder; one without a slash is matched against names at any depth.
pub(crate) struct PathGlob {
    matcher: GlobMatcher,
    by_name: bool,
}

impl PathGlob {
    pub(crate) fn new(pattern: &str) -> Result<Self, Failure> {
        let bad = |why: String| Failure::new(format!("'{pattern}' is not a glob: {why}"));
        if pattern.is_empty() || pattern.len() > 1_000 {
            return Err(bad("it must have 1 to 1000 bytes".to_owned()));
        }
        if pattern.starts_with('/') {
            return Err(bad("it is matched below path; put the folder there".to_owned()));
        }
        let trimmed = pattern.strip_prefix("./").unwrap_or(pattern);
        let glob =
            GlobBuilder::new(trimmed).literal_separator(true).build().map_err(|error| bad(error.kind().to_string()))?;
        Ok(Self { matcher: glob.compile_matcher(), by_name: !pattern.contains('/') })
    }

    /// Whether a file found below `base` matches.
    pub(crate) fn matches(&self, base: &std::path::Path, found: &Found<'_>) -> bool {
        if self.by_name {
            self.matcher.is_match(found.name)
        } else {
            self.matcher.is_match(found.relative.strip_prefix(base).unwrap_or(found.relative))
        }
    }
}

pub(crate) fn run(shared: &Shared, arguments: &Arguments, stop: &Stop) -> Result<String, Failure> {
    let glob = PathGlob::new(&arguments.pattern)?;
    let place = shared.roots.place(arguments.path.as_deref().unwrap_or("."))?;
    let mut found = Vec::new();
    let mut more = false;
    let end = tree::walk(&place, stop, &mut |entry| {
        if !glob.matches(place.relative(), entry) {
            return Ok(ControlFlow::Continue(()));
        }
        if found.len() == MAX_FOUND {
            more = true;
            return Ok(ControlFlow::Break(()));
        }
        found.push(printable(place.show(entry.relative).as_ref()));
        Ok(ControlFlow::Continue(()))
    })?;
    let note = match (more, end) {
        (true, _) => Some(format!("[more than {MAX_FOUND} files match; narrow the pattern or give a path]")),
        (false, WalkEnd::Unfinished) => Some("[too many files to look at all; give a path]".to_owned()),
        (false, WalkEnd::Complete) => None,
    };
    if found.is_empty() && note.is_none() {
        return Ok("no files match".to_owned());
    }
    found.extend(note);
    Ok(found.join("\n"))
}
