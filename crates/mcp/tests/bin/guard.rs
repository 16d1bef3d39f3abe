//! The guard as a program, for tests: `toolcrib` itself has it as a hidden command.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolcrib_mcp::upstream::guard::run(std::env::args_os().skip(2))
}
