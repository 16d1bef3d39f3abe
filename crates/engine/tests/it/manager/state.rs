//! Saving a state and putting it in force again.

use serde_json::{from_value, to_value};
use toolcrib_core::{
    permission::Action,
    shortlist::{Condition, Test},
};
use toolcrib_engine::manager::{Adjustment, ManagerError, STATE_VERSION, State};

use super::*;

#[test]
fn a_state_brings_the_switches_back() {
    // Case 15.
    let first = with([plain("a"), plain("b").disabled(), plain("c")]);
    server(&first, &["t"]);
    first.set_enabled(&id("c"), false).unwrap();
    first.set_enabled(&id("mcp:s/t"), false).unwrap();
    let saved = to_value(first.state().unwrap()).unwrap();
    let second = with(["a", "b", "c"].map(plain));
    server(&second, &["t"]);
    let report = second.apply(&from_value(saved.clone()).unwrap()).unwrap();
    assert_eq!(report.applied.len(), 3);
    assert_eq!((report.unchanged, report.unknown.len(), report.refused.len()), (1, 0, 0));
    for name in ["a", "b", "c", "mcp:s/t"] {
        assert_eq!(first.is_enabled(&id(name)), second.is_enabled(&id(name)), "{name}");
    }
    // What it says is in force already.
    let again = second.apply(&from_value(saved).unwrap()).unwrap();
    assert_eq!((again.applied.len(), again.unchanged), (0, 4));
}

#[test]
fn tools_that_are_not_there_are_told_and_found_so_when_they_come() {
    // Case 16, and more: a server that starts late comes up as it was left.
    let manager = manager();
    let state: State =
        from_value(json!({"version": 1, "tools": {"mcp:s/t": {"enabled": false}, "custom:own/x": {"priority": 4}}}))
            .unwrap();
    let report = manager.apply(&state).unwrap();
    assert_eq!(report.unknown.len(), 2);
    server(&manager, &["t"]);
    assert_eq!(manager.is_enabled(&id("mcp:s/t")), Some(false));
    manager.insert(plain("x"), OnConflict::Error).unwrap();
    assert_eq!(manager.labels(&id("x")).unwrap().priority, 4);
}

#[test]
fn an_old_state_without_newer_fields_loads() {
    // Case 17.
    let manager = with([plain("a").tags(["t"]).category("c")]);
    let state: State =
        from_value(json!({"tools": {"custom:own/a": {"priority": 9, "written_by_a_later_version": 1}}})).unwrap();
    assert_eq!(manager.apply(&state).unwrap().applied, [id("a")]);
    let labels = manager.labels(&id("a")).unwrap();
    assert_eq!(
        (labels.priority, labels.enabled, labels.tags.len(), labels.category.as_deref()),
        (9, true, 1, Some("c"))
    );
    assert_eq!(from_value::<State>(json!({})).unwrap(), State::default());
    // A whole other version is not guessed at.
    let newer = State { version: STATE_VERSION + 1, ..State::default() };
    assert_eq!(manager.apply(&newer), Err(ManagerError::NewerState(STATE_VERSION + 1, STATE_VERSION)));
}

#[test]
fn what_was_never_said_is_not_written() {
    // Case 18.
    let manager = with([plain("a")]);
    server(&manager, &["t"]);
    let state = to_value(manager.state().unwrap()).unwrap();
    assert_eq!(
        state,
        json!({"version": 1, "tools": {"custom:own/a": {"enabled": true, "namespace": "default", "priority": 0}}})
    );
}

#[test]
fn a_state_says_what_it_says_and_no_more() {
    let manager = with([plain("a"), plain("b")]);
    manager.set_enabled(&id("b"), false).unwrap();
    let state = State {
        version: 1,
        tools: BTreeMap::from([(id("a"), Adjustment { priority: Some(1), ..Adjustment::default() })]),
    };
    manager.apply(&state).unwrap();
    assert_eq!(manager.is_enabled(&id("b")), Some(false), "not in it, not touched");
}

#[test]
fn one_bad_line_costs_only_itself() {
    let manager = with([plain("a"), plain("b")]);
    let bad = Adjustment { namespace: Some("\n".into()), ..Adjustment::default() };
    let good = Adjustment { permission: Some(Action::Ask), ..Adjustment::default() };
    let report =
        manager.apply(&State { version: 1, tools: BTreeMap::from([(id("a"), bad), (id("b"), good)]) }).unwrap();
    assert_eq!((report.applied, report.refused.len()), (vec![id("b")], 1));
}

#[test]
fn a_program_s_own_tests_stay_where_they_are() {
    let test: Test = Arc::new(|_| Ok(false));
    let guarded = || plain("a").when(Condition::Test { name: "t".into(), test: test.clone() });
    let first = with([guarded().when(Condition::Mode(vec!["m".into()]))]);
    let second = with([guarded().when(Condition::Mode(vec!["m".into()]))]);
    second.apply(&first.state().unwrap()).unwrap();
    assert_eq!(second.labels(&id("a")).unwrap().conditions.len(), 2, "half of the conditions would be looser");
}
