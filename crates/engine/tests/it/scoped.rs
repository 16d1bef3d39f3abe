//! Sources that make their tools for whoever asks, several at a time and with something said of their tools.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::json;
use toolcrib_core::{Labels, Scope, Source, ToolId};
use toolcrib_engine::{
    Engine, EngineSettings, FactoryLimits, Hub, HubLimits, Outcome, ScopedPublisher, SourceOptions, Trust,
    authoring::{About, FactoryError, NoArguments, Toolbox, tool_fn},
    manager::Manager,
};

use crate::library::{call, text};

fn source(name: &str) -> Source {
    Source::Custom(name.into())
}

fn scope(user: &str) -> Scope {
    Scope { user: Some(user.into()), ..Scope::default() }
}

fn engine(hub: &Hub) -> Engine {
    let mut settings = EngineSettings::default();
    settings.permissions.trust = Trust::All;
    Engine::new(hub.clone(), settings, None, vec![])
}

fn hub(factories: FactoryLimits) -> Hub {
    Hub::new(HubLimits { factories, ..HubLimits::default() })
}

/// A toolbox with one tool of each name.
fn toolbox(names: &[&str]) -> Result<Toolbox, FactoryError> {
    let tools = names.iter().map(|name| {
        let about = About::new((*name).to_owned(), "One of many.").reads();
        toolcrib_engine::authoring::erase(tool_fn(about, |_: NoArguments, _| async { Ok("done") }))
    });
    Ok(Toolbox::builder().extend(tools).build()?)
}

fn names(engine: &Engine, scope: &Scope) -> Vec<String> {
    engine.view(scope).unwrap().set.names().map(str::to_owned).collect()
}

#[tokio::test]
async fn factories_are_waited_for_together() {
    // Each ends when all have begun: waited for one after the other, the first would never end.
    let hub = hub(FactoryLimits { patience: Duration::from_secs(10), ..FactoryLimits::default() });
    let together = Arc::new(Barrier::new(3));
    let publishers: Vec<ScopedPublisher> = ["a", "b", "c"]
        .into_iter()
        .map(|name| {
            let together = together.clone();
            let factory = move |_: &Scope| {
                together.wait();
                toolbox(&["one"])
            };
            hub.register_scoped(source(name), SourceOptions::default(), Arc::new(factory))
        })
        .collect();
    assert_eq!(names(&engine(&hub), &scope("ann")), ["a__one", "b__one", "c__one"]);
    assert_eq!(publishers.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_waits_for_makes_no_room_for_others() {
    let hub = hub(FactoryLimits { patience: Duration::from_secs(20), remembered: 1, ..FactoryLimits::default() });
    let (begun, begins) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let (begun, gate) = (Mutex::new(begun), Mutex::new(gate));
    let factory = move |scope: &Scope| {
        if scope.user.as_deref() == Some("slow") {
            begun.lock().send(()).unwrap();
            gate.lock().recv().unwrap();
        }
        toolbox(&["one"])
    };
    let _publisher = hub.register_scoped(source("me"), SourceOptions::default(), Arc::new(factory));
    let engine = engine(&hub);
    let asking = engine.clone();
    let slow = tokio::task::spawn_blocking(move || names(&asking, &scope("slow")));
    tokio::task::spawn_blocking(move || begins.recv().unwrap()).await.unwrap();
    // More than are remembered come and go meanwhile.
    for user in ["ann", "bob"] {
        assert_eq!(names(&engine, &scope(user)), ["me__one"]);
    }
    open.send(()).unwrap();
    assert_eq!(slow.await.unwrap(), ["me__one"]);
}

#[tokio::test]
async fn what_is_said_of_tools_reaches_what_was_made_and_what_is_made_later() {
    let hub = hub(FactoryLimits { patience: Duration::from_secs(20), ..FactoryLimits::default() });
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let factory = move |_: &Scope| {
        counted.fetch_add(1, Ordering::SeqCst);
        toolbox(&["one", "two"])
    };
    let _publisher = hub.register_scoped(source("me"), SourceOptions::default(), Arc::new(factory));
    let engine = engine(&hub);
    let manager = Manager::new(hub.clone());
    let one = ToolId::new(source("me"), "one");
    let (ann, bob) = (scope("ann"), scope("bob"));
    assert_eq!(names(&engine, &ann), ["me__one", "me__two"]);
    // Switched off by hand: for who had it, and for who comes later.
    assert!(manager.set_enabled(&one, false).unwrap());
    for who in [&ann, &bob] {
        assert_eq!(names(&engine, who), ["me__two"]);
        let report = call(&engine, who, "me__one", json!({})).await;
        assert_eq!(report.outcome, Outcome::Invalid, "{}", text(&report));
        assert_eq!(call(&engine, who, "me__two", json!({})).await.outcome, Outcome::Ok);
    }
    assert!(manager.set_enabled(&one, true).unwrap());
    for who in [&ann, &bob] {
        assert_eq!(names(&engine, who), ["me__one", "me__two"]);
        assert_eq!(call(&engine, who, "me__one", json!({})).await.outcome, Outcome::Ok);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "nobody's tools had to be made anew for that");
    // Labels of the configuration, with what was said by hand over them.
    assert!(manager.set_enabled(&one, false).unwrap());
    let tagged = Arc::new(Labels { category: Some("letters".into()), ..Labels::default() });
    hub.reconfigure(&source("me"), SourceOptions { labels: tagged, ..SourceOptions::default() });
    for who in [&ann, &bob, &scope("eve")] {
        assert_eq!(names(&engine, who), ["me__two"]);
        let catalog = hub.catalog_for(who);
        let two = catalog.get(&ToolId::new(source("me"), "two")).unwrap();
        assert_eq!(two.labels().category.as_deref(), Some("letters"));
    }
}
