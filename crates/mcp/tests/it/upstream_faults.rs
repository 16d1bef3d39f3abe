//! The faults of a server over stdio, F1 to F11 and F20 of the reliability reference; each case ends with the positive control.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_engine::{CallContext, InvokeError, Late};
use toolcrib_mcp::upstream::{Transport, UpstreamSettings};

use crate::{
    upstream::{PATIENCE, Rig, alive, fake, gone, guard_binary, quick, tool},
    upstream_web::eventually,
};

const MS: Duration = Duration::from_millis(1);

fn kind(outcome: &Result<toolcrib_core::ToolResult, InvokeError>) -> &'static str {
    match outcome {
        Ok(_) => "ok",
        Err(InvokeError::Unavailable(_)) => "unavailable",
        Err(InvokeError::Refused { .. }) => "refused",
        Err(InvokeError::TimedOut(_)) => "timed out",
        Err(InvokeError::Cancelled) => "cancelled",
        Err(InvokeError::Unknown(_)) => "unknown",
        Err(InvokeError::BadAnswer(_)) => "bad answer",
        Err(InvokeError::Broken(_)) => "broken",
    }
}

/// F1: whoever waits learns at once that the server is gone, and the next call works.
#[tokio::test]
async fn a_crash_fails_the_call_and_the_next_one_works() {
    for guarded in [false, true] {
        let mut settings = fake(&json!({}));
        settings.guard = guarded.then(guard_binary);
        let rig = Rig::start(settings);
        rig.ready().await;
        for (restarts, (arguments, expected, reason)) in (1..).zip([
            (json!({"code": 0}), "unknown", "exited with status 0"),
            (json!({"code": 1}), "unknown", "exited with status 1"),
            (json!({"code": 7, "when": "half"}), "unknown", "exited with status 7"),
            (json!({"signal": 11}), "unknown", "signal 11"),
            (json!({"signal": 9}), "unknown", "signal 9"),
            (json!({"when": "after"}), "ok", ""),
        ]) {
            let started = Instant::now();
            let outcome = rig.call("exit", arguments.clone()).await;
            assert_eq!(kind(&outcome), expected, "{arguments}");
            if let Err(error) = outcome {
                assert!(error.to_string().contains(reason), "{arguments}: {error}");
                assert!(error.to_string().contains("may or may not have run"), "{error}");
            }
            assert!(started.elapsed() < MS * 1500, "{arguments}: {:?}", started.elapsed());
            if expected == "ok" {
                // The end that nobody waited for is noticed a moment later.
                eventually(|| rig.report().restarts == restarts).await;
            }
            rig.works().await;
            assert_eq!(rig.report().restarts, restarts);
        }
        rig.stop().await;
    }
}

/// F1: all who wait are told, none is forgotten.
#[tokio::test]
async fn everyone_who_waits_hears_of_a_crash() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    let hanging = (0..20).map(|_| rig.call("hang", json!({})));
    let crash = async {
        tokio::time::sleep(MS * 50).await;
        rig.call("exit", json!({})).await
    };
    let (outcomes, _) = tokio::join!(futures_util::future::join_all(hanging), crash);
    assert!(outcomes.iter().all(|outcome| kind(outcome) == "unknown"), "{outcomes:?}");
    rig.works().await;
    rig.stop().await;
}

/// F2, oneringai §2.13: an answer that comes after the call was given up is counted, and handed on to be taken note of.
#[tokio::test]
async fn a_late_answer_is_taken_note_of() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    for (dropped, cancelled) in (1..).zip([false, true]) {
        let late = rig.give_up(("late", json!({"ms": 100})), cancelled, async || {}).await;
        assert_eq!(late.expect("it is waited for").unwrap().to_text(), "late", "cancelled: {cancelled}");
        assert_eq!(rig.report().dropped_replies, dropped);
    }
    // Never answered: the end of the connection is the end of the wait.
    let late = rig.give_up(("hang", json!({})), false, async || drop(rig.call("exit", json!({})).await)).await;
    assert_eq!(kind(&late.expect("it is waited for")), "unknown");
    rig.works().await;
    // What did not leave cannot be answered.
    let mut context = CallContext { late: Late::new(true), ..CallContext::new(1, PATIENCE) };
    context.cancel.cancel();
    let tool = tool(&json!({"name": "echo", "inputSchema": {"type": "object"}}));
    assert_eq!(kind(&rig.invoke_in(&tool, json!({}), &context).await), "cancelled");
    assert!(context.late.take().is_none());
    rig.stop().await;
}

