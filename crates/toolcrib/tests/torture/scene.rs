//! One folder with configuration, store and the file of executions; and the commands run in it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use super::door::Kind;

/// Starts the server with its protocol on descriptor 3. One in four does not end when it is asked to.
const START: &str = r#"[ $(($$ % 4)) != 0 ] || trap "" TERM; exec "$0" "$@" 3>&1 >/dev/null"#;

/// The configuration with the server.
pub(crate) const CONFIG: &str = "toolcrib.toml";
/// Another one with the same store and without the server.
pub(crate) const BESIDE: &str = "beside.toml";

pub(crate) struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new(kind: Kind) -> Self {
        let folder = tempfile::Builder::new().prefix("toolcrib-torture-").tempdir().unwrap();
        let text = |text: &Path| serde_json::to_string(text.to_str().unwrap()).unwrap();
        let program = std::env::current_exe().unwrap();
        // Over stdio nothing but approvals stands between a destructive call and its repetition; over HTTP the
        // suppression of duplicates is on as well.
        let duplicates = match kind {
            Kind::Stdio => "duplicates_ms = 0",
            Kind::Http => "",
        };
        let config = format!(
            "[store]\npath = {store}\n\
             [disclosure]\nenabled = 'off'\n\
             [approvals]\nmost_open = 10000\nper_minute = 1000\n\
             [calls]\n{duplicates}\n\
             [servers.up]\ncommand = '/bin/sh'\nera = 'legacy'\n\
             args = ['-c', '{START}', {program}, '--exact', 'upstream', {observed}]\n",
            store = text(&folder.path().join("state.db")),
            program = text(&program),
            observed = text(&folder.path().join("observed")),
        );
        fs::write(folder.path().join(CONFIG), config).unwrap();
        let beside = format!("[store]\npath = {}\n", text(&folder.path().join("state.db")));
        fs::write(folder.path().join(BESIDE), beside).unwrap();
        Self { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves the folder behind for a look.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// `toolcrib` with these words and this configuration.
    pub(crate) fn command(&self, config: &str, words: &[&str]) -> Command {
        let program = std::env::var_os("TOOLCRIB_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_toolcrib").into());
        let mut command = Command::new(program);
        command.args(words).arg("--config").arg(self.folder().join(config));
        command.current_dir(self.folder()).env("XDG_CONFIG_HOME", self.folder()).env("XDG_STATE_HOME", self.folder());
        for name in ["TOOLCRIB_STORE", "TOOLCRIB_CONFIG", "TOOLCRIB_LOG"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(CONFIG, words).output().unwrap()
    }

    /// The keys of all executions so far, in order.
    pub(crate) fn observed(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder().join("observed")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
