//! The source tree and the built command.
#![allow(clippy::unwrap_used, reason = "tests")]

mod command;
mod serve;
mod tidy;
