//! `toolcrib serve`: the main job.

mod streams;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use tokio_util::sync::CancellationToken;
use toolcrib_engine::Trust;
use toolcrib_gateway::Gateway;
use toolcrib_mcp::server::{Caller, Server, ServerOptions, StdioOptions, serve_stdio};

use crate::world::World;
use crate::{api::Api, args::ServeArgs, exit::Exit, print, reload, service::EngineService, settings, world};

/// Longest time to wait for servers before the size of the tools is told, in seconds.
const SETTLING: u64 = 30;

pub(crate) async fn run(args: ServeArgs) -> anyhow::Result<Exit> {
    let shutdown = CancellationToken::new();
    tokio::spawn(cancel_on_signal(shutdown.clone()));
    if args.stdio { stdio(args, shutdown).await } else { http(args, shutdown).await }
}

async fn stdio(args: ServeArgs, shutdown: CancellationToken) -> anyhow::Result<Exit> {
    let world = Arc::new(World::start_to_serve(&args.sources, args.trust, Trust::Configured).await?);
    let watching = tokio::spawn(reload::watch(world.clone(), args.sources.clone()));
    let telling = tokio::spawn(tell_savings(world.clone()));
    let service = EngineService::new(world.engine.clone(), world.callers.clone(), world.seal.clone());
    let server = Server::new(service, ServerOptions::default());
    let drain = Duration::from_millis(world.loaded().await.config.gateway.drain_timeout_ms);
    let options = StdioOptions { drain, ..StdioOptions::default() };
    let caller = Caller::default();
    let served = serve_stdio(&server, caller, streams::input(), streams::output(), options, shutdown).await;
    watching.abort();
    telling.abort();
    world.stop().await;
    served.context("standard input or output broke")?;
    Ok(Exit::Done)
}

async fn http(mut args: ServeArgs, shutdown: CancellationToken) -> anyhow::Result<Exit> {
    args.sources.whom.remote = true;
    let listen = if let Some(listen) = &args.http {
        listen.clone()
    } else {
        let files = world::config_files(&args.sources)?;
        toolcrib_config::load(&files, &[], &toolcrib_config::Process)?.config.gateway.listen
    };
    let listen: SocketAddr = tokio::net::lookup_host(&listen)
        .await
        .with_context(|| format!("'{listen}' is not an address to listen on; write one like 127.0.0.1:7332"))?
        .next()
        .with_context(|| format!("'{listen}' leads to no address"))?;
    // Whoever is not on this machine gets nothing run without a rule that says so.
    let default_trust = if listen.ip().is_loopback() { Trust::Configured } else { Trust::None };
    let world = Arc::new(World::start_to_serve(&args.sources, args.trust, default_trust).await?);
    let config = world.loaded().await.config;
    if let Some(reason) = &config.gateway.unusable {
        world.stop().await;
        bail!("not serving over HTTP, because the gateway would stand open: {reason}");
    }
    let bound = match Gateway::bind(settings::gateway(&config, listen)).await {
        Ok(bound) => bound,
        Err(error) => {
            world.stop().await;
            return Err(error.into());
        }
    };
    let watching = tokio::spawn(reload::watch(world.clone(), args.sources.clone()));
    let telling = tokio::spawn(tell_savings(world.clone()));
    print::note(format!("listening on http://{}/mcp", bound.local_addr()));
    let service = EngineService::new(world.engine.clone(), world.callers.clone(), world.seal.clone());
    let api = Api::new(world.clone());
    let served = bound.with_api(api).serve(service, shutdown).await;
    watching.abort();
    telling.abort();
    world.stop().await;
    served?;
    Ok(Exit::Done)
}

/// Says what the tools cost a model and what they would cost without the bridge, once the servers are there.
async fn tell_savings(world: Arc<World>) {
    if let Some(text) = world.passed_over().await {
        print::note(format!("note: {text}"));
    }
    world.wait_all(SETTLING).await;
    if let Ok(view) = world.view() {
        let tokens = view.set.tokens;
        print::note(format!(
            "{}; a model is shown {} tokens instead of {} ({})",
            print::count(view.set.tools().len(), "tool"),
            tokens.shown,
            tokens.eager,
            tokens.counter
        ));
    }
}

async fn cancel_on_signal(shutdown: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    shutdown.cancel();
    // Whoever asks twice does not want to wait.
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    std::process::exit(130);
}
