//! Selectors: the one small language that names tools in allow lists, deny lists, profiles, permissions and groups.

use std::{collections::BTreeMap, fmt, str::FromStr};

use globset::{GlobBuilder, GlobMatcher};

use crate::{Source, Tool};

/// Names a set of tools. See [`Selector::from_str`] for the forms.
#[derive(Clone, Debug)]
pub struct Selector {
    text: String,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    All,
    ReadOnly,
    Group(String),
    Source(Source),
    /// `mcp:SERVER/tool`, the tool part exact or a glob.
    InSource(Source, Name),
    Connector(String, Option<String>),
    Tag(String),
    Name(Name),
}

#[derive(Clone, Debug)]
enum Name {
    Exact(String),
    Glob(GlobMatcher),
}

impl Name {
    fn parse(text: &str) -> Result<Self, SelectorError> {
        if !text.contains(['*', '?', '[', '{']) {
            return Ok(Self::Exact(text.to_owned()));
        }
        GlobBuilder::new(text)
            .literal_separator(false)
            .build()
            .map(|glob| Self::Glob(glob.compile_matcher()))
            .map_err(|error| SelectorError { text: shorten(text), problem: error.kind().to_string() })
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Glob(glob) => glob.is_match(name),
        }
    }
}

/// A text that is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a selector: {problem}")]
pub struct SelectorError {
    text: String,
    problem: String,
}

