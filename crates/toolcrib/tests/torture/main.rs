//! The torture run: toolcrib is killed with SIGKILL again and again while calls that change something are under way,
//! and afterwards the journal is held against what the tool server really did, as written down outside of toolcrib.
//!
//! By default a short run per door. The long one takes minutes, more than nextest gives a test:
//! `TOOLCRIB_TORTURE=1000 cargo test -p toolcrib --test torture -- --nocapture killed`. The seed is printed;
//! `TOOLCRIB_SEED=N` repeats a run's decisions (not the machine's timing), `TOOLCRIB_BIN=PATH` runs another toolcrib
//! than the one just built.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]
#![cfg(target_os = "linux")]

mod door;
mod judge;
mod processes;
mod random;
mod run;
mod scene;
mod upstream;

use door::Kind;

#[test]
fn killed_under_load_over_stdio() {
    run::torture(Kind::Stdio);
}

#[test]
fn killed_under_load_over_http() {
    run::torture(Kind::Http);
}

/// What the runs count on. Started by the scene's configuration, with the file to write into, this is their tool server.
#[test]
fn upstream() {
    if upstream::serve_if_asked() {
        return;
    }
    let dangerous = |name: &str| {
        upstream::tools()
            .iter()
            .find(|tool| tool["name"] == name)
            .map(|tool| tool["annotations"]["destructiveHint"] == true)
    };
    // One runs by itself, the other is asked about.
    assert_eq!((dangerous("add"), dangerous("wipe")), (Some(false), Some(true)));
}
