//! The store crate's tests from outside.
// Not marked as test code, so the allowances of clippy.toml do not reach it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod calls;
mod conformance;
mod damage;
mod golden;
mod kill;
mod kill_calls;
mod samples;
mod sqlite;
mod suite;
