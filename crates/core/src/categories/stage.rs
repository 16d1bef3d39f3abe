//! The stage of selection that takes away what is not offered and, where it is to be hidden, what is not loaded.

use super::{Book, CategoryId, TOOL_CATALOG_LOAD, Unloaded, is_catalog_tool};
use crate::{
    Scope,
    select::{Candidate, Removal, Stage},
};

/// The stage's name in traces.
pub const STAGE: &str = "category";

impl Stage for Book {
    fn name(&self) -> &'static str {
        STAGE
    }

    fn judge(&self, candidate: Candidate<'_>, scope: &Scope) -> Option<Removal> {
        let Candidate { tool, exposed, groups } = candidate;
        // What loads categories is never behind one.
        if is_catalog_tool(tool) {
            return None;
        }
        let owners = self.owners(tool, exposed, groups);
        // Tools of no category are none of its business.
        let first = owners.first()?;
        let Some(offered) = owners.iter().find(|id| self.offers(id)) else {
            let (rule, fix) = self.not_offered(first);
            return Some(Removal { rule, origin: self.origin.clone(), fix });
        };
        if self.unloaded == Unloaded::Deferred || self.is_loaded(tool, exposed, groups, scope.loaded.as_deref()) {
            return None;
        }
        Some(Removal {
            rule: format!("its category \"{offered}\" is not loaded"),
            origin: self.origin.clone(),
            fix: format!(
                "a conversation calls {TOOL_CATALOG_LOAD} with {{\"category\": \"{offered}\"}}, or the configuration adds it to categories.pinned"
            ),
        })
    }
}

impl Book {
    /// That a category is not offered, and what would change that.
    pub(crate) fn not_offered(&self, id: &CategoryId) -> (String, String) {
        let fix = match (id, &self.offered) {
            (CategoryId::Connector(connector), _) => format!("add \"{connector}\" to categories.connectors"),
            (_, super::Offered::Except(_)) => format!("take what matches \"{id}\" out of categories.except"),
            _ => format!("add \"{id}\" to categories.only"),
        };
        (format!("its category \"{id}\" is not offered"), fix)
    }
}
