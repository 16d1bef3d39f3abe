//! From settings to a listening gateway to a served one.

use std::{fmt, net::SocketAddr, sync::Arc};

use axum::{Router, http::StatusCode, middleware, routing::get};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolcrib_mcp::server::{Server, ToolService};

use crate::{
    accept,
    api::{self, ApiService},
    guard::{self, Guard},
    mcp::{self, Endpoint},
    settings::{GatewayError, GatewaySettings},
};

/// The way to a listening gateway.
#[derive(Debug)]
pub struct Gateway;

/// A gateway that listens and does not answer yet.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    settings: GatewaySettings,
    routes: Router,
    api: Option<Arc<dyn ApiService>>,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Checks the settings and takes the port.
    pub async fn bind(settings: GatewaySettings) -> Result<Bound, GatewayError> {
        settings.check()?;
        let failed = |source| GatewayError::Listen { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Bound { listener, address, settings, routes: Router::new(), api: None })
    }
}

impl Bound {
    /// The address listened on, with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Adds routes behind the same guards as `/mcp`. Handlers find the caller as
    /// `axum::Extension<`[`Principal`](crate::Principal)`>`.
    #[must_use]
    pub fn with_routes(mut self, routes: Router) -> Self {
        self.routes = self.routes.merge(routes);
        self
    }

    /// Adds the JSON API, behind the same guards.
    #[must_use]
    pub fn with_api(mut self, api: Arc<dyn ApiService>) -> Self {
        self.api = Some(api);
        self
    }

    /// Serves until `shutdown` fires; then stops accepting, ends streams in good order and lets requests finish within
    /// the drain limit.
    pub async fn serve(self, service: Arc<dyn ToolService>, shutdown: CancellationToken) -> Result<(), GatewayError> {
        let Self { listener, address, settings, mut routes, api } = self;
        let settings = Arc::new(settings);
        if let Some(api) = api {
            routes = routes.merge(api::routes(api, settings.clone(), shutdown.clone()));
        }
        let server = Server::new(service, settings.server.clone());
        let endpoint = Endpoint::new(server, settings.clone());
        let guard = Arc::new(Guard::new(&settings, address));
        let draining = shutdown.clone();
        let ready = move || async move {
            if draining.is_cancelled() {
                (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
            } else {
                (StatusCode::OK, "ready\n")
            }
        };
        let router = mcp::routes(endpoint.clone())
            .merge(routes)
            .fallback(api::no_route)
            .layer(middleware::from_fn_with_state(guard, guard::check))
            // Outside the guards: probes come with any Host and no key, and learn nothing.
            .route("/health", get(async || "ok\n"))
            .route("/ready", get(ready));
        let sweeping = tokio::spawn(endpoint.clone().sweep());
        let closing = {
            let (endpoint, shutdown) = (endpoint.clone(), shutdown.clone());
            tokio::spawn(async move {
                shutdown.cancelled().await;
                endpoint.close();
            })
        };
        accept::run(listener, router, &settings, &shutdown).await;
        // Calls whose clients went away but whose sessions live on.
        endpoint.drain().await;
        sweeping.abort();
        closing.abort();
        Ok(())
    }
}
