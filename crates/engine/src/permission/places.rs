//! Where relative paths in arguments start from.

use std::collections::BTreeMap;

use toolcrib_core::Source;

/// The folder from which the tools of each source take relative paths, absolute. A source that is not in here takes
/// them from somewhere that is not known (a server elsewhere): then a relative path is within nothing, and a rule about
/// whole paths that denies or asks cannot tell and asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<Source, String>);

impl Places {
    /// The folder of a source, if it is known.
    pub fn of(&self, source: &Source) -> Option<&str> {
        self.0.get(source).map(String::as_str)
    }
}

impl FromIterator<(Source, String)> for Places {
    fn from_iter<I: IntoIterator<Item = (Source, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}
