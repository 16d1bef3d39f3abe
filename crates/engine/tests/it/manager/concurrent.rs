//! Many at a time: nothing is lost, nothing is there twice, and events tell exactly what there is.

use std::{collections::BTreeSet, thread};

use proptest::prelude::*;
use toolcrib_engine::manager::{Event, Filter, State};

use super::*;

const THREADS: usize = 4;

/// One step of somebody who uses the manager.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, bool),
    Replace(u8),
    Remove(u8),
    Toggle(u8),
    Switch(u8, bool),
    Priority(u8, i32),
    Namespace(u8, u8),
    SwitchNamespace(u8, bool),
    Extend(Vec<u8>),
    Clear,
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..12_u8;
    prop_oneof![
        6 => (name.clone(), any::<bool>()).prop_map(|(name, on)| Step::Insert(name, on)),
        3 => name.clone().prop_map(Step::Replace),
        4 => name.clone().prop_map(Step::Remove),
        4 => name.clone().prop_map(Step::Toggle),
        4 => (name.clone(), any::<bool>()).prop_map(|(name, on)| Step::Switch(name, on)),
        2 => (name.clone(), -3..3).prop_map(|(name, priority)| Step::Priority(name, priority)),
        2 => (name.clone(), 0..3_u8).prop_map(|(name, space)| Step::Namespace(name, space)),
        2 => (0..3_u8, any::<bool>()).prop_map(|(space, on)| Step::SwitchNamespace(space, on)),
        2 => prop::collection::vec(name, 1..4).prop_map(Step::Extend),
        1 => Just(Step::Clear),
        3 => Just(Step::Look),
    ]
}

fn named(name: u8) -> ToolId {
    id(&format!("t{name}"))
}

fn take(manager: &Manager, step: &Step) {
    let new = |name: u8| plain(&format!("t{name}"));
    let space = |space: u8| format!("n{space}");
    // What is refused changes nothing, which the events will show.
    match step {
        Step::Insert(name, true) => drop(manager.insert(new(*name), OnConflict::Error)),
        Step::Insert(name, false) => drop(manager.insert(new(*name).disabled(), OnConflict::Error)),
        Step::Replace(name) => {
            let mut other = new(*name);
            other.definition["description"] = "another".into();
            drop(manager.insert(other, OnConflict::Replace));
        }
        Step::Remove(name) => drop(manager.remove(&named(*name))),
        Step::Toggle(name) => drop(manager.toggle(&named(*name))),
        Step::Switch(name, on) => drop(manager.set_enabled(&named(*name), *on)),
        Step::Priority(name, priority) => {
            drop(manager.update(&named(*name), |said| said.priority = Some(*priority)));
        }
        Step::Namespace(name, to) => {
            drop(manager.update(&named(*name), |said| said.namespace = Some(space(*to))));
        }
        Step::SwitchNamespace(of, on) => drop(manager.namespace(&space(*of)).set_enabled(*on)),
        Step::Extend(names) => drop(manager.extend(names.iter().map(|name| new(*name)), OnConflict::Error)),
        Step::Clear => drop(manager.clear()),
        Step::Look => drop(manager.query(&Filter::default())),
    }
}

/// What a catalog says there is and what of it is switched on.
fn there(manager: &Manager) -> BTreeMap<ToolId, bool> {
    let entries = manager.entries().unwrap();
    let there: BTreeMap<ToolId, bool> =
        entries.iter().map(|entry| (entry.id().clone(), entry.labels().enabled)).collect();
    assert_eq!(there.len(), entries.len(), "a tool is there twice");
    there
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn events_tell_exactly_what_there_is(steps in prop::collection::vec(step(), 1..60)) {
        let manager = manager();
        let mut events = manager.subscribe();
        let mut model = BTreeMap::new();
        for step in &steps {
            take(&manager, step);
            for event in told(&mut events) {
                follow(&mut model, event);
            }
            prop_assert_eq!(&model, &there(&manager), "after {:?}", step);
        }
    }

    #[test]
    fn the_same_from_several_threads_at_once(
        all in prop::collection::vec(prop::collection::vec(step(), 1..40), THREADS..=THREADS)
    ) {
        let manager = manager();
        let mut events = manager.subscribe();
        thread::scope(|scope| {
            for steps in &all {
                let manager = &manager;
                scope.spawn(move || steps.iter().for_each(|step| take(manager, step)));
            }
        });
        let mut model = BTreeMap::new();
        for event in told(&mut events) {
            follow(&mut model, event);
        }
        prop_assert_eq!(model, there(&manager));
    }

    #[test]
    fn a_state_survives_being_written_down(steps in prop::collection::vec(step(), 1..60)) {
        let first = manager();
        for step in &steps {
            take(&first, step);
        }
        let saved = serde_json::to_string(&first.state().unwrap()).unwrap();
        let state: State = serde_json::from_str(&saved).unwrap();
        // The same tools without anything said of them.
        let second = manager();
        for entry in first.entries().unwrap().iter() {
            second.insert(plain(entry.tool.name()), OnConflict::Error).unwrap();
        }
        second.apply(&state).unwrap();
        for entry in first.entries().unwrap().iter() {
            let labels = second.labels(entry.id()).unwrap();
            let (a, b) = (entry.labels(), &*labels);
            prop_assert_eq!((a.enabled, a.namespace(), a.priority), (b.enabled, b.namespace(), b.priority));
        }
        prop_assert_eq!(second.state().unwrap().tools.into_keys().collect::<BTreeSet<_>>(),
            state.tools.into_keys().collect::<BTreeSet<_>>());
    }
}

#[test]
fn nothing_registered_at_the_same_time_is_lost() {
    let manager = manager();
    let each = 250;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let manager = &manager;
            scope.spawn(move || {
                for number in 0..each {
                    manager.insert(plain(&format!("t{thread}_{number}")), OnConflict::Error).unwrap();
                    // Whoever has registered something finds it at once.
                    if number % 25 == 0 {
                        assert!(manager.get(&id(&format!("t{thread}_{number}"))).is_some());
                    }
                }
            });
        }
    });
    assert_eq!(there(&manager).len(), THREADS * each);
}

#[test]
fn a_group_is_seen_whole_or_not_at_all() {
    let manager = manager();
    let groups = 60;
    thread::scope(|scope| {
        scope.spawn(|| {
            for group in 0..groups {
                // Of several sources, too.
                let one = |source: &str| Registration {
                    source: Source::Custom(source.into()),
                    ..plain(&format!("g{group}"))
                };
                manager.extend(["a", "b", "c"].map(one), OnConflict::Error).unwrap();
            }
        });
        scope.spawn(|| {
            while manager.hub().catalog().len() < 3 * groups {
                assert_eq!(manager.hub().catalog().len() % 3, 0);
            }
        });
    });
}

#[test]
fn every_toggle_counts() {
    let manager = with([plain("a")]);
    let mut events = manager.subscribe();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..51).for_each(|_| assert!(manager.toggle(&id("a")).unwrap().is_some())));
        }
    });
    // 204 toggles, each in turn: on again.
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        match event {
            Event::Enabled { .. } => told.push(true),
            Event::Disabled { .. } => told.push(false),
            _ => {}
        }
    }
    assert_eq!(told.len(), 51 * THREADS);
    assert!(told.iter().enumerate().all(|(nth, enabled)| *enabled == (nth % 2 == 1)));
    assert_eq!(manager.is_enabled(&id("a")), Some(true));
}
