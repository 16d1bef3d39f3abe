//! Plugins as the engine sees them: a host, its folders, and calls through the whole path.

mod cases;
mod config;
mod lines;
mod reload;
mod rig;
mod seen;
