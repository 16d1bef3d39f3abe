//! `run_command`: one program with its arguments, never a shell.
//!
//! The program leads a process group of its own, which is ended as a whole when the command is done, its time is up or
//! nobody waits any more. With a guard (`leash`) it also ends when this process is killed, and on Linux so does a
//! descendant that left the group; without one, such a descendant goes on.

use std::{
    env,
    fmt::Write,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    time::{Instant, sleep_until, timeout},
};
use toolcrib_core::ToolResult;
use toolcrib_engine::{CallContext, InvokeError};

use super::{
    Shared, blocking,
    definition::{Behaviour, define},
    failure::Failure,
    settings::{CommandSettings, Commands},
};
use crate::leash::{Leash, guarded};

mod output;

use output::Kept;

/// Time for output still in the pipes after the command ended; a child left behind may hold them open for ever.
const DRAIN: Duration = Duration::from_millis(250);
/// Most arguments, and most bytes of them all.
const MAX_ARGUMENTS: usize = 1_000;
const MAX_ARGUMENT_BYTES: usize = 128 * 1024;

pub(crate) fn definition() -> Value {
    define(
        "run_command",
        "Run command",
        "Run a program without a shell.",
        &json!({
            "command": {"type": "string"},
            "args": {"type": "array", "items": {"type": "string"}},
            "cwd": {"type": "string"},
            "timeout_ms": {"type": "integer", "minimum": 1},
        }),
        &["command"],
        Behaviour::Anything,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

pub(crate) async fn run(
    shared: &Arc<Shared>,
    arguments: Arguments,
    context: &CallContext,
) -> Result<ToolResult, InvokeError> {
    let (mut child, mut leash, limit) = match start(shared, &arguments, context).await {
        Ok(started) => started,
        Err(Failure(text)) => return Ok(ToolResult::error(text)),
    };
    let passed_on = leash.is_guard();
    let kept = shared.settings.commands.output_chars;
    let (mut out, mut err) = (Kept::new(kept), Kept::new(kept));
    let end = {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let drained = async { tokio::join!(drain(stdout, &mut out), drain(stderr, &mut err)) };
        supervise(&mut child, &mut leash, drained, Instant::now() + limit).await
    };
    let mut text = match &end {
        // A guard exits as a shell does for what a signal ended; the command may also have chosen that number itself.
        End::Exited(code @ 129..=192) if passed_on => format!("exit code {code} (as after signal {})", code - 128),
        End::Exited(code) => format!("exit code {code}"),
        End::Killed(signal) => format!("ended by signal {signal}"),
        End::TimedOut => format!(
            "timed out after {} ms and was ended with all it had started; ask for more time with timeout_ms",
            limit.as_millis()
        ),
        End::Lost(error) => return Err(InvokeError::Unknown(format!("the command was lost sight of: {error}"))),
    };
    for (name, kept) in [("stdout", out), ("stderr", err)] {
        let output = kept.into_text();
        if !output.is_empty() {
            let _ = write!(text, "\n{name}:\n{output}");
        }
    }
    Ok(if end == End::Exited(0) { ToolResult::text(text) } else { ToolResult::error(text) })
}

async fn start(
    shared: &Arc<Shared>,
    arguments: &Arguments,
    context: &CallContext,
) -> Result<(Child, Leash, Duration), Failure> {
    let settings = &shared.settings.commands;
    let name = arguments.command.as_str();
    match &settings.allowed {
        Commands::Off => return Err(Failure::new("running commands is switched off in the configuration")),
        Commands::Only(names) if !names.iter().any(|allowed| allowed == name) => {
            let shown: String = name.chars().take(100).collect();
            return Err(Failure::new(format!(
                "'{shown}' is not an allowed command; allowed are {} (a command is one program: put its arguments in args)",
                names.join(", ")
            )));
        }
        Commands::Only(_) | Commands::Any => {}
    }
    let bytes: usize = arguments.args.iter().map(String::len).sum();
    if arguments.args.len() > MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES {
        return Err(Failure::new(format!("more than {MAX_ARGUMENTS} arguments or {MAX_ARGUMENT_BYTES} bytes of them")));
    }
    if name.is_empty() || arguments.args.iter().any(|argument| argument.contains('\0')) || name.contains('\0') {
        return Err(Failure::new("the command is empty, or it or an argument contains a NUL character"));
    }
    let asked = arguments.timeout_ms.map_or(settings.default_timeout, Duration::from_millis);
    // A little less than the call has, so that what was printed so far still gets back.
    let available = context.remaining().mul_f32(0.9).max(Duration::from_millis(1));
    let limit = asked.min(settings.max_timeout).min(available);

    let folder = working_folder(shared, arguments.cwd.clone(), context).await?;
    let not_found = || {
        Failure::new(format!(
            "there is no program '{name}'; give one program as command, its arguments in args (no shell is used)"
        ))
    };
    let cannot_start = |error: std::io::Error| Failure::new(format!("'{name}' cannot be started: {error}"));
    let (mut command, held) = match &settings.guard {
        // A guard would find out too, but only say so on the command's own standard error.
        Some(_) if !is_found(settings, name, folder.as_deref()) => return Err(not_found()),
        Some(binary) => {
            let (command, reader, leash) = guarded(binary, name).map_err(cannot_start)?;
            (command, Some((reader, leash)))
        }
        None => (Command::new(name), None),
    };
    command
        .args(&arguments.args)
        .env_clear()
        .envs(settings.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        // A guard notices by itself and needs to live to end the tree.
        .kill_on_drop(held.is_none());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let child = command.spawn().map_err(|error| match (error.kind(), &settings.guard) {
        (std::io::ErrorKind::NotFound, None) => not_found(),
        (_, None) => cannot_start(error),
        (_, Some(guard)) => {
            Failure::new(format!("'{name}' cannot be started: the guard {} does not run: {error}", guard.display()))
        }
    })?;
    let leash = held.map_or_else(|| Leash::group(&child), |(_reader, leash)| leash);
    Ok((child, leash, limit))
}

/// Whether there is a file where the system would look for the program: in the search path of the command's own
/// environment, or as seen from its folder if the name holds a slash.
fn is_found(settings: &CommandSettings, name: &str, folder: Option<&Path>) -> bool {
    let from_folder = |path: &Path| folder.map_or_else(|| path.to_owned(), |folder| folder.join(path)).is_file();
    if name.contains('/') {
        return from_folder(Path::new(name));
    }
    let path = settings.environment.iter().rev().find(|(name, _)| name == "PATH");
    // Without one the system has a search path of its own.
    path.is_none_or(|(_, path)| env::split_paths(path).any(|part| from_folder(&part.join(name))))
}

/// The folder asked for, which must be an allowed one, else the first allowed one, if any.
async fn working_folder(
    shared: &Arc<Shared>,
    cwd: Option<String>,
    context: &CallContext,
) -> Result<Option<PathBuf>, Failure> {
    if cwd.is_none() && shared.settings.roots.is_empty() {
        return Ok(None);
    }
    blocking::run(shared, context, move |shared, _| {
        let place = shared.roots.place(cwd.as_deref().unwrap_or("."))?;
        place.open_directory()?;
        place.path().map(Some)
    })
    .await
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Exited(i32),
    Killed(i32),
    TimedOut,
    Lost(String),
}

/// Waits for the command, or ends it; then waits a little for what is still in the pipes.
async fn supervise(child: &mut Child, leash: &mut Leash, drained: impl Future, end: Instant) -> End {
    tokio::pin!(drained);
    let mut dry = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break Some(status),
            _ = &mut drained, if !dry => dry = true,
            () = sleep_until(end) => break None,
        }
    };
    let how = match status {
        Some(Ok(status)) => match (status.code(), std::os::unix::process::ExitStatusExt::signal(&status)) {
            (Some(code), _) => End::Exited(code),
            (None, signal) => End::Killed(signal.unwrap_or_default()),
        },
        Some(Err(error)) => End::Lost(error.to_string()),
        None => {
            let patience = leash.ask();
            let ended = async {
                loop {
                    tokio::select! {
                        status = child.wait() => break status,
                        _ = &mut drained, if !dry => dry = true,
                    }
                }
            };
            let _ = timeout(patience, ended).await;
            End::TimedOut
        }
    };
    // Whatever the command left behind goes with it.
    leash.end();
    if how == End::TimedOut {
        let _ = child.start_kill();
        let _ = child.wait().await;
    }
    if !dry {
        let _ = timeout(DRAIN, drained).await;
    }
    how
}

async fn drain(stream: Option<impl AsyncRead + Unpin>, kept: &mut Kept) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        kept.push(&buffer[..read]);
    }
}
