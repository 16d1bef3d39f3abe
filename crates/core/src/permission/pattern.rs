//! Tool patterns of permission rules: which tools, and which of their calls (`Bash(rm:*)`).

use std::{fmt, str::FromStr};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use super::{Match, Side, rule::Facts};
use crate::{
    Source, Tool,
    name::{NameSettings, SEPARATOR, exposed_name},
    selector::{Groups, Selector, SelectorError},
};

mod content;

use content::Content;

/// Which calls a rule means, read from text. The forms:
///
/// - a [`Selector`] with a colon, slash or keyword: `mcp:github/create_issue`, `group:fs`, `tag:work`, `builtin`, `*`;
/// - a bare name or glob: `write_file`, `kv_*`. It means built-in, plugin and custom tools of that name. Tools of
///   servers and connectors go by their full form (`github__create_issue`), whatever they are shown as, so that a rule on
///   `Write` never means a server's tool called `Write` (openclaw-openclaude.md §2.2, case 42);
/// - `mcp__SERVER`, `mcp__SERVER__*`, `mcp__SERVER__TOOL` (case 41);
/// - the names other hosts use for what is built in here (`Bash`, `Read`, `Write`, …) and their old names (case 45);
/// - any of them with a content, `TOOL(CONTENT)`: only calls with that command, path, host or text. What the content
///   is held against goes by what the tool takes: commands ([`super::CommandRule`]), paths (a glob), else the main
///   text (`*` is any text); `domain:HOST` always means the URLs of the call ([`super::HostRule`]). Empty or `*` is the
///   whole tool (case 44). Brackets in it are escaped with a backslash.
///
/// A text with brackets that do not close at the end is taken as a name; [`ToolPattern::malformed`] says so.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern {
    text: String,
    tools: Tools,
    content: Option<Content>,
    malformed: bool,
}

#[derive(Clone, Debug)]
enum Tools {
    Selector(Selector),
    /// What follows `mcp__`.
    Mcp(String),
    Name(Name),
}

#[derive(Clone, Debug)]
struct Name {
    text: String,
    glob: Option<GlobMatcher>,
    /// What it was renamed to.
    renamed: Option<&'static str>,
    /// The built-in tool it means.
    builtin: Option<&'static str>,
}

/// A text that is no tool pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The part that names tools cannot be read.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// The content cannot be read.
    #[error("'{text}' cannot be used: {problem}")]
    Content {
        /// The whole pattern, shortened.
        text: String,
        /// What is wrong and what to write.
        problem: String,
    },
}

/// Names that were changed (§2.2).
fn renamed(name: &str) -> Option<&'static str> {
    Some(match name {
        "Task" => "Agent",
        "KillShell" => "TaskStop",
        "AgentOutputTool" | "BashOutputTool" => "TaskOutput",
        _ => return None,
    })
}

/// Names under which other hosts have the tools that are built in here.
fn builtin_alias(name: &str) -> Option<&'static str> {
    Some(match name {
        "Bash" => "run_command",
        "Read" => "read_file",
        "Write" => "write_file",
        "Edit" => "edit_file",
        "Glob" => "find_files",
        "Grep" => "search_text",
        "WebFetch" => "fetch_url",
        _ => return None,
    })
}

/// Longest pattern, in bytes.
const MAX_BYTES: usize = 8_192;

