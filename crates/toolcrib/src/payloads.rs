//! Rendered tool sets: what configuration and model wish of a rendering, and what comes of it.

use std::collections::BTreeSet;

use anyhow::anyhow;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use toolcrib_config::{
    Loaded, Secret,
    model::{CacheMark, HostedCalls, LoadingMode, ServerConfig},
};
use toolcrib_core::{
    Scope, Source, Tool,
    assemble::{Standing, renamed},
    bridge::{is_bridge_name, loading_search},
    conversation::TurnSet,
    model::{Family, Model, ModelTable},
    render::{
        CacheLife, Item, RenderOptions, Rendered, SearchBy, Target,
        hosted::{HostedEntry, HostedServer, hosted},
        render_set,
    },
    selector::{Groups, Selector},
    tokens::{ModelCounter, TokenCache},
};
use toolcrib_engine::View;

/// Counts of definitions that are kept: all tools of a large catalog, under a few counters.
pub(crate) const COUNTS: usize = 65_536;

/// How the tools behind the bridge are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Loading {
    /// There are none: everything is in the list.
    Inline,
    /// Through `tool_search`, `tool_describe` and `tool_call`.
    Bridge,
    /// The model loads what our search finds.
    Search,
    /// The model loads what the provider's search finds.
    ProviderSearch,
}

/// Token counts of a payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Tokens {
    /// What the model is shown.
    pub(crate) shown: usize,
    /// What it would be shown with every tool in the list.
    pub(crate) eager: usize,
    /// The part of `shown` that is the listing.
    pub(crate) listing: usize,
    /// What made the numbers.
    pub(crate) counter: String,
}

/// A rendered tool set.
pub(crate) struct Payload {
    pub(crate) rendered: Rendered,
    pub(crate) loading: Loading,
    pub(crate) tokens: Tokens,
    /// Servers that the provider calls.
    pub(crate) servers: Vec<Value>,
    /// What a person should know of it.
    pub(crate) notes: Vec<String>,
}

/// How tool sets are rendered, from configuration.
pub(crate) struct Rendering<'a> {
    loaded: &'a Loaded,
    models: ModelTable,
    groups: &'a Groups,
    strict: Vec<Selector>,
    programmatic: Vec<Selector>,
    eager_streaming: Vec<Selector>,
    asynchronous: Vec<Selector>,
}

impl<'a> Rendering<'a> {
    /// Reads the configuration's wishes.
    pub(crate) fn of(loaded: &'a Loaded, groups: &'a Groups) -> anyhow::Result<Self> {
        let config = &loaded.config.payloads;
        let family = |model| -> anyhow::Result<Family> { Ok(serde_json::from_value(serde_json::to_value(model)?)?) };
        let families = config.models.iter().map(family).collect::<anyhow::Result<Vec<Family>>>()?;
        let selectors = |list: &[String], key: &str| -> anyhow::Result<Vec<Selector>> {
            let place = loaded.origins.text(&format!("payloads.{key}"));
            list.iter().map(|text| text.parse().map_err(|error| anyhow!("{place}: {error}"))).collect()
        };
        Ok(Self {
            models: ModelTable::with(families).map_err(|error| anyhow!("payloads.{error}"))?,
            groups,
            strict: selectors(&config.strict, "strict")?,
            programmatic: selectors(&config.programmatic, "programmatic")?,
            eager_streaming: selectors(&config.eager_streaming, "eager_streaming")?,
            asynchronous: selectors(&config.asynchronous, "asynchronous")?,
            loaded,
        })
    }

    /// What is known of a model.
    pub(crate) fn model(&self, name: &str, target: Target) -> Model {
        self.models.model(name, target)
    }

    /// Gives a scope the model's context length, where the request names none.
    pub(crate) fn measure(scope: &mut Scope, model: Option<&Model>) {
        scope.context_length = scope.context_length.or_else(|| model.and_then(|model| model.context_length));
    }

