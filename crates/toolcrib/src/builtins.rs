//! The built-in source: the tools of `connect`, and the reader of kept results.

use std::sync::Arc;

use toolcrib_config::model::BuiltinConfig;
use toolcrib_core::{Source, SourceState, ToolResult};
use toolcrib_engine::{
    Backend, BoxFuture, Hub, InvokeError, Invocation, KeyValueStore, ResultStore, SourceOptions,
    results::{self, ResultReader},
};

/// Publishes the built-in tools.
pub(crate) fn publish(
    hub: &Hub,
    config: &BuiltinConfig,
    _values: Arc<dyn KeyValueStore>,
    results: Arc<dyn ResultStore>,
) {
    let definitions = vec![results::definition()];
    let _ = config;
    let backend = Arc::new(Builtin { results: ResultReader::new(results) });
    hub.register(Source::Builtin, SourceOptions::default(), backend).tools(SourceState::Ready, definitions, None, false);
}

struct Builtin {
    results: ResultReader,
}

impl Backend for Builtin {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async move { Ok(self.results.read(&invocation).await) })
    }
}
