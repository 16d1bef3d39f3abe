//! Permissions: whether a call may run, must be asked about, or is refused.
//!
//! A [`Policy`] judges one call. [`PolicyChain`] asks them all in a fixed order and combines: any denial denies, whatever
//! else was said; else an allowance allows; else a demand to ask asks; else the trust level decides.

mod policy;

pub use policy::{Evaluation, Policy, Question, Verdict};
