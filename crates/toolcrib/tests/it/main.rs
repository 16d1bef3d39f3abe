//! The source tree and the built command.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod command;
mod serve;
mod tidy;
