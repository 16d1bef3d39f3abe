//! From the sections `calls`, `approvals`, `audit` and `results` to what the engine goes by.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Context;
use toolcrib_config::{
    Config, Loaded,
    model::{self, RedactMode, UntrustedMark},
};
use toolcrib_core::{Source, breaker::BreakerPolicy, redact::Redactor, selector::Groups, shape::ShapeLimits};
use toolcrib_engine::{
    CallLimits, ResultSettings, Untrusted,
    admit::{AdmissionSettings, BreakerRule, Concurrency, ConcurrencyRule, RatePer, RateRule, RepeatSettings},
    approval::ApprovalSettings,
    journal::JournalSettings,
    usage::LearnSettings,
};

use super::{millis, selectors, size};

#[cfg(test)]
mod tests;

pub(super) fn admission(loaded: &Loaded, groups: Groups) -> anyhow::Result<AdmissionSettings> {
    let calls = &loaded.config.calls;
    let mut rates = Vec::new();
    for (index, rate) in calls.rates.iter().enumerate() {
        let key = format!("calls.rates[{index}]");
        rates.push(RateRule {
            pattern: selectors(std::slice::from_ref(&rate.tool), &key, loaded)?,
            per: match rate.per {
                model::RatePer::Tool => RatePer::Tool,
                model::RatePer::Source => RatePer::Source,
                model::RatePer::User => RatePer::User,
                model::RatePer::Tenant => RatePer::Tenant,
                model::RatePer::Session => RatePer::Session,
            },
            limit: count(rate.limit),
            window_ms: rate.window_ms,
        });
    }
    let source = |name: &str, key: &str| -> anyhow::Result<Source> {
        let place = || loaded.origins.text(key);
        name.parse().with_context(|| format!("{}: '{name}' is no source such as mcp:github or builtin", place()))
    };
    let (mut breakers, mut source_breakers) = (Vec::new(), BTreeMap::new());
    for (index, rule) in calls.breakers.iter().enumerate() {
        let key = format!("calls.breakers[{index}]");
        match (&rule.tool, &rule.source) {
            (Some(tool), None) => {
                let pattern = selectors(std::slice::from_ref(tool), &key, loaded)?;
                breakers.push(BreakerRule { pattern, policy: breaker(&rule.over(calls.breaker)) });
            }
            (None, Some(name)) => {
                let policy = breaker(&rule.over(calls.source_breaker));
                source_breakers.entry(source(name, &key)?).or_insert(policy);
            }
            _ => anyhow::bail!("{}: write either 'tool' or 'source'", loaded.origins.text(&key)),
        }
    }
    let mut tools = Vec::new();
    for (index, rule) in calls.concurrency.tools.iter().enumerate() {
        let pattern =
            selectors(std::slice::from_ref(&rule.tool), &format!("calls.concurrency.tools[{index}]"), loaded)?;
        tools.push(ConcurrencyRule { pattern, limit: Some(count(rule.limit)) });
    }
    let mut sources = BTreeMap::new();
    for (name, limit) in &calls.concurrency.sources {
        sources.insert(source(name, "calls.concurrency.sources")?, Some(count(*limit)));
    }
    Ok(AdmissionSettings {
        breaker: breaker(&calls.breaker),
        source_breaker: breaker(&calls.source_breaker),
        breakers,
        source_breakers,
        rates,
        concurrency: Concurrency {
            tool: calls.concurrency.tool.map(count),
            source: Some(count(calls.concurrency.source)),
            user: calls.concurrency.user.map(count),
            tenant: calls.concurrency.tenant.map(count),
            tools,
            sources,
            ..Concurrency::default()
        },
        exclusive: selectors(&calls.exclusive, "calls.exclusive", loaded)?,
        repeat: RepeatSettings {
            warn_after: count(calls.repeat.warn_after),
            refuse_after: count(calls.repeat.refuse_after),
            volatile: calls.repeat.volatile.clone(),
            ..RepeatSettings::default()
        },
        groups,
    })
}

fn breaker(config: &model::BreakerConfig) -> Option<BreakerPolicy> {
    config.enabled.then(|| BreakerPolicy {
        failures: count(config.failures),
        window_ms: config.window_ms,
        open_ms: config.open_ms,
        successes: count(config.successes),
    })
}