impl FromStr for ToolPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let fail = |problem: String| PatternError::Content { text: trimmed.chars().take(200).collect(), problem };
        if trimmed.len() > MAX_BYTES {
            return Err(fail(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let (head, content, malformed) = match split(trimmed) {
            Split::Plain => (trimmed.to_owned(), None, false),
            Split::Content(head, content) => (head.trim().to_owned(), Some(content), false),
            Split::Malformed => (trimmed.to_owned(), None, true),
        };
        let tools = if malformed { Tools::Name(Name::literal(&head)) } else { tools(&head)? };
        let content = match content.as_deref().map(str::trim) {
            None | Some("" | "*") => None,
            Some(content) => Some(Content::parse(content).map_err(fail)?),
        };
        Ok(Self { text: trimmed.to_owned(), tools, content, malformed })
    }
}

impl TryFrom<String> for ToolPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ToolPattern> for String {
    fn from(pattern: ToolPattern) -> Self {
        pattern.text
    }
}

impl PartialEq for ToolPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

enum Split {
    Plain,
    Content(String, String),
    Malformed,
}

/// Cuts `HEAD(CONTENT)` at the first bracket that is not escaped; the last character has to close it.
fn split(text: &str) -> Split {
    let mut escaped = false;
    let (mut open, mut close) = (None, None);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => open = open.or(Some(at)),
            ')' => close = Some(at),
            _ => {}
        }
    }
    match (open, close) {
        (None, None) => Split::Plain,
        (Some(open), Some(close)) if open > 0 && close + 1 == text.len() => {
            Split::Content(unescape(&text[..open]), unescape(&text[open + 1..close]))
        }
        _ => Split::Malformed,
    }
}

/// Takes the backslash off brackets and off backslashes in front of them; others stay (they are part of a command).
fn unescape(text: &str) -> String {
    text.replace("\\(", "(").replace("\\)", ")")
}

fn tools(head: &str) -> Result<Tools, PatternError> {
    if let Some(rest) = head.strip_prefix("mcp__").filter(|rest| !rest.is_empty()) {
        return Ok(Tools::Mcp(rest.to_owned()));
    }
    // Everything that is more than a name is the selector's to read; its errors are the reader's.
    let selector: Selector = head.parse()?;
    if !selector.is_name() {
        return Ok(Tools::Selector(selector));
    }
    let mut name = Name::literal(head);
    if head.contains(['*', '?', '[', '{']) {
        // The selector has compiled the same glob.
        name.glob = GlobBuilder::new(head).literal_separator(false).build().ok().map(|glob| glob.compile_matcher());
    }
    Ok(Tools::Name(name))
}

impl Name {
    fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), glob: None, renamed: renamed(text), builtin: builtin_alias(text) }
    }

    fn is(&self, name: &str) -> bool {
        self.glob.as_ref().map_or_else(|| self.text == name, |glob| glob.is_match(name))
    }

    fn names(&self, tool: &Tool, exposed: &str, side: Side) -> bool {
        let restrict = side == Side::Restrict;
        match tool.source() {
            Source::Builtin | Source::Plugin(_) | Source::Custom(_) => {
                let builtin = *tool.source() == Source::Builtin && self.builtin == Some(tool.name());
                let plugin = self.glob.is_none() && matches!(tool.source(), Source::Plugin(id) if *id == self.text);
                // A rule that lets through goes by the name that is shown, as everywhere (`Selector::grants`).
                let hit = |is: &dyn Fn(&str) -> bool| is(exposed) || restrict && is(tool.name());
                let new = self.renamed.is_some_and(|new| hit(&|name| name == new));
                let old = (restrict || self.renamed.is_none()) && hit(&|name| self.is(name));
                builtin || plugin || new || old
            }
            source @ (Source::Mcp(_) | Source::Connector { .. } | Source::Remote(_) | Source::Static(_)) => {
                if self.glob.is_none() && !self.text.contains(SEPARATOR) {
                    return false;
                }
                // Two servers can make one name: `a` with `b__c`, and `a__b` with `c`. To let through, only a name counts
                // that says which.
                if !restrict && ambiguous(&self.text) {
                    return false;
                }
                full_name(tool, |name| self.is(name))
                    || exposed != tool.name() && exposed.contains(SEPARATOR) && self.is(exposed)
                    || restrict && self.is(&format!("{}{SEPARATOR}{}", source.group(), tool.name()))
            }
        }
    }
}

/// The name of a server's tool with its source in front, whatever it is shown as.
fn full_name(tool: &Tool, hit: impl Fn(&str) -> bool) -> bool {
    hit(&exposed_name(tool.id(), &NameSettings::default()))
}

