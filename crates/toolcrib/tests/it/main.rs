//! The source tree and the built command.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod api;
mod command;
mod damage;
#[cfg(all(feature = "encoder-http", feature = "encoder-static"))]
mod encoder;
mod http;
mod kept;
mod labels;
mod matrix;
mod pages;
mod parked;
mod path_rules;
mod plugins;
mod policy;
mod scene;
mod seed_members;
mod serve;
mod tidy;
mod tutorial;
mod upstream;
mod usage;
