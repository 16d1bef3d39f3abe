//! Tests of the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod server;
mod upstream;
mod upstream_faults;
mod upstream_http;
mod upstream_life;
mod upstream_web;
