//! What a conversation has loaded, to be kept and taken up again.

use serde::{Deserialize, Serialize};
use toolcrib_core::{ToolId, categories::CategoryId};

use super::{Categories, Item, LoadError};

/// The version of [`LoadState`] that is written.
pub const VERSION: u32 = 1;

/// What a conversation has loaded. Pins are not part of it: they are the configuration's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadState {
    /// The form of what follows.
    pub version: u32,
    /// Ids of categories, in the order in which they were loaded.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Identities of tools that were loaded by themselves.
    #[serde(default)]
    pub tools: Vec<String>,
}

/// What of a state applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RestoreReport {
    /// What was loaded.
    pub loaded: Vec<String>,
    /// What was loaded already.
    pub already: Vec<String>,
    /// What was not loaded, and why.
    pub skipped: Vec<Skipped>,
}

/// An entry of a state that did not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The entry.
    pub entry: String,
    /// Why.
    pub why: String,
}

impl Categories<'_> {
    /// What the conversation has loaded.
    pub fn state(&self) -> LoadState {
        let mut state = LoadState { version: VERSION, categories: Vec::new(), tools: Vec::new() };
        let Ok(book) = self.book() else { return state };
        for item in self.engine.loads().items(&self.conversation(), &book) {
            match item {
                Item::Category(id) if book.is_pinned(&id) => {}
                Item::Category(id) => state.categories.push(id.to_string()),
                Item::Tool(id) => state.tools.push(id.to_string()),
            }
        }
        state
    }

    /// Loads what a state names, as far as that can be done; unloads nothing (oneringai §2.5). A state of a version that is not
    /// known loads nothing.
    pub fn restore(&self, state: &LoadState) -> RestoreReport {
        let mut report = RestoreReport::default();
        if state.version != VERSION {
            let why = format!("version {} is not known; this is version {VERSION}", state.version);
            report.skipped.push(Skipped { entry: "the whole state".to_owned(), why });
            return report;
        }
        let categories = state.categories.iter().map(|text| {
            let loaded = text.parse::<CategoryId>().map_err(|bad| bad.to_string());
            (text, loaded.and_then(|id| self.load(&id).map_err(|error| error.to_string())))
        });
        let tools = state.tools.iter().map(|text| {
            let id = text.parse::<ToolId>().map_err(|bad| bad.to_string());
            (text, id.and_then(|id| self.load_tool(&id.to_string()).map_err(|error: LoadError| error.to_string())))
        });
        for (entry, loaded) in categories.chain(tools) {
            match loaded {
                Ok(now) if now.already => report.already.push(entry.clone()),
                Ok(_) => report.loaded.push(entry.clone()),
                Err(why) => report.skipped.push(Skipped { entry: entry.clone(), why }),
            }
        }
        report
    }
}
