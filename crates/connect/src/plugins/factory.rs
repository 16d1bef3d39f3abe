//! Plugins that are code within this process: factories that the embedding program registers by name.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use serde_json::{Value, value::RawValue};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolcrib_core::{Scope, Tool, ToolResult, schema::Violation};
use toolcrib_engine::{Backend, BoxFuture, Invocation, InvokeError};

use super::{
    manifest::{Manifest, Run},
    running::{Launcher, News, PluginSettings, Running, Start},
};

/// What a factory has to go by.
#[derive(Clone)]
pub struct FactoryContext {
    /// What the plugin declares.
    pub manifest: Arc<Manifest>,
    /// What the configuration hands to it.
    pub settings: Arc<PluginSettings>,
}

/// What a factory makes: definitions in MCP shape, and what runs them. Only declared tools are offered.
pub struct FactoryTools {
    /// The definitions.
    pub definitions: Vec<Value>,
    /// What runs them, by their own names.
    pub backend: Arc<dyn Backend>,
}

/// Makes the tools of a plugin within this process.
///
/// Called once for each generation of the plugin (start, reload), and not at all while nothing of the plugin is visible to
/// anybody. An error, a panic and a start over the manifest's time cost this plugin alone.
pub trait PluginFactory: Send + Sync + 'static {
    /// Makes them. `None` opts out: nothing is offered, and nobody is alarmed (openclaw case 14).
    fn make(&self, context: FactoryContext) -> BoxFuture<'_, Result<Option<FactoryTools>, String>>;
}

/// Factories by name.
#[derive(Clone, Default)]
pub struct FactoryLauncher {
    factories: BTreeMap<String, Arc<dyn PluginFactory>>,
}

impl FactoryLauncher {
    /// Adds one; manifests name it with `run.factory`. One of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, factory: Arc<dyn PluginFactory>) -> Self {
        self.factories.insert(name.into(), factory);
        self
    }
}

impl Launcher for FactoryLauncher {
    fn launch(&self, start: Start) -> Arc<dyn Running> {
        let made = Arc::new(Made {
            phase: watch::Sender::new(Phase::Starting),
            cancel: CancellationToken::new(),
            tracker: TaskTracker::new(),
            id: start.manifest.id.clone(),
        });
        let factory = match &start.manifest.run {
            Run::Factory(name) => self.factories.get(name).cloned().ok_or_else(|| {
                format!("no factory is registered as '{name}' in this program; a plugin in a process runs everywhere")
            }),
            Run::Lines(_) | Run::Mcp(_) => Err("it is no factory".to_owned()),
        };
        made.tracker.spawn(bring_up(made.clone(), factory, start));
        made.tracker.close();
        made
    }
}

#[derive(Clone)]
enum Phase {
    Starting,
    Ready(Arc<dyn Backend>),
    Down(String),
}

struct Made {
    phase: watch::Sender<Phase>,
    cancel: CancellationToken,
    tracker: TaskTracker,
    id: String,
}

async fn bring_up(made: Arc<Made>, factory: Result<Arc<dyn PluginFactory>, String>, start: Start) {
    let context = FactoryContext { manifest: start.manifest.clone(), settings: start.settings.clone() };
    let patience = start.manifest.start_timeout;
    let making = async {
        let factory = factory?;
        // A task of its own: one that blocks its thread holds up nobody who waits here for longer than its time.
        let task = tokio::spawn(async move { AssertUnwindSafe(factory.make(context)).catch_unwind().await });
        let abort = task.abort_handle();
        let ended = tokio::select! {
            ended = tokio::time::timeout(patience, task) => ended,
            () = made.cancel.cancelled() => {
                abort.abort();
                return Err("it was stopped".to_owned());
            }
        };
        match ended {
            Err(_) => {
                abort.abort();
                Err(format!("its factory did not end within {:.1} s", patience.as_secs_f32()))
            }
            Ok(Err(_) | Ok(Err(_))) => Err("its factory panicked".to_owned()),
            Ok(Ok(Ok(made))) => made.map_err(|error| format!("its factory failed: {error}")),
        }
    };
    let ended = making.await;
    if made.cancel.is_cancelled() {
        return;
    }
    match ended {
        Ok(Some(FactoryTools { definitions, backend })) => {
            let listener = start.listener.clone();
            // Schemas are checked on the way.
            if tokio::task::spawn_blocking(move || listener.hear(News::Ready(definitions))).await.is_ok() {
                made.phase.send_replace(Phase::Ready(backend));
            } else {
                let reason = "what it offers could not be read".to_owned();
                made.phase.send_replace(Phase::Down(reason.clone()));
                start.listener.hear(News::Down(reason));
            }
        }
        Ok(None) => {
            made.phase.send_replace(Phase::Down("it offers nothing".to_owned()));
            start.listener.hear(News::OptedOut);
        }
        Err(reason) => {
            made.phase.send_replace(Phase::Down(reason.clone()));
            start.listener.hear(News::Down(reason));
        }
    }
}

