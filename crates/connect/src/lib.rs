//! What toolcrib reaches the world with: its built-in tools ([`builtin`]), the stores that come along for the store tools
//! ([`stores`]), and the guard in front of every outgoing request ([`net`]).
//!
//! Never knows: MCP, SQL, configuration files. Everything is given as plain settings.

pub mod builtin;
pub mod net;
pub mod stores;
