"""End-to-end tests of the toolcrib binary with real MCP servers and the official clients."""
