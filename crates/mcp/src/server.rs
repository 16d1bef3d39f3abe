//! Serving MCP clients.