    /// Renders what a scope sees; in a turn of a conversation, what that turn shows.
    pub(crate) fn payload(
        &self,
        view: &View,
        target: Target,
        model: Option<&Model>,
        turn: Option<&TurnSet>,
        counts: &Mutex<TokenCache>,
    ) -> Payload {
        let set = &view.set;
        let config = &self.loaded.config.payloads;
        let mut notes: Vec<String> = model.and_then(Model::remark).into_iter().collect();
        let (hosted, entries) = self.hosted(view, target, &mut notes);
        let searches = target.loads_by_search() && model.is_some_and(|model| model.search);
        let loading = match config.loading {
            _ if !set.disclosure.active => Loading::Inline,
            LoadingMode::Auto if searches => Loading::Search,
            LoadingMode::Provider if searches => Loading::ProviderSearch,
            _ => Loading::Bridge,
        };
        let named = |list: &[Selector]| -> BTreeSet<String> {
            let tools = set.name_map().iter().zip(set.tools());
            let wished = tools.filter(|((name, _), tool)| list.iter().any(|s| s.matches(tool, name, self.groups)));
            wished.map(|((name, _), _)| name.to_owned()).collect()
        };
        let definition = loading_search(&set.disclosure.listing, set.disclosure_settings());
        let options = RenderOptions {
            lower_as: model.map(|model| model.lower_as),
            strict_model: model.is_some_and(|model| model.strict),
            strict: named(&self.strict),
            programmatic: named(&self.programmatic),
            eager_streaming: named(&self.eager_streaming),
            asynchronous: named(&self.asynchronous),
            output_schemas: config.output_schemas,
            cache: match config.cache {
                CacheMark::Off => None,
                CacheMark::Short => Some(CacheLife::Short),
                CacheMark::Long => Some(CacheLife::Long),
            },
            search: match loading {
                Loading::Search => Some(SearchBy::Client(definition.clone())),
                Loading::ProviderSearch => Some(SearchBy::Provider),
                Loading::Inline | Loading::Bridge => None,
            },
        };
        let by_search = options.search.is_some();
        let elsewhere = |name: &str| hosted.contains(name);
        let definitions = turn.map_or(&set.definitions, |turn| &turn.definitions);
        let direct: Vec<_> = definitions
            .iter()
            .filter(|definition| {
                let name = definition["name"].as_str().unwrap_or_default();
                !(elsewhere(name) || by_search && is_bridge_name(name))
            })
            .collect();
        let shown: BTreeSet<&str> = direct.iter().filter_map(|definition| definition["name"].as_str()).collect();
        let there = |name: &str| elsewhere(name) || shown.contains(name);
        let later = if by_search { deferred(view, &there) } else { Vec::new() };
        let items = direct.iter().map(|definition| Item::direct(definition));
        let summary =
            |group: &str| self.loaded.config.servers.get(group).and_then(|server| server.description.as_deref());
        let items = items.chain(later.iter().map(|(definition, group)| Item {
            definition,
            group,
            summary: summary(group).unwrap_or_default(),
            deferred: true,
        }));
        let mut rendered = render_set(target, items, &options);
        let mut servers = Vec::new();
        for entry in entries {
            rendered.tools.push(entry.tool);
            servers.extend(entry.server);
        }
        let tokens = tokens(view, model, turn, by_search.then_some(&definition), counts);
        Payload { rendered, loading, tokens, servers, notes }
    }

    /// Servers that the provider calls, and the exposed names of the tools that are theirs for this payload.
    fn hosted(&self, view: &View, target: Target, notes: &mut Vec<String>) -> (BTreeSet<String>, Vec<HostedEntry>) {
        let (mut names, mut entries) = (BTreeSet::new(), Vec::new());
        for (server, calls) in &self.loaded.config.payloads.hosted {
            let Some(config) = self.loaded.config.servers.get(server) else {
                notes.push(format!("payloads.hosted names '{server}', which is no server of the configuration"));
                continue;
            };
            let source = Source::Mcp(server.clone());
            let tools: Vec<(&str, &Tool)> = view
                .set
                .name_map()
                .iter()
                .zip(view.set.tools())
                .filter(|(_, tool)| *tool.source() == source)
                .map(|((name, _), tool)| (name, &**tool))
                .collect();
            if tools.is_empty() {
                continue;
            }
            let Some(url) = tellable(config) else {
                notes.push(format!(
                    "'{server}' stays here: its address holds a value that a reference inserted, which no provider is told"
                ));
                continue;
            };
            let unasked = tools.iter().filter(|(_, tool)| match calls {
                HostedCalls::Ask => false,
                HostedCalls::AskToWrite => tool.hints_trusted() && tool.annotations().read_only_hint == Some(true),
                HostedCalls::Run => true,
            });
            let entry = hosted(
                target,
                &HostedServer {
                    name: server,
                    url,
                    description: config.description.as_deref(),
                    tools: tools.iter().map(|(_, tool)| tool.name()).collect(),
                    unasked: unasked.map(|(_, tool)| tool.name()).collect(),
                    deferred: false,
                },
            );
            match entry {
                Ok(entry) => {
                    let theirs = tools.iter().filter(|(_, tool)| !entry.left_out.iter().any(|out| out == tool.name()));
                    names.extend(theirs.map(|(name, _)| (*name).to_owned()));
                    entries.push(entry);
                }
                Err(error) => notes.push(error.to_string()),
            }
        }
        (names, entries)
    }
}

