//! Small changes to a result, everything else kept byte for byte.

use std::{borrow::Cow, ops::Range};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    ToolResult,
    json_text::{self, Member},
};

/// A result with changes to come. A key given twice counts as JSON readers take it: the last one.
pub(super) struct Edit<'r> {
    result: &'r ToolResult,
    members: Vec<Member<'r>>,
    changes: Vec<(Range<usize>, String)>,
    added: Vec<String>,
}

impl<'r> Edit<'r> {
    pub(super) fn of(result: &'r ToolResult) -> Self {
        let members = json_text::members(result.raw().get(), 0);
        Self { result, members, changes: Vec::new(), added: Vec::new() }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.key.as_ref())
    }

    /// The JSON text of a top-level entry as written; `None` also for `null`.
    pub(super) fn entry(&self, key: &str) -> Option<&'r str> {
        self.place(key).map(|range| &self.result.raw().get()[range]).filter(|text| *text != "null")
    }

    fn place(&self, key: &str) -> Option<Range<usize>> {
        self.members.iter().rev().find(|member| member.key == key).map(|member| member.value.clone())
    }

    /// Where the blocks of the content stand; none if the content is no list.
    pub(super) fn blocks(&self) -> Vec<Range<usize>> {
        self.place("content").map(|range| json_text::items(self.result.raw().get(), range.start)).unwrap_or_default()
    }

    /// The text of a block, and where it stands; `None` if the block is no text.
    pub(super) fn text_in(&self, block: &Range<usize>) -> Option<(Cow<'r, str>, Range<usize>)> {
        let raw = self.result.raw().get();
        let members = json_text::members(&raw[..block.end], block.start);
        let value = |key: &str| members.iter().rev().find(|member| member.key == key).map(|member| &member.value);
        let is_text = value("type").is_some_and(|range| json_text::readable(&raw[range.clone()]) == "text");
        let range = value("text").filter(|range| is_text && raw[range.start..].starts_with('"'))?;
        Some((json_text::readable(&raw[range.clone()]), range.clone()))
    }

    /// All texts of the content.
    pub(super) fn texts(&self) -> Vec<Cow<'r, str>> {
        self.blocks().iter().filter_map(|block| self.text_in(block)).map(|(text, _)| text).collect()
    }

    pub(super) fn replace(&mut self, range: Range<usize>, json: String) {
        self.changes.push((range, json));
    }

    /// Sets a top-level entry to JSON text.
    pub(super) fn set(&mut self, key: &str, json: String) {
        match self.place(key) {
            Some(range) => self.replace(range, json),
            None => self.added.push(format!("{}:{json}", json_text::encoded(key))),
        }
    }

    /// Adds a block of text behind the others. Once per edit.
    pub(super) fn append_text(&mut self, text: &str) {
        let block = text_block(text);
        let content = self.place("content").filter(|range| self.result.raw().get()[range.start..].starts_with('['));
        match content {
            Some(range) => {
                let comma = if self.blocks().is_empty() { "" } else { "," };
                self.replace(range.end - 1..range.end - 1, format!("{comma}{block}"));
            }
            None => self.set("content", format!("[{block}]")),
        }
    }

    /// Sets an entry of `_meta`; the others stay. A `_meta` that is no object gives way.
    pub(super) fn set_meta(&mut self, key: &str, json: &str) {
        let raw = self.result.raw().get();
        let entry = format!("{}:{json}", json_text::encoded(key));
        let Some(meta) = self.place("_meta").filter(|range| raw[range.start..].starts_with('{')) else {
            self.set("_meta", format!("{{{entry}}}"));
            return;
        };
        let members = json_text::members(&raw[..meta.end], meta.start);
        let mut known = members.iter().filter(|member| member.key == key).peekable();
        if known.peek().is_none() {
            let comma = if members.is_empty() { "" } else { "," };
            self.replace(meta.end - 1..meta.end - 1, format!("{comma}{entry}"));
        }
        // Given twice, both are set: no reader may find another one.
        for member in known {
            self.changes.push((member.value.clone(), json.to_owned()));
        }
    }

    /// The changed result. Changes put JSON in place of JSON, so it is one again.
    pub(super) fn done(mut self) -> ToolResult {
        let raw = self.result.raw().get();
        if !self.added.is_empty() {
            let end = raw.trim_end().len().saturating_sub(1);
            let comma = if self.members.is_empty() { "" } else { "," };
            self.changes.push((end..end, format!("{comma}{}", self.added.join(","))));
        }
        let text = json_text::replace(raw, self.changes);
        let changed = RawValue::from_string(text).ok().and_then(|raw| ToolResult::from_raw(raw).ok());
        changed.unwrap_or_else(|| self.result.clone())
    }
}

/// A block of text as JSON.
pub(super) fn text_block(text: &str) -> String {
    #[derive(Serialize)]
    struct Block<'t> {
        r#type: &'static str,
        text: &'t str,
    }
    serde_json::to_string(&Block { r#type: "text", text }).unwrap_or_default()
}
