//! From the `permissions` section to the policies of the engine. A rule that cannot be read stops the start: one that
//! restricts must not be dropped quietly.

use anyhow::{Context, anyhow};
use jiff::Timestamp;
use toolcrib_config::{
    Config, Loaded, Process,
    model::{ConditionConfig, ConditionOp, EffectWord, PermissionsConfig, RiskWord, RuleAction, RuleConfig},
};
use toolcrib_core::{
    Source,
    permission::{
        Action, Condition, Effect, HostRule, Operator, Risk, RiskRule, Rule, RuleSet, ToolPattern, condition::Written,
    },
    selector::{Groups, Selector},
};
use toolcrib_engine::{
    PermissionSettings, Trust,
    permission::{HostLists, Places, RoleLists},
};

use super::{is_http, trust};

pub(super) fn permissions(loaded: &Loaded, default_trust: Trust, groups: Groups) -> anyhow::Result<PermissionSettings> {
    let config = &loaded.config.permissions;
    let working = std::env::current_dir().ok();
    let text = |path: std::path::PathBuf| path.to_str().map(str::to_owned);
    let cwd = working.and_then(text);
    let home = toolcrib_config::Surroundings::variable(&Process, "HOME").filter(|home| home.starts_with('/'));
    let patterns = |list: &[String], key: &str| patterns(list, key, loaded);
    let settings = PermissionSettings {
        trust: config.trust.map_or(default_trust, trust),
        allow: patterns(&config.allow, "permissions.allow")?,
        deny: patterns(&config.deny, "permissions.deny")?,
        ask: patterns(&config.ask, "permissions.ask")?,
        rules: RuleSet::new(rules(config, loaded)?),
        risks: risks(config, loaded)?,
        roles: config
            .roles
            .iter()
            .map(|(name, role)| {
                let key = format!("permissions.roles.{name}");
                let lists = RoleLists {
                    allow: patterns(&role.allow, &format!("{key}.allow"))?,
                    deny: patterns(&role.deny, &format!("{key}.deny"))?,
                };
                Ok((name.clone(), lists))
            })
            .collect::<anyhow::Result<_>>()?,
        path_roots: config
            .paths
            .as_ref()
            .map(|paths| folders(paths, "permissions.paths", cwd.as_deref(), home.as_deref()))
            .transpose()?,
        hosts: HostLists {
            allow: config
                .hosts
                .allow
                .as_ref()
                .map(|list| hosts(list, "permissions.hosts.allow", loaded))
                .transpose()?,
            deny: hosts(&config.hosts.deny, "permissions.hosts.deny", loaded)?,
        },
        plan: config.plan,
        scratch: folders(&config.scratch, "permissions.scratch", cwd.as_deref(), home.as_deref())?,
        groups,
        places: places(&loaded.config, cwd.as_deref()),
        home,
        ..PermissionSettings::default()
    };
    known_groups(&settings, loaded)?;
    Ok(settings)
}

fn patterns(list: &[String], key: &str, loaded: &Loaded) -> anyhow::Result<Vec<ToolPattern>> {
    list.iter().map(|text| pattern(text, key, loaded)).collect()
}

fn pattern(text: &str, key: &str, loaded: &Loaded) -> anyhow::Result<ToolPattern> {
    let pattern: ToolPattern = text.parse().map_err(|error| anyhow!("{}: {error}", loaded.origins.text(key)))?;
    if pattern.malformed() {
        let place = loaded.origins.text(key);
        return Err(anyhow!(
            "{place}: the brackets of '{text}' do not fit; write TOOL(CONTENT) with nothing after it, and \\( for a bracket that is meant as one"
        ));
    }
    Ok(pattern)
}

/// From where the tools of each source take relative paths: the file tools from their first folder, commands too; the
/// processes of servers from the folder they run in. Of everything else it is not known.
fn places(config: &Config, cwd: Option<&str>) -> Places {
    let below = |folder: &str| {
        let path = cwd.map_or_else(|| folder.into(), |cwd| std::path::Path::new(cwd).join(folder));
        path.is_absolute().then(|| path.to_str().map(str::to_owned))?
    };
    let files = &config.builtin.files;
    let builtin = match files.roots.first().filter(|_| files.enabled) {
        Some(root) => below(root),
        None => cwd.map(str::to_owned),
    };
    let processes = config.servers.iter().filter(|(_, server)| !is_http(server));
    let servers = processes.filter_map(|(name, server)| {
        let folder = server.cwd.as_deref().map_or_else(|| cwd.map(str::to_owned), below)?;
        Some((Source::Mcp(name.clone()), folder))
    });
    builtin.map(|folder| (Source::Builtin, folder)).into_iter().chain(servers).collect()
}

/// A rule about a group that does not exist names nothing, and a denial that names nothing protects nobody.
fn known_groups(settings: &PermissionSettings, loaded: &Loaded) -> anyhow::Result<()> {
    let mut named: Vec<(String, Option<&str>)> = Vec::new();
    let lists = [("allow", &settings.allow), ("deny", &settings.deny), ("ask", &settings.ask)];
    let lists = lists.into_iter().map(|(key, list)| (key.to_owned(), list));
    let of_roles = settings.roles.iter().flat_map(|(role, lists)| {
        [(format!("roles.{role}.allow"), &lists.allow), (format!("roles.{role}.deny"), &lists.deny)]
    });
    for (key, list) in lists.chain(of_roles) {
        named.extend(list.iter().map(|pattern| (key.clone(), pattern.group())));
    }
    named.extend(settings.rules.rules().iter().map(|rule| ("rules".to_owned(), rule.tool.group())));
    let risks = settings.risks.iter().enumerate();
    named.extend(risks.map(|(index, risk)| (format!("risks[{index}]"), risk.selector.group())));
    for (key, group) in named {
        if let Some(group) = group.filter(|group| !settings.groups.contains(group)) {
            let place = loaded.origins.text(&format!("permissions.{key}"));
            return Err(anyhow!("{place}: there is no group called '{group}'"));
        }
    }
    Ok(())
}

