//! A closure as a tool.

use std::{future::Future, marker::PhantomData};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{About, Output, Tool, ToolError};
use crate::backend::CallContext;

/// A tool that is a function of its arguments and the call's context. See [`tool_fn`].
pub struct FnTool<F, A, O> {
    about: About,
    run: F,
    types: PhantomData<fn(A) -> O>,
}

/// Makes a tool of a function.
///
/// ```
/// use toolcrib_engine::authoring::{About, Json, NoArguments, tool_fn};
///
/// let dice = tool_fn(About::new("roll", "Rolls a die.").reads(), |_: NoArguments, _context| async { Ok(Json(4)) });
/// # let _ = toolcrib_engine::authoring::Toolbox::builder().tool(dice).build().unwrap();
/// ```
pub fn tool_fn<A, O, F, R>(about: About, run: F) -> FnTool<F, A, O>
where
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send,
    A: DeserializeOwned + JsonSchema + Send + 'static,
    O: Output + Send + 'static,
{
    FnTool { about, run, types: PhantomData }
}

impl<A, O, F, R> Tool for FnTool<F, A, O>
where
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send,
    A: DeserializeOwned + JsonSchema + Send + 'static,
    O: Output + Send + 'static,
{
    type Arguments = A;
    type Output = O;

    fn about(&self) -> About {
        self.about.clone()
    }

    fn call(&self, arguments: A, context: CallContext) -> impl Future<Output = Result<O, ToolError>> + Send {
        (self.run)(arguments, context)
    }
}
