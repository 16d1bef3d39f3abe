//! The built-in tools as the engine drives them: through the catalog and the backend trait.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, value::RawValue};
use toolcrib_connect::builtin::{BuiltinSettings, Builtins, Root};
use toolcrib_core::{Scope, Source, SourceState, ToolId, ToolResult};
use toolcrib_engine::{Backend, CallContext, Hub, Invocation, InvokeError, SourceOptions, hub::HubLimits};
use toolcrib_store::MemoryStore;

pub(crate) struct Tools {
    pub(crate) builtins: Builtins,
    hub: Hub,
}

impl Tools {
    pub(crate) fn new(settings: BuiltinSettings) -> Self {
        Self::over(Arc::new(MemoryStore::new()), settings)
    }

    /// Tools that keep values in this store.
    pub(crate) fn over(store: Arc<MemoryStore>, settings: BuiltinSettings) -> Self {
        let builtins = Builtins::new(settings, store);
        let hub = Hub::new(HubLimits::default());
        let publisher = hub.register(Source::Builtin, SourceOptions::default(), Arc::new(builtins.clone()));
        publisher.tools(SourceState::Ready, builtins.definitions(), None, false);
        let catalog = hub.catalog();
        let quarantined = &catalog.sources()[&Source::Builtin].quarantined;
        assert!(quarantined.is_empty(), "{quarantined:?}");
        Self { builtins, hub }
    }

    /// Tools with one writable folder.
    pub(crate) fn in_folder(folder: &std::path::Path) -> Self {
        Self::new(BuiltinSettings {
            roots: vec![Root { path: folder.to_owned(), writable: true }],
            ..BuiltinSettings::default()
        })
    }

    pub(crate) async fn invoke(
        &self,
        name: &str,
        arguments: Value,
        context: &CallContext,
    ) -> Result<ToolResult, InvokeError> {
        let tool = self.hub.catalog().get(&ToolId::new(Source::Builtin, name)).cloned();
        let tool = tool.unwrap_or_else(|| panic!("no tool {name}"));
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        self.builtins.invoke(Invocation { tool: &tool, arguments: &arguments, context }).await
    }

    /// The text of a call that must succeed.
    pub(crate) async fn ok(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.unwrap_or_else(|text| panic!("{name}: {text}"))
    }

    /// The text of a call that must be a tool error.
    pub(crate) async fn err(&self, name: &str, arguments: Value) -> String {
        let shown = arguments.to_string();
        match self.call(name, arguments).await {
            Ok(text) => panic!("{name} {shown} succeeded: {text}"),
            Err(text) => text,
        }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<String, String> {
        self.call_as(Scope::default(), name, arguments).await
    }

    /// A call by somebody in particular.
    pub(crate) async fn call_as(&self, scope: Scope, name: &str, arguments: Value) -> Result<String, String> {
        let context = CallContext { scope, ..CallContext::new(1, Duration::from_secs(20)) };
        let result = self.invoke(name, arguments, &context).await.unwrap();
        if result.is_error() { Err(result.to_text()) } else { Ok(result.to_text()) }
    }
}
