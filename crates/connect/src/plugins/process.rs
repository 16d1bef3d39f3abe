//! The process of a plugin: found, started in a group of its own, ended with all it started.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
};

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{running::Start, voice::Voice};
use crate::{
    builtin::CommandSettings,
    leash::{Leash, guarded},
};

/// Why a process could not be started.
#[derive(Debug)]
pub(super) struct NotStarted {
    pub(super) reason: String,
    /// Whether trying again soon is pointless.
    pub(super) permanent: bool,
}

/// A running process. Dropping it ends it.
pub(super) struct Process {
    child: Child,
    leash: Leash,
    pub(super) pid: Option<u32>,
}

pub(super) fn start(start: &Start, voice: &Arc<Voice>) -> Result<(Process, ChildStdin, ChildStdout), NotStarted> {
    let permanent = |reason: String| NotStarted { reason, permanent: true };
    let folder = start.folder.as_deref().ok_or_else(|| permanent("it has no folder to run in".to_owned()))?;
    if !folder.is_dir() {
        return Err(permanent(format!("its folder {} is gone", folder.display())));
    }
    let command = start.manifest.run.command().unwrap_or_default();
    let (name, arguments) = command.split_first().ok_or_else(|| permanent("it names no program".to_owned()))?;
    let environment = environment(&start.settings.env);
    let program = find(name, &environment, folder).map_err(permanent)?;
    let failed = |error: std::io::Error| NotStarted {
        reason: format!("'{name}' cannot be started: {error}"),
        // No process table entry, no descriptor: passes with the load that caused it.
        permanent: false,
    };
    let (mut command, held) = match &start.guard {
        Some(binary) => {
            let (command, reader, leash) = guarded(binary, &program).map_err(failed)?;
            (command, Some((reader, leash)))
        }
        None => (Command::new(&program), None),
    };
    command
        .args(arguments)
        .env_clear()
        .envs(environment)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        // A guard notices by itself and needs to live to end the tree.
        .kill_on_drop(held.is_none());
    let mut child = command.spawn().map_err(failed)?;
    let leash = held.map_or_else(|| Leash::group(&child), |(_reader, leash)| leash);
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(failed(std::io::Error::other("it has no standard streams")));
    };
    voice.begin_anew();
    let voice = voice.clone();
    // Ends with the stream; a descendant that left the group may hold it for longer, and then costs a few bytes.
    tokio::spawn(async move { voice.drain(stderr).await });
    let pid = child.id();
    Ok((Process { child, leash, pid }, stdin, stdout))
}

/// What of our environment is harmless and needed, then what is configured.
fn environment(configured: &BTreeMap<String, String>) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<OsString, OsString> = CommandSettings::inherited_environment().into_iter().collect();
    all.extend(configured.iter().map(|(name, value)| (name.into(), value.into())));
    all
}

/// Where a program is: as seen from the plugin's folder if the name holds a slash, else in the search path.
fn find(name: &str, environment: &BTreeMap<OsString, OsString>, folder: &Path) -> Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &Path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        let path = std::path::absolute(folder.join(name)).unwrap_or_else(|_| folder.join(name));
        return match (runs(&path), path.exists()) {
            (true, _) => Ok(path),
            (false, true) => Err(format!("{} is not an executable file; make it one", path.display())),
            (false, false) => Err(format!("there is no {}; correct 'run' in plugin.toml", path.display())),
        };
    }
    let path = environment.get(&OsString::from("PATH")).cloned().unwrap_or_default();
    std::env::split_paths(&path).map(|part| part.join(name)).find(|path| runs(path)).ok_or_else(|| {
        format!("there is no program '{name}' in PATH; install it, or write ./{name} for one in its folder")
    })
}

impl Process {
    /// Waits for its end, in words.
    pub(super) async fn ended(&mut self) -> String {
        let status = self.child.wait().await;
        status.map_or_else(|error| format!("cannot be waited for: {error}"), |status| self.describe(status))
    }

    /// Ends it with all it started and waits for that: asked first, its streams closed, then made to.
    pub(super) async fn end(mut self) {
        // A process that ends with its input needs no signal.
        if tokio::time::timeout(crate::leash::GRACE / 4, self.child.wait()).await.is_err() {
            let patience = self.leash.ask();
            let _ = tokio::time::timeout(patience, self.child.wait()).await;
        }
        let reaped = self.child.id().is_none();
        self.leash.end();
        if !reaped {
            let _ = self.child.start_kill();
            let _ = self.child.wait().await;
        }
    }

    fn describe(&self, status: ExitStatus) -> String {
        match (status.code(), status.signal()) {
            // A guard passes a signal on as 128 + its number.
            (Some(code @ 129..=192), _) if self.leash.is_guard() => format!("was ended by signal {}", code - 128),
            (Some(code), _) => format!("exited with status {code}"),
            (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(name: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
        let error = find(name, &environment(&BTreeMap::new()), folder.path()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_program_that_cannot_be_started_is_explained() {
        refuses("no-such-program-here", "in PATH");
        refuses("./gone", "correct 'run'");
        refuses("./notes.txt", "not an executable");
    }

    #[test]
    fn only_harmless_and_configured_variables_reach_a_plugin() {
        let env = environment(&BTreeMap::from([("KEY".to_owned(), "v".to_owned())]));
        assert!(env.contains_key(&OsString::from("KEY")) && env.contains_key(&OsString::from("PATH")));
        assert!(env.keys().all(
            |name| name == "KEY" || CommandSettings::inherited_environment().iter().any(|(known, _)| known == name)
        ));
    }
}
