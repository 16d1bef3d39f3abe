//! Configuration as a whole: files as other clients write them, files as nobody should write them, and what a bad
//! value costs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod clients;
mod cost;
mod hostile;
mod layers;
mod plugins;
mod ranges;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use toolcrib_config::{LoadError, Loaded, Override, Surroundings, load};

/// A world of a few variables and files.
#[derive(Clone, Default)]
pub struct World {
    variables: BTreeMap<String, String>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    working_dir: Option<PathBuf>,
}

impl World {
    fn file(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.files.insert(path.into(), bytes.as_ref().to_vec());
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn within(mut self, folder: &str) -> Self {
        self.working_dir = Some(folder.into());
        self
    }

    fn load(&self, paths: &[&str]) -> Result<Loaded, LoadError> {
        self.load_with(paths, &[])
    }

    fn load_with(&self, paths: &[&str], overrides: &[Override]) -> Result<Loaded, LoadError> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        load(&paths, overrides, self)
    }
}

impl Surroundings for World {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn working_dir(&self) -> Option<PathBuf> {
        self.working_dir.clone()
    }

    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.files.get(path).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

/// One file, loaded.
#[track_caller]
fn one(path: &str, text: impl AsRef<[u8]>) -> Loaded {
    World::default().file(path, text).load(&[path]).unwrap()
}

/// The findings as texts.
fn texts(loaded: &Loaded) -> Vec<String> {
    loaded.diagnostics.iter().map(ToString::to_string).collect()
}
