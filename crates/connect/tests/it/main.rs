//! The connect crate's tests from outside.
// Not marked as test code, so the allowances of clippy.toml do not reach it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod egress;
mod http_server;
