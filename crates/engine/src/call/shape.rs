//! Shape: what the model gets of a result. Nothing is lost: what is too large stays behind a handle, what does not fit its
//! schema stays and is said, what is secret is masked, what nobody vouches for is marked.

use std::sync::Arc;

use toolcrib_core::{
    Scope, Source, ToolResult,
    shape::{self, ShapeLimits, Shaped},
};

use super::{CallRequest, resolve::Target};
use crate::{
    engine::{Engine, InForce},
    settings::Untrusted,
};

/// A result that says nothing is shorter than this, bytes.
const SMALL: usize = 256;
/// Results up to this size count by their bytes.
const SMALL_CHARS: usize = 1_024;

pub(super) async fn shape(
    engine: &Engine,
    in_force: &Arc<InForce>,
    request: &CallRequest,
    target: &Target,
    result: ToolResult,
) -> ToolResult {
    let mut result = shape::in_form(&result).unwrap_or(result);
    if !result.is_error() && result.raw().get().len() < SMALL && is_bare(&result) {
        result = shape::nothing_returned(&target.exposed);
    }
    if let Some(problem) = mismatch(engine, target, &result) {
        result = shape::with_warning(
            &result,
            &format!("Note: this result does not have the form that {} declares ({problem}).", target.exposed),
        );
    }
    if let Some(masked) = in_force.mask_result(&result) {
        result = masked;
    }
    if is_foreign(target.tool.source()) {
        let label = target.tool.source().group();
        match in_force.settings.results.untrusted {
            Untrusted::Off => {}
            Untrusted::Meta => result = shape::mark_meta_only(&result, label),
            Untrusted::Text => result = shape::mark_untrusted(&result, label),
        }
    }
    let limits = limits(in_force, &request.scope);
    // A character takes at least a byte: a small result may count for a little more than it has.
    let bytes = result.raw().get().len();
    let chars = if bytes <= SMALL_CHARS { bytes } else { shape::result_chars(&result) };
    let left = engine.turns().allow(&request.scope, &request.identity, in_force, chars);
    let limits = left.map_or(limits, |left| limits.capped(left.max(limits.preview_chars)));
    cut(engine, in_force, &request.scope, result, &limits).await
}

/// A result of our own, held to the budget only.
pub(super) async fn fit(
    engine: &Engine,
    in_force: &Arc<InForce>,
    request: &CallRequest,
    result: ToolResult,
) -> ToolResult {
    let limits = limits(in_force, &request.scope);
    cut(engine, in_force, &request.scope, result, &limits).await
}

fn limits(in_force: &Arc<InForce>, scope: &Scope) -> ShapeLimits {
    let limits = in_force.settings.limits.shape;
    scope.context_length.map_or(limits, |tokens| limits.within_context(tokens))
}

async fn cut(
    engine: &Engine,
    in_force: &Arc<InForce>,
    scope: &Scope,
    result: ToolResult,
    limits: &ShapeLimits,
) -> ToolResult {
    if !shape::is_over(&result, limits) {
        return result;
    }
    let keep = in_force.settings.limits.keep_results;
    let handle = Box::pin(engine.keep_result(scope, result.raw().get(), keep)).await;
    match shape::shape(&result, limits, handle.as_deref()) {
        Shaped::Untouched => result,
        Shaped::Cut(cut) => cut,
    }
}

/// Neither content nor a structured value was given at all (oneringai case 23). An empty list of blocks is an answer.
fn is_bare(result: &ToolResult) -> bool {
    let text = result.raw().get();
    if text.contains("\"content\"") || text.contains("\"structuredContent\"") {
        return text.contains("null") && is_null(result);
    }
    true
}

fn is_null(result: &ToolResult) -> bool {
    let value = result.to_value();
    value["content"].is_null() && value["structuredContent"].is_null()
}

fn mismatch(engine: &Engine, target: &Target, result: &ToolResult) -> Option<String> {
    target.tool.output_schema()?;
    let validator = engine.output_validator(&target.tool)?;
    shape::check_output(result, &validator)
}

/// Whether nobody on this side wrote what the tool says.
fn is_foreign(source: &Source) -> bool {
    !matches!(source, Source::Builtin | Source::Plugin(_) | Source::Static(_))
}
