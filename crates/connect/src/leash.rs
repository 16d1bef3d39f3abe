//! What ends a child (a command, a plugin) with all it has started: its process group, or a guard.
//!
//! A guard is `PROGRAM __guard FD GRACE_MS COMMAND ARGS…` in the place of `COMMAND ARGS…`: it gives the command a group of
//! its own, hands its exit code on (128 + the signal, if one ended it), and ends the whole tree when the pipe `FD` ends,
//! of which only we hold the other side. So the tree ends even when this process is killed outright. The guard itself
//! and its protocol are documented in the `mcp` crate (`upstream/guard.rs`), which starts servers through it; that crate is
//! not ours to depend on, so the few lines that set the pipe up exist in both.

use std::{
    ffi::OsStr,
    io::{self, PipeReader, PipeWriter},
    os::fd::AsRawFd,
    path::Path,
    time::Duration,
};

use rustix::{
    io::FdFlags,
    process::{Pid, Signal, kill_process_group},
};
use tokio::process::{Child, Command};

/// Time between asking everything to end and ending it.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// Ends the command. Dropping it does the same, which is what happens when a call is cancelled.
pub(crate) enum Leash {
    /// The command leads this group; `None` once it has been ended.
    Group(Option<Pid>),
    /// A guard holds the command until this closes.
    Guard(Option<PipeWriter>),
}

impl Leash {
    /// The command's process group, for a command that was started as the leader of one.
    pub(crate) fn group(child: &Child) -> Self {
        Self::Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    pub(crate) fn is_guard(&self) -> bool {
        matches!(self, Self::Guard(_))
    }

    /// Asks everything to end, and gives the time after which [`Leash::end`] is due. A guard ends it by itself: it
    /// leaves when all is quiet.
    pub(crate) fn ask(&mut self) -> Duration {
        match self {
            Self::Group(leader) => {
                signal(*leader, Signal::TERM);
                GRACE
            }
            Self::Guard(gate) => {
                *gate = None;
                GRACE * 3 + Duration::from_secs(1)
            }
        }
    }

    /// Ends what is left. Done once for a group: later its number may belong to others.
    pub(crate) fn end(&mut self) {
        match self {
            Self::Group(leader) => signal(leader.take(), Signal::KILL),
            Self::Guard(gate) => *gate = None,
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.end();
    }
}

fn signal(leader: Option<Pid>, signal: Signal) {
    if let Some(leader) = leader {
        // Fails when everything has ended already.
        let _ = kill_process_group(leader, signal);
    }
}

/// A command line that starts `program` behind the guard `binary`. The reader must live until it has been started.
pub(crate) fn guarded(binary: &Path, program: impl AsRef<OsStr>) -> io::Result<(Command, PipeReader, Leash)> {
    let (reader, gate) = io::pipe()?;
    // This end alone is inherited.
    rustix::io::fcntl_setfd(&reader, FdFlags::empty())?;
    let mut command = Command::new(binary);
    command.arg("__guard").arg(reader.as_raw_fd().to_string()).arg(GRACE.as_millis().to_string()).arg(program);
    Ok((command, reader, Leash::Guard(Some(gate))))
}