/// Whether a name made of source and tool can be taken apart in more than one way.
fn ambiguous(name: &str) -> bool {
    name.matches(SEPARATOR).count() > 1
}

impl Tools {
    fn names(&self, tool: &Tool, exposed: &str, groups: &Groups, side: Side) -> bool {
        match (self, side) {
            (Self::Selector(selector), Side::Grant) => selector.grants(tool, exposed, groups),
            (Self::Selector(selector), Side::Restrict) => selector.matches(tool, exposed, groups),
            (Self::Name(name), _) => name.names(tool, exposed, side),
            (Self::Mcp(rest), _) => {
                let Source::Mcp(server) = tool.source() else { return false };
                let label = rest.strip_suffix("__*").unwrap_or(rest);
                // Other hosts write every character that is not plain as an underscore.
                let plain = |text: &str| -> String {
                    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
                };
                let restrict = side == Side::Restrict;
                label == server
                    || (restrict || !ambiguous(rest)) && full_name(tool, |name| name == rest)
                    || restrict
                        && (label == plain(server)
                            || *rest == format!("{server}{SEPARATOR}{}", tool.name())
                            || *rest == format!("{}{SEPARATOR}{}", plain(server), plain(tool.name())))
            }
        }
    }
}

impl ToolPattern {
    /// Whether it means every call of the tools it names, so that a rule that denies it may take them out of sight;
    /// with a content they stay and only the calls are refused (case 43).
    pub fn whole_tool(&self) -> bool {
        self.content.is_none()
    }

    /// Whether the text has brackets that do not fit and was therefore taken as a name; worth a warning.
    pub fn malformed(&self) -> bool {
        self.malformed
    }

    /// The group it names, if it names one; a rule on a group that does not exist is worth an error.
    pub fn group(&self) -> Option<&str> {
        match &self.tools {
            Tools::Selector(selector) => selector.group(),
            Tools::Mcp(_) | Tools::Name(_) => None,
        }
    }

    /// The same tools as a selector says them, where one can; for diagnosis.
    pub fn selector(&self) -> Option<Selector> {
        match &self.tools {
            Tools::Selector(selector) => Some(selector.clone()),
            Tools::Mcp(rest) => match rest.split_once(SEPARATOR) {
                Some((server, tool)) => format!("mcp:{server}/{tool}").parse().ok(),
                None => format!("mcp:{rest}").parse().ok(),
            },
            Tools::Name(name) => name.builtin.unwrap_or(&name.text).parse().ok(),
        }
    }

    /// Whether it names the tool, contents aside, in a rule that denies or asks.
    pub fn names(&self, tool: &Tool, exposed: &str, groups: &Groups) -> bool {
        self.tools.names(tool, exposed, groups, Side::Restrict)
    }

    /// Whether it names the tool, contents aside, in a rule that lets through.
    pub fn names_to_grant(&self, tool: &Tool, exposed: &str, groups: &Groups) -> bool {
        self.tools.names(tool, exposed, groups, Side::Grant)
    }

    /// How surely it means the call, for a rule of that side.
    pub(super) fn check(&self, facts: &Facts<'_>, side: Side) -> Match {
        let subject = facts.subject;
        if !self.tools.names(subject.tool, subject.exposed, subject.groups, side) {
            return Match::No;
        }
        self.content.as_ref().map_or(Match::Yes, |content| content.check(facts, side))
    }

    /// `Some` if the content is held against the paths of the call, with the folder that its glob begins with, absolute,
    /// if that is known; else an empty list.
    pub(super) fn looks_at_paths(&self, facts: &Facts<'_>) -> Option<Vec<String>> {
        self.content.as_ref().and_then(|content| content.looks_at_paths(facts))
    }

    /// The content as a rule over commands.
    pub(super) fn command(&self) -> Option<&super::CommandRule> {
        self.content.as_ref().and_then(Content::command)
    }
}

#[cfg(test)]
mod tests;
