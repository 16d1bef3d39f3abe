//! What tools must be like to be found at all.

use crate::{
    Source,
    bridge::{Card, Directory},
    categories::CategoryId,
    labels::word::same,
};

/// Most tools that are told as left out.
const MAX_LEFT_OUT: usize = 5;

/// Restrictions on what may be found. The default restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Where tools come from: a source (`mcp:github`), a kind (`mcp`, `builtin`, …) or a label.
    pub source: Option<String>,
    /// A category or a tag of tools.
    pub category: Option<String>,
    /// Only tools that say that they change nothing.
    pub readonly: bool,
}

/// A tool that fits the query but not the filter (peers case 71).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its index in the directory.
    pub index: usize,
    /// Why it was left out.
    pub why: &'static str,
}

impl Filter {
    /// Whether the tool at an index passes; if not, why not.
    pub(super) fn takes<D: Directory + ?Sized>(&self, directory: &D, index: usize) -> Result<(), &'static str> {
        let card = directory.card(index);
        if self.source.as_deref().is_some_and(|wanted| !comes_from(&card, wanted)) {
            return Err("it comes from another source");
        }
        let tagged = |wanted: &str| {
            wanted.parse().is_ok_and(|wanted: CategoryId| directory.is_in(index, &wanted))
                || card.tool.is_some_and(|tool| tool.tags().iter().any(|tag| same(tag, wanted)))
        };
        if self.category.as_deref().is_some_and(|wanted| !tagged(wanted)) {
            return Err("it is in another category");
        }
        if !self.readonly {
            return Ok(());
        }
        match card.definition["annotations"]["readOnlyHint"].as_bool() {
            Some(true) => Ok(()),
            Some(false) => Err("it says that it changes something"),
            None => Err("it does not say whether it changes anything"),
        }
    }

    /// Those of the tools that only `readonly` keeps out.
    pub(super) fn left_out<D: Directory + ?Sized>(
        &self,
        directory: &D,
        indices: impl IntoIterator<Item = usize>,
    ) -> Vec<LeftOut> {
        if !self.readonly {
            return Vec::new();
        }
        let elsewhere = Self { readonly: false, ..self.clone() };
        let candidates = indices.into_iter().filter(|index| elsewhere.takes(directory, *index).is_ok());
        let left_out = candidates.filter_map(|index| {
            let why = self.takes(directory, index).err()?;
            Some(LeftOut { index, why })
        });
        left_out.take(MAX_LEFT_OUT).collect()
    }
}

fn comes_from(card: &Card<'_>, wanted: &str) -> bool {
    let Some(tool) = card.tool else { return card.server.eq_ignore_ascii_case(wanted) };
    let source = tool.source();
    source.kind().eq_ignore_ascii_case(wanted)
        || source.group().eq_ignore_ascii_case(wanted)
        || wanted.parse::<Source>().is_ok_and(|wanted| wanted == *source)
}
