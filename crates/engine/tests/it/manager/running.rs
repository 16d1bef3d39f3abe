//! Calls of registered tools, and the end of a manager.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::value::RawValue;
use toolcrib_core::{Scope, ToolResult};
use toolcrib_engine::{
    CallContext, CallReport, CallRequest, Door, Engine, EngineSettings, Invocation, InvokeError, Outcome,
    manager::{Filter, ManagerError},
};

use super::*;

fn scripted(name: &str, script: &Arc<Script>) -> Registration {
    Registration::new(own(), json!({"name": name}), script.clone())
}

async fn call(engine: &Engine, name: &str) -> CallReport {
    let arguments = RawValue::from_string("{}".into()).unwrap();
    engine.call_report(CallRequest::new(name, Some(arguments), Scope::default(), Door::Library)).await
}

fn trusting() -> EngineSettings {
    let mut settings = EngineSettings::default();
    settings.permissions.trust = toolcrib_engine::Trust::All;
    settings
}

#[tokio::test]
async fn a_registered_tool_is_called_like_any_other() {
    let script = Arc::new(Script::default());
    let manager = with([scripted("hello", &script)]);
    let engine = Engine::new(manager.hub().clone(), trusting(), None, vec![]);
    assert_eq!(call(&engine, "own__hello").await.outcome, Outcome::Ok);
    assert_eq!(script.runs.load(Ordering::SeqCst), 1);
    // Case 22: switched off, it is not there for callers (ours: the same answer as of a tool that never was).
    manager.set_enabled(&id("hello"), false).unwrap();
    let off = call(&engine, "own__hello").await;
    // Case 21.
    let never = call(&engine, "own__never").await;
    assert_eq!((off.outcome, never.outcome), (Outcome::Invalid, Outcome::Invalid));
    assert_eq!(script.runs.load(Ordering::SeqCst), 1);
    manager.set_enabled(&id("hello"), true).unwrap();
    assert_eq!(call(&engine, "own__hello").await.outcome, Outcome::Ok);
    manager.remove(&id("hello")).unwrap();
    assert_eq!(call(&engine, "own__hello").await.outcome, Outcome::Invalid);
}

#[tokio::test]
async fn a_call_of_a_definition_that_was_replaced_meanwhile_does_not_run() {
    let (old, new) = (Arc::new(Script::default()), Arc::new(Script::default()));
    let manager = with([scripted("t", &old)]);
    let hub = manager.hub();
    let tool = hub.catalog().get(&id("t")).unwrap().clone();
    let backend = hub.backend(&own()).unwrap();
    let changed = Registration { definition: json!({"name": "t", "description": "other"}), ..scripted("t", &new) };
    manager.insert(changed, OnConflict::Replace).unwrap();
    let arguments = RawValue::from_string("{}".into()).unwrap();
    let context = CallContext::new(1, Duration::from_secs(5));
    let run = |tool| {
        let invocation = Invocation { tool, arguments: &arguments, context: &context };
        backend.invoke(invocation)
    };
    assert!(matches!(run(&tool).await, Err(InvokeError::Unavailable(text)) if text.contains("replaced")));
    manager.remove(&id("t")).unwrap();
    assert!(matches!(run(&tool).await, Err(InvokeError::Unavailable(text)) if text.contains("removed")));
    assert_eq!(old.runs.load(Ordering::SeqCst) + new.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn after_its_end_a_manager_refuses_everything() {
    let manager = with([plain("a")]);
    let publisher = server(&manager, &["t"]);
    // Case 39: twice.
    assert!(manager.shutdown(Duration::from_secs(1)).await);
    assert!(manager.shutdown(Duration::from_secs(1)).await);
    let gone = ManagerError::ShutDown;
    assert_eq!(manager.insert(plain("b"), OnConflict::Error).unwrap_err(), gone);
    assert_eq!(manager.extend([plain("b")], OnConflict::Error), Err(gone.clone()));
    assert_eq!(manager.remove(&id("a")), Err(gone.clone()));
    assert_eq!(manager.clear(), Err(gone.clone()));
    assert_eq!(manager.set_enabled(&id("mcp:s/t"), false), Err(gone.clone()));
    assert_eq!(manager.reset(&id("mcp:s/t")), Err(gone.clone()));
    assert_eq!(manager.query(&Filter::default()).unwrap_err(), gone);
    assert!(manager.select().is_err() && manager.stats().is_err() && manager.state().is_err());
    assert_eq!(manager.namespaces(), Err(gone.clone()));
    // The hub goes on without it.
    let hub = manager.hub();
    assert!(hub.catalog().sources().keys().eq([publisher.source()]));
    let successor = Manager::new(hub.clone());
    successor.insert(plain("c"), OnConflict::Error).unwrap();
    assert_eq!(hub.catalog().len(), 2);
    // What it registered goes with it.
    drop(successor);
    assert_eq!(hub.catalog().len(), 1);
}

#[tokio::test]
async fn what_runs_is_waited_for_and_then_cut_off() {
    let script = Arc::new(Script::default());
    let manager = with([scripted("hang", &script)]);
    let engine = Engine::new(manager.hub().clone(), trusting(), None, vec![]);
    let running = tokio::spawn(async move { call(&engine, "own__hang").await });
    while script.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!manager.shutdown(Duration::from_millis(5)).await);
    // Nobody knows what came of it.
    assert_eq!(running.await.unwrap().outcome, Outcome::Unknown);
}

/// Looks at the manager and the hub when it goes.
struct Farewell {
    manager: Manager,
    gone: Arc<std::sync::atomic::AtomicUsize>,
}

impl toolcrib_engine::Backend for Farewell {
    fn invoke<'a>(&'a self, _: Invocation<'a>) -> toolcrib_engine::BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async { Ok(ToolResult::text("")) })
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.manager.insert(plain("farewell"), OnConflict::Replace);
        let _ = self.manager.entries();
        assert!(self.manager.hub().backend(&Source::Custom("nobody".into())).is_none());
        self.gone.fetch_add(1, Ordering::SeqCst);
    }
}

