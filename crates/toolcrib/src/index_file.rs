//! What was read for the search index, in a file beside the store.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use toolcrib_engine::IndexCache;

/// Added to the store's name.
const ENDING: &str = ".search";
/// Largest file that is read; one of 50,000 tools is some 50 MB.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The file. Replaced whole, so that other processes on the same store never read half of one.
#[derive(Debug)]
pub(crate) struct IndexFile {
    path: PathBuf,
}

impl IndexFile {
    /// The one of a store.
    pub(crate) fn beside(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push(ENDING);
        Self { path: path.into() }
    }
}

impl IndexCache for IndexFile {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::metadata(&self.path) {
            Ok(file) if file.len() > MAX_BYTES => Err(io::Error::other("it is larger than any that is written")),
            Ok(_) => fs::read(&self.path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn save(&self, snapshot: &[u8]) -> io::Result<()> {
        if snapshot.len() as u64 > MAX_BYTES {
            return Ok(());
        }
        let mut part = self.path.clone().into_os_string();
        part.push(format!(".{}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options
            .open(&part)
            .and_then(|mut file| io::Write::write_all(&mut file, snapshot))
            .and_then(|()| fs::rename(&part, &self.path));
        if written.is_err() {
            // Best effort: what is left of it is a few megabytes.
            let _ = fs::remove_file(&part);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_engine::IndexCache as _;

    use super::IndexFile;

    #[test]
    fn what_was_saved_last_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let file = IndexFile::beside(&folder.path().join("state.db"));
        assert_eq!(file.load().unwrap(), None);
        file.save(b"first").unwrap();
        file.save(b"second").unwrap();
        assert_eq!(file.load().unwrap().as_deref(), Some(&b"second"[..]));
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["state.db.search"], "nothing else is left");
        std::fs::remove_file(folder.path().join("state.db.search")).unwrap();
        std::fs::create_dir(folder.path().join("state.db.search")).unwrap();
        assert!(file.load().is_err() && file.save(b"third").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
