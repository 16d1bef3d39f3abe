//! Configuration: file formats, layers with origins, other clients' files, diagnostics, and the schema of it all.
//!
//! Knows nothing that runs. Environment and files come in through [`Surroundings`], so everything here is a function of
//! its input.

pub mod change;
pub mod diagnostic;
pub mod discover;
pub mod document;
pub mod expand;
pub mod import;
pub mod layer;
pub mod load;
pub mod model;
pub mod reference;
pub mod secret;
pub mod variables;

pub use change::{ConfigChange, changes};
pub use diagnostic::{Diagnostic, Severity};
pub use discover::discover;
pub use layer::{Origin, Origins};
pub use load::{LoadError, Loaded, Override, load};
pub use model::{Config, ServerConfig};
pub use secret::Secret;

use std::path::{Path, PathBuf};

/// What configuration may ask of the world.
pub trait Surroundings {
    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;
    /// The text of a file.
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>>;
    /// The working directory, which relative paths of configuration files are relative to; `None`: not known.
    fn working_dir(&self) -> Option<PathBuf> {
        None
    }
}

/// The process's own environment and file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Process;

impl Surroundings for Process {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        use std::io::Read;
        // Opening a pipe nobody writes to would wait for ever.
        if !std::fs::metadata(path)?.is_file() {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(document::MAX_FILE as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn working_dir(&self) -> Option<PathBuf> {
        std::env::current_dir().ok()
    }
}