fn rules(config: &PermissionsConfig, loaded: &Loaded) -> anyhow::Result<Vec<Rule>> {
    let written = config.rules.iter().enumerate();
    written.map(|(index, rule)| self::rule(rule, &format!("permissions.rules[{index}]"), index, loaded)).collect()
}

fn rule(config: &RuleConfig, key: &str, index: usize, loaded: &Loaded) -> anyhow::Result<Rule> {
    let place = loaded.origins.text(key);
    let when = config.when.iter().map(|condition| self::condition(condition, &place)).collect::<anyhow::Result<_>>()?;
    let expires_at_ms = match &config.expires {
        None => None,
        Some(text) => {
            let time: Timestamp =
                text.parse().map_err(|_| anyhow!("{place}: expires is no time; write it like 2027-01-31T00:00:00Z"))?;
            Some(u64::try_from(time.as_millisecond()).unwrap_or_default())
        }
    };
    Ok(Rule {
        tool: pattern(&config.tool, key, loaded)?,
        action: match config.action {
            RuleAction::Allow => Action::Allow,
            RuleAction::Deny => Action::Deny,
            RuleAction::Ask => Action::Ask,
        },
        when,
        unconditional: config.unconditional,
        user: config.user.clone(),
        enabled: config.enabled,
        expires_at_ms,
        // Of equally specific rules the one further down is the newer one.
        updated_at_ms: index as u64,
        // The key only: reasons are told to models, and where the operator keeps files is none of theirs.
        origin: key.to_owned(),
        note: config.note.clone(),
    })
}

fn condition(config: &ConditionConfig, place: &str) -> anyhow::Result<Condition> {
    if config.argument == "$category" {
        return Err(anyhow!(
            "{place}: $category needs the tool manager, which this version does not have; a rule on it would never fit"
        ));
    }
    let operator = match config.op {
        ConditionOp::StartsWith => Operator::StartsWith,
        ConditionOp::NotStartsWith => Operator::NotStartsWith,
        ConditionOp::Contains => Operator::Contains,
        ConditionOp::NotContains => Operator::NotContains,
        ConditionOp::Equals => Operator::Equals,
        ConditionOp::NotEquals => Operator::NotEquals,
        ConditionOp::Matches => Operator::Matches,
        ConditionOp::NotMatches => Operator::NotMatches,
    };
    let written = Written {
        argument: config.argument.clone(),
        operator,
        value: config.value.clone(),
        case_sensitive: config.case_sensitive,
    };
    Condition::try_from(written).map_err(|error| anyhow!("{place}: {error}"))
}

fn risks(config: &PermissionsConfig, loaded: &Loaded) -> anyhow::Result<Vec<RiskRule>> {
    let one = |(index, risk): (usize, &toolcrib_config::model::RiskConfig)| {
        let place = loaded.origins.text(&format!("permissions.risks[{index}]"));
        let selector: Selector = risk.tool.parse().map_err(|error| anyhow!("{place}: {error}"))?;
        anyhow::ensure!(
            !selector.is_risk(),
            "{place}: '{selector}': what states the risk of tools cannot go by their risk"
        );
        Ok(RiskRule {
            selector,
            risk: risk.risk.map(|word| match word {
                RiskWord::Low => Risk::Low,
                RiskWord::Medium => Risk::Medium,
                RiskWord::High => Risk::High,
                RiskWord::Critical => Risk::Critical,
            }),
            effect: risk.effect.map(|word| match word {
                EffectWord::ReadOnly => Effect::ReadOnly,
                EffectWord::Mutating => Effect::Mutating,
                EffectWord::Destructive => Effect::Destructive,
            }),
        })
    };
    config.risks.iter().enumerate().map(one).collect()
}

fn hosts(list: &[String], key: &str, loaded: &Loaded) -> anyhow::Result<Vec<HostRule>> {
    list.iter().map(|text| text.parse().map_err(|error| anyhow!("{}: {error}", loaded.origins.text(key)))).collect()
}

/// Folders as absolute paths without links, so that they compare with where paths really lead.
fn folders(list: &[String], key: &str, cwd: Option<&str>, home: Option<&str>) -> anyhow::Result<Vec<String>> {
    list.iter()
        .map(|text| {
            if text.trim().is_empty() {
                return Err(anyhow!("{key}: a folder's name is empty; write . for the working folder"));
            }
            let path = match (text.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => std::path::Path::new(home).join(rest),
                _ => std::path::Path::new(cwd.unwrap_or("/")).join(text),
            };
            let real = std::fs::canonicalize(&path).unwrap_or(path);
            real.to_str().map(str::to_owned).with_context(|| format!("{key}: a folder's name is not UTF-8"))
        })
        .collect()
}
