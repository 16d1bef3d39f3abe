//! Arguments for a person who decides about them: nothing that could be executed is ever hidden.
//!
//! A mask here is a promise that what stands behind it does nothing, so it is given sparingly: in command lines and code
//! to values that are certainly secrets and to nothing else; elsewhere also by name, by schema and by form, but never
//! across a sign that means something to a shell. Every mask says how long the hidden text is. Nothing is left out and
//! numbers stay as written: the approval is for every digit.

use std::ops::Range;

use serde_json::Value;

use super::{MASK, Redactor, declared::Declared, names};
use crate::json_text;

/// Deepest level that is looked into; what lies deeper is shown as written.
const DEPTH: usize = 128;
/// Words at the end of a name under which command lines and code stand.
const EXECUTED: [&str; 24] = [
    "command",
    "commands",
    "commandline",
    "cmd",
    "cmds",
    "cmdline",
    "args",
    "argv",
    "arguments",
    "script",
    "scripts",
    "code",
    "exec",
    "execute",
    "eval",
    "run",
    "shell",
    "bash",
    "program",
    "expression",
    "sql",
    "query",
    "queries",
    "statement",
];

/// See [`Redactor::redact_for_person`].
pub(super) fn redact(redactor: &Redactor, text: &str, schema: Option<&Value>) -> String {
    let mut view = View { redactor, declared: Declared::new(schema), text, out: String::with_capacity(text.len()) };
    let start = json_text::skip_blanks(text.as_bytes(), 0);
    let end = json_text::value_end(text.as_bytes(), start);
    view.value(start..end, schema.into_iter().collect(), Under::Open, 0);
    view.out
}

/// What the names above a value say of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Under {
    Open,
    /// It is a secret.
    Secret,
    /// It is, or belongs to, what is executed.
    Command,
}

struct View<'r> {
    redactor: &'r Redactor,
    declared: Declared<'r>,
    text: &'r str,
    out: String,
}

impl<'r> View<'r> {
    fn value(&mut self, range: Range<usize>, mut schemas: Vec<&'r Value>, mut under: Under, depth: usize) {
        let text = self.text;
        if under == Under::Open && self.declared.spread(&mut schemas) && !self.declared.is_exhausted() {
            under = Under::Secret;
        }
        match text.as_bytes().get(range.start) {
            Some(b'{') if depth < DEPTH => {
                self.out.push('{');
                for (at, member) in json_text::members(text, range.start).into_iter().enumerate() {
                    self.out.push_str(if at == 0 { "" } else { "," });
                    self.string(&member.key, if under == Under::Command { under } else { Under::Open });
                    self.out.push(':');
                    let schemas = self.declared.property(&schemas, &member.key);
                    self.value(member.value, schemas, self.under(under, &member.key), depth + 1);
                }
                self.out.push('}');
            }
            Some(b'[') if depth < DEPTH => {
                self.out.push('[');
                for (at, item) in json_text::items(text, range.start).into_iter().enumerate() {
                    self.out.push_str(if at == 0 { "" } else { "," });
                    let schemas = self.declared.items(&schemas);
                    self.value(item, schemas, under, depth + 1);
                }
                self.out.push(']');
            }
            Some(b'"') => {
                let plain = json_text::readable(&text[range]);
                self.string(&plain, under);
            }
            _ => {
                let written = &text[range];
                let word = matches!(written, "true" | "false" | "null");
                let hidden = !word && depth < DEPTH && (under == Under::Secret || self.is_known(written));
                if hidden { self.out.push_str(&json_text::encoded(&mask(written))) } else { self.out.push_str(written) }
            }
        }
    }

    /// What a key says of its value, which may be an object within a command: there, names of secrets count again.
    fn under(&self, above: Under, key: &str) -> Under {
        let secret = self.redactor.is_secret_name(key);
        match () {
            () if is_executed(key, secret) => Under::Command,
            () if secret => Under::Secret,
            () => above,
        }
    }

    fn string(&mut self, plain: &str, under: Under) {
        if under == Under::Secret && !plain.is_empty() && !could_run(plain) {
            self.out.push_str(&json_text::encoded(&mask(plain)));
            return;
        }
        let mut found = Vec::new();
        self.redactor.certain().find(plain, &mut found);
        if under != Under::Command {
            self.redactor.patterns.find_for_person(plain, &self.redactor.names, &mut found);
        }
        self.out.push_str(&json_text::encoded(&masked(plain, found)));
    }

    fn is_known(&self, number: &str) -> bool {
        let mut found = Vec::new();
        self.redactor.certain().find(number, &mut found);
        !found.is_empty()
    }
}

/// Whether what stands under a name is executed: its last word says so, and the name as a whole is not a secret's.
fn is_executed(name: &str, secret: bool) -> bool {
    let parts = names::parts(name);
    let executed = |word: &str| EXECUTED.contains(&word);
    executed(&parts.concat()) || !secret && parts.last().is_some_and(|last| executed(last))
}

/// Whether a text would do something if a shell came by it. Passwords have signs of all sorts, so single ones do not
/// count.
fn could_run(text: &str) -> bool {
    text.contains("$(")
        || text.contains("${")
        || text.matches('`').count() > 1
        || text.contains(char::is_whitespace) && text.contains([';', '|', '&', '<', '>', '$'])
}

fn mask(hidden: &str) -> String {
    format!("{MASK}[{} characters]", hidden.chars().count())
}

fn masked(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.retain(|range| range.start < range.end);
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let (mut at, mut found) = (0, found.into_iter().peekable());
    while let Some(mut range) = found.next() {
        // Overlapping and adjoining secrets are one.
        while let Some(next) = found.next_if(|next| next.start <= range.end) {
            range.end = range.end.max(next.end);
        }
        out.push_str(&text[at..range.start]);
        out.push_str(&mask(&text[range.clone()]));
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}
