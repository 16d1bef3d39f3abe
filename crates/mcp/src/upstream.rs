//! Talking to MCP servers.
