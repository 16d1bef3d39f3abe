//! The guard as a program, for tests: `toolcrib` itself has it as a hidden command. Its source is taken from the crate
//! that owns it, which this one does not depend on.

use std::process::ExitCode;

#[path = "../../../mcp/src/upstream/guard.rs"]
#[allow(unreachable_pub)]
mod guard;

fn main() -> ExitCode {
    guard::run(std::env::args_os().skip(2))
}
