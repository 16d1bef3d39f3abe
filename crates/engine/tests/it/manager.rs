//! The tool manager. Case numbers are those of the reference on OneRingAI, §3.

mod cases;
mod concurrent;
mod keep;
mod labels;
mod listing;
mod running;
mod state;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use tokio::sync::broadcast::{Receiver, error::TryRecvError};
use toolcrib_core::{Source, SourceState, ToolId};
use toolcrib_engine::{
    Hub, HubLimits, Publisher, SourceOptions,
    manager::{Event, Manager, OnConflict, Registration},
};

use crate::script::Script;

/// The source that tools are registered under.
fn own() -> Source {
    Source::Custom("own".into())
}

fn id(name: &str) -> ToolId {
    if name.contains('/') { name.parse().unwrap() } else { ToolId::new(own(), name) }
}

/// A tool that does nothing but have a name.
fn plain(name: &str) -> Registration {
    let definition = json!({"name": name, "description": format!("Does {name}.")});
    Registration::new(own(), definition, Arc::new(Script::default()))
}

fn manager() -> Manager {
    Manager::new(Hub::new(HubLimits::default()))
}

/// A manager with these tools.
fn with(registrations: impl IntoIterator<Item = Registration>) -> Manager {
    let manager = manager();
    for registration in registrations {
        manager.insert(registration, OnConflict::Error).unwrap();
    }
    manager
}

/// A server beside it, with these tools.
fn server(manager: &Manager, names: &[&str]) -> Publisher {
    let publisher =
        manager.hub().register(Source::Mcp("s".into()), SourceOptions::default(), Arc::new(Script::default()));
    let tools = names.iter().map(|name| json!({"name": name, "description": format!("Serves {name}.")}));
    publisher.tools(SourceState::Ready, tools.collect(), None, false);
    publisher
}

/// Names in the order of a query for everything that is switched on.
fn names(manager: &Manager) -> Vec<String> {
    let found = manager.query(&toolcrib_engine::manager::Filter::enabled()).unwrap();
    found.iter().map(|entry| entry.tool.name().to_owned()).collect()
}

/// Everything that was told up to now.
fn told(events: &mut Receiver<Event>) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        match events.try_recv() {
            Ok(event) => all.push(event),
            Err(TryRecvError::Empty) => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What events say of which tools there are and which of them are switched on.
fn follow(model: &mut BTreeMap<ToolId, bool>, event: Event) {
    match event {
        Event::Registered { id, enabled, .. } => assert_eq!(model.insert(id, enabled), None, "registered twice"),
        Event::Replaced { id, enabled, .. } => assert!(model.insert(id, enabled).is_some(), "replaced before it was"),
        Event::Unregistered { id } => assert!(model.remove(&id).is_some(), "taken back before it was"),
        Event::Cleared { removed } => {
            assert_eq!(model.len(), removed);
            model.clear();
        }
        Event::Enabled { id } => assert_eq!(model.insert(id, true), Some(false), "switched on twice"),
        Event::Disabled { id } => assert_eq!(model.insert(id, false), Some(true), "switched off twice"),
        _ => {}
    }
}
