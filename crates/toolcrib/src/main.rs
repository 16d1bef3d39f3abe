//! The `toolcrib` command.

mod api;
mod args;
mod asker;
mod builtins;
mod callers;
mod commands;
mod encoders;
mod evidence;
mod exit;
mod files;
mod index_file;
mod labels;
mod payloads;
mod plugins;
mod print;
mod prompt;
mod reload;
mod seal;
mod service;
mod settings;
mod statics;
mod stores;
mod world;

use std::{ffi::OsString, io::IsTerminal, process::ExitCode, time::Duration};

use clap::{CommandFactory, Parser};
use toolcrib_engine::Unservable;
use toolcrib_mcp::upstream::guard;

use crate::{
    args::{Cli, Command},
    exit::Exit,
};

fn main() -> ExitCode {
    // Not a command of the user's: what children are started through. Must come before any thread.
    let mut words = std::env::args_os().skip(1);
    if words.next() == Some(OsString::from(guard::COMMAND)) {
        return guard::run(words);
    }
    let cli = match Cli::try_parse_from(args::spread_catalogs(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    start_logging(cli.verbose);
    // One TLS provider, chosen here and nowhere else; an error means that one was installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // One client at a time is served fastest without handing work between threads; what takes long runs on blocking
    // threads either way.
    let mut builder = match &cli.command {
        Command::Serve(args) if !args.stdio => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            print::note(format!("error: cannot start: {error}"));
            return Exit::Failed.into();
        }
    };
    let ended = runtime.block_on(run(cli.command));
    // Reading standard input sits on a thread that nothing can interrupt; the process does not wait for it.
    runtime.shutdown_timeout(Duration::from_millis(200));
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => {
            if let Some(Unservable::Incomplete(incomplete)) = error.downcast_ref() {
                print::note(format!("error: {}", print::clean(&incomplete.to_string())));
                return Exit::Denied.into();
            }
            print::note(format!("error: {}", print::error(&error)));
            Exit::Usage.into()
        }
    }
}

async fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Serve(args) => Box::pin(commands::serve::run(args)).await,
        Command::Tools(args) => Box::pin(commands::tools::run(*args)).await,
        Command::Search(args) => Box::pin(commands::search::run(args)).await,
        Command::Show(args) => Box::pin(commands::show::run(args)).await,
        Command::Call(args) => Box::pin(commands::call::run(args)).await,
        Command::Assemble(args) => Box::pin(commands::assemble::run(args)).await,
        Command::Explain(args) => Box::pin(commands::explain::run(args)).await,
        Command::Lint(args) => Box::pin(commands::lint::run(args)).await,
        Command::Doctor(args) => Box::pin(commands::doctor::run(args)).await,
        Command::Plugins(args) => Box::pin(commands::plugins::run(args)).await,
        Command::Approvals(args) => Box::pin(commands::approvals::run(args)).await,
        Command::Audit(args) => Box::pin(commands::audit::run(args)).await,
        Command::Stats(args) => Box::pin(commands::stats::run(args)).await,
        Command::Eval(args) => Box::pin(commands::eval::run(args)).await,
        Command::Learned(args) => commands::learned::run(args).await,
        Command::Import(args) => commands::import::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "toolcrib", &mut script);
            print::bytes(&script);
            Ok(Exit::Done)
        }
    }
}

fn start_logging(verbose: u8) {
    use tracing_subscriber::EnvFilter;
    let default = match verbose {
        0 => "warn",
        1 => "warn,toolcrib=info,toolcrib_mcp=info,toolcrib_engine=info,toolcrib_connect=info,toolcrib_gateway=info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("TOOLCRIB_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
}
