//! The rule language and the maths of permissions; pure. The engine's policy chain is built on it.

mod risk;

pub use risk::{Assessment, Effect, Risk};
