//! The search tool of sets whose model loads tools by search: what it finds is then in the model's own list, so there is
//! neither `tool_describe` nor `tool_call`.

use serde_json::Value;

use super::definitions;
use crate::disclosure::{Form, Listing, Settings};

const SEARCH: &str = "Find and load tools by what you want to do. Most tools you have are NOT loaded yet; this loads them. \
     Always search before saying that you cannot do something or have no such tool, and before working around it. \
     Then call what was found by its own name.";

/// The definition of `tool_search` in MCP shape, with the listing at the end of its description.
pub fn loading_search(listing: &Listing, settings: &Settings) -> Value {
    let [mut search, ..] = definitions(listing, settings);
    let framing = match listing.form {
        Form::Full | Form::Names => " Every tool that can be loaded is listed below; search for its name to load it.",
        Form::Mixed | Form::Groups => {
            " Servers shown with only a number, and topics, have more tools than are named below."
        }
        Form::None => "",
    };
    let mut description = format!("{SEARCH}{framing}");
    if !listing.text.is_empty() {
        description.push_str("\n\n");
        description.push_str(listing.text.trim_end());
    }
    search["description"] = description.into();
    search
}
