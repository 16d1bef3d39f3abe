//! Interceptors: code of whoever embeds the engine that runs around a call.
//!
//! Every interceptor belongs to one typed [`Stage`], which says what it may do; within a stage a lower priority comes
//! first, ties by registration (oneringai §2.2, case 27).
//!
//! * Before the tool: guards, transforms, observers. Guards cannot be skipped, reordered or recovered from.
//! * After it: transforms, normalisers, observers, within each stage in exactly the reverse order. Observers come last,
//!   so that they see what the caller gets; normalisers are outside of all transforms.
//! * On a failure: observers are told, then transforms and normalisers may recover or reword it, in ascending order; the
//!   first that does wins (case 29).
//!
//! [`Interceptors`] is the registry. A call takes a [`Pipeline`] from it, once, and keeps it to its end, whatever is
//! attached or detached meanwhile. A hook that runs without ever waiting cannot be interrupted; time limits only reach
//! hooks that wait.

mod builtin;
mod guarded;
mod hook;
mod intercepted;
mod pipeline;
mod registry;

pub use builtin::{Logging, ResultNormaliser};
pub use hook::{After, Before, Failure, HookError, Interceptor, OnError, Stage};
pub use intercepted::{Intercepted, Metadata};
pub use pipeline::{Denied, HookFailure, Pipeline, Recovery, Transformed};
pub use registry::{Attached, Interceptors};
