//! JSON-RPC messages and bounded line framing.
