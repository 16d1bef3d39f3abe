//! The definitions of the three bridge tools. Their texts are what makes a model search before it gives up, so each
//! sentence tells it one thing to do; the framing goes before the listing because some clients cut long descriptions.

use serde_json::{Value, json};

use super::{TOOL_CALL, TOOL_DESCRIBE, TOOL_SEARCH};
use crate::disclosure::{Form, Listing, Settings};

const SEARCH: &str = "Find tools by what you want to do. Most tools you have are NOT in your tools list; this finds them. \
     Always search before saying that you cannot do something or have no such tool, and before working around it.";

/// How to go on, by what the model can see (hermes §1.6).
fn framing(form: Form) -> &'static str {
    match form {
        Form::Full | Form::Names => {
            "Every tool is listed below. If you see the one you need, skip the search and run it with tool_call."
        }
        Form::Mixed => {
            "Tools listed below by name need no search: run them with tool_call. \
             Servers shown with only a number have more tools: search for those."
        }
        Form::Groups => {
            "Below are only servers and topics. You must search to get the tools; \
             never say that a service is unavailable without a search."
        }
        Form::None => "No tool names are shown here. You must search to learn what there is.",
    }
}

/// The definitions of `tool_search`, `tool_describe` and `tool_call` in MCP shape, in this order. The listing stands at
/// the end of the first one's description.
pub fn definitions(listing: &Listing, settings: &Settings) -> [Value; 3] {
    let mut description = format!("{SEARCH} {}", framing(listing.form));
    if !listing.text.is_empty() {
        description.push_str("\n\n");
        description.push_str(listing.text.trim_end());
    }
    [
        json!({
            "name": TOOL_SEARCH,
            "title": "Find tools",
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": {
                    "queries": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "maxItems": 7,
                        "description": "One short phrase per task, e.g. [\"create github issue\", \"send email\"]. \
                            \"select:A,B\" picks tools by name; \"+word\" must match.",
                    },
                    "query": {"type": "string", "description": "Instead of queries: a single phrase."},
                    "server": {"type": "string", "description": "The server to search, or words about it."},
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": settings.max_search_limit,
                        "description": format!("Results per query (default {}).", settings.search_default_limit),
                    },
                    "readonly": {"type": "boolean", "description": "Only tools that change nothing."},
                    "cursor": {"type": "string", "description": "next_cursor of the last answer, for more."},
                },
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        }),
        json!({
            "name": TOOL_DESCRIBE,
            "title": "Show tools",
            "description": "Show the full parameters of tools by exact name. Use it before tool_call when unsure of the arguments.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "names": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "maxItems": 10,
                        "description": "Exact names from tool_search or its list.",
                    },
                },
                "required": ["names"],
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        }),
        json!({
            "name": TOOL_CALL,
            "title": "Run a tool",
            "description": "Run any tool found by tool_search or listed there, e.g. {\"name\": \"some_tool\", \"arguments\": {\"id\": 1}}. \
                If the arguments do not fit, the answer holds the schema: correct them and call again.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Exact tool name."},
                    "arguments": {
                        "type": "object",
                        "description": "The tool's own arguments.",
                        "properties": {},
                        // Without this, grammar-constrained backends can only write {} (hermes §6 case 18).
                        "additionalProperties": true,
                    },
                },
                "required": ["name", "arguments"],
            },
            "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true},
        }),
    ]
}
