//! Selectors: the one small language that names tools in allow lists, deny lists, profiles, permissions and groups.

mod alias;
mod groups;
pub(crate) mod matcher;
pub(crate) mod pattern;

use std::{
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

use self::{matcher::Side, pattern::Pattern};
use crate::{
    Source, Tool, ToolId,
    categories::{BadCategoryId, CategoryId, of_itself},
    labels::word::{same, visible},
    name::{NameSettings, prefix_of},
    permission::{Risk, WordError, classify},
};

use groups::Risks;
pub use groups::{GroupError, Groups};

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
    InSource(Source, Pattern),
    Connector(String, Option<String>),
    Tag(String),
    Category(CategoryId),
    Namespace(String),
    Risk(Risk),
    Name(Pattern),
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

impl Selector {
    /// Whether the selector, written in a list that takes tools away, names this tool, known under `exposed`.
    pub fn matches(&self, tool: &Tool, exposed: &str, groups: &Groups) -> bool {
        self.holds(tool, exposed, groups, Side::Restrict, 0)
    }

    /// Whether the selector, written in a list that lets through, names this tool. Stricter than [`Selector::matches`],
    /// because nothing that a source says of itself may loosen a policy: hints count only where they are trusted, a bare
    /// name is held against the exposed name, never against the name a server chose, and `SOURCE/NAME` is meant to the
    /// letter.
    pub fn grants(&self, tool: &Tool, exposed: &str, groups: &Groups) -> bool {
        self.holds(tool, exposed, groups, Side::Grant, 0)
    }

    fn holds(&self, tool: &Tool, exposed: &str, groups: &Groups, side: Side, depth: usize) -> bool {
        let restrict = side == Side::Restrict;
        match &self.form {
            Form::All => true,
            Form::ReadOnly => (restrict || tool.hints_trusted()) && tool.annotations().read_only_hint == Some(true),
            Form::Group(name) => {
                depth < groups::MAX_DEPTH
                    && groups.members(name).is_some_and(|members| {
                        members.iter().any(|member| member.holds(tool, exposed, groups, side, depth + 1))
                    })
            }
            Form::Source(source) => source_matches(source, tool.source()),
            Form::InSource(source, Pattern::Exact(name)) if !restrict => {
                source_matches(source, tool.source()) && **name == *tool.name()
            }
            Form::InSource(source, name) => source_matches(source, tool.source()) && name.is_match(tool.name()),
            Form::Connector(name, account) => connector_matches(name, account.as_deref(), tool.source()),
            Form::Tag(_) | Form::Category(_) | Form::Namespace(_) | Form::Risk(_) => {
                let labelled = self.form.holds_of_labels(tool, exposed, groups.risks().map(AsRef::as_ref), side);
                let Form::Category(id) = &self.form else { return labelled };
                labelled
                    || depth < groups::MAX_DEPTH
                        && groups.category(id).iter().any(|one| one.holds(tool, exposed, groups, side, depth + 1))
            }
            Form::Name(name) => {
                name.is_match(exposed)
                    || restrict && name.is_match(tool.name())
                    || matches!(name, Pattern::Exact(text) if is_also(text, tool, groups, restrict))
            }
        }
    }

    /// The tool that this selector names by its identity, if that is its form.
    pub fn identity(&self) -> Option<ToolId> {
        match &self.form {
            Form::InSource(source, Pattern::Exact(name)) => Some(ToolId::new(source.clone(), &**name)),
            _ => None,
        }
    }

    /// The source that all tools it can name are of, if there is one.
    pub fn source(&self) -> Option<&Source> {
        match &self.form {
            Form::InSource(source, _) | Form::Source(source) => Some(source),
            _ => None,
        }
    }

    /// A name that a tool of the source could have for this to name it, where that can be told.
    pub(crate) fn example(&self, source: &Source, names: &NameSettings) -> Option<String> {
        match &self.form {
            Form::InSource(pattern, _) if source_matches(pattern, source) => {
                Some(self.text.split_once('/')?.1.replace(['*', '?'], "x"))
            }
            Form::Name(_) => {
                let prefix = prefix_of(source, names);
                let (head, rest) = self.text.split_at_checked(prefix.len())?;
                (head.eq_ignore_ascii_case(&prefix) && !rest.is_empty()).then(|| rest.replace(['*', '?'], "x"))
            }
            _ => None,
        }
    }

    /// Whether it is a bare name or glob.
    pub fn is_name(&self) -> bool {
        matches!(self.form, Form::Name(_))
    }

    /// Whether it goes by risk.
    pub fn is_risk(&self) -> bool {
        matches!(self.form, Form::Risk(_))
    }

    /// Whether it names everything.
    pub fn is_all(&self) -> bool {
        matches!(self.form, Form::All)
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
            | Form::Category(_)
            | Form::Namespace(_)
            | Form::Risk(_)
            | Form::Name(_) => None,
        }
    }

    /// The text it was read from.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Form {
    /// For the forms that go by labels and by risk; false for the others.
    fn holds_of_labels(&self, tool: &Tool, exposed: &str, risks: Option<&Risks>, side: Side) -> bool {
        let labels = tool.labels();
        match self {
            Self::Tag(tag) => labels.tags.iter().any(|own| same(own, tag)),
            Self::Category(CategoryId::Plain(name)) => {
                labels.category.as_deref().is_some_and(|own| same(own, name.as_str()))
            }
            Self::Category(id @ CategoryId::Connector(_)) => of_itself(tool).contains(id),
            Self::Namespace(name) => same(labels.namespace(), name),
            Self::Risk(level) => {
                let found = match risks {
                    Some(risks) => classify(tool, exposed, &risks.rules, &risks.groups),
                    None => classify(tool, exposed, &[], &Groups::default()),
                };
                if side == Side::Restrict { found.risk >= *level } else { found.risk <= *level }
            }
            _ => false,
        }
    }
}

