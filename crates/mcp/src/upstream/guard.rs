//! The guard: a tiny supervisor between us and a child, so that nothing of the child's tree outlives us even when we
//! are killed without a chance to act (F20).
//!
//! We start `toolcrib __guard FD GRACE_MS PROGRAM ARGS…` in the place of `PROGRAM ARGS…`. The guard starts the program in
//! a process group of its own with our pipes as its standard streams, so nothing is copied, and reads from `FD`, a pipe
//! whose other end only we hold and never write to. When that pipe ends, because we closed it or because we are gone,
//! the guard ends the program's group: SIGTERM, the grace, SIGKILL. When the program ends first, the guard ends what it left
//! behind (on Linux also processes that left the group: as sub-reaper it inherits them) and exits with its status.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{Read, Write},
    os::unix::process::CommandExt,
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions};

/// The word that selects the guard on our own command line.
pub const COMMAND: &str = "__guard";

/// Exit code when the program could not be started.
pub const NOT_STARTED: u8 = 127;

const POLL: Duration = Duration::from_millis(10);

/// Runs the guard. `args` is what follows `__guard` on the command line: the pipe's number, the grace in
/// milliseconds, the program, its arguments. Blocks until the program's whole tree has ended; gives its exit code, or
/// 128 + the signal that ended it. Must be called from a process without other children, before any thread is started.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match guard(args.into_iter()) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "toolcrib guard: {problem}");
            ExitCode::from(NOT_STARTED)
        }
    }
}

fn guard(mut args: impl Iterator<Item = OsString>) -> Result<u8, String> {
    let usage = || format!("usage: {COMMAND} FD GRACE_MS PROGRAM [ARGS…]");
    let number = |text: Option<OsString>| text.and_then(|text| text.to_str()?.parse::<u32>().ok());
    let fd = number(args.next()).ok_or_else(usage)?;
    let grace = Duration::from_millis(number(args.next()).ok_or_else(usage)?.into());
    let program = args.next().ok_or_else(usage)?;

    // Opened anew, so that this copy is not inherited by the program.
    let gate = File::open(format!("/dev/fd/{fd}")).map_err(|error| format!("cannot open descriptor {fd}: {error}"))?;
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let leader = start(&program, args)?;

    // Our own copies of the streams would keep them open after the program closed them.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
    thread::Builder::new()
        .name("gate".into())
        .spawn(move || {
            wait_for_end(gate);
            signal_group(leader, Signal::TERM);
            thread::sleep(grace);
            signal_group(leader, Signal::KILL);
        })
        .map_err(|error| {
            signal_group(leader, Signal::KILL);
            format!("cannot start a thread: {error}")
        })?;
    let code = wait_for(leader);
    end_stragglers(leader, grace);
    Ok(code)
}

fn start(program: &OsStr, args: impl Iterator<Item = OsString>) -> Result<Pid, String> {
    let child = Command::new(program)
        .args(args)
        .process_group(0)
        .stdin(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("cannot start '{}': {error}", program.display()))?;
    // Waited for below by process id; dropping the handle neither waits nor kills.
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| "no process id".to_owned())
}

fn wait_for_end(mut gate: File) {
    let mut byte = [0];
    loop {
        match gate.read(&mut byte) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Reaps whatever ends until the leader has.
fn wait_for(leader: Pid) -> u8 {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => {
                let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
                return code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return 1,
        }
    }
}

/// Ends what the leader left behind, first kindly.
fn end_stragglers(leader: Pid, grace: Duration) {
    let deadline = Instant::now() + grace;
    let mut signal = Signal::TERM;
    let mut told = false;
    loop {
        // Reap first: only then does an empty group look empty.
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        let adopted = adopted_children();
        let group = rustix::process::test_kill_process_group(leader).is_ok();
        if !group && adopted.is_empty() {
            return;
        }
        let late = Instant::now() >= deadline;
        if late && signal == Signal::KILL {
            // Unkillable processes (in the kernel) are not ours to wait for.
            if Instant::now() >= deadline + grace.max(Duration::from_secs(1)) {
                return;
            }
        } else if late {
            signal = Signal::KILL;
            told = false;
        }
        if !told || signal == Signal::KILL {
            signal_group(leader, signal);
            for pid in adopted {
                let _ = rustix::process::kill_process(pid, signal);
            }
            told = true;
        }
        thread::sleep(POLL);
    }
}

/// Children of this process by the kernel's own list; empty where there is none.
fn adopted_children() -> Vec<Pid> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect::<Vec<_>>())
        .collect()
}

fn signal_group(leader: Pid, signal: Signal) {
    let _ = rustix::process::kill_process_group(leader, signal);
}