impl Backend for Made {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move {
            let context = invocation.context;
            let mut phase = self.phase.subscribe();
            let backend = loop {
                let now = phase.borrow_and_update().clone();
                match now {
                    Phase::Ready(backend) => break backend,
                    Phase::Down(reason) => {
                        return Err(InvokeError::Unavailable(format!("plugin '{}': {reason}", self.id)));
                    }
                    Phase::Starting => {}
                }
                tokio::select! {
                    biased;
                    () = context.cancel.cancelled() => return Err(InvokeError::Cancelled),
                    () = self.cancel.cancelled() => {
                        return Err(InvokeError::Unavailable(format!("plugin '{}': it was stopped", self.id)));
                    }
                    _ = phase.changed() => {}
                    () = tokio::time::sleep_until(context.deadline) => {
                        return Err(InvokeError::Unavailable(format!("plugin '{}' is still starting", self.id)));
                    }
                }
            };
            tokio::select! {
                biased;
                ended = backend.invoke(invocation) => ended,
                () = self.cancel.cancelled() => {
                    Err(InvokeError::Unknown(format!("plugin '{}': it was stopped while the call ran", self.id)))
                }
            }
        })
    }

    fn check(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Result<(), Violation> {
        self.ready().map_or(Ok(()), |backend| backend.check(tool, arguments, scope))
    }

    fn describe_call(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Option<String> {
        self.ready()?.describe_call(tool, arguments, scope)
    }
}

impl Made {
    /// What runs its tools, once it is there.
    fn ready(&self) -> Option<Arc<dyn Backend>> {
        match &*self.phase.borrow() {
            Phase::Ready(backend) => Some(backend.clone()),
            Phase::Starting | Phase::Down(_) => None,
        }
    }
}

impl Running for Made {
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.cancel.cancel();
            self.tracker.wait().await;
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, thread::ThreadId};

    use parking_lot::Mutex;
    use serde_json::json;

    use super::{
        super::running::{Limits, Listener, Timing},
        *,
    };

    struct One;

    impl PluginFactory for One {
        fn make(&self, _: FactoryContext) -> BoxFuture<'_, Result<Option<FactoryTools>, String>> {
            struct Never;
            impl Backend for Never {
                fn invoke<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
                    Box::pin(std::future::pending())
                }
            }
            let definitions = vec![json!({"name": "t"})];
            Box::pin(async { Ok(Some(FactoryTools { definitions, backend: Arc::new(Never) })) })
        }
    }

    #[derive(Default)]
    struct Where(Mutex<Option<ThreadId>>, tokio::sync::Notify);

    impl Listener for Where {
        fn hear(&self, news: News) {
            if matches!(news, News::Ready(_)) {
                *self.0.lock() = Some(std::thread::current().id());
                self.1.notify_one();
            }
        }
    }

    #[tokio::test]
    async fn what_is_offered_is_taken_in_where_it_holds_nobody_up() {
        let text = "id = 'p'\nversion = '1'\ndescription = 'd'\nrun = { factory = 'one' }\n[[tools]]\nname = 't'";
        let heard = Arc::new(Where::default());
        let launcher = FactoryLauncher::default().with("one", Arc::new(One));
        let running = launcher.launch(Start {
            manifest: Arc::new(Manifest::parse(text, Path::new("plugin.toml")).unwrap()),
            folder: None,
            settings: Arc::default(),
            guard: None,
            timing: Timing::default(),
            limits: Limits::default(),
            listener: heard.clone(),
        });
        heard.1.notified().await;
        // The runtime of this test has one thread, this one.
        assert_ne!(*heard.0.lock(), Some(std::thread::current().id()));
        running.stop().await;
    }
}
