//! How a tool fails: in words for the model, or in a way that only the operator is to see.

use std::{error::Error, fmt};

/// Why a tool gives no output.
///
/// `?` on any error makes an internal one: what a library says of its failure may hold paths, addresses or secrets, so the
/// model gets a number and the log the text. What the model can act on is said with [`ToolError::told`].
#[derive(Debug)]
pub struct ToolError(pub(super) Kind);

#[derive(Debug)]
pub(super) enum Kind {
    Told(String),
    Unavailable(String),
    Internal(Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// A failure that the model is told in these words: what is wrong, and what to do instead.
    pub fn told(text: impl Into<String>) -> Self {
        Self(Kind::Told(text.into()))
    }

    /// What the tool needs is not there, and nothing was done: the call may be tried again. Counts against the tool's
    /// circuit; the text is told to the model.
    pub fn unavailable(text: impl Into<String>) -> Self {
        Self(Kind::Unavailable(text.into()))
    }

    /// A failure for the operator: the text goes to the log, the model gets its number there.
    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Kind::Internal(error.into()))
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::internal(error)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Told(text) | Kind::Unavailable(text) => f.write_str(text),
            Kind::Internal(error) => {
                write!(f, "{error}")?;
                let mut cause = error.source();
                while let Some(next) = cause {
                    write!(f, ": {next}")?;
                    cause = next.source();
                }
                Ok(())
            }
        }
    }
}