/// F2: a hang ends at the deadline, the server is told, and its late answer is dropped.
#[tokio::test]
async fn a_hang_ends_at_the_deadline() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    for (name, arguments) in [("hang", json!({})), ("late", json!({"ms": 150}))] {
        let started = Instant::now();
        let outcome = rig.call_in(name, arguments, CallContext::new(1, MS * 80)).await;
        assert_eq!(kind(&outcome), "timed out");
        assert!((MS * 80..MS * 1000).contains(&started.elapsed()));
    }
    tokio::time::sleep(MS * 50).await;
    tokio::time::sleep(MS * 50).await;
    let seen = rig.ask("seen", json!({})).await;
    assert_eq!(seen["cancelled"].as_array().unwrap().len(), 2, "{seen}");
    assert_eq!(rig.report().dropped_replies, 1);
    // The longest time for a call holds whatever its caller allows.
    let mut settings = fake(&json!({}));
    settings.call_timeout = MS * 80;
    let short = Rig::start(settings);
    short.ready().await;
    assert_eq!(kind(&short.call("hang", json!({})).await), "timed out");
    short.works().await;
    rig.works().await;
    short.stop().await;
    rig.stop().await;
}

/// F12: a caller that gives up, politely or by going away, ends the call at the server.
#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    let context = CallContext::new(1, PATIENCE);
    let cancel = context.cancel.clone();
    let (outcome, ()) = tokio::join!(rig.call_in("hang", json!({}), context), async {
        tokio::time::sleep(MS * 30).await;
        cancel.cancel();
    });
    assert_eq!(kind(&outcome), "cancelled");
    assert!(tokio::time::timeout(MS * 50, rig.call("hang", json!({}))).await.is_err());
    let seen = rig.ask("seen", json!({})).await;
    assert_eq!(seen["cancelled"].as_array().unwrap().len(), 2, "{seen}");
    rig.stop().await;
}

/// F3: a handshake that hangs ends within its budget, the child is gone, and the server is tried again.
#[tokio::test]
async fn a_hung_handshake_is_ended_and_tried_again() {
    for startup in ["hang", "garbage"] {
        let folder = tempfile::tempdir().unwrap();
        let once = folder.path().join("once");
        let mut settings = fake(&json!({"startup": startup, "once": once}));
        settings.connect_timeout = MS * 700;
        settings.timing.probe = MS * 200;
        let rig = Rig::start(settings);
        let pid = rig.pid().await;
        rig.ready().await;
        assert!(!alive(pid));
        rig.works().await;
        rig.stop().await;
    }
}

/// F4: a child that never reads stops nobody, and nothing is half sent.
#[tokio::test]
async fn a_child_that_does_not_read_is_replaced() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    rig.call("deaf", json!({})).await.unwrap();
    let big = json!({"x": "x".repeat(1024 * 1024)});
    let small = || rig.call_in("echo", json!({}), CallContext::new(1, MS * 200));
    let (first, second) = tokio::join!(rig.call("echo", big), async {
        tokio::time::sleep(MS * 30).await;
        small().await
    });
    assert_eq!(kind(&first), "unknown");
    assert!(first.unwrap_err().to_string().contains("left its input unread"));
    assert_eq!(kind(&second), "unavailable", "it never left");
    rig.works().await;
    rig.stop().await;
}

/// F5: whatever else is on stdout is skipped and counted.
#[tokio::test]
async fn garbage_on_stdout_is_skipped() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    assert_eq!(rig.ask("junk", json!({})).await, "clean");
    let few = rig.report().stray_lines;
    assert!((8..=10).contains(&few), "{few}");
    assert_eq!(rig.ask("junk", json!({"lines": 10_000})).await, "clean");
    assert!(rig.report().stray_lines >= 10_000);
    assert_eq!(rig.report().restarts, 0);
    rig.works().await;
    rig.stop().await;
}

