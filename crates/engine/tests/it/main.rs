//! The engine with scripted backends: hub, views and the call path.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod admit;
mod approval;
mod authoring;
mod call_path;
mod categories;
mod faults;
mod hub;
mod intercept;
mod journal;
mod judged;
mod kept_index;
mod library;
mod manager;
mod path;
mod pending;
mod permission;
mod provider_turn;
mod scoped;
mod scopes;
mod script;
mod stats;
mod unloaded;
