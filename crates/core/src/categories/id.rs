//! Ids of categories and of connectors.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::labels::word::{BadWord, Word, visible};

/// What comes before a connector's name in the id of its category.
const CONNECTOR: &str = "connector:";

/// A category's id. Written `NAME`, or `connector:NAME[:ACCOUNT]` (oneringai §2.4). The case of a name's letters does not count;
/// connectors and accounts are told apart to the letter, as sources are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CategoryId {
    /// Any name that does not begin with `connector:`.
    Plain(Word),
    /// The tools of a connector.
    Connector(Connector),
}

/// A connector and, where one is meant, an account of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Connector {
    /// The connector's name; holds no colon.
    pub name: String,
    /// The account; may hold colons and `@`.
    pub account: Option<String>,
}

/// A text that is no category's id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCategoryId {
    /// Nothing, or only blanks (oneringai case 47).
    #[error("a category has a name that is not blank")]
    Blank,
    /// `connector:` and nothing.
    #[error("'connector:' is followed by the connector's name, as in connector:github or connector:github:work")]
    NoConnector,
    /// A character that does not show.
    #[error("the name of a category cannot be used: {0}")]
    Hidden(BadWord),
}

impl FromStr for CategoryId {
    type Err = BadCategoryId;

    /// The name ends at the first colon, everything behind it is the account; a colon at the end is no account (oneringai
    /// case 52). Blanks around the whole do not count.
    fn from_str(text: &str) -> Result<Self, BadCategoryId> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadCategoryId::Blank);
        }
        visible(text).map_err(BadCategoryId::Hidden)?;
        match text.strip_prefix(CONNECTOR) {
            None => Ok(Self::Plain(text.into())),
            Some(connector) => connector.parse().map(Self::Connector),
        }
    }
}

impl FromStr for Connector {
    type Err = BadCategoryId;

    /// `NAME[:ACCOUNT]`.
    fn from_str(text: &str) -> Result<Self, BadCategoryId> {
        let (name, account) = text.split_once(':').unwrap_or((text, ""));
        if name.trim().is_empty() {
            return Err(BadCategoryId::NoConnector);
        }
        let account = Some(account).filter(|account| !account.is_empty());
        Ok(Self { name: name.to_owned(), account: account.map(str::to_owned) })
    }
}

impl Connector {
    /// Whether whoever has this one has that one too: the same, or every account of it.
    pub fn covers(&self, other: &Self) -> bool {
        self.name == other.name && (self.account.is_none() || self.account == other.account)
    }
}

impl fmt::Display for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.account.as_ref().map_or(Ok(()), |account| write!(f, ":{account}"))
    }
}

impl fmt::Display for CategoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(name) => name.fmt(f),
            Self::Connector(connector) => write!(f, "{CONNECTOR}{connector}"),
        }
    }
}

impl Serialize for CategoryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CategoryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl CategoryId {
    /// The name that people read where none is given: words with capitals, and a connector's account in brackets.
    pub fn display_name(&self) -> String {
        match self {
            Self::Plain(name) => display_name(name.as_str()),
            Self::Connector(Connector { name, account: None }) => display_name(name),
            Self::Connector(Connector { name, account: Some(account) }) => {
                format!("{} ({account})", display_name(name))
            }
        }
    }
}

/// `my-cool-tool` as `My Cool Tool` (oneringai case 53).
pub fn display_name(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    let words: Vec<String> = name.split('-').map(word).collect();
    words.join(" ").trim().to_owned()
}

/// What categories of common names are for, where nobody says.
pub(super) fn well_known(id: &CategoryId) -> Option<&'static str> {
    let CategoryId::Plain(name) = id else { return None };
    Some(match &*crate::labels::word::folded(name.as_str()) {
        "filesystem" => "Reading, writing, finding and listing files.",
        "shell" => "Running commands on this machine.",
        "web" => "Fetching pages and searching the web.",
        "code" => "Running code.",
        "json" => "Looking into JSON and changing it.",
        "desktop" => "Screen, mouse, keyboard and windows.",
        "custom-tools" => "Tools that users made.",
        "routines" => "Stored sequences of steps.",
        "other" => "What fits nowhere else.",
        _ => return None,
    })
}