/// A backend is a program's own; what it does when it goes must not find a lock held.
#[test]
fn backends_may_use_the_manager_when_they_go() {
    #[track_caller]
    fn check(what: &str, change: impl FnOnce(&Manager, Registration) + Send + 'static) {
        let (told, heard) = std::sync::mpsc::channel();
        let gone = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = gone.clone();
        std::thread::spawn(move || {
            let manager = manager();
            let farewell = Farewell { manager: manager.clone(), gone: count };
            change(&manager, Registration { backend: Arc::new(farewell), ..plain("t") });
            let _ = told.send(());
        });
        assert!(heard.recv_timeout(Duration::from_secs(10)).is_ok(), "{what} holds a lock");
        assert_eq!(gone.load(Ordering::SeqCst), 1, "{what}");
    }
    let put = |manager: &Manager, one: Registration| drop(manager.insert(one, OnConflict::Error).unwrap());
    check("replacing", move |manager, one| {
        put(manager, one);
        put_over(manager, plain("t"));
    });
    check("being refused", move |manager, one| {
        put(manager, plain("t"));
        assert!(manager.insert(one, OnConflict::Error).is_err());
    });
    check("replacing many", move |manager, one| {
        put(manager, one);
        manager.extend([plain("u"), plain("t")], OnConflict::Replace).unwrap();
    });
    check("removing", move |manager, one| {
        put(manager, one);
        assert!(manager.remove(&id("t")).unwrap());
    });
    check("clearing", move |manager, one| {
        put(manager, one);
        manager.clear().unwrap();
    });
    check("shutting down", move |manager, one| {
        put(manager, one);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        assert!(runtime.block_on(manager.shutdown(Duration::from_secs(1))));
    });
    let other = || Source::Custom("other".into());
    check("removing a source", move |manager, one| {
        let _publisher = manager.hub().register(other(), SourceOptions::default(), one.backend);
        manager.hub().remove(&other());
    });
    check("registering a source anew", move |manager, one| {
        let _publisher = manager.hub().register(other(), SourceOptions::default(), one.backend);
        let _next = manager.hub().register(other(), SourceOptions::default(), Arc::new(Script::default()));
    });
}

fn put_over(manager: &Manager, one: Registration) {
    assert!(manager.insert(one, OnConflict::Replace).unwrap().is_some());
}
