//! `toolcrib doctor`: what is wrong, and the fix.

use std::{
    net::{SocketAddr, TcpListener},
    time::{Duration, Instant},
};

use serde::Serialize;
use serde_json::Value;
use toolcrib_config::{Config, model::Ranker};
use toolcrib_connect::plugins::{PluginReport, PluginState};
use toolcrib_core::SourceState;
use toolcrib_engine::encoder::EncodingState;
use toolcrib_mcp::upstream::UpstreamReport;

use super::damage;
use crate::{args::LookArgs, encoders, exit::Exit, print, world::World};

/// What an encoder is asked, to see whether it answers.
const SAMPLE_QUERY: &str = "send a message to a channel";

#[derive(Serialize)]
struct Report {
    version: &'static str,
    files: Vec<String>,
    store: Option<String>,
    trust: &'static str,
    tools: usize,
    tokens: Value,
    servers: Vec<UpstreamReport>,
    plugins: Vec<PluginReport>,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    level: &'static str,
    about: String,
    message: String,
}

pub(crate) async fn run(args: LookArgs) -> anyhow::Result<Exit> {
    let world = World::start_to_search(&args.sources).await?;
    world.wait_all(args.wait).await;
    let loaded = world.loaded().await;
    let catalog = world.engine.hub().catalog();
    let view = world.inspect()?;
    let settings = world.engine.settings();
    let mut findings = Vec::new();
    let mut find = |level, about: String, message: String| findings.push(Finding { level, about, message });
    for diagnostic in &loaded.diagnostics {
        let level = if diagnostic.severity == toolcrib_config::Severity::Error { "error" } else { "warning" };
        find(level, "configuration".to_owned(), diagnostic.to_string());
    }
    if loaded.files.is_empty() {
        find(
            "note",
            "configuration".to_owned(),
            "no configuration file was found; built-in tools only. `toolcrib import` takes over another client's servers".to_owned(),
        );
    }
    if let Some(text) = world.passed_over().await {
        find("note", "configuration".to_owned(), text);
    }
    for text in &world.store.findings {
        find("warning", "store".to_owned(), text.clone());
    }
    match world.damage().look_for_damage().await {
        Ok(tables) => {
            for table in &tables {
                find("warning", format!("store, {}", table.table), damage::finding(table));
            }
        }
        Err(error) => find("error", "store".to_owned(), format!("it cannot be looked through: {error}")),
    }
    for (level, text) in encoder(&world, &loaded.config, args.wait).await? {
        find(level, "search.encoder".to_owned(), text);
    }
    for (source, entry) in catalog.sources() {
        match &entry.state {
            SourceState::Down { reason } => find("error", source.to_string(), format!("down: {reason}")),
            SourceState::Starting => {
                find("warning", source.to_string(), "still starting; --wait gives it longer".to_owned());
            }
            SourceState::Ready if entry.tools.is_empty() && matches!(source, toolcrib_core::Source::Mcp(_)) => {
                find("warning", source.to_string(), "is up but offers no tool".to_owned());
            }
            SourceState::Ready | SourceState::Disabled => {}
        }
        for refused in entry.quarantined.iter() {
            find("warning", format!("{source}/{}", refused.name), format!("quarantined: {}", refused.reason));
        }
    }
    for loser in &view.set.losers {
        let explained = world.engine.explain(&world.scope, &loser.id.to_string())?;
        if let Some(explanation) = explained.first() {
            find("warning", loser.id.to_string(), explanation.sentence());
        }
    }
    for tool in view.set.tools() {
        for part in world.engine.unchecked(tool) {
            find("note", tool.id().to_string(), format!("its schema cannot be enforced whole: {part}"));
        }
    }
    for odd in world.policy_findings().await {
        let about = odd.entry.map_or(odd.origin.clone(), |entry| format!("'{entry}' in {}", odd.origin));
        find(odd.level.word(), about, odd.message);
    }
    if let Some(incomplete) = &view.set.incomplete {
        find("error", "policy".to_owned(), incomplete.to_string());
    }
    if let Ok(listen) = loaded.config.gateway.listen.parse::<SocketAddr>() {
        if let Err(error) = crate::settings::gateway(&loaded.config, listen).check() {
            find("error", "gateway".to_owned(), format!("serve would refuse to start: {error}"));
        }
        if let Err(error) = TcpListener::bind(listen) {
            find(
                "note",
                "gateway.listen".to_owned(),
                format!("{listen} cannot be listened on ({error}); another toolcrib may be running"),
            );
        }
    } else {
        find(
            "warning",
            "gateway.listen".to_owned(),
            format!("'{}' is not an address like 127.0.0.1:7332", loaded.config.gateway.listen),
        );
    }
    let plugins = world.plugins.host.report().await;
    for refused in &plugins.refused {
        let about = refused.id.as_ref().map_or_else(|| "plugins".to_owned(), |id| format!("plugin:{id}"));
        find("error", about, refused.reason.clone());
    }
    for text in &plugins.findings {
        find("warning", "plugins".to_owned(), text.clone());
    }
    for plugin in &plugins.plugins {
        let about = format!("plugin:{}", plugin.id);
        if let PluginState::Unseen { reason } = &plugin.state {
            find("note", about.clone(), format!("not started: {reason}"));
        }
        for text in &plugin.findings {
            find("warning", about.clone(), text.clone());
        }
    }
    let upstreams = world.upstreams().await;
    let servers: Vec<UpstreamReport> = upstreams.values().map(|upstream| upstream.report()).collect();
    for server in servers.iter().filter(|server| server.stray_lines > 0) {
        find(
            "note",
            server.source.clone(),
            format!(
                "{} lines on its standard output were no protocol; it should log to standard error",
                server.stray_lines
            ),
        );
    }
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        files: loaded.files.iter().map(|file| file.display().to_string()).collect(),
        store: world.store.path.as_ref().map(|path| path.display().to_string()),
        trust: match settings.permissions.trust {
            toolcrib_engine::Trust::None => "none",
            toolcrib_engine::Trust::Configured => "configured",
            toolcrib_engine::Trust::All => "all",
        },
        tools: view.set.tools().len(),
        tokens: serde_json::to_value(view.set.tokens)?,
        servers,
        plugins: plugins.plugins,
        findings,
    };
    if args.json {
        print::json(&report)?;
    } else {
        people(&report);
    }
    let failed = report.findings.iter().any(|finding| finding.level == "error");
    world.stop().await;
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Whether the encoder of searches works, and how far it is.
async fn encoder(world: &World, config: &Config, wait: u64) -> anyhow::Result<Vec<(&'static str, String)>> {
    if config.search.encoder.is_none() {
        return Ok(Vec::new());
    }
    let Some(encoding) = world.engine.encoding() else {
        let why = encoders::of(config).and_then(Result::err).map_or_else(String::new, |error| format!(": {error}"));
        return Ok(vec![("error", format!("it cannot be used{why}; searches go by the built-in table"))]);
    };
    let encoder = encoding.encoder();
    let mut told = Vec::new();
    let start = Instant::now();
    match encoding.try_query(SAMPLE_QUERY).await {
        Ok(vector) => {
            let (took, wait) = (start.elapsed(), encoder.query_wait());
            let width = vector.dimensions();
            let ms = took.as_secs_f64() * 1e3;
            told.push(("note", format!("{} answers in {ms:.1} ms with vectors of {width} numbers", encoder.name())));
            if encoder.is_remote() && took > wait {
                let text = format!(
                    "a search waits {} ms for it, so most queries go by the built-in table; set search.encoder.query_wait_ms higher",
                    wait.as_millis()
                );
                told.push(("warning", text));
            }
        }
        Err(error) => told
            .push(("error", format!("{} does not work: {error}; searches go by the built-in table", encoder.name()))),
    }
    if ranks_by_words(config) {
        let text = "disclosure.ranker goes by words alone, so it is never asked; \"hybrid\" asks it";
        told.push(("warning", text.to_owned()));
    } else if told.iter().all(|(level, _)| *level != "error")
        && !encoding.ready(&world.inspect()?, Duration::from_secs(wait)).await
    {
        let EncodingState { read, tools, problem } = encoding.state();
        let why = problem
            .map_or_else(|| "--wait gives it longer".to_owned(), |problem| format!("the last failure: {problem}"));
        told.push(("warning", format!("it has read {read} of {tools} tools; {why}")));
    }
    Ok(told)
}

