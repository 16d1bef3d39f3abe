//! `edit_file`: exchange one exact piece of a text file.

use std::{borrow::Cow, io::Read};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    blocking::Stop,
    definition::{Behaviour, define},
    failure::Failure,
    replace::replace,
};

/// Largest file that is edited, before and after: 10 MiB.
const MAX_BYTES: u64 = 10 * 1024 * 1024;

pub(crate) fn definition() -> Value {
    define(
        "edit_file",
        "Edit file",
        "Replace exact text that occurs once in a file.",
        &json!({
            "path": {"type": "string"},
            "old_text": {"type": "string"},
            "new_text": {"type": "string"},
            "replace_all": {"type": "boolean"},
        }),
        &["path", "old_text", "new_text"],
        Behaviour::Changes,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

pub(crate) fn run(shared: &Shared, arguments: &Arguments, stop: &Stop) -> Result<String, Failure> {
    let Arguments { path, old_text, new_text, replace_all } = arguments;
    if old_text.is_empty() {
        return Err(Failure::new("old_text is empty; use write_file to create a file"));
    }
    if old_text == new_text {
        return Err(Failure::new("old_text and new_text are the same"));
    }
    let place = shared.roots.place(path)?;
    let _turn = stop.lock(&shared.edits)?;
    let mut bytes = Vec::new();
    place.open_file()?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| place.failure(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::new(format!("'{path}' is larger than {MAX_BYTES} bytes; it cannot be edited")));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::new(format!("'{path}' is not UTF-8 text")))?;
    let (mut old_text, mut new_text) = (Cow::from(old_text), Cow::from(new_text));
    let mut count = text.matches(&*old_text).count();
    if count == 0 && text.contains("\r\n") && old_text.contains('\n') && !old_text.contains('\r') {
        // The file's line breaks are Windows ones, which a model does not see in what it read.
        old_text = old_text.replace('\n', "\r\n").into();
        new_text = new_text.replace('\n', "\r\n").into();
        count = text.matches(&*old_text).count();
    }
    match (count, replace_all.unwrap_or(false)) {
        (0, _) => {
            return Err(Failure::new(format!(
                "old_text does not occur in '{path}'; read the file and copy the text exactly, blanks included"
            )));
        }
        (2.., false) => {
            return Err(Failure::new(format!(
                "old_text occurs {count} times in '{path}'; add surrounding lines to make it unique, or set replace_all"
            )));
        }
        _ => {}
    }
    // Each occurrence is a place of its own in the text, so together they are no longer than it.
    let grown = count.checked_mul(new_text.len()).and_then(|new| new.checked_add(text.len() - count * old_text.len()));
    if grown.is_none_or(|bytes| bytes as u64 > MAX_BYTES) {
        return Err(Failure::new(format!(
            "replacing {count} occurrence{} would make '{path}' larger than {MAX_BYTES} bytes; use a shorter new_text or \
             replace fewer",
            if count == 1 { "" } else { "s" }
        )));
    }
    stop.check()?;
    replace(&place, text.replace(&*old_text, &new_text).as_bytes())?;
    Ok(format!("replaced {count} occurrence{} in {path}", if count == 1 { "" } else { "s" }))
}
