//! From configuration to the settings of the engine, the servers and the gateway.

mod calls;
mod categories;
mod labels;
mod mentions;
mod permissions;
pub(crate) mod policy;
mod whom;

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use anyhow::{Context, anyhow};
use globset::{Glob, GlobSet, GlobSetBuilder};
use toolcrib_config::{
    Config, Diagnostic, Loaded, Secret,
    model::{self, ConflictRule, EraSetting, PrefixRule, ServerConfig, TransportKind},
};
use toolcrib_core::{
    ContentHash, IngestLimits, Source,
    assemble::AssembleSettings,
    disclosure,
    name::{Conflict, NameSettings, Prefix},
    search::RankerKind,
    selector::Selector,
};
use toolcrib_engine::{EngineSettings, HubLimits, SourceOptions, Trust};
use toolcrib_gateway::{AccessKey, GatewaySettings, KeyScope};
use toolcrib_mcp::upstream::{EraChoice, Transport, UpstreamLimits, UpstreamSettings};

use crate::payloads;

pub(crate) use self::{
    calls::{approvals, journal, learning},
    mentions::mentions,
    whom::{CallerRule, caller_rules, caller_scope, scope},
};

/// Settings of the engine. `default_trust` applies where the configuration names none.
pub(crate) fn engine(
    loaded: &Loaded,
    default_trust: Trust,
    findings: &mut Vec<Diagnostic>,
) -> anyhow::Result<EngineSettings> {
    let config = &loaded.config;
    labels::check(loaded)?;
    let groups = policy::groups(loaded)?;
    let mut permissions = permissions::permissions(loaded, default_trust, groups.clone())?;
    let groups = groups.with_risks(permissions.risks.clone());
    permissions.groups = groups.clone();
    let mut policy = policy::policy(loaded, groups.clone(), &permissions)?;
    policy.categories = categories::book(loaded)?;
    // What could only be told when a set is rendered is told now.
    payloads::Rendering::of(loaded, &groups)?;
    let (disclosure, problems) = disclosure::resolve(&config.disclosure.raw());
    findings.extend(problems.into_iter().map(|problem| disclosure_problem("disclosure", &problem)));
    let mut profile_disclosure = BTreeMap::new();
    for (name, profile) in &config.profiles {
        let Some(raw) = &profile.disclosure else { continue };
        let (settings, problems) = disclosure::resolve(raw);
        let key = format!("profiles.{name}.disclosure");
        findings.extend(problems.into_iter().map(|problem| disclosure_problem(&key, &problem)));
        profile_disclosure.insert(name.clone(), settings);
    }
    let cap = disclosure::Cap {
        max_share: config.disclosure.listing_max_share,
        floor_tokens: size(config.disclosure.listing_floor_tokens),
    };
    let assemble = AssembleSettings {
        policy,
        names: names(&config.names),
        merge: policy::merge(loaded)?,
        disclosure,
        profile_disclosure,
        listing: disclosure::Options { cap: Some(cap), ..disclosure::Options::default() },
        always: selectors(&config.disclosure.always, "disclosure.always", loaded)?,
        defer: selectors(&config.disclosure.defer, "disclosure.defer", loaded)?,
        context_length: config.disclosure.context_length,
        ranker: match config.disclosure.ranker {
            model::Ranker::Hybrid => RankerKind::default(),
            model::Ranker::Lexical => RankerKind::Lexical,
            model::Ranker::Bm25 => RankerKind::Bm25,
        },
    };
    let admission = calls::admission(loaded, groups)?;
    let limits = calls::limits(loaded)?;
    let (results, redactor) = calls::results(config)?;
    let relayed = config.servers.iter().filter(|(_, server)| server.instructions);
    let relay_instructions = relayed.map(|(name, _)| Source::Mcp(name.clone())).collect();
    Ok(EngineSettings { assemble, permissions, admission, limits, results, redactor, relay_instructions })
}

fn disclosure_problem(section: &str, problem: &disclosure::SettingsProblem) -> Diagnostic {
    Diagnostic::warning(
        format!("{section}.{}", problem.key),
        format!("{} is not usable, expected {}; {} is used", problem.found, problem.expected, problem.used),
    )
}

/// Limits of the hub.
pub(crate) fn hub(config: &Config) -> HubLimits {
    HubLimits {
        ingest: IngestLimits { schema_bytes: size(config.limits.schema_bytes), ..IngestLimits::default() },
        tools_per_source: size(config.limits.tools_per_server),
        ..HubLimits::default()
    }
}

