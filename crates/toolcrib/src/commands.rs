//! The commands, one file each. A command returns the exit code or an error that names what is wrong.

pub(crate) mod approvals;
pub(crate) mod assemble;
pub(crate) mod audit;
pub(crate) mod call;
mod damage;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod import;
pub(crate) mod learned;
pub(crate) mod lint;
pub(crate) mod plugins;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tools;