/// F6: a reply cut anywhere is no reply; what comes after is in step.
#[tokio::test]
async fn a_reply_cut_anywhere_fails_its_call_alone() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    for at in [0, 1, 10, 16, 27, 40, 60] {
        assert_eq!(kind(&rig.call("cut", json!({"at": at})).await), "unknown", "cut at {at}");
    }
    rig.works().await;
    // Whole but for its newline: nothing is missing.
    let before = rig.report().restarts;
    assert_eq!(rig.ask("cut", json!({"at": -1})).await, "whole");
    // It ended after that; a call that meets the end half-way would rightly be unknown.
    eventually(|| rig.report().restarts > before).await;
    rig.works().await;
    rig.stop().await;
}

/// F7: an endless line costs bounded memory and its own call only.
#[tokio::test]
async fn a_giant_line_fails_its_call_alone() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    for first in ["id", "result"] {
        let before = resident();
        let outcome = rig.call("giant", json!({"bytes": 64 * 1024 * 1024, "first": first})).await;
        assert_eq!(kind(&outcome), "bad answer", "{outcome:?}");
        assert!(outcome.unwrap_err().to_string().contains("raise limits.message_bytes"));
        let growth = resident().saturating_sub(before);
        assert!(growth < 40 * 1024 * 1024, "grew by {growth} bytes");
        rig.works().await;
    }
    assert_eq!(rig.report().restarts, 0);
    rig.stop().await;
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// T16: a result over the limit is not passed on.
#[tokio::test]
async fn a_result_over_the_limit_is_refused() {
    let mut settings = fake(&json!({}));
    settings.limits.result_bytes = 10_000;
    let rig = Rig::start(settings);
    let outcome = rig.call("echo", json!({"x": "x".repeat(6_000)})).await;
    assert_eq!(kind(&outcome), "bad answer");
    rig.works().await;
    rig.stop().await;
}

/// F8: floods on stderr and of log messages are drained while calls are served.
#[tokio::test]
async fn floods_do_not_stop_calls() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    rig.call("stderr", json!({"bytes": 20 * 1024 * 1024})).await.unwrap();
    rig.until("drained", |_| true).await;
    rig.works().await;
    let tail = rig.report().stderr_tail;
    assert_eq!(tail.last().map(String::as_str), Some("the end"));
    assert!(tail.len() <= 20);
    rig.call("logs", json!({"count": 20_000})).await.unwrap();
    rig.works().await;
    rig.stop().await;
}

/// F9: a storm of notifications gives few listings, and the last state is seen.
#[tokio::test]
async fn a_storm_of_changes_is_coalesced() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    for _ in 0..5 {
        rig.call("storm", json!({"count": 400})).await.unwrap();
    }
    rig.call("add", json!({"name": "last"})).await.unwrap();
    rig.until("listed", |entry| entry.tools.iter().any(|tool| tool.name() == "last")).await;
    let listings = rig.report().listings;
    assert!((2..=6).contains(&listings), "{listings} listings for 2,001 notifications");
    rig.works().await;
    rig.stop().await;
}

/// F9: a server that announces a change while it lists does not keep itself busy for ever.
#[tokio::test]
async fn a_feedback_loop_slows_down_and_changes_nothing() {
    let rig = Rig::start(fake(&json!({"list": "notify"})));
    rig.ready().await;
    let generation = rig.hub.catalog().generation();
    for _ in 0..16 {
        tokio::time::sleep(MS * 50).await;
    }
    let listings = rig.report().listings;
    // Every 50 ms it would have been 16 and more.
    assert!((2..=6).contains(&listings), "{listings}");
    assert_eq!(rig.hub.catalog().generation(), generation, "nothing visible changed");
    rig.works().await;
    rig.stop().await;
}

/// F9: changes during a slow listing are not lost.
#[tokio::test]
async fn a_change_during_a_listing_is_seen() {
    let rig = Rig::start(fake(&json!({"list": "slow"})));
    rig.ready().await;
    rig.call("add", json!({"name": "one"})).await.unwrap();
    rig.call("add", json!({"name": "two"})).await.unwrap();
    rig.until("listed", |entry| entry.tools.iter().any(|tool| tool.name() == "two")).await;
    rig.stop().await;
}

/// F11: the first answer with the right id counts; all others are counted and dropped.
#[tokio::test]
async fn wrong_ids_and_second_answers_are_dropped() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    assert_eq!(rig.ask("twice", json!({})).await, "first");
    rig.works().await;
    assert_eq!(rig.report().dropped_replies, 1);
    assert_eq!(rig.ask("ids", json!({})).await, "right");
    rig.works().await;
    // Three numbers and a text nobody asked with, and 7.0 for 7; a boolean and a missing id are no messages.
    assert_eq!(rig.report().dropped_replies, 6);
    assert_eq!(rig.report().stray_lines, 2);
    rig.stop().await;
}

