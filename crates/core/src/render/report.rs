//! What lowering takes away, with the place.

use std::collections::BTreeSet;

use super::{Action, dialect::Construct};

/// Losses of one tool, and where the walk stands.
#[derive(Default)]
pub(super) struct Report {
    place: Vec<String>,
    losses: Vec<(String, Construct, Action)>,
    seen: BTreeSet<(String, Construct, Action)>,
}

impl Report {
    /// Goes one step down.
    pub(super) fn enter(&mut self, step: &str) {
        self.place.push(step.replace('~', "~0").replace('/', "~1"));
    }

    /// Goes one step up.
    pub(super) fn leave(&mut self) {
        self.place.pop();
    }

    /// Notes a loss at the current place.
    pub(super) fn loss(&mut self, construct: Construct, action: Action) {
        let place: String = self.place.iter().flat_map(|step| ["/", step]).collect();
        let loss = (place, construct, action);
        if self.seen.insert(loss.clone()) {
            self.losses.push(loss);
        }
    }

    /// Notes a loss one step below the current place.
    pub(super) fn loss_at(&mut self, step: &str, construct: Construct, action: Action) {
        self.enter(step);
        self.loss(construct, action);
        self.leave();
    }

    /// The losses, in the order found.
    pub(super) fn into_losses(self) -> Vec<(String, Construct, Action)> {
        self.losses
    }
}
