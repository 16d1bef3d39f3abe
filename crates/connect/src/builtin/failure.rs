//! What a tool says when it could not do what was asked.

use std::io;

/// A text for the model: what went wrong and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(pub(crate) String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A failed operation on a path as the caller wrote it.
    pub(crate) fn io(path: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => {
                Self(format!("'{path}' does not exist; use list_directory or find_files to see what does"))
            }
            io::ErrorKind::PermissionDenied => Self(format!("'{path}': permission denied")),
            io::ErrorKind::NotADirectory => Self(format!("'{path}': a part of the path is not a directory")),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self(format!("'{path}': no space is left")),
            _ => Self(format!("'{path}': {error}")),
        }
    }
}
