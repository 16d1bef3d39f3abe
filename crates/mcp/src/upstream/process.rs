//! A child process and its tree: started in a group of its own, always ended and reaped.

use std::{
    ffi::OsString,
    io::{PipeReader, PipeWriter},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::{
    io::FdFlags,
    process::{Pid, Signal},
};
use tokio::{
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::watch,
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    environment::{child_environment, find_program},
    guard,
    settings::{Transport, UpstreamSettings},
    stderr::StderrTail,
};

/// Why a child could not be started.
pub(super) struct StartError {
    pub(super) reason: String,
    /// Whether trying again soon is pointless.
    pub(super) permanent: bool,
}

/// A running child: the streams to talk on, and the handle that ends it.
pub(super) struct Started {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) handle: ProcessHandle,
}

/// Ends a child. Dropping it does the same in the background.
pub(super) struct ProcessHandle {
    pub(super) pid: Option<u32>,
    pub(super) stderr: StderrTail,
    /// How the child ended, once it has.
    pub(super) exit: watch::Receiver<Option<String>>,
    // Cancelled: end the child. Its streams must be closed by then.
    stop: CancellationToken,
}

impl Drop for ProcessHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl ProcessHandle {
    /// Ends the tree and waits until it has ended: closed stdin, wait, SIGTERM, wait, SIGKILL. The streams must be closed.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        let _ = self.exit.wait_for(Option::is_some).await;
    }
}

/// Starts the program of a stdio transport. `tracker` runs the tasks that drain stderr and watch for the end.
pub(super) fn start(settings: &UpstreamSettings, tracker: &TaskTracker) -> Result<Started, StartError> {
    let Transport::Stdio { command, args, env, cwd } = &settings.transport else {
        return Err(StartError { reason: "not a stdio server".to_owned(), permanent: true });
    };
    let env = child_environment(std::env::vars_os(), env);
    let path = env.get(&OsString::from("PATH"));
    let program = find_program(command, path.map(OsString::as_os_str), cwd.as_deref())
        .map_err(|reason| StartError { reason, permanent: true })?;

    let failed = |what: &str, error: &std::io::Error| {
        // No process table entry, no descriptor: passes with the load that caused it.
        StartError { reason: format!("cannot start '{command}': {what}{error}"), permanent: false }
    };
    let gate = match &settings.guard {
        Some(binary) => {
            let (reader, writer) = gate().map_err(|error| failed("no pipe: ", &error))?;
            Some((binary, reader, writer))
        }
        None => None,
    };
    let mut spawn = match &gate {
        Some((binary, reader, _)) => {
            use std::os::fd::AsRawFd;
            let mut guarded = Command::new(binary);
            guarded
                .arg(guard::COMMAND)
                .arg(reader.as_raw_fd().to_string())
                .arg(settings.timing.stop_grace.as_millis().to_string())
                .arg(&program);
            guarded
        }
        None => Command::new(&program),
    };
    spawn
        .args(args)
        .env_clear()
        .envs(env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        // A guard notices by itself and needs to live to end the tree.
        .kill_on_drop(gate.is_none());
    if let Some(cwd) = cwd {
        spawn.current_dir(cwd);
    }
    let mut child = spawn.spawn().map_err(|error| failed("", &error))?;
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(StartError { reason: format!("'{command}' has no standard streams"), permanent: false });
    };
    let tail = StderrTail::default();
    let (exited, exit) = watch::channel(None);
    let mut ended = exit.clone();
    let drain = tail.clone().drain(stderr);
    tracker.spawn(async move {
        // A process that left the tree may hold the stream open for ever.
        let after_end = async {
            let _ = ended.wait_for(Option::is_some).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        tokio::select! {
            () = drain => {}
            () = after_end => {}
        }
    });
    let stop = CancellationToken::new();
    let pid = child.id();
    let warden = Warden {
        group: pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)),
        gate: gate.map(|(_, _, writer)| writer),
        grace: settings.timing.stop_grace,
        child,
    };
    tracker.spawn(warden.watch(stop.clone(), exited));
    Ok(Started { stdin, stdout, handle: ProcessHandle { pid, stderr: tail, exit, stop } })
}

/// A pipe whose reading end the next child inherits. Only we hold the writing end, so it ends with us.
fn gate() -> std::io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = std::io::pipe()?;
    rustix::io::fcntl_setfd(&reader, FdFlags::empty())?;
    Ok((reader, writer))
}

/// Owns the child until it is reaped.
struct Warden {
    child: Child,
    group: Option<Pid>,
    gate: Option<PipeWriter>,
    grace: Duration,
}

impl Drop for Warden {
    fn drop(&mut self) {
        // Only when the runtime ends under us; the usual way out has reaped the child and taken the group.
        if self.gate.is_none() {
            self.signal(Signal::KILL);
        }
    }
}

impl Warden {
    async fn watch(mut self, stop: CancellationToken, exited: watch::Sender<Option<String>>) {
        let status = tokio::select! {
            status = self.child.wait() => status,
            () = stop.cancelled() => self.end().await,
        };
        let text = status.map_or_else(|error| format!("cannot be waited for: {error}"), describe);
        exited.send_replace(Some(text));
        if self.gate.is_none() {
            self.end_stragglers().await;
        }
        self.group = None;
    }

    async fn end(&mut self) -> std::io::Result<ExitStatus> {
        // The streams are closed: a well-behaved server leaves by itself.
        if let Ok(status) = tokio::time::timeout(self.grace, self.child.wait()).await {
            return status;
        }
        if let Some(gate) = self.gate.take() {
            // The guard takes both further steps and leaves when all is quiet.
            drop(gate);
            let patience = self.grace * 3 + Duration::from_secs(2);
            if let Ok(status) = tokio::time::timeout(patience, self.child.wait()).await {
                return status;
            }
        } else {
            self.signal(Signal::TERM);
            if let Ok(status) = tokio::time::timeout(self.grace, self.child.wait()).await {
                return status;
            }
        }
        self.signal(Signal::KILL);
        self.child.wait().await
    }

    /// Without a guard: what is left of the group after its leader ended.
    async fn end_stragglers(&mut self) {
        let Some(group) = self.group else { return };
        let deadline = Instant::now() + self.grace;
        self.signal(Signal::TERM);
        while rustix::process::test_kill_process_group(group).is_ok() {
            if Instant::now() >= deadline {
                self.signal(Signal::KILL);
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

/// The end of a child in words. A guard passes a signal on as 128 + its number.
fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code @ 129..=192), _) => format!("exited with status {code} (signal {})", code - 128),
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
