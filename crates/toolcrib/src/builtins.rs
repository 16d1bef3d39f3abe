//! The built-in source: the tools of `connect`, the store tools, the reader of kept results, questions to the user, and the
//! catalog of categories.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use serde_json::{Value, value::RawValue};
use toolcrib_config::{
    Config,
    model::{BuiltinConfig, StoreName, StoresConfig},
};
use toolcrib_connect::{
    builtin::{BuiltinSettings, Builtins, CommandSettings, Commands, KeyValueSettings, NAMES, Root},
    net::{EgressPolicy, HostRule},
    stores::{self, StoreSettings},
};
use toolcrib_core::{
    Labels, Scope, Source, SourceState, Tool, ToolResult,
    bridge::BRIDGE_NAMES,
    categories::{CATALOG_TOOLS, is_catalog_tool},
    schema::Violation,
};
use toolcrib_engine::{
    Backend, BoxFuture, Engine, Hub, Invocation, InvokeError, SourceOptions,
    authoring::Toolbox,
    categories::catalog_toolbox,
    pending::{USER_INPUT_TOOL, UserInput},
    results::{self, ResultReader},
    store_tools::{Quota, Router, STORE_TOOLS},
};

use crate::{prompt::Desk, stores::Stores};

/// Networks that `builtin.fetch.allow_private` opens. Link-local addresses, where clouds keep credentials, stay closed.
const PRIVATE_NETWORKS: [&str; 6] =
    ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/// The names of all built-in tools, whatever the configuration switches on, and of the bridge.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let single = [results::READ_TOOL, USER_INPUT_TOOL];
    NAMES.into_iter().chain(single).chain(STORE_TOOLS).chain(CATALOG_TOOLS).chain(BRIDGE_NAMES)
}

/// Prepares the built-in tools. What comes back publishes them, in place of those published before; everything that can
/// fail has happened by then.
pub(crate) fn prepare(
    config: &Config,
    kept: &Stores,
    results: ResultReader,
    engine: &Engine,
) -> anyhow::Result<impl FnOnce(&Hub) + use<>> {
    let catalog = if config.categories.enabled { catalog_toolbox(engine)? } else { Toolbox::default() };
    let config = &config.builtin;
    let builtins = Builtins::new(settings(config)?, kept.values.clone());
    let router = router(&config.stores, kept)?;
    let mut definitions = vec![results::definition()];
    if config.enabled {
        definitions.extend(builtins.definitions().into_iter().filter(|definition| is_enabled(definition, config)));
        if config.stores.enabled {
            definitions.extend(router.definitions());
        }
        if config.user_input.enabled {
            definitions.push(UserInput::definition());
        }
    }
    definitions.extend(catalog.definitions());
    // What loads other tools is of no use where it has to be found first.
    let always: Arc<Labels> = Arc::new(Labels { always: true, ..Labels::default() });
    let tools = catalog.names().map(|name| (name.to_owned(), always.clone())).collect();
    let options = SourceOptions { tools, ..SourceOptions::default() };
    let backend = Arc::new(Builtin { builtins, router, results, catalog, user_input: UserInput::new(Arc::new(Desk)) });
    Ok(move |hub: &Hub| {
        hub.replace(Source::Builtin, options, backend, SourceState::Ready, definitions);
    })
}

fn settings(config: &BuiltinConfig) -> anyhow::Result<BuiltinSettings> {
    let root = |path: &String| Root { path: path.into(), writable: config.files.write };
    let private = config.fetch.allow_private.then_some(PRIVATE_NETWORKS).into_iter().flatten();
    let rules: Result<Vec<HostRule>, _> =
        private.chain(config.fetch.allow_hosts.iter().map(String::as_str)).map(str::parse).collect();
    let policy = EgressPolicy {
        private_hosts: rules.context("builtin.fetch.allow_hosts")?,
        max_bytes: usize::try_from(config.fetch.max_bytes).unwrap_or(usize::MAX),
        ..EgressPolicy::default()
    };
    Ok(BuiltinSettings {
        roots: if config.files.enabled { config.files.roots.iter().map(root).collect() } else { Vec::new() },
        commands: CommandSettings {
            allowed: match (config.command.enabled, config.command.allow.is_empty()) {
                (false, _) => Commands::Off,
                (true, true) => Commands::Any,
                (true, false) => Commands::Only(config.command.allow.clone()),
            },
            default_timeout: Duration::from_millis(config.command.timeout_ms),
            max_timeout: Duration::from_millis(config.command.timeout_ms),
            guard: std::env::current_exe().ok(),
            ..CommandSettings::default()
        },
        fetch: config.fetch.enabled.then_some(policy),
        key_values: KeyValueSettings {
            max_keys: usize::try_from(config.kv.max_keys).unwrap_or(usize::MAX),
            max_value_bytes: usize::try_from(config.kv.max_value_bytes).unwrap_or(usize::MAX),
            ..KeyValueSettings::default()
        },
        ..BuiltinSettings::default()
    })
}

fn is_enabled(definition: &Value, config: &BuiltinConfig) -> bool {
    match definition["name"].as_str() {
        Some("current_time") => config.time.enabled,
        Some(name) if name.starts_with("kv_") => config.kv.enabled,
        _ => true,
    }
}

/// The store tools over the stores that the configuration names.
fn router(config: &StoresConfig, kept: &Stores) -> anyhow::Result<Router> {
    let whole = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let settings = StoreSettings {
        quota: Quota { entries: config.max_entries, bytes: config.max_bytes },
        max_entry_bytes: whole(config.max_entry_bytes),
    };
    let router = Router::default();
    for name in StoreName::ALL {
        if config.only.as_ref().is_none_or(|only| only.contains(&name))
            && let Some(store) = stores::store(name.word(), &kept.entries, &kept.values, settings)
        {
            router.add(store).context("builtin.stores")?;
        }
    }
    Ok(router)
}

struct Builtin {
    builtins: Builtins,
    router: Router,
    results: ResultReader,
    user_input: UserInput,
    catalog: Toolbox,
}

impl Backend for Builtin {
    fn invoke<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        if invocation.tool.name() == results::READ_TOOL {
            return Box::pin(async move { Ok(self.results.read(&invocation).await) });
        }
        if invocation.tool.name() == USER_INPUT_TOOL {
            return Box::pin(async move {
                let suspender = &invocation.context.suspender;
                Ok(self.user_input.run(&invocation, suspender).await)
            });
        }
        if STORE_TOOLS.contains(&invocation.tool.name()) {
            return self.router.invoke(invocation);
        }
        if is_catalog_tool(invocation.tool) {
            return self.catalog.invoke(invocation);
        }
        self.builtins.invoke(invocation)
    }

    fn check(&self, tool: &Tool, arguments: &RawValue, scope: &Scope) -> Result<(), Violation> {
        self.catalog.check(tool, arguments, scope)
    }
}
