//! From names to tools, across all categories.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use toolcrib_core::{
    Source, Tool, ToolId,
    categories::{Category, CategoryId, Connector},
    name::Called,
};

use super::{Categories, LoadError, Overview, Standing};

/// A tool in a category that owns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The category.
    pub category: CategoryId,
    /// The tool.
    pub tool: ToolId,
    /// The name it has where it is shown.
    pub exposed: String,
}

/// Tools by the names that were asked for.
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// Every tool found with its exposed name, in the order of the names; each once.
    pub tools: Vec<(String, Arc<Tool>)>,
    /// Names that lead to no tool that the scope may have (oneringai case 54: told, not only skipped).
    pub missing: Vec<String>,
}

impl Resolution {
    /// Those that are of no connector.
    pub fn plain(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter().map(|(_, tool)| tool).filter(|tool| !matches!(tool.source(), Source::Connector { .. }))
    }

    /// The others, by connector and account.
    pub fn by_connector(&self) -> BTreeMap<Connector, Vec<&Arc<Tool>>> {
        let mut by: BTreeMap<Connector, Vec<&Arc<Tool>>> = BTreeMap::new();
        for (_, tool) in &self.tools {
            if let Source::Connector { name, account } = tool.source() {
                by.entry(Connector { name: name.clone(), account: account.clone() }).or_default().push(tool);
            }
        }
        by
    }
}

impl Categories<'_> {
    /// Every category that owns a tool which the name may mean ([`Called`]), with the tool: several tools may have a name,
    /// and several categories a tool (theirs: the first alone, oneringai §2.4).
    pub fn find(&self, name: &str) -> Result<Vec<Owner>, LoadError> {
        let overview = self.overview()?;
        let set = &overview.view.set;
        let called = Called::new(name, &self.engine.settings().assemble.policy.groups);
        let mut owners = Vec::new();
        for standing in &overview.categories {
            for &position in &standing.category.tools {
                let (tool, exposed) = (&set.tools()[position], set.name_map().name(position));
                if called.means(tool.id(), exposed) {
                    let category = standing.category.id.clone();
                    owners.push(Owner { category, tool: tool.id().clone(), exposed: exposed.to_owned() });
                }
            }
        }
        Ok(owners)
    }

    /// Tools by names that mean one tool each ([`Called`]), as if everything were loaded that may be:
    /// factories of categories are asked (oneringai cases 54 and 55).
    pub fn resolve<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Resolution, LoadError> {
        let overview = self.overview()?;
        let set = &overview.view.set;
        let groups = &self.engine.settings().assemble.policy.groups;
        let mut resolution = Resolution::default();
        let mut seen = std::collections::HashSet::new();
        for name in names {
            match set.called(name, groups)[..] {
                [position] if seen.insert(position) => {
                    let exposed = set.name_map().name(position).to_owned();
                    resolution.tools.push((exposed, set.tools()[position].clone()));
                }
                [_] => {}
                _ => resolution.missing.push(name.to_owned()),
            }
        }
        Ok(resolution)
    }
}

impl Categories<'_> {
    /// Exposed names and tools of one category, as if it were loaded: its factory is asked, nothing is loaded. A connector's
    /// is one like any other.
    ///
    /// # Errors
    /// If the scope may not load it, or it has no tools.
    pub fn tools_of(&self, id: &CategoryId) -> Result<Vec<(String, Arc<Tool>)>, LoadError> {
        let overview = self.overview()?;
        let Some(found) = overview.find(id) else { return Err(overview.not_available(&id.to_string())) };
        if found.category.tools.is_empty() {
            return Err(LoadError::NoTools(id.clone()));
        }
        Ok(overview.tools(&found.category).map(|(name, tool)| (name.to_owned(), tool.clone())).collect())
    }
}

impl Overview {
    /// A category's tools, each with its exposed name.
    pub fn tools<'o>(&'o self, category: &'o Category) -> impl Iterator<Item = (&'o str, &'o Arc<Tool>)> {
        let set = &self.view.set;
        category.tools.iter().map(|&position| (set.name_map().name(position), &set.tools()[position]))
    }

    /// The tools of all categories, each once, with their exposed names.
    pub fn all_tools(&self) -> impl Iterator<Item = (&str, &Arc<Tool>)> {
        let all = self.categories.iter().flat_map(|standing| &standing.category.tools).copied();
        let positions: BTreeSet<usize> = all.collect();
        let set = &self.view.set;
        positions.into_iter().map(|position| (set.name_map().name(position), &set.tools()[position]))
    }

    /// The categories of connectors among them, with the connector and account that each is of.
    pub fn connectors(&self) -> impl Iterator<Item = (&Connector, &Standing)> {
        self.categories.iter().filter_map(|standing| match &standing.category.id {
            CategoryId::Connector(connector) => Some((connector, standing)),
            CategoryId::Plain(_) => None,
        })
    }
}
