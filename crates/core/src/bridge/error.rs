//! What can be wrong with a call of a bridge tool, in words for the model: the cause and one next step.

use serde_json::{Value, json};

use super::{TOOL_DESCRIBE, TOOL_SEARCH};

/// A call of a bridge tool that cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeError {
    /// A search without a usable query.
    #[error("{TOOL_SEARCH} needs a query in words; call it again with {{\"queries\": [\"what you want to do\"]}}")]
    MissingQuery,
    /// The search itself failed.
    #[error("the search failed inside the gateway; if you know the tool's name, use {TOOL_DESCRIBE} with it")]
    Broken,
    /// A description without a tool's name.
    #[error("{TOOL_DESCRIBE} needs names of tools; take them from the listing or from {TOOL_SEARCH} and call it again")]
    MissingName,
    /// No such tool, or none that the caller may know of.
    #[error("there is no tool '{name}'{}", next_step(suggestions))]
    UnknownTool {
        /// The name asked for, shortened.
        name: String,
        /// Names that may have been meant, all of them in the caller's reach.
        suggestions: Vec<String>,
    },
}

fn next_step(suggestions: &[String]) -> String {
    match suggestions {
        [] => format!("; use {TOOL_SEARCH} to find the right name"),
        [only] => format!("; did you mean '{only}'? If so call it by exactly that name, else use {TOOL_SEARCH}"),
        many => {
            format!(
                "; did you mean one of '{}'? If so use exactly that name, else use {TOOL_SEARCH}",
                many.join("', '")
            )
        }
    }
}

impl BridgeError {
    /// An unknown tool; the name is cleaned and shortened, since it comes from outside.
    pub fn unknown_tool(name: &str, suggestions: Vec<String>) -> Self {
        Self::UnknownTool { name: crate::disclosure::clip(&crate::disclosure::clean(name), 128), suggestions }
    }

    /// The error's word, stable for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingQuery => "missing_query",
            Self::Broken => "internal",
            Self::MissingName => "missing_name",
            Self::UnknownTool { .. } => "unknown_tool",
        }
    }

    /// The error as a reply: code, message and, where there are any, suggestions.
    pub fn to_value(&self) -> Value {
        let mut value = json!({"error": self.code(), "message": self.to_string()});
        if let Self::UnknownTool { suggestions, .. } = self
            && !suggestions.is_empty()
        {
            value["suggestions"] = json!(suggestions);
        }
        value
    }
}
