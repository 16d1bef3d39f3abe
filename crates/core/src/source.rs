//! Where tools come from, and the stable identity of one tool.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Where a tool comes from. Has a text form (`mcp:github`) for configuration and reports; it is stored with every
/// tool and never recovered from a tool's name.
///
/// The derived order is the default precedence of conflicts: built-in beats plugin beats MCP beats the rest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Shipped inside toolcrib.
    Builtin,
    /// A plugin, by its id.
    Plugin(String),
    /// An MCP server, by the name the user gave it in the configuration.
    Mcp(String),
    /// An API connector and, where several accounts are configured, one of them.
    Connector {
        /// The connector's name.
        name: String,
        /// The account, absent for the default one.
        account: Option<String>,
    },
    /// Tools defined by a user or organisation.
    Custom(String),
    /// Tools run by a group of remote workers.
    Remote(String),
    /// Definitions read from a file, grouped by the server they name. Never callable.
    Static(String),
}

impl Source {
    /// The label under which listings group this source's tools.
    pub fn group(&self) -> &str {
        match self {
            Self::Builtin => "builtin",
            Self::Static(label) if label.is_empty() => "static",
            Self::Plugin(label)
            | Self::Mcp(label)
            | Self::Custom(label)
            | Self::Remote(label)
            | Self::Static(label)
            | Self::Connector { name: label, .. } => label,
        }
    }

    /// The kind's word, the part before the first colon of the text form.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Plugin(_) => "plugin",
            Self::Mcp(_) => "mcp",
            Self::Connector { .. } => "connector",
            Self::Custom(_) => "custom",
            Self::Remote(_) => "remote",
            Self::Static(_) => "static",
        }
    }

    /// Rank in conflicts, lower wins: built-in 0, plugin 1, MCP 2, others after.
    pub fn precedence(&self) -> u8 {
        match self {
            Self::Builtin => 0,
            Self::Plugin(_) => 1,
            Self::Mcp(_) => 2,
            Self::Connector { .. } => 3,
            Self::Custom(_) => 4,
            Self::Remote(_) => 5,
            Self::Static(_) => 6,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("builtin"),
            Self::Static(label) if label.is_empty() => f.write_str("static"),
            Self::Plugin(label)
            | Self::Mcp(label)
            | Self::Custom(label)
            | Self::Remote(label)
            | Self::Static(label) => write!(f, "{}:{label}", self.kind()),
            Self::Connector { name, account: None } => write!(f, "connector:{name}"),
            Self::Connector { name, account: Some(account) } => write!(f, "connector:{name}:{account}"),
        }
    }
}

/// A text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no source: use builtin, static, or one of plugin:ID, mcp:SERVER, connector:NAME[:ACCOUNT], custom:OWNER, remote:GROUP, static:GROUP"
)]
pub struct SourceParseError(String);

impl FromStr for Source {
    type Err = SourceParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || SourceParseError(text.chars().take(200).collect());
        match text {
            "builtin" => return Ok(Self::Builtin),
            "static" => return Ok(Self::Static(String::new())),
            _ => {}
        }
        let (kind, label) = text.split_once(':').filter(|(_, label)| !label.is_empty()).ok_or_else(fail)?;
        Ok(match kind {
            "plugin" => Self::Plugin(label.to_owned()),
            "mcp" => Self::Mcp(label.to_owned()),
            "custom" => Self::Custom(label.to_owned()),
            "remote" => Self::Remote(label.to_owned()),
            "static" => Self::Static(label.to_owned()),
            "connector" => match label.split_once(':') {
                None => Self::Connector { name: label.to_owned(), account: None },
                Some((name, account)) if !name.is_empty() && !account.is_empty() => {
                    Self::Connector { name: name.to_owned(), account: Some(account.to_owned()) }
                }
                Some(_) => return Err(fail()),
            },
            _ => return Err(fail()),
        })
    }
}

impl Serialize for Source {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The stable identity of a tool: its source and the name the source itself uses. Policies, pins and audit records
/// speak of tools by this, never by the exposed name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolId {
    /// Where the tool comes from.
    pub source: Source,
    /// The source's own name for it, untouched.
    pub name: String,
}

impl ToolId {
    /// Builds an id from its parts.
    pub fn new(source: Source, name: impl Into<String>) -> Self {
        Self { source, name: name.into() }
    }
}

impl ToolId {
    /// The identity as text, as `Display` writes it.
    pub fn text(&self) -> String {
        match &self.source {
            Source::Plugin(label) | Source::Mcp(label) | Source::Custom(label) | Source::Remote(label) => {
                [self.source.kind(), ":", label, "/", &self.name].concat()
            }
            Source::Builtin => ["builtin/", &self.name].concat(),
            Source::Connector { .. } | Source::Static(_) => self.to_string(),
        }
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.source, self.name)
    }
}

impl FromStr for ToolId {
    type Err = SourceParseError;

    /// Splits at the first slash after the source: a server's name holds no slash (configuration refuses it), a
    /// tool's own name may.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (source, name) = text.split_once('/').ok_or_else(|| SourceParseError(text.chars().take(200).collect()))?;
        Ok(Self { source: source.parse()?, name: name.to_owned() })
    }
}

impl Serialize for ToolId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ToolId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