/// Whether a name is the plugin's that the tool is of, another host's for it, or one that the configuration gave it.
fn is_also(name: &str, tool: &Tool, groups: &Groups, restrict: bool) -> bool {
    let own = |ours: &str| if restrict { ours.eq_ignore_ascii_case(tool.name()) } else { ours == tool.name() };
    matches!(tool.source(), Source::Plugin(id) if id.eq_ignore_ascii_case(name))
        || *tool.source() == Source::Builtin && alias::builtin(name).is_some_and(own)
        || groups.aliased(name).is_some_and(|id| id.source == *tool.source() && own(&id.name))
}

fn connector_matches(name: &str, account: Option<&str>, source: &Source) -> bool {
    matches!(source, Source::Connector { name: n, account: a }
        if (name == "*" || n == name) && (account.is_none() || a.as_deref() == account))
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

    /// Reads one of: `*`, `readonly`, `group:NAME`, `tag:NAME`, `category:NAME`, `namespace:NAME`, `risk:LEVEL`, a source (`builtin`, `mcp:SERVER`, `plugin:ID`,
    /// `connector:NAME[:ACCOUNT]`, `static:GROUP`, …), a source and a tool (`mcp:SERVER/tool`, the tool exact or a
    /// glob), or an exact name or glob. Where a list takes away, names are held against exposed names and own names;
    /// where it lets through, against exposed names only ([`Selector::grants`]). `risk:LEVEL` names what is of that level
    /// or worse where a list takes away, of that level or better where it lets through. The case of letters does not count in
    /// names, labels and groups; in sources, which are keys, it does. A bare name may also be a plugin's id, another host's name for a built-in tool (`Bash`) or an alias.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let fail = |problem: &str| SelectorError { text: shorten(text), problem: problem.to_owned() };
        if trimmed.is_empty() {
            return Err(fail("it is empty; write '*' for everything"));
        }
        if trimmed.len() > 512 {
            return Err(fail("it is longer than 512 bytes"));
        }
        // What names tools must be what a person reads in it.
        visible(trimmed).map_err(|bad| fail(&bad.to_string()))?;
        let kinds = ["group", "tag", "category", "namespace", "risk"];
        let form = match trimmed {
            "*" => Form::All,
            _ if trimmed.eq_ignore_ascii_case("readonly") => Form::ReadOnly,
            _ => match trimmed.split_once(':').map(|(kind, rest)| {
                (kinds.into_iter().find(|known| known.eq_ignore_ascii_case(kind)).unwrap_or(kind), rest)
            }) {
                Some((kind @ ("group" | "tag" | "category" | "namespace"), "")) => {
                    return Err(fail(&format!("write the name after '{kind}:'")));
                }
                Some(("group", name)) => Form::Group(name.to_owned()),
                Some(("tag", name)) => Form::Tag(name.to_owned()),
                Some(("category", name)) => {
                    Form::Category(name.parse().map_err(|bad: BadCategoryId| fail(&bad.to_string()))?)
                }
                Some(("namespace", name)) => Form::Namespace(name.to_owned()),
                Some(("risk", word)) => {
                    Form::Risk(word.to_ascii_lowercase().parse().map_err(|error: WordError| fail(&error.to_string()))?)
                }
                Some(("connector", rest)) if !rest.contains('/') && !rest.is_empty() => match rest.split_once(':') {
                    None => Form::Connector(rest.to_owned(), None),
                    Some((name, account)) => Form::Connector(name.to_owned(), Some(account.to_owned())),
                },
                _ => match trimmed.split_once('/') {
                    Some((source, name)) if source.parse::<Source>().is_ok() => {
                        let source = source.parse().map_err(|_| fail("its source cannot be read"))?;
                        Form::InSource(source, pattern(name)?)
                    }
                    _ => match trimmed.parse::<Source>() {
                        Ok(source) => Form::Source(source),
                        Err(_) => Form::Name(pattern(trimmed)?),
                    },
                },
            },
        };
        Ok(Self { text: trimmed.to_owned(), form })
    }
}

fn pattern(text: &str) -> Result<Pattern, SelectorError> {
    Pattern::parse(text).map_err(|problem| SelectorError { text: shorten(text), problem })
}

impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Selector {}

impl Hash for Selector {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
