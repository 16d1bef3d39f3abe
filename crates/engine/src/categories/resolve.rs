//! From names to tools, across all categories.

use std::{collections::BTreeMap, sync::Arc};

use toolcrib_core::{
    Source, Tool, ToolId,
    categories::{CategoryId, Connector},
};

use super::{Categories, LoadError};

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
    /// Every category that owns a tool of this name (exposed, own, or identity), with the tool: several tools may have a name,
    /// and several categories a tool (theirs: the first alone, oneringai §2.4).
    pub fn find(&self, name: &str) -> Result<Vec<Owner>, LoadError> {
        let overview = self.overview()?;
        let set = &overview.view.set;
        let mut owners = Vec::new();
        for standing in &overview.categories {
            for &position in &standing.category.tools {
                let (tool, exposed) = (&set.tools()[position], set.name_map().name(position));
                if name == exposed || name == tool.name() || name == tool.id().to_string() {
                    let category = standing.category.id.clone();
                    owners.push(Owner { category, tool: tool.id().clone(), exposed: exposed.to_owned() });
                }
            }
        }
        Ok(owners)
    }

    /// Tools by names (exposed, identities, or own names that mean one tool only), as if everything were loaded that may be:
    /// factories of categories are asked (oneringai cases 54 and 55).
    pub fn resolve<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Resolution, LoadError> {
        let overview = self.overview()?;
        let set = &overview.view.set;
        let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
        let mut by_own: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (position, tool) in set.tools().iter().enumerate() {
            by_id.insert(tool.id().to_string(), position);
            by_own.entry(tool.name()).or_default().push(position);
        }
        let mut resolution = Resolution::default();
        let mut seen = std::collections::HashSet::new();
        for name in names {
            let own = || by_own.get(name).and_then(|all| if let [one] = all[..] { Some(one) } else { None });
            let position = set.name_map().position(name).or_else(|| by_id.get(name).copied()).or_else(own);
            match position {
                Some(position) if seen.insert(position) => {
                    let exposed = set.name_map().name(position).to_owned();
                    resolution.tools.push((exposed, set.tools()[position].clone()));
                }
                Some(_) => {}
                None => resolution.missing.push(name.to_owned()),
            }
        }
        Ok(resolution)
    }
}
