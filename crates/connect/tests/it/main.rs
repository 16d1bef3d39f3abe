//! The connect crate's tests from outside.
// Not marked as test code, so the allowances of clippy.toml do not reach it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod commands;
mod definitions;
mod egress;
#[cfg(all(feature = "encoder-http", feature = "encoder-static"))]
mod encoders;
mod fetch;
mod files;
mod http_server;
mod key_values;
mod killed;
mod plugins;
mod stores;
mod tools;
