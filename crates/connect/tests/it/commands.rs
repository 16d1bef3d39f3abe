//! `run_command` with real programs.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_connect::builtin::{BuiltinSettings, CommandSettings, Commands, Root};
use toolcrib_engine::{CallContext, InvokeError};

use crate::tools::Tools;

/// The guard that `toolcrib` brings along.
pub(crate) fn guard() -> PathBuf {
    env!("CARGO_BIN_EXE_toolcrib-connect-guard").into()
}

fn tools_with(commands: CommandSettings) -> (TempDir, Tools) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let roots = vec![Root { path: folder.path().into(), writable: true }];
    let tools = Tools::new(BuiltinSettings { roots, commands, ..BuiltinSettings::default() });
    (folder, tools)
}

/// The tools without and with a guard; what a caller sees is nearly the same.
fn both() -> [(TempDir, Tools); 2] {
    [None, Some(guard())]
        .map(|guard| tools_with(CommandSettings { allowed: Commands::Any, guard, ..CommandSettings::default() }))
}

pub(crate) fn shell(script: &str) -> Value {
    json!({"command": "sh", "args": ["-c", script]})
}

#[tokio::test]
async fn output_and_exit_code_come_back() {
    for (folder, tools) in both() {
        assert_eq!(
            tools.ok("run_command", json!({"command": "echo", "args": ["a  b"]})).await,
            "exit code 0\nstdout:\na  b"
        );
        assert_eq!(tools.ok("run_command", json!({"command": "true"})).await, "exit code 0");
        let text = tools.err("run_command", shell("echo out; echo err >&2; exit 3")).await;
        assert_eq!(text, "exit code 3\nstdout:\nout\nstderr:\nerr");
        let text = tools.err("run_command", shell("kill -9 $$")).await;
        assert!(["ended by signal 9", "exit code 137 (as after signal 9)"].contains(&&*text), "{text}");
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(
            tools.ok("run_command", json!({"command": "pwd"})).await,
            format!("exit code 0\nstdout:\n{}", root.display())
        );
        let text = tools.ok("run_command", json!({"command": "pwd", "cwd": "sub"})).await;
        assert!(text.ends_with("/sub"), "{text}");
        assert_eq!(tools.ok("run_command", json!({"command": "cat"})).await, "exit code 0", "no input is waited for");
    }
}

// T10: arguments are arguments.
#[tokio::test]
async fn no_shell_is_in_between() {
    for (folder, tools) in both() {
        for hostile in ["$(touch pwned)", "; touch pwned", "`touch pwned`", "a\ntouch pwned", "-n", "> pwned", "*"] {
            let text = tools.ok("run_command", json!({"command": "printf", "args": ["%s", hostile]})).await;
            assert_eq!(text, format!("exit code 0\nstdout:\n{hostile}"));
        }
        assert!(
            tools.err("run_command", json!({"command": "echo hi; touch pwned"})).await.contains("there is no program")
        );
        assert!(!folder.path().join("pwned").exists());
    }
}

#[tokio::test]
async fn only_named_commands_run() {
    let only = Commands::Only(vec!["echo".into(), "/bin/true".into()]);
    let (_folder, tools) = tools_with(CommandSettings { allowed: only, ..CommandSettings::default() });
    tools.ok("run_command", json!({"command": "echo"})).await;
    tools.ok("run_command", json!({"command": "/bin/true"})).await;
    for command in ["true", "./echo", "/bin/echo", "sh", "echo ", "ECHO", "../echo", ""] {
        let text = tools.err("run_command", json!({"command": command})).await;
        assert!(text.contains("allowed are echo, /bin/true"), "{command}: {text}");
    }
}

#[tokio::test]
async fn the_environment_is_what_settings_say() {
    let environment = vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("GREETING".into(), "hello".into())];
    let (_folder, tools) =
        tools_with(CommandSettings { allowed: Commands::Any, environment, ..CommandSettings::default() });
    let text = tools.ok("run_command", json!({"command": "env"})).await;
    let mut names: Vec<_> = text.lines().skip(2).filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["GREETING", "PATH"]);
    let inherited = CommandSettings::inherited_environment();
    assert!(inherited.iter().any(|(name, _)| name == "PATH"));
    assert!(inherited.iter().all(|(name, _)| name != "CARGO_MANIFEST_DIR"));
}

