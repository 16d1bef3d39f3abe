//! The engine with scripted backends: hub, views and the call path.

mod call_path;
mod hub;
mod script;
