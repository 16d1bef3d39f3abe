//! The engine with scripted backends: hub, views and the call path.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod call_path;
mod faults;
mod hub;
mod journal;
mod intercept;
mod pending;
mod script;