/// The address of a server as a provider may be told it; `None` where a reference inserted something into it, which may be a
/// secret.
fn tellable(server: &ServerConfig) -> Option<&str> {
    let url = server.url.as_deref().unwrap_or_default();
    let holds = |value: &Secret| !value.expose().is_empty() && url.contains(value.expose());
    (!server.inserted.iter().any(holds)).then_some(url)
}

/// What the model is shown, and what it would be shown without deferral; by the model's own counter if there is one.
fn tokens(
    view: &View,
    model: Option<&Model>,
    turn: Option<&TurnSet>,
    search: Option<&Value>,
    counts: &Mutex<TokenCache>,
) -> Tokens {
    let set = &view.set;
    let Some(model) = model else {
        let tokens = turn.map_or(set.tokens, |turn| turn.tokens);
        return Tokens {
            shown: tokens.shown,
            eager: tokens.eager,
            listing: tokens.listing,
            counter: tokens.counter.to_owned(),
        };
    };
    let counter = ModelCounter::new(model);
    let mut counts = counts.lock();
    let eager: usize = set
        .name_map()
        .iter()
        .zip(set.tools())
        .map(|((name, _), tool)| {
            let own = counts.count(&counter, tool.hash(), tool.definition());
            // The hash is of the definition with the source's own name.
            (own + counter.text(name)).saturating_sub(counter.text(tool.name()))
        })
        .sum();
    let shown = turn
        .map_or(&set.definitions, |turn| &turn.definitions)
        .iter()
        .filter(|definition| search.is_none() || !is_bridge_name(definition["name"].as_str().unwrap_or_default()));
    let shown: usize = shown.map(|definition| counter.json(definition)).sum();
    let search = search.map_or(0, |definition| counter.json(definition));
    Tokens {
        shown: shown + search + counter.preamble(),
        eager: eager + counter.preamble(),
        listing: counter
            .text(turn.map_or(Some(&*set.disclosure.listing.text), |turn| turn.turn.listing()).unwrap_or_default()),
        counter: counter.label().to_owned(),
    }
}

/// Definitions of deferred tools with their groups, sorted by both, so that the same tools give the same bytes.
fn deferred(view: &View, elsewhere: &dyn Fn(&str) -> bool) -> Vec<(std::sync::Arc<Value>, String)> {
    let set = &view.set;
    let mut later: Vec<_> = set
        .tools()
        .iter()
        .enumerate()
        .filter(|(position, _)| set.standing(*position) == Standing::Deferred)
        .map(|(position, tool)| (set.name_map().name(position), tool))
        .filter(|(name, _)| !elsewhere(name))
        .collect();
    later.sort_by(|(a, one), (b, other)| (one.source().group(), a).cmp(&(other.source().group(), b)));
    later.into_iter().map(|(name, tool)| (renamed(tool, name), tool.source().group().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_what_a_reference_inserted_is_told_to_nobody() {
        for (inserted, told) in [("", true), ("elsewhere", true), ("s3cret", false)] {
            let server = ServerConfig {
                url: Some("https://up.test/mcp?key=s3cret".to_owned()),
                inserted: vec![Secret::new(inserted)],
                ..ServerConfig::default()
            };
            assert_eq!(tellable(&server).is_some(), told, "{inserted}");
        }
    }
}