pub(super) fn limits(loaded: &Loaded) -> anyhow::Result<CallLimits> {
    let Config { servers, plugins, results, limits, calls, audit, .. } = &loaded.config;
    let source_timeouts: BTreeMap<Source, Duration> = servers
        .iter()
        .filter_map(|(name, server)| Some((Source::Mcp(name.clone()), millis(server.call_timeout_ms?))))
        .chain(
            plugins
                .settings
                .iter()
                .filter_map(|(id, plugin)| Some((Source::Plugin(id.clone()), millis(plugin.call_timeout_ms?)))),
        )
        .collect();
    let mut tool_timeouts = Vec::new();
    for (index, timeout) in calls.timeouts.iter().enumerate() {
        let key = format!("calls.timeouts[{index}]");
        let named = selectors(std::slice::from_ref(&timeout.tool), &key, loaded)?;
        tool_timeouts.extend(named.into_iter().map(|selector| (selector, millis(timeout.ms))));
    }
    Ok(CallLimits {
        default_timeout: millis(calls.timeout_ms),
        source_timeouts,
        tool_timeouts,
        shape: ShapeLimits {
            max_chars: size(results.max_chars),
            preview_chars: size(results.preview_chars),
            max_bytes: size(limits.result_bytes),
        },
        turn_chars: results.turn_chars.map(size),
        keep_results: millis(results.keep_ms),
        duplicates: millis(calls.duplicates_ms),
        background: selectors(&calls.background, "calls.background", loaded)?,
        idempotent: selectors(&calls.idempotent, "calls.idempotent", loaded)?,
        journal_reads: audit.read_only,
        journal_searches: audit.searches,
        ..CallLimits::default()
    })
}

/// What is done to results, and the redactor for everything that is recorded or shown of arguments.
///
/// Records go without every value that the configuration hands to a server. Results go without what is certainly a secret:
/// a user's address in a server's environment is none, and a file that has it must not come back changed.
pub(super) fn results(config: &Config) -> anyhow::Result<(ResultSettings, Option<Arc<Redactor>>)> {
    const WHY: &str = "secrets cannot be kept out of records";
    let names = Redactor::builder().build().context(WHY)?;
    let named = config.gateway.named_keys.values().map(|named| &named.key);
    let keys = config.gateway.keys.iter().chain(&config.gateway.operator_keys).chain(named);
    let mut certain: Vec<String> = keys.map(|secret| secret.expose().to_owned()).collect();
    let mut all = certain.clone();
    for server in config.servers.values() {
        for (name, secret) in server.env.iter().chain(&server.headers) {
            if names.is_secret_name(name) {
                certain.push(secret.expose().to_owned());
            }
            all.push(secret.expose().to_owned());
        }
        certain.extend(server.bearer.iter().map(|secret| secret.expose().to_owned()));
        all.extend(server.bearer.iter().chain(&server.inserted).map(|secret| secret.expose().to_owned()));
    }
    for plugin in config.plugins.settings.values() {
        for (name, secret) in &plugin.env {
            if names.is_secret_name(name) {
                certain.push(secret.expose().to_owned());
            }
            all.push(secret.expose().to_owned());
        }
        for secret in plugin.auth.values() {
            certain.push(secret.expose().to_owned());
            all.push(secret.expose().to_owned());
        }
    }
    if let Some(key) = config.search.encoder.as_ref().and_then(|encoder| encoder.key.as_ref()) {
        certain.push(key.expose().to_owned());
        all.push(key.expose().to_owned());
    }
    let person = certain.clone();
    let redactor = match config.results.redact {
        RedactMode::Off => None,
        RedactMode::Known | RedactMode::Patterns => Some(Arc::new(names.with_values(certain).context(WHY)?)),
    };
    let settings = ResultSettings {
        redactor,
        forms: config.results.redact == RedactMode::Patterns,
        untrusted: match config.results.untrusted {
            UntrustedMark::Off => Untrusted::Off,
            UntrustedMark::Meta => Untrusted::Meta,
            UntrustedMark::Text => Untrusted::Text,
        },
    };
    // A person who decides sees what is no certain secret: a folder in a server's environment is part of a command.
    let records = names.with_values(all).and_then(|names| names.certain_of(person)).context(WHY)?;
    Ok((settings, Some(Arc::new(records))))
}

/// How people are asked. `reachable`: whether the questions are kept where other processes see them.
pub(crate) fn approvals(config: &Config, reachable: bool) -> ApprovalSettings {
    let approvals = &config.approvals;
    ApprovalSettings {
        wait: millis(approvals.wait_ms),
        open: millis(approvals.open_ms),
        once: millis(approvals.once_ms),
        session: millis(approvals.session_ms),
        most_pending: size(approvals.most_open),
        prompts_per_minute: count(approvals.per_minute),
        four_eyes: approvals.four_eyes,
        reachable,
        ..ApprovalSettings::default()
    }
}

/// How searches learn, if they do.
pub(crate) fn learning(config: &Config) -> Option<LearnSettings> {
    let days = config.search.learn_half_life_days;
    config.search.learn.then(|| LearnSettings { half_life: Duration::from_hours(24 * days) })
}

/// How the journal is written.
pub(crate) fn journal(config: &Config) -> JournalSettings {
    JournalSettings { keep: Some(Duration::from_hours(24 * config.audit.days)), ..JournalSettings::default() }
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
