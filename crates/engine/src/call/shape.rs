//! Shape: a result over its budget is cut to a preview, and the whole is kept where a handle finds it.

use toolcrib_core::{
    Scope, ToolResult,
    shape::{self, Shaped},
};

use crate::{engine::Engine, settings::EngineSettings};

pub(super) async fn shape(engine: &Engine, settings: &EngineSettings, scope: &Scope, result: ToolResult) -> ToolResult {
    let limits = &settings.limits;
    if !shape::is_over(&result, &limits.shape) {
        return result;
    }
    let handle = engine.keep_result(scope, result.raw().get(), limits.keep_results).await;
    match shape::shape(&result, &limits.shape, handle.as_deref()) {
        Shaped::Untouched => result,
        Shaped::Cut(cut) => cut,
    }
}
