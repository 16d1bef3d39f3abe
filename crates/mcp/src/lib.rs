//! toolcrib-mcp