/// F11: an id is not used again after a restart, so an answer of the old child fits nobody.
#[tokio::test]
async fn ids_differ_from_one_child_to_the_next() {
    let rig = Rig::start(fake(&json!({})));
    let token = async || {
        let mut context = CallContext::new(1, PATIENCE);
        context.progress = Some(std::sync::Arc::new(|_| ()));
        let result = rig.call_in("progress", json!({"count": 0}), context).await.unwrap().to_text();
        serde_json::from_str::<Value>(&result).unwrap()["token"].as_u64().unwrap()
    };
    let before = token().await;
    let _ = rig.call("exit", json!({})).await;
    rig.works().await;
    assert!(token().await > before);
    rig.stop().await;
}

/// An answer that breaks the envelope is still an answer: nobody waits for the deadline.
#[tokio::test]
async fn a_broken_answer_fails_its_call_at_once() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"m"}}"#, "bad answer"),
        (r#"{"jsonrpc":"1.0","id":$ID,"result":{}}"#, "bad answer"),
        (r#"{"jsonrpc":"2.0","id":$ID}"#, "bad answer"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":[1]}"#, "bad answer"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":null}"#, "bad answer"),
        (r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":"x"}}"#, "refused"),
        (r#"[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":$ID,"result":{}}]"#, "ok"),
        ("{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"x\":1e999,\"big\":123456789012345678901234567890}}", "ok"),
    ] {
        let outcome = rig.call("raw", json!({"text": format!("{text}\n")})).await;
        assert_eq!(kind(&outcome), expected, "{text}: {outcome:?}");
    }
    rig.works().await;
    rig.stop().await;
}

/// A server that cannot start says why, without the secrets it was given, and recovers by itself.
#[tokio::test]
async fn a_server_that_cannot_start_says_why_and_comes_back() {
    let rig = Rig::start(fake(&json!({"startup": "exit"})));
    let reason = rig.down().await;
    assert!(reason.contains("exited with status 3"), "{reason}");
    assert!(reason.contains("cannot start: API_KEY is ***"), "{reason}");
    assert!(!format!("{:?}", rig.report()).contains("hunter2"));
    rig.stop().await;

    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(fake(&json!({"startup": "exit", "once": folder.path().join("once")})));
    rig.ready().await;
    rig.works().await;
    rig.stop().await;
}

/// A missing command is parked with a reason, and found when it is there.
#[tokio::test]
async fn a_missing_command_is_parked_and_found_later() {
    let folder = tempfile::tempdir().unwrap();
    let command = folder.path().join("server");
    let Transport::Stdio { command: python, args, env, cwd } = fake(&json!({})).transport else { unreachable!() };
    let script = format!("#!/bin/sh\nexec {python} \"$@\"\n");
    let mut settings: UpstreamSettings =
        quick(Transport::Stdio { command: command.display().to_string(), args, env, cwd });
    settings.timing.park = Duration::from_mins(10);
    let rig = Rig::start(settings);
    let reason = rig.down().await;
    assert!(reason.contains("does not exist; correct 'command'"), "{reason}");
    let outcome = rig.call("echo", json!({})).await;
    assert_eq!(kind(&outcome), "unavailable");
    std::fs::write(&command, script).unwrap();
    std::fs::set_permissions(&command, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    tokio::time::sleep(MS * 50).await;
    rig.works().await;
    rig.stop().await;
}

/// A child whose output ends but which lives on is ended and replaced.
#[tokio::test]
async fn a_closed_output_is_the_end() {
    let rig = Rig::start(fake(&json!({})));
    rig.ready().await;
    let pid = rig.ask("pid", json!({})).await["pid"].as_i64().unwrap();
    let outcome = rig.call("close_output", json!({})).await;
    assert_eq!(kind(&outcome), "unknown");
    rig.works().await;
    gone(vec![pid]).await;
    rig.stop().await;
}

/// F20: a shutdown leaves nothing behind, whatever the child ignores and forks.
#[tokio::test]
async fn a_shutdown_ends_the_whole_tree() {
    for (guarded, scenario) in [
        (false, json!({})),
        (false, json!({"ignore_eof": true})),
        (false, json!({"ignore_eof": true, "ignore_term": true})),
        (true, json!({})),
        (true, json!({"ignore_eof": true})),
        (true, json!({"ignore_eof": true, "ignore_term": true})),
    ] {
        let mut settings = fake(&scenario);
        settings.guard = guarded.then(guard_binary);
        settings.timing.stop_grace = MS * 200;
        let rig = Rig::start(settings);
        let pids = rig.ask("fork", json!({})).await;
        let mut pids: Vec<i64> = pids["pids"].as_array().unwrap().iter().map(|pid| pid.as_i64().unwrap()).collect();
        pids.push(rig.report().pid.unwrap().into());
        if !guarded {
            // Who leaves the group is beyond reach without a guard.
            let left = pids.remove(2);
            let _ = std::process::Command::new("kill").args(["-9", &left.to_string()]).status();
        }
        assert!(pids.iter().all(|pid| alive(*pid)), "{pids:?}");
        rig.stop().await;
        gone(pids).await;
    }
}

/// F20: a crash of the leader leaves nothing behind either.
#[tokio::test]
async fn what_a_crashed_child_left_is_ended() {
    for guarded in [false, true] {
        let mut settings = fake(&json!({}));
        settings.guard = guarded.then(guard_binary);
        let rig = Rig::start(settings);
        let pids = rig.ask("fork", json!({})).await;
        let mut pids: Vec<i64> = pids["pids"].as_array().unwrap().iter().map(|pid| pid.as_i64().unwrap()).collect();
        if !guarded {
            let left = pids.remove(2);
            let _ = std::process::Command::new("kill").args(["-9", &left.to_string()]).status();
        }
        assert_eq!(kind(&rig.call("exit", json!({"signal": 9})).await), "unknown");
        gone(pids).await;
        rig.works().await;
        rig.stop().await;
    }
}

/// F20: dropping an upstream without a word ends its child as well.
#[tokio::test]
async fn a_dropped_upstream_ends_its_child() {
    let rig = Rig::start(fake(&json!({})));
    let pid = rig.ask("pid", json!({})).await["pid"].as_i64().unwrap();
    drop(rig);
    gone(vec![pid]).await;
}

/// F20: when we are killed the guard notices and ends the whole tree.
#[test]
fn the_guard_ends_the_tree_when_its_owner_is_gone() {
    use std::{
        io::{BufRead, BufReader, Write},
        os::fd::AsRawFd,
        process::{Command, Stdio},
    };
    let Transport::Stdio { command, args, .. } = fake(&json!({"ignore_eof": true, "ignore_term": true})).transport
    else {
        unreachable!()
    };
    let (reader, writer) = std::io::pipe().unwrap();
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty()).unwrap();
    let mut guard = Command::new(guard_binary())
        .args(["__guard", &reader.as_raw_fd().to_string(), "200"])
        .arg(command)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(reader);
    let mut stdin = guard.stdin.take().unwrap();
    let mut lines = BufReader::new(guard.stdout.take().unwrap()).lines();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "fork"}}),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    lines.next();
    let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let pids: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    let pids: Vec<i64> = pids["pids"].as_array().unwrap().iter().map(|pid| pid.as_i64().unwrap()).collect();
    assert!(pids.iter().all(|pid| alive(*pid)));
    // What the kernel does to our end of the pipes when we are killed.
    drop(writer);
    drop(stdin);
    assert_eq!(guard.wait().unwrap().code(), Some(128 + 9));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(gone(pids));
}

/// The guard passes the program's end on, and says when there is none to start.
#[test]
fn the_guard_ends_as_its_program_does() {
    use std::{os::fd::AsRawFd, process::Command};
    let run = |program: &[&str]| {
        let (reader, _writer) = std::io::pipe().unwrap();
        rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty()).unwrap();
        let fd = reader.as_raw_fd().to_string();
        Command::new(guard_binary()).args(["__guard", &fd, "100"]).args(program).output().unwrap()
    };
    assert_eq!(run(&["sh", "-c", "exit 5"]).status.code(), Some(5));
    assert_eq!(run(&["sh", "-c", "kill -15 $$"]).status.code(), Some(128 + 15));
    assert_eq!(run(&["sh", "-c", "echo out"]).stdout, b"out\n");
    let missing = run(&["no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("cannot start 'no-such-program'"));
    assert_eq!(run(&[]).status.code(), Some(127));
}
