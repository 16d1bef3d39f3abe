//! The whole path of a call, door to record, as a specification: what holds once all parts are wired together. The parts
//! have their own tests beside this one. Numbers are cases of the references: O = oneringai, C = openclaw and openclaude,
//! F = faults of the reliability reference. Where a row says "ours", ours.

mod approvals;
mod background;
mod breakers;
mod cancelled;
mod context;
mod deadlines;
mod evidence;
mod hooks;
mod keys;
mod panics;
mod permissions;
mod results;
mod rig;
