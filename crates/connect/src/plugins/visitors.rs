//! Who called a plugin of late: scopes that the host could not know before they came (a grant for one run, what a client can
//! do). As long as they come, what they see is kept running.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use toolcrib_core::Scope;

/// Most scopes that are remembered for one plugin; who came last counts.
const MOST: usize = 8;
/// After its last call a scope is remembered this long.
const REMEMBERED: Duration = Duration::from_mins(10);

/// Scopes with the time of their last call, the latest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Visitors {
    came: VecDeque<(Scope, Instant)>,
}

impl Visitors {
    /// A call of this scope.
    pub(super) fn note(&mut self, scope: &Scope) {
        let now = Instant::now();
        match self.came.iter().position(|(known, _)| known == scope) {
            // The usual case: the one who called last calls again.
            Some(at) if at + 1 == self.came.len() => self.came[at].1 = now,
            Some(at) => {
                if let Some((scope, _)) = self.came.remove(at) {
                    self.came.push_back((scope, now));
                }
            }
            None => {
                if self.came.len() >= MOST {
                    self.came.pop_front();
                }
                self.came.push_back((scope.clone(), now));
            }
        }
    }

    /// Who came lately.
    pub(super) fn scopes(&mut self) -> Vec<Scope> {
        self.came.retain(|(_, at)| at.elapsed() < REMEMBERED);
        self.came.iter().map(|(scope, _)| scope.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_last_is_remembered_once_each_and_not_too_many() {
        let scope = |user: usize| Scope { user: Some(user.to_string()), ..Scope::default() };
        let mut visitors = Visitors::default();
        for user in (0..20).chain([15, 15]) {
            visitors.note(&scope(user));
        }
        let users: Vec<String> = visitors.scopes().into_iter().filter_map(|scope| scope.user).collect();
        assert_eq!(users, ["12", "13", "14", "16", "17", "18", "19", "15"]);
    }

    #[test]
    fn who_has_not_come_for_long_is_forgotten() {
        let mut visitors = Visitors::default();
        visitors.note(&Scope::default());
        let long_ago = Instant::now().checked_sub(REMEMBERED);
        let Some(long_ago) = long_ago else { return };
        visitors.came[0].1 = long_ago;
        assert!(visitors.scopes().is_empty());
    }
}
