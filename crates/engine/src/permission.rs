//! Permissions: whether a call may run, must be asked about, or is refused.
//!
//! A [`Policy`] judges one call. [`PolicyChain`] asks them all in a fixed order and combines: any denial denies, whatever
//! else was said; then lists and rules count in their order; else an allowance allows; else a demand to ask asks; else
//! the trust level decides. Patterns, rules and their arithmetic are [`toolcrib_core::permission`]'s.

mod assess;
mod chain;
mod decision;
mod hosts;
mod lists;
mod own_door;
mod paths;
mod places;
mod plan;
mod policy;
mod rates;
mod real_path;
mod roles;
mod rules;
mod settings;
mod subject;
mod trust;

pub(crate) use real_path::{all_below, settled};

pub(crate) use assess::Standing;

pub use chain::PolicyChain;
pub use decision::Decision;
pub use hosts::{HostLists, HostPolicy};
pub use lists::PatternList;
pub use paths::PathPolicy;
pub use places::Places;
pub use plan::PlanMode;
pub use policy::{Evaluation, Policy, Question, Verdict};
pub use rates::{RateLimitPolicy, RateRule};
pub use roles::{RoleLists, RolePolicy};
pub use rules::UserRules;
pub use settings::PermissionSettings;
pub use subject::Surroundings;
