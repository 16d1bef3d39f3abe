//! Tools made for whoever asks.

use toolcrib_core::Scope;

use super::Toolbox;

/// Makes the tools of a source for a scope.
///
/// Registered with [`Hub::register_scoped`](crate::Hub::register_scoped), which remembers what it gave and asks it on a
/// thread of its own: it may block, within the bounds that the hub sets. The answer may depend on the scope and on what
/// [`ScopedPublisher::refresh`](crate::ScopedPublisher::refresh) is called about, and on nothing else: what is listed once
/// must be there when it is called.
pub trait ToolFactory: Send + Sync + 'static {
    /// The tools of this scope; an empty toolbox for none.
    fn tools(&self, scope: &Scope) -> Result<Toolbox, FactoryError>;

    /// Whether the answer differs by what the conversation has loaded ([`Scope::loaded`]). If not, that is not told, and one
    /// answer serves all conversations of a scope. Default: it does not.
    fn goes_by_loaded(&self) -> bool {
        false
    }
}

/// A function as a factory.
impl<F: Fn(&Scope) -> Result<Toolbox, FactoryError> + Send + Sync + 'static> ToolFactory for F {
    fn tools(&self, scope: &Scope) -> Result<Toolbox, FactoryError> {
        self(scope)
    }
}

/// Why a factory gives no tools. The text is shown to whoever asks how the source is doing: no secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FactoryError(String);

impl FactoryError {
    /// With its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<super::BadTool> for FactoryError {
    fn from(bad: super::BadTool) -> Self {
        Self(bad.to_string())
    }
}
