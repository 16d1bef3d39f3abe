//! `search_text`: lines that match a regular expression.

use std::{fs::File, io, ops::ControlFlow};

use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    blocking::Stop,
    definition::{Behaviour, define},
    failure::Failure,
    find_files::PathGlob,
    lines::Lines,
    roots::open_child_file,
    tree::{self, WalkEnd, printable},
};

/// Matching lines returned.
const MAX_MATCHES: usize = 200;
/// Characters shown of a line.
const MAX_LINE_CHARS: usize = 300;
/// Bytes searched of a line.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// Bytes the compiled expression may take.
const MAX_REGEX_BYTES: usize = 1024 * 1024;

pub(crate) fn definition() -> Value {
    define(
        "search_text",
        "Search text",
        "Search files' lines by regular expression.",
        &json!({"pattern": {"type": "string"}, "path": {"type": "string"}, "glob": {"type": "string"}}),
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
    #[serde(default)]
    glob: Option<String>,
}

pub(crate) fn run(shared: &Shared, arguments: &Arguments, stop: &Stop) -> Result<String, Failure> {
    let regex = RegexBuilder::new(&arguments.pattern)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build()
        .map_err(|error| Failure::new(format!("the pattern is not a regular expression that can be used: {error}")))?;
    let glob = arguments.glob.as_deref().map(PathGlob::new).transpose()?;
    let place = shared.roots.place(arguments.path.as_deref().unwrap_or("."))?;
    let mut search = Search { regex, stop, lines: Vec::new(), more: false };
    let mut end = WalkEnd::Complete;
    if place.is_directory() {
        end = tree::walk(&place, stop, &mut |found| {
            let wanted = found.kind == FileType::RegularFile
                && glob.as_ref().is_none_or(|glob| glob.matches(place.relative(), found));
            if !wanted {
                return Ok(ControlFlow::Continue(()));
            }
            match open_child_file(found.folder, found.name) {
                Ok(file) => search.file(file, &printable(place.show(found.relative).as_ref())),
                // Unreadable or gone since: like a file without a match.
                Err(_) => Ok(ControlFlow::Continue(())),
            }
        })?;
    } else {
        let file = place.open_file()?;
        let _all_or_enough = search.file(file, &printable(place.show(place.relative()).as_ref()))?;
    }
    let note = match (search.more, end) {
        (true, _) => Some(format!("[more than {MAX_MATCHES} lines match; narrow the pattern, path or glob]")),
        (false, WalkEnd::Unfinished) => Some("[too many files to search all; give a path]".to_owned()),
        (false, WalkEnd::Complete) => None,
    };
    if search.lines.is_empty() && note.is_none() {
        return Ok("no lines match".to_owned());
    }
    search.lines.extend(note);
    Ok(search.lines.join("\n"))
}

struct Search<'a> {
    regex: Regex,
    stop: &'a Stop,
    lines: Vec<String>,
    more: bool,
}

impl Search<'_> {
    /// Searches a file; one that cannot be read to its end counts as far as it was read, a binary one not at all.
    fn file(&mut self, file: File, shown: &str) -> Result<ControlFlow<()>, Failure> {
        let Ok(Some(mut lines)) = Lines::of_text(file, self.stop) else { return Ok(ControlFlow::Continue(())) };
        let mut buffer = Vec::new();
        let mut number = 0_u64;
        while let Ok(Some(_)) = lines.next(&mut buffer, MAX_LINE_BYTES) as io::Result<_> {
            number += 1;
            if number.is_multiple_of(1_024) {
                self.stop.check()?;
            }
            let line = buffer.strip_suffix(b"\r").unwrap_or(&buffer);
            if !self.regex.is_match(line) {
                continue;
            }
            if self.lines.len() == MAX_MATCHES {
                self.more = true;
                return Ok(ControlFlow::Break(()));
            }
            let text = String::from_utf8_lossy(line);
            let mut chars = text.chars();
            let mut part: String = chars.by_ref().take(MAX_LINE_CHARS).collect();
            if chars.next().is_some() {
                part.push('…');
            }
            self.lines.push(format!("{shown}:{number}: {part}"));
        }
        // Reading may also have ended because nobody waits any more.
        self.stop.check()?;
        Ok(ControlFlow::Continue(()))
    }
}
