//! Serving one client over a pair of byte streams, one message per line.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::{Caller, Connection, Frame, Framing, Server, error_frame, oversize};
use crate::wire::{DEFAULT_MAX_LINE, Line, LineReader, RpcError, code};

/// Limits of a stdio connection.
#[derive(Clone, Copy, Debug)]
pub struct StdioOptions {
    /// Longest line taken, in bytes. Default 16 MiB.
    pub max_line: usize,
    /// Outgoing messages that may wait for the client to read. Default 256.
    pub queue: usize,
    /// How long calls may go on after the input ended or shutdown was asked for. Default 10 s.
    pub drain: Duration,
    /// How long the last answers may take to be written. Default 2 s.
    pub flush: Duration,
}

impl Default for StdioOptions {
    fn default() -> Self {
        Self { max_line: DEFAULT_MAX_LINE, queue: 256, drain: Duration::from_secs(10), flush: Duration::from_secs(2) }
    }
}

/// Serves until the input ends, the output breaks or `shutdown` fires; then finishes the calls that run, within limits.
///
/// Writes nothing but protocol. Mind that tokio's own stdin reads on a thread that cannot be interrupted: after a
/// shutdown the process has to end without waiting for the runtime's blocking threads.
pub async fn serve_stdio<R, W>(
    server: &Arc<Server>,
    caller: Caller,
    reader: R,
    writer: W,
    options: StdioOptions,
    shutdown: CancellationToken,
) -> io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (out, frames) = mpsc::channel(options.queue.max(1));
    let mut writing = tokio::spawn(write_frames(writer, frames));
    let admission = server.admission();
    let connection = Connection::open(server, Framing::Any, caller, admission, Some(out.clone()));
    let mut lines = LineReader::with_max(reader, options.max_line);
    let mut outcome = Ok(());
    let read_all = async {
        loop {
            match lines.next().await {
                Ok(Some(Line::Frame(line))) => connection.take_bytes(&line, &out).await,
                Ok(Some(Line::TooLong { bytes, head, tail })) => {
                    let message = format!("a message of {bytes} bytes is over the limit of {} bytes", options.max_line);
                    let error = RpcError::new(code::INVALID_REQUEST, message);
                    super::connection::send(&out, error_frame(oversize::id_of(&head, &tail).as_ref(), &error)).await;
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    };
    let output_broke = tokio::select! {
        biased;
        () = shutdown.cancelled() => false,
        () = out.closed() => true,
        result = read_all => {
            outcome = result;
            false
        }
    };
    if output_broke {
        connection.abandon();
    }
    if !connection.drain(options.drain).await {
        tracing::warn!("calls were still running {:?} after the end and were cancelled", options.drain);
    }
    drop((out, connection));
    match tokio::time::timeout(options.flush, &mut writing).await {
        Ok(Ok(Err(error))) if outcome.is_ok() => outcome = Err(error),
        Ok(_) => {}
        // A cancelled call may still hold an outbox, or the client reads nothing.
        Err(_) => writing.abort(),
    }
    outcome
}

async fn write_frames<W: AsyncWrite + Unpin>(mut writer: W, mut frames: mpsc::Receiver<Frame>) -> io::Result<()> {
    const BATCH: usize = 32;
    let mut batch = Vec::with_capacity(BATCH);
    while frames.recv_many(&mut batch, BATCH).await > 0 {
        for frame in batch.drain(..) {
            writer.write_all(&frame.json).await?;
            writer.write_all(b"\n").await?;
        }
        writer.flush().await?;
    }
    Ok(())
}
