//! What lowering takes away, with the place.

use std::collections::BTreeSet;

use super::{Action, dialect::Construct};

/// Losses of one tool, and where the walk stands.
#[derive(Default)]
pub(super) struct Report {
    /// The JSON Pointer of where the walk stands, and where in it each step begins.
    place: String,
    steps: Vec<usize>,
    losses: Vec<(String, Construct, Action)>,
    seen: BTreeSet<(String, Construct, Action)>,
}

impl Report {
    /// Goes one step down.
    pub(super) fn enter(&mut self, step: &str) {
        self.steps.push(self.place.len());
        self.place.push('/');
        for letter in step.chars() {
            match letter {
                '~' => self.place.push_str("~0"),
                '/' => self.place.push_str("~1"),
                letter => self.place.push(letter),
            }
        }
    }

    /// Goes one step up.
    pub(super) fn leave(&mut self) {
        self.place.truncate(self.steps.pop().unwrap_or_default());
    }

    /// Notes a loss at the current place.
    pub(super) fn loss(&mut self, construct: Construct, action: Action) {
        let loss = (self.place.clone(), construct, action);
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
