//! From a name to a tool.

use toolcrib_core::ToolId;

use super::{Manager, ManagerError};

impl Manager {
    /// The tool with this identity (`custom:shop/order`) or, if there is one, with this name of its source's.
    ///
    /// # Errors
    /// If there is none, or if several sources have a tool of the name.
    pub fn find(&self, name: &str) -> Result<ToolId, ManagerError> {
        if let Ok(id) = name.parse::<ToolId>()
            && self.contains(&id)
        {
            return Ok(id);
        }
        let catalog = self.catalog()?;
        let named = catalog.tools().filter(|tool| tool.name() == name);
        let mut ids: Vec<ToolId> = named.map(|tool| tool.id().clone()).collect();
        match ids.len() {
            0 => Err(ManagerError::NotFound(name.chars().take(200).collect())),
            1 => Ok(ids.remove(0)),
            _ => Err(ManagerError::Ambiguous { name: name.to_owned(), ids }),
        }
    }
}
