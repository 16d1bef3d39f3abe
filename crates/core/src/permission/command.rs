//! Command lines: the simple commands a call would run, and rules over them (`rm:*`, `git status`, `npm run *`).
//!
//! A line is read as a POSIX shell or bash would, without expanding anything. Whatever cannot be told from the text
//! makes the reading uncertain, and an uncertain line is never let through by a rule about its commands. Programs are
//! strangers: what `make` or a script does is not looked into, and neither are the languages of `cmd.exe`, PowerShell
//! and fish.

use serde_json::Value;

use crate::{Source, Tool};

mod reach;
mod reader;
mod rule;
mod wrapper;

pub use rule::{CommandRule, allows};

/// Longest command line that is read, in bytes; a longer one is uncertain as a whole.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
/// Deepest nesting of substitutions, scripts and wrappers that is followed.
const MAX_DEPTH: usize = 16;
/// Most simple commands of one line that are kept.
const MAX_COMMANDS: usize = 1_024;

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text, quotes and escapes taken away; expansions stand as written.
    pub text: String,
    /// Whether that is what the program gets: false where variables, substitutions, globs or braces expand.
    pub known: bool,
}

/// How a command relates to the commands it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hop {
    /// It runs none that can be seen.
    #[default]
    None,
    /// It does nothing but run them (`nohup`, `sh -c`): what they may, it may.
    Through,
    /// It does something of its own as well (`find -exec`): both have to be allowed.
    Both,
    /// It gives them other rights (`sudo`): being allowed without it says nothing.
    Outer,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The program and its arguments; empty for a mere assignment or redirection.
    pub words: Vec<Word>,
    /// Names of the variables set in front of it.
    pub assignments: Vec<String>,
    /// Whether its output goes to a file (other than `/dev/null`).
    pub writes: bool,
    /// Whether it gets further arguments that are not in the text (`xargs`).
    pub open_ended: bool,
    /// Whether it runs code that is in sight but in another language, or comes from where it cannot be seen
    /// (`python -c`, `curl … | sh`).
    pub opaque: bool,
    /// Words, by their place, that make the program run others or write files, where its name does not say so.
    reach: Vec<(usize, reach::Use)>,
    /// The commands it runs.
    pub inner: Vec<SimpleCommand>,
    /// What they are to it.
    pub hop: Hop,
}

impl SimpleCommand {
    /// Calls `visit` for this command and for all that it runs.
    pub fn each<'c>(&'c self, visit: &mut dyn FnMut(&'c SimpleCommand)) {
        visit(self);
        for inner in &self.inner {
            inner.each(visit);
        }
    }
}

/// What a command line would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The simple commands in reading order, those of substitutions before the command they stand in.
    pub commands: Vec<SimpleCommand>,
    /// Whether these are certainly all.
    pub certain: bool,
    /// The line as given, blanks at both ends taken away; arguments of an argument list joined by blanks.
    pub line: String,
}

/// What reading has found out so far.
struct State {
    certain: bool,
    left: usize,
}

impl State {
    fn new() -> Self {
        Self { certain: true, left: MAX_COMMANDS }
    }

    fn doubt(&mut self) {
        self.certain = false;
    }
}

impl Parsed {
    /// Reads a shell command line.
    pub fn line(text: &str) -> Self {
        let line = text.trim().to_owned();
        if text.len() > MAX_LINE_BYTES {
            return Self { commands: Vec::new(), certain: false, line: String::new() };
        }
        let mut state = State::new();
        let commands = reader::script(&line, 0, &mut state);
        Self { commands, certain: state.certain, line }
    }

    /// Takes a program and its arguments that run without a shell.
    pub fn arguments<S: AsRef<str>>(words: &[S]) -> Self {
        let line = words.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ");
        if line.len() > MAX_LINE_BYTES || words.is_empty() {
            return Self { commands: Vec::new(), certain: false, line: String::new() };
        }
        let mut state = State::new();
        let words = words.iter().map(|word| Word { text: word.as_ref().to_owned(), known: true }).collect();
        let command = wrapper::build(SimpleCommand { words, ..SimpleCommand::default() }, 0, &mut state);
        Self { commands: vec![command], certain: state.certain, line }
    }

    fn unclear() -> Self {
        Self::default()
    }

    /// All commands, also those that others run.
    pub fn all(&self) -> Vec<&SimpleCommand> {
        let mut all = Vec::new();
        for command in &self.commands {
            command.each(&mut |command| all.push(command));
        }
        all
    }
}

/// Names under which tools take a command.
pub const NAMES: [&str; 2] = ["command", "cmd"];

/// Whether the tool runs commands: the built-in `run_command`, and every tool whose schema has a text (or list)
/// `command` or `cmd` without a fixed set of values.
fn takes_commands(tool: &Tool, arguments: &Value) -> bool {
    if *tool.source() == Source::Builtin {
        return tool.name() == "run_command";
    }
    NAMES.iter().any(|name| match tool.input_schema()["properties"].get(name) {
        Some(schema) => schema.get("enum").is_none() && schema.get("const").is_none(),
        None => arguments.get(name).is_some_and(|value| value.is_string() || value.is_array()),
    })
}

/// What a call would run; `None` when the tool does not run commands.
///
/// The built-in `run_command` and every tool that takes a list runs that list, without a shell. A text is a shell
/// line; a tool that takes arguments beside it may do either, so what the two ways disagree on is uncertain.
pub fn commands_of(tool: &Tool, arguments: &Value) -> Option<Parsed> {
    if !takes_commands(tool, arguments) {
        return None;
    }
    let mut given = NAMES.iter().filter_map(|name| arguments.get(name)).filter(|value| !value.is_null());
    let (Some(command), None) = (given.next(), given.next()) else { return Some(Parsed::unclear()) };
    let list = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    };
    if let Some(words) = command.as_array().map(|_| list(command)) {
        return Some(words.map_or_else(Parsed::unclear, |words| Parsed::arguments(&words)));
    }
    let Some(text) = command.as_str() else { return Some(Parsed::unclear()) };
    let beside = ["args", "arguments", "argv"].iter().find_map(|name| arguments.get(name)).filter(|v| !v.is_null());
    let further = match beside.map(list) {
        None => Vec::new(),
        Some(Some(further)) => further,
        Some(None) => return Some(Parsed::unclear()),
    };
    let words: Vec<String> = std::iter::once(text.to_owned()).chain(further.iter().cloned()).collect();
    if *tool.source() == Source::Builtin {
        return Some(Parsed::arguments(&words));
    }
    if further.is_empty() && beside.is_none() {
        return Some(Parsed::line(text));
    }
    let mut parsed = Parsed::line(&words.join(" "));
    let direct = Parsed::arguments(&words);
    if parsed.commands != direct.commands {
        parsed.certain = false;
        parsed.commands.extend(direct.commands);
    }
    parsed.certain &= direct.certain;
    Some(parsed)
}

#[cfg(test)]
mod tests;