fn shorten(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Named sets of selectors (`group:NAME`): those that toolcrib defines, and those of the configuration.
#[derive(Clone, Debug)]
pub struct Groups(BTreeMap<String, Vec<Selector>>);

impl Default for Groups {
    /// The groups that always exist.
    fn default() -> Self {
        let builtin = |names: &[&str]| names.iter().filter_map(|name| format!("builtin/{name}").parse().ok()).collect();
        let mut groups: BTreeMap<String, Vec<Selector>> = BTreeMap::new();
        groups.insert(
            "fs".into(),
            builtin(&["read_file", "write_file", "edit_file", "list_directory", "find_files", "search_text"]),
        );
        groups.insert("runtime".into(), builtin(&["run_command"]));
        groups.insert("web".into(), builtin(&["fetch_url"]));
        groups.insert("memory".into(), builtin(&["kv_get", "kv_set", "kv_delete", "kv_list"]));
        groups.insert("builtin".into(), builtin(&["*"]));
        groups.insert("mcp".into(), "mcp:*/*".parse().into_iter().collect());
        groups.insert("plugins".into(), "plugin:*/*".parse().into_iter().collect());
        Self(groups)
    }
}

impl Groups {
    /// Adds or replaces a group.
    pub fn insert(&mut self, name: impl Into<String>, members: Vec<Selector>) {
        self.0.insert(name.into(), members);
    }

    /// Whether a group of that name exists.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The names of all groups.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// How deep groups may name other groups; deeper nesting, and so every cycle, matches nothing.
const MAX_GROUP_DEPTH: usize = 8;

impl Selector {
    /// Whether the selector names this tool, known under `exposed`.
    pub fn matches(&self, tool: &Tool, exposed: &str, groups: &Groups) -> bool {
        self.matches_at(tool, exposed, groups, 0)
    }

    fn matches_at(&self, tool: &Tool, exposed: &str, groups: &Groups, depth: usize) -> bool {
        match &self.form {
            Form::All => true,
            Form::ReadOnly => tool.annotations().read_only_hint == Some(true),
            Form::Group(name) => {
                depth < MAX_GROUP_DEPTH
                    && groups.0.get(name).is_some_and(|members| {
                        members.iter().any(|member| member.matches_at(tool, exposed, groups, depth + 1))
                    })
            }
            Form::Source(source) => source_matches(source, tool.source()),
            Form::InSource(source, name) => source_matches(source, tool.source()) && name.matches(tool.name()),
            Form::Connector(name, account) => {
                matches!(tool.source(), Source::Connector { name: n, account: a } if n == name && (account.is_none() || a == account))
            }
            Form::Tag(tag) => tool.tags().iter().any(|t| t == tag),
            Form::Name(name) => {
                name.matches(exposed)
                    || name.matches(tool.name())
                    || matches!((name, tool.source()), (Name::Exact(text), Source::Plugin(id)) if text == id)
            }
        }
    }

    /// Whether the selector, written in a list that lets tools through, names this tool. Stricter than
    /// [`Selector::matches`], because nothing that a source says of itself may loosen a policy: hints count only where
    /// they are trusted, and a bare name is held against the exposed name, never against the name a server chose.
    pub fn grants(&self, tool: &Tool, exposed: &str, groups: &Groups) -> bool {
        self.grants_at(tool, exposed, groups, 0)
    }

    fn grants_at(&self, tool: &Tool, exposed: &str, groups: &Groups, depth: usize) -> bool {
        match &self.form {
            Form::ReadOnly => tool.hints_trusted() && tool.annotations().read_only_hint == Some(true),
            Form::Group(name) => {
                depth < MAX_GROUP_DEPTH
                    && groups.0.get(name).is_some_and(|members| {
                        members.iter().any(|member| member.grants_at(tool, exposed, groups, depth + 1))
                    })
            }
            Form::Name(name) => {
                name.matches(exposed)
                    || matches!((name, tool.source()), (Name::Exact(text), Source::Plugin(id)) if text == id)
            }
            Form::All | Form::Source(_) | Form::InSource(..) | Form::Connector(..) | Form::Tag(_) => {
                self.matches_at(tool, exposed, groups, depth)
            }
        }
    }

    /// The group this selector names, if it names one.
    pub fn group(&self) -> Option<&str> {
        match &self.form {
            Form::Group(name) => Some(name),
            Form::All
            | Form::ReadOnly
            | Form::Source(_)
            | Form::InSource(..)
            | Form::Connector(..)
            | Form::Tag(_)
            | Form::Name(_) => None,
        }
    }

    /// The text it was read from.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn source_matches(pattern: &Source, source: &Source) -> bool {
    pattern == source
        || match (pattern, source) {
            (Source::Mcp(p), Source::Mcp(_)) | (Source::Plugin(p), Source::Plugin(_)) => p == "*",
            (Source::Static(p), Source::Static(_)) => p.is_empty() || p == "*",
            _ => false,
        }
}

impl FromStr for Selector {
    type Err = SelectorError;

    /// Reads one of: `*`, `readonly`, `group:NAME`, `tag:NAME`, a source (`builtin`, `mcp:SERVER`, `plugin:ID`,
    /// `connector:NAME[:ACCOUNT]`, `static:GROUP`, …), a source and a tool (`mcp:SERVER/tool`, the tool exact or a
    /// glob), or an exact name or glob. Where a list takes away, names are held against exposed names and own names;
    /// where it lets through, against exposed names only ([`Selector::grants`]).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let fail = |problem: &str| SelectorError { text: shorten(text), problem: problem.to_owned() };
        if trimmed.is_empty() {
            return Err(fail("it is empty; write '*' for everything"));
        }
        if trimmed.len() > 512 {
            return Err(fail("it is longer than 512 bytes"));
        }
        let form = match trimmed {
            "*" => Form::All,
            "readonly" => Form::ReadOnly,
            _ => match trimmed.split_once(':') {
                Some(("group", name)) if !name.is_empty() => Form::Group(name.to_owned()),
                Some(("tag", name)) if !name.is_empty() => Form::Tag(name.to_owned()),
                Some(("category" | "namespace" | "risk", _)) => {
                    return Err(fail(
                        "this kind of selector needs the tool manager, which this version does not have; use group:, tag: or a source",
                    ));
                }
                Some(("connector", rest)) if !rest.contains('/') && !rest.is_empty() => match rest.split_once(':') {
                    None => Form::Connector(rest.to_owned(), None),
                    Some((name, account)) => Form::Connector(name.to_owned(), Some(account.to_owned())),
                },
                _ => match trimmed.split_once('/') {
                    Some((source, name)) if source.parse::<Source>().is_ok() => {
                        let source = source.parse().map_err(|_| fail("its source cannot be read"))?;
                        Form::InSource(source, Name::parse(name)?)
                    }
                    _ => match trimmed.parse::<Source>() {
                        Ok(source) => Form::Source(source),
                        Err(_) => Form::Name(Name::parse(trimmed)?),
                    },
                },
            },
        };
        Ok(Self { text: trimmed.to_owned(), form })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