/// Settings of one server, and what is said about it locally.
pub(crate) fn upstream(name: &str, server: &ServerConfig, loaded: &Loaded) -> (UpstreamSettings, SourceOptions) {
    let config = &loaded.config;
    let plain = |map: &BTreeMap<String, Secret>| -> BTreeMap<String, String> {
        map.iter().map(|(key, value)| (key.clone(), value.expose().to_owned())).collect()
    };
    let transport = if is_http(server) {
        Transport::Http {
            url: server.url.clone().unwrap_or_default(),
            headers: plain(&server.headers).into_iter().collect(),
            bearer: server.bearer.as_ref().map(|secret| secret.expose().to_owned()),
        }
    } else {
        let inherited = server.env_inherit.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
        Transport::Stdio {
            command: server.command.clone().unwrap_or_default(),
            args: server.args.clone(),
            env: inherited.chain(plain(&server.env)).collect(),
            cwd: server.cwd.as_ref().map(Into::into),
        }
    };
    let settings = UpstreamSettings {
        era: match server.era {
            EraSetting::Auto => EraChoice::Auto,
            EraSetting::Legacy => EraChoice::Legacy,
            EraSetting::Modern => EraChoice::Modern,
        },
        connect_timeout: millis(server.connect_timeout_ms),
        lazy: server.lazy,
        secrets: server.inserted.iter().map(|secret| secret.expose().to_owned()).collect(),
        guard: std::env::current_exe().ok(),
        limits: UpstreamLimits {
            message_bytes: size(config.limits.message_bytes),
            result_bytes: size(config.limits.result_bytes),
            ..UpstreamLimits::default()
        },
        ..UpstreamSettings::new(name, transport)
    };
    let (labels, tools) = labels::of_server(name, server, loaded);
    let options = SourceOptions {
        summary: server.description.clone(),
        trust_hints: server.trust_hints,
        labels,
        tools,
        ..SourceOptions::default()
    };
    (settings, options)
}

fn is_http(server: &ServerConfig) -> bool {
    server.transport == Some(TransportKind::Http) || server.command.is_none()
}

/// Settings of the gateway.
pub(crate) fn gateway(config: &Config, listen: SocketAddr) -> GatewaySettings {
    let gateway = &config.gateway;
    // Named by content, not by position: what a client keeps must not pass to another when keys are reordered.
    let name = |secret: &Secret| format!("key-{}", ContentHash::of_bytes(secret.expose().as_bytes()).base32(8));
    let named = gateway.named_keys.iter().map(|(name, named)| AccessKey {
        name: name.clone(),
        secret: named.key.expose().to_owned(),
        scopes: named.scopes.iter().map(|scope| key_scope(*scope)).collect(),
    });
    GatewaySettings {
        listen,
        hosts: gateway.allowed_hosts.clone(),
        origins: gateway.allowed_origins.clone(),
        keys: gateway.keys.iter().map(|key| AccessKey::caller(name(key), key.expose())).chain(named).collect(),
        operator_keys: gateway.operator_keys.iter().map(|key| AccessKey::operator(name(key), key.expose())).collect(),
        max_body: size(gateway.max_body_bytes),
        drain: millis(gateway.drain_timeout_ms),
        ..GatewaySettings::default()
    }
}

fn key_scope(scope: model::KeyScope) -> KeyScope {
    match scope {
        model::KeyScope::Read => KeyScope::Read,
        model::KeyScope::Call => KeyScope::Call,
        model::KeyScope::Approve => KeyScope::Approve,
        model::KeyScope::Operate => KeyScope::Operate,
    }
}

/// The trust level of a configuration's word.
pub(crate) fn trust(level: model::TrustLevel) -> Trust {
    match level {
        model::TrustLevel::None => Trust::None,
        model::TrustLevel::Configured => Trust::Configured,
        model::TrustLevel::All => Trust::All,
    }
}

fn names(config: &model::NamesConfig) -> NameSettings {
    NameSettings {
        prefix: match config.prefix {
            PrefixRule::Server => Prefix::Source,
            PrefixRule::None => Prefix::None,
        },
        max_length: size(config.max_length),
        conflict: match config.conflict {
            ConflictRule::Priority => Conflict::Priority,
            ConflictRule::First => Conflict::First,
            ConflictRule::Reject => Conflict::Reject,
            ConflictRule::Namespace => Conflict::Namespace,
        },
    }
}

/// A selector that cannot be read is an error: a rule that restricts must not be dropped quietly.
fn selectors(list: &[String], key: &str, loaded: &Loaded) -> anyhow::Result<Vec<Selector>> {
    list.iter()
        .map(|text| {
            let place = if key.starts_with("--") { key.to_owned() } else { loaded.origins.text(key) };
            text.parse().map_err(|error| anyhow!("{place}: {error}"))
        })
        .collect()
}

fn globs(list: &[String], key: &str) -> anyhow::Result<GlobSet> {
    let mut builder = GlobSetBuilder::new();
    for text in list {
        builder.add(Glob::new(text).with_context(|| format!("{key}: '{text}' is not a pattern"))?);
    }
    builder.build().with_context(|| format!("{key} is too large"))
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}
