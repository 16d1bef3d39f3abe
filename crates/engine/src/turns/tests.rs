use super::*;
use crate::{
    engine::Engine,
    hub::{Hub, HubLimits},
};

/// Calls of one caller, each at its time (ms) with so many thousand characters → which of them were cut.
#[track_caller]
fn check(session: Option<&str>, calls: &[(u64, usize)], want_cut: &[bool]) {
    let engine = Engine::builder(Hub::new(HubLimits::default())).build();
    let (turns, in_force) = (Turns::default(), engine.in_force());
    let identity = Identity { session: session.map(str::to_owned), ..Identity::default() };
    let cut: Vec<bool> = calls
        .iter()
        .map(|(at, thousands)| {
            turns.allow_at(&Scope::default(), &identity, &in_force, thousands * 1_000, 1_000_000 + at).is_some()
        })
        .collect();
    assert_eq!(cut, want_cut, "{session:?} {calls:?}");
}

#[test]
fn a_turn_shows_twice_what_a_result_may() {
    check(Some("a"), &[(0, 100), (500, 100), (900, 1)], &[false, false, true]);
    // A pause of a second begins a new turn.
    check(Some("a"), &[(0, 200), (999, 1), (1_999, 200)], &[false, true, false]);
}

/// Calls that come without a pause: the turn ends all the same.
#[test]
fn a_busy_callers_turn_ends_too() {
    let calls: Vec<(u64, usize)> = (0..=20).map(|at| (at * 600, 150)).collect();
    let want: Vec<bool> = (0..=20).map(|at| at % 17 != 0).collect();
    check(Some("a"), &calls, &want);
}

#[test]
fn callers_without_a_session_have_no_turns() {
    check(None, &[(0, 150), (0, 150), (1, 150)], &[false, false, false]);
}

#[test]
fn sessions_do_not_use_up_what_others_may_show() {
    let engine = Engine::builder(Hub::new(HubLimits::default())).build();
    let (turns, in_force) = (Turns::default(), engine.in_force());
    for session in ["a", "b", "c"] {
        let identity = Identity { session: Some(session.to_owned()), ..Identity::default() };
        assert_eq!(turns.allow_at(&Scope::default(), &identity, &in_force, 200_000, 5_000), None, "{session}");
    }
}
