//! From settings to a usable connection.

use std::sync::Arc;

use tokio::time::Instant;

use super::{
    handshake::{Trouble, greet},
    http::{HttpLink, Target},
    inbox::{ClosingKind, Inbox},
    link::Link,
    process::{self, ProcessHandle},
    session::Session,
    settings::{EraChoice, Transport},
    stdio::{StdioLimits, StdioLink},
    supervisor::Core,
};

/// A connection and, for stdio, the child behind it.
pub(super) struct Connected {
    pub(super) session: Arc<Session>,
    pub(super) process: Option<ProcessHandle>,
}

/// Starts or reaches the server and greets it as `choice` says. Whatever was started is ended again on failure.
pub(super) async fn connect(core: &Core, choice: EraChoice) -> Result<Connected, Trouble> {
    let settings = &core.settings;
    let deadline = Instant::now() + settings.connect_timeout;
    let inbox = Inbox::new(core.source.to_string(), core.mask.clone(), core.facts.clone(), settings.limits.in_flight);
    let failed = |reason: String, permanent| Trouble::Failed { reason, permanent };
    let (link, process) = match &settings.transport {
        Transport::Stdio { .. } => {
            let started =
                process::start(settings, &core.tracker).map_err(|error| failed(error.reason, error.permanent))?;
            *core.stderr.lock() = Some(started.handle.stderr.clone());
            core.facts.now.lock().pid = started.handle.pid;
            let limits = StdioLimits { line_bytes: settings.limits.message_bytes, write: settings.timing.write };
            let streams = (started.stdin, started.stdout);
            let exit = started.handle.exit.clone();
            let link = StdioLink::start(streams, exit, inbox.clone(), core.ids.clone(), &limits, &core.tracker);
            (Link::Stdio(link), Some(started.handle))
        }
        Transport::Http { url, headers, bearer } => {
            let patience = settings.connect_timeout.min(std::time::Duration::from_secs(10));
            let target =
                Target::new(url, headers, bearer.as_deref(), patience).map_err(|reason| failed(reason, true))?;
            let bytes = settings.limits.message_bytes;
            let link = HttpLink::new(target, inbox.clone(), core.ids.clone(), bytes, core.tracker.clone());
            (Link::Http(link), None)
        }
    };
    let greeted = tokio::select! {
        greeted = greet(&link, choice, &settings.timing, deadline) => greeted,
        () = core.cancel.cancelled() => Err(failed("toolcrib is stopping".to_owned(), false)),
    };
    match greeted {
        Ok(hello) => Ok(Connected { session: Arc::new(Session { link, hello }), process }),
        Err(trouble) => {
            // Closes the streams, which is the first step of ending the child.
            inbox.close("the handshake failed", ClosingKind::Ours);
            if let Some(process) = process {
                process.stop().await;
            }
            core.facts.now.lock().pid = None;
            Err(trouble)
        }
    }
}
