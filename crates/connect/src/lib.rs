//! What toolcrib reaches the world with: its built-in tools ([`builtin`]), plugins ([`plugins`]), the stores that come
//! along for the store tools ([`stores`]), and the guard in front of every outgoing request ([`net`]).
//!
//! Never knows: MCP, SQL, configuration files. Everything is given as plain settings.

pub mod builtin;
#[cfg(any(feature = "encoder-static", feature = "encoder-http"))]
pub mod encoders;
mod leash;
pub mod net;
pub mod plugins;
pub mod stores;