#[tokio::test]
async fn mistakes_say_what_to_do() {
    for (_folder, tools) in both() {
        let cases = [
            (json!({"command": "no-such-program-here"}), "there is no program"),
            (json!({"command": "./no-such-program-here"}), "there is no program"),
            (json!({"command": ""}), "empty"),
            (json!({"command": "echo", "args": ["a\0b"]}), "NUL"),
            (json!({"command": "echo", "args": vec!["x"; 1_001]}), "more than 1000 arguments"),
            (json!({"command": "echo", "args": ["x".repeat(200_000)]}), "131072 bytes"),
            (json!({"command": "echo", "cwd": "/etc"}), "outside the allowed folders"),
            (json!({"command": "echo", "cwd": "none"}), "does not exist"),
            (json!({"command": "echo", "args": "x"}), "invalid type"),
        ];
        for (arguments, part) in cases {
            let text = tools.err("run_command", arguments).await;
            assert!(text.contains(part), "{text}");
        }
    }
}

/// Whether a process that only this test started still runs: its command line holds the marker.
fn runs(marker: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    })
}

pub(crate) async fn eventually_gone(marker: &str) {
    for _ in 0..500 {
        if !runs(marker) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{marker} still runs");
}

#[tokio::test]
async fn the_whole_tree_ends_when_time_is_up() {
    for (_folder, tools) in both() {
        // A number of seconds nobody else sleeps for marks the processes.
        let mut call = shell("echo begun; sleep 86411 & sleep 86411; echo never");
        call["timeout_ms"] = json!(1_000);
        let started = Instant::now();
        let text = tools.err("run_command", call).await;
        assert!(text.starts_with("timed out after 1000 ms") && text.ends_with("stdout:\nbegun"), "{text}");
        assert!(started.elapsed() < Duration::from_secs(5));
        eventually_gone("86411").await;
    }
}

#[tokio::test]
async fn one_that_ignores_the_request_to_end_is_ended_all_the_same() {
    for (_folder, tools) in both() {
        let mut call = shell("trap '' TERM; sleep 86412 & wait; sleep 86412");
        call["timeout_ms"] = json!(50);
        tools.err("run_command", call).await;
        eventually_gone("86412").await;
    }
}

#[tokio::test]
async fn the_tree_ends_when_the_call_is_cancelled_or_overdue() {
    for (_folder, tools) in both() {
        let context = CallContext::new(1, Duration::from_secs(20));
        let cancel = context.cancel.clone();
        let cancelled = async {
            while !runs("86413") {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        };
        let (outcome, ()) =
            tokio::join!(tools.invoke("run_command", shell("sleep 86413 & sleep 86413"), &context), cancelled);
        assert!(matches!(outcome, Err(InvokeError::Cancelled)), "{outcome:?}");
        eventually_gone("86413").await;

        let context = CallContext::new(1, Duration::from_millis(80));
        let outcome = tools.invoke("run_command", shell("trap '' TERM; sleep 86414 & sleep 86414"), &context).await;
        assert!(outcome.is_err() || outcome.is_ok_and(|result| result.is_error()));
        eventually_gone("86414").await;
    }
}

#[tokio::test]
async fn what_a_command_leaves_behind_goes_with_it() {
    for (_folder, tools) in both() {
        let started = Instant::now();
        let text = tools.ok("run_command", shell("sleep 86415 & echo done")).await;
        assert_eq!(text, "exit code 0\nstdout:\ndone");
        assert!(started.elapsed() < Duration::from_secs(5), "its open pipe is not waited for");
        eventually_gone("86415").await;
    }
}

#[tokio::test]
async fn long_output_is_drained_and_cut_in_the_middle() {
    let settings = CommandSettings { allowed: Commands::Any, output_chars: 100, ..CommandSettings::default() };
    let (_folder, tools) = tools_with(settings);
    let text = tools.ok("run_command", shell("yes 0123456789 | head -c 3000000; echo end")).await;
    assert!(text.starts_with("exit code 0\nstdout:\n0123456789") && text.ends_with("end"), "{text}");
    assert!(text.contains("[2999904 bytes left out]") && text.len() < 300, "{text}");
}

#[tokio::test]
async fn a_guard_that_does_not_run_is_named() {
    let guard = Some("/nowhere/toolcrib".into());
    let (_folder, tools) = tools_with(CommandSettings { allowed: Commands::Any, guard, ..CommandSettings::default() });
    let text = tools.err("run_command", json!({"command": "true"})).await;
    assert!(text.contains("'true' cannot be started: the guard /nowhere/toolcrib does not run"), "{text}");
}

// Who leaves the process group is beyond reach without a guard.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_guard_also_ends_what_left_the_group() {
    let settings = CommandSettings { allowed: Commands::Any, guard: Some(guard()), ..CommandSettings::default() };
    let (_folder, tools) = tools_with(settings);
    tools
        .ok(
            "run_command",
            shell("setsid sleep 86416 >/dev/null 2>&1 & while ! grep -qs 86416 /proc/$!/cmdline; do :; done"),
        )
        .await;
    eventually_gone("86416").await;
}
