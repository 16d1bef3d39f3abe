//! `run_command`: one program with its arguments, never a shell.
//!
//! The program leads a process group of its own, which is ended as a whole when the command is done, its time is up or
//! nobody waits any more. A descendant that leaves the group on purpose escapes that.

use std::{fmt::Write, path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
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
    settings::Commands,
};

mod output;

use output::Kept;

/// Time between asking a command to end and ending it.
const GRACE: Duration = Duration::from_secs(1);
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
    let (mut child, limit) = match start(shared, &arguments, context).await {
        Ok(started) => started,
        Err(Failure(text)) => return Ok(ToolResult::error(text)),
    };
    let mut group = Group::of(&child);
    let kept = shared.settings.commands.output_chars;
    let (mut out, mut err) = (Kept::new(kept), Kept::new(kept));
    let end = {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let drained = async { tokio::join!(drain(stdout, &mut out), drain(stderr, &mut err)) };
        supervise(&mut child, &mut group, drained, Instant::now() + limit).await
    };
    let mut text = match &end {
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
) -> Result<(Child, Duration), Failure> {
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

    let mut command = Command::new(name);
    command
        .args(&arguments.args)
        .env_clear()
        .envs(settings.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(folder) = working_folder(shared, arguments.cwd.clone(), context).await? {
        command.current_dir(folder);
    }
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::new(format!(
            "there is no program '{name}'; give one program as command, its arguments in args (no shell is used)"
        )),
        _ => Failure::new(format!("'{name}' cannot be started: {error}")),
    })?;
    Ok((child, limit))
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
async fn supervise(child: &mut Child, group: &mut Group, drained: impl Future, end: Instant) -> End {
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
            group.signal(Signal::TERM);
            let ended = async {
                loop {
                    tokio::select! {
                        status = child.wait() => break status,
                        _ = &mut drained, if !dry => dry = true,
                    }
                }
            };
            let _ = timeout(GRACE, ended).await;
            End::TimedOut
        }
    };
    // Whatever the command left behind goes with it.
    group.end();
    if how == End::TimedOut {
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

/// The command's process group. Dropping it ends every process in it, which is what happens when a call is cancelled.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.0 {
            // Fails when everything has ended already.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Ends what is left of the group. Done once: later its number may belong to others.
    fn end(&mut self) {
        self.signal(Signal::KILL);
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}
