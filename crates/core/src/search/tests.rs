//! What holds for every ranker.

pub(super) mod golden;
