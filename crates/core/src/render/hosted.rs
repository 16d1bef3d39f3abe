//! Servers that the provider itself calls: entries of a request that name a remote MCP server, restricted to the tools
//! that a scope may see (standards reference §4.2, §4.3, §4.6).
//!
//! Such calls do not come through toolcrib: no rule about arguments, no approval of ours, no record. Hence never by
//! default, https only, always a list of the tools that are allowed, and no secret in it: whoever sends the request adds
//! the authorization.

use serde_json::{Map, Value, json};
use url::Url;

use super::Target;

/// A server that the provider calls.
#[derive(Clone, Debug)]
pub struct HostedServer<'a> {
    /// Its name here.
    pub name: &'a str,
    /// Where it is.
    pub url: &'a str,
    /// What it is for.
    pub description: Option<&'a str>,
    /// The tools that may be called, by the server's own names, in order.
    pub tools: Vec<&'a str>,
    /// Which of them need no approval; the others are asked about, or left out where the provider asks nobody.
    pub unasked: Vec<&'a str>,
    /// Whether the model gets them only by search.
    pub deferred: bool,
}

/// What goes into a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedEntry {
    /// The entry of `tools`.
    pub tool: Value,
    /// The entry of `mcp_servers`, where the provider wants one.
    pub server: Option<Value>,
    /// Tools that are left out because the provider would ask nobody.
    pub left_out: Vec<String>,
}

/// Why there is no such entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostedError {
    /// The target calls no servers, or cannot be held to a list of tools.
    #[error("{0} does not call servers itself, or takes no list of allowed tools; serve '{1}' through toolcrib")]
    NotOffered(Target, String),
    /// The address is none that a provider may be sent to.
    #[error("'{0}' is reached at {1}; a provider needs an https address without a user name or password")]
    Address(String, String),
    /// Nothing is left.
    #[error("no tool of '{0}' may be called without asking, and {1} asks nobody; serve it through toolcrib")]
    Nothing(String, Target),
}

/// The entry for a server.
pub fn hosted(target: Target, server: &HostedServer<'_>) -> Result<HostedEntry, HostedError> {
    if !matches!(target, Target::Anthropic | Target::OpenAiResponses | Target::Xai) {
        return Err(HostedError::NotOffered(target, server.name.to_owned()));
    }
    let url = Url::parse(server.url).ok().filter(|url| {
        url.scheme() == "https" && url.has_host() && url.username().is_empty() && url.password().is_none()
    });
    if url.is_none() {
        // The address may hold a secret, so only its host is told.
        let host = Url::parse(server.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let shown = host.unwrap_or_else(|| "an address that cannot be read".to_owned());
        return Err(HostedError::Address(server.name.to_owned(), shown));
    }
    let asks = target == Target::OpenAiResponses;
    let (unasked, asked): (Vec<&str>, Vec<&str>) =
        server.tools.iter().copied().partition(|tool| server.unasked.contains(tool));
    let allowed = if asks { server.tools.clone() } else { unasked.clone() };
    if allowed.is_empty() {
        return Err(HostedError::Nothing(server.name.to_owned(), target));
    }
    let left_out = if asks { Vec::new() } else { asked.iter().map(|tool| (*tool).to_owned()).collect() };
    Ok(if target == Target::Anthropic {
        let configs: Map<String, Value> =
            allowed.iter().map(|tool| ((*tool).to_owned(), json!({"enabled": true}))).collect();
        let mut default = json!({"enabled": false});
        if server.deferred {
            default["defer_loading"] = true.into();
        }
        HostedEntry {
            tool: json!({
                "type": "mcp_toolset", "mcp_server_name": server.name, "default_config": default, "configs": configs,
            }),
            server: Some(json!({"type": "url", "name": server.name, "url": server.url})),
            left_out,
        }
    } else {
        let label = super::tool::plain_name(server.name);
        let mut tool =
            json!({"type": "mcp", "server_label": label, "server_url": server.url, "allowed_tools": allowed});
        if let Some(description) = server.description {
            tool["server_description"] = description.into();
        }
        if asks {
            tool["require_approval"] = match (asked.is_empty(), unasked.is_empty()) {
                (true, _) => "never".into(),
                (_, true) => "always".into(),
                _ => json!({"always": {"tool_names": asked}, "never": {"tool_names": unasked}}),
            };
            if server.deferred {
                tool["defer_loading"] = true.into();
            }
        }
        HostedEntry { tool, server: None, left_out }
    })
}
