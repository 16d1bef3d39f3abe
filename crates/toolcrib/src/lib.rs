//! toolcrib as a library: the crates it is made of, under one roof.
//!
#![doc = include_str!("../../../docs/rust-tools.md")]

pub use toolcrib_config as config;
pub use toolcrib_connect as connect;
pub use toolcrib_core as core;
pub use toolcrib_engine as engine;
pub use toolcrib_gateway as gateway;
pub use toolcrib_mcp as mcp;
pub use toolcrib_store as store;
