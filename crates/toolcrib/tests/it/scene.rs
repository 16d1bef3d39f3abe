//! One folder with configuration, store and the file of executions; and the commands run in it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::upstream;

/// Ignores the signal that comes with the limit on file sizes, so that a write over it is an error like that of a full
/// disk. `$0` is the limit at the start.
const UNDER_LIMIT: &str = r#"trap "" XFSZ; ulimit -S -f "$0"; exec "$@""#;

pub(crate) struct Scene {
    // Removed when dropped.
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Scene {
    /// With the tool server as `up`, and this configuration, in which `{folder}` is the scene's folder.
    pub(crate) fn new(config: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("toolcrib-it-").tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let scene = Self { _folder: folder, root };
        let text = |path: &Path| serde_json::to_string(path.to_str().unwrap()).unwrap();
        let config = format!(
            "{config}\n\
             [store]\npath = {store}\n\
             [disclosure]\nenabled = 'off'\n\
             [servers.up]\ncommand = '/bin/sh'\nera = 'legacy'\ntrust_hints = true\n\
             args = ['-c', '{start}', {program}, '--exact', 'upstream::upstream']\n\
             env = {{ {variable} = {observed} }}\n",
            config = scene.fill(config),
            start = upstream::START,
            store = text(&scene.store()),
            program = text(&std::env::current_exe().unwrap()),
            variable = upstream::OBSERVED,
            observed = text(&scene.observed()),
        );
        fs::write(scene.root.join("toolcrib.toml"), config).unwrap();
        scene
    }

    pub(crate) fn folder(&self) -> &str {
        self.root.to_str().unwrap()
    }

    /// Puts the folder in.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("{folder}", self.folder())
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.root.join("state.db")
    }

    /// The file of executions.
    pub(crate) fn observed(&self) -> PathBuf {
        self.root.join("observed")
    }

    /// How often calls with this key were executed.
    pub(crate) fn executions(&self, key: &str) -> usize {
        fs::read_to_string(self.observed()).unwrap_or_default().lines().filter(|line| *line == key).count()
    }

    /// `toolcrib` with these words and this scene's configuration. With `full`, nothing can be written to its disk.
    pub(crate) fn command(&self, words: &[&str], full: bool) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", UNDER_LIMIT, if full { "0" } else { "unlimited" }, env!("CARGO_BIN_EXE_toolcrib")]);
        command.args(words).arg("--config").arg(self.root.join("toolcrib.toml"));
        command.current_dir(&self.root).env("XDG_CONFIG_HOME", &self.root).env("XDG_STATE_HOME", &self.root);
        for name in ["TOOLCRIB_STORE", "TOOLCRIB_CONFIG", "TOOLCRIB_LOG"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str], full: bool) -> Output {
        self.command(words, full).output().unwrap()
    }

    /// The documents that a command prints, one or many.
    #[track_caller]
    pub(crate) fn documents(&self, words: &[&str]) -> Vec<Value> {
        let ran = self.run(words, false);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{words:?}: {said}");
        serde_json::Deserializer::from_slice(&ran.stdout).into_iter().map(|document| document.unwrap()).collect()
    }
}

/// From now on, or no more, nothing can be written to the disk by this process.
pub(crate) fn fill_disk_of(process: u32, full: bool) {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    let pid = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    let mut limit = getrlimit(Resource::Fsize);
    limit.current = if full { Some(0) } else { limit.maximum };
    let _: Rlimit = prlimit(Some(pid), Resource::Fsize, limit).unwrap();
}
