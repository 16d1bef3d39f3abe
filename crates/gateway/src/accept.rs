//! The accept loop: hyper's HTTP/1 with timers, a bound on connections, and a drain.
//!
//! axum 0.8's own `serve` sets no timer, so that hyper's limit on slow request heads would do nothing.

use std::{io, pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{settings::GatewaySettings, stall::StallGuard};

/// Accepts until `shutdown`, then lets connections finish what they are doing, up to the drain limit.
pub(crate) async fn run(
    listener: TcpListener,
    router: Router,
    settings: &GatewaySettings,
    shutdown: &CancellationToken,
) {
    let room = Arc::new(Semaphore::new(settings.max_connections.max(1)));
    let connections = TaskTracker::new();
    // Ends what has not ended by the deadline.
    let deadline = CancellationToken::new();
    let mut backoff = Backoff::default();
    loop {
        // A place first: whoever does not get one waits in the system's queue and costs nothing.
        let Some(Ok(place)) = shutdown.run_until_cancelled(room.clone().acquire_owned()).await else { break };
        let Some(accepted) = shutdown.run_until_cancelled(listener.accept()).await else { break };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                let _ = shutdown.run_until_cancelled(backoff.after(&error)).await;
                continue;
            }
        };
        backoff.reset();
        let connection = serve(stream, router.clone(), settings, shutdown.clone(), deadline.clone());
        connections.spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(settings.drain, connections.wait()).await.is_err() {
        tracing::warn!(
            open = connections.len(),
            "connections were still busy {:?} after shutdown; closing them",
            settings.drain
        );
        deadline.cancel();
        connections.wait().await;
    }
}

fn serve(
    stream: TcpStream,
    router: Router,
    settings: &GatewaySettings,
    shutdown: CancellationToken,
    deadline: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(settings.head_timeout)
        .max_headers(settings.max_headers)
        .max_buf_size(settings.max_head.max(8 << 10));
    let io = TokioIo::new(StallGuard::new(stream, settings.write_timeout));
    async move {
        let mut connection = pin!(http.serve_connection(io, TowerToHyperService::new(router)));
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = shutdown.cancelled() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    served = connection => served,
                    () = deadline.cancelled() => return,
                }
            }
        };
        if let Err(error) = served {
            tracing::debug!("connection ended: {error}");
        }
    }
}

/// Waits after a failed accept, so that being out of file descriptors does not turn into a busy loop.
#[derive(Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    fn reset(&mut self) {
        self.failures = 0;
    }

    async fn after(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        // Of one connection only: the next one is not affected.
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        if self.failures == 0 {
            tracing::warn!("cannot accept connections: {error}; trying again");
        }
        let pause = Duration::from_millis(10 << self.failures.min(6));
        self.failures = self.failures.saturating_add(1);
        tokio::time::sleep(pause).await;
    }
}
