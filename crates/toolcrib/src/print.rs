//! Printing: data to standard output, everything else to standard error. The one place that writes to either.

use std::io::Write;

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// Prints text and a line end to standard output. A closed pipe is no error: the reader had enough.
pub(crate) fn line(text: impl AsRef<str>) {
    let _ = writeln!(anstream::stdout(), "{}", text.as_ref());
}

/// The same for what goes on until its reader has had enough: whether there still is one.
pub(crate) fn goes_on(text: impl AsRef<str>) -> bool {
    let mut out = anstream::stdout();
    writeln!(out, "{}", text.as_ref()).and_then(|()| out.flush()).is_ok()
}

/// Prints what a generator writes, as it is.
pub(crate) fn bytes(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

/// A number of things: `1 tool`, `2 tools`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// An error with its causes, each said once: many libraries repeat the cause in their own text.
pub(crate) fn error(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let between = if text.is_empty() { "" } else { ": " };
            text.push_str(&format!("{between}{cause}"));
        }
    }
    text
}

/// Prints one JSON document to standard output.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(serde_json::to_string_pretty(value)?);
    Ok(())
}

/// Prints a note to standard error.
pub(crate) fn note(text: impl AsRef<str>) {
    let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
}

/// Prints rows under headings. Cells are cleaned: they may come from a server.
pub(crate) fn table(headings: &[&str], rows: Vec<Vec<String>>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(headings);
    for row in rows {
        table.add_row(row.iter().map(|cell| clean(cell)));
    }
    for row in table.to_string().lines() {
        line(row.trim_end());
    }
}

/// Text from outside, fit for a terminal.
pub(crate) fn clean(text: &str) -> String {
    toolcrib_core::shape::sanitize_text(text)
}

/// The same on one line: what is in a name cannot pass for a line of ours.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split(['\n', '\r']).collect::<Vec<_>>().join(" ")
}
