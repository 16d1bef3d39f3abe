//! `kill -9` while a command runs: a guard ends the command's tree all the same (F20).

use std::{
    env, fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use toolcrib_connect::builtin::{BuiltinSettings, CommandSettings, Commands};

use crate::{
    commands::{guard, shell},
    tools::Tools,
};

const GUARDED: &str = "COMMAND_KILL_TEST_GUARDED";
const SECONDS: &str = "COMMAND_KILL_TEST_SECONDS";

/// What the process that is killed does: it runs a command that takes for ever.
#[tokio::main(flavor = "current_thread")]
async fn call(guarded: &str, seconds: &str) {
    let guard = (guarded == "yes").then(guard);
    let commands = CommandSettings { allowed: Commands::Any, guard, ..CommandSettings::default() };
    let tools = Tools::new(BuiltinSettings { commands, ..BuiltinSettings::default() });
    let mut call = shell(&format!("sleep {seconds} & sleep {seconds}; echo never"));
    call["timeout_ms"] = json!(600_000);
    let _ = tools.call("run_command", call).await;
}

/// The processes that sleep for this many seconds; nobody else picks the number.
fn sleepers(seconds: &str) -> Vec<Pid> {
    let wanted = format!("sleep\0{seconds}\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

fn until(seconds: &str, wanted: usize) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while sleepers(seconds).len() != wanted {
        if Instant::now() > end {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

#[cfg(target_os = "linux")]
#[test]
fn a_guarded_command_does_not_outlive_kill_9() {
    // The test is also the process that it starts and kills.
    if let (Ok(guarded), Ok(seconds)) = (env::var(GUARDED), env::var(SECONDS)) {
        return call(&guarded, &seconds);
    }
    for (guarded, digit) in [("no", 1), ("yes", 2)] {
        // A number that no other run of these tests on this machine has.
        let seconds = &format!("9{}{digit}", std::process::id());
        let mut caller = Command::new(env::current_exe().unwrap())
            .args(["--exact", "killed::a_guarded_command_does_not_outlive_kill_9"])
            .env(GUARDED, guarded)
            .env(SECONDS, seconds)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = until(seconds, 2);
        caller.kill().unwrap();
        caller.wait().unwrap();
        assert!(begun, "the command never ran");
        if guarded == "yes" {
            assert!(until(seconds, 0), "{:?} still run", sleepers(seconds));
        } else {
            // The control: so the test above sees what survives.
            thread::sleep(Duration::from_millis(50));
            let left = sleepers(seconds);
            for pid in &left {
                kill_process(*pid, Signal::KILL).unwrap();
            }
            assert_eq!(left.len(), 2);
        }
    }
}