fn ranks_by_words(config: &Config) -> bool {
    matches!(config.disclosure.ranker, Ranker::Lexical | Ranker::Bm25)
}

fn people(report: &Report) {
    print::line(format!("toolcrib {}", report.version));
    let files = if report.files.is_empty() { "none".to_owned() } else { report.files.join(", ") };
    print::line(format!("configuration: {files}"));
    print::line(format!("state: {}", report.store.as_deref().unwrap_or("in memory")));
    print::line(format!("trust: {}", report.trust));
    print::line(format!(
        "tools: {}, shown to a model: {} tokens of {}",
        report.tools, report.tokens["shown"], report.tokens["eager"]
    ));
    let rows = report
        .servers
        .iter()
        .map(|server| {
            vec![
                server.source.clone(),
                server.state.word().to_owned(),
                server.version.clone().unwrap_or_default(),
                server.tools.map(|tools| tools.to_string()).unwrap_or_default(),
                server.restarts.to_string(),
            ]
        })
        .collect::<Vec<_>>();
    if !rows.is_empty() {
        print::line("");
        print::table(&["SERVER", "STATE", "PROTOCOL", "TOOLS", "RESTARTS"], rows);
    }
    let rows = report.plugins.iter().map(|plugin| {
        vec![
            plugin.id.clone(),
            plugin.state.word().to_owned(),
            plugin.run.to_owned(),
            plugin.tally(),
            plugin.vitals.restarts.to_string(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        print::line("");
        print::table(&["PLUGIN", "STATE", "RUNS", "TOOLS", "RESTARTS"], rows);
    }
    if report.findings.is_empty() {
        print::line("\nNothing is wrong.");
    } else {
        print::line("");
        for finding in &report.findings {
            print::line(format!("{}: {}: {}", finding.level, finding.about, print::clean(&finding.message)));
        }
    }
}
