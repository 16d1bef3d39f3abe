//! `toolcrib assemble`: the assembled tool set for a target.

mod diff;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{
    Scope,
    assemble::{Incomplete, TokenReport},
    explain::Explanation,
    render::{KeyMap, Loss, Refused, Rendered, Target, TooManyTools, render},
    select::FindingKind,
};
use toolcrib_engine::View;

use super::doctor::policy;
use crate::{args::AssembleArgs, exit::Exit, print, world::World};

/// The JSON document. `definitions` holds a hash of the whole definition of every reachable tool, so that two documents
/// can be compared; `incomplete` says why the set must not be handed to a run.
#[derive(Serialize)]
struct Assembled<'a> {
    target: &'static str,
    tools: &'a [Value],
    name_map: BTreeMap<&'a str, String>,
    definitions: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    key_maps: &'a BTreeMap<String, KeyMap>,
    tier: u8,
    listing_form: &'static str,
    tokens: TokenReport,
    trace: Vec<Value>,
    losses: &'a [Loss],
    #[serde(skip_serializing_if = "<[Refused]>::is_empty")]
    refused: &'a [Refused],
    #[serde(skip_serializing_if = "Option::is_none")]
    too_many: Option<TooManyTools>,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<&'a Incomplete>,
    hash: String,
}

pub(crate) async fn run(args: AssembleArgs) -> anyhow::Result<Exit> {
    let target: Target = args.target.parse()?;
    if let [before, after] = &*args.diff {
        return diff::run(&args, target, before, after).await;
    }
    let mut world = World::start(&args.look.sources).await?;
    world.scope.context_length = args.context_length;
    world.wait_all(args.look.wait).await;
    let view = world.view()?;
    let set = &view.set;
    let trace = trace(&world, &world.scope)?;
    for odd in warnings(&world).await {
        print::note(odd);
    }
    let rendered = rendered(&view, target);
    let assembled = assembled(&view, target, &rendered, trace);
    if args.look.json {
        print::json(&assembled)?;
    } else {
        for definition in &set.definitions {
            print::line(definition["name"].as_str().unwrap_or_default());
        }
        if !set.disclosure.listing.text.is_empty() {
            print::line("");
            print::line(&set.disclosure.listing.text);
        }
        print::note(format!(
            "tier {}, listing {}, {} tokens shown of {} ({}), {} tools reachable",
            assembled.tier,
            assembled.listing_form,
            set.tokens.shown,
            set.tokens.eager,
            set.tokens.counter,
            set.tools().len()
        ));
    }
    warn(target, &rendered);
    world.warn_about_sources();
    let incomplete = set.incomplete.clone();
    if let Some(incomplete) = &incomplete {
        print::note(format!("error: {}", print::clean(&incomplete.to_string())));
    }
    world.stop().await;
    Ok(if incomplete.is_some() { Exit::Denied } else { Exit::Done })
}

/// What became of every tool.
fn trace(world: &World, scope: &Scope) -> anyhow::Result<Vec<Value>> {
    let explained = world.engine.explain(scope, "*")?;
    let one = |explanation: &Explanation| {
        let mut value = serde_json::to_value(explanation).unwrap_or_default();
        value["sentence"] = explanation.sentence().into();
        value
    };
    Ok(explained.iter().map(one).collect())
}

/// Entries of the policy that name nothing: kept, and told once.
async fn warnings(world: &World) -> Vec<String> {
    let (catalog, settings, loaded) = (world.engine.hub().catalog(), world.engine.settings(), world.loaded().await);
    let found = policy::findings(&catalog, &settings, &loaded, &world.scope, &world.callers);
    let unmatched = found.into_iter().filter(|odd| odd.kind == FindingKind::Unmatched);
    unmatched.map(|odd| print::clean(&format!("warning: {odd}"))).collect()
}

/// The assembled tool set for the JSON API. Without the trace: a caller is not told of tools that are hidden from it.
pub(crate) fn payload(view: &View, target: Target) -> anyhow::Result<Value> {
    let rendered = rendered(view, target);
    Ok(serde_json::to_value(assembled(view, target, &rendered, Vec::new()))?)
}

/// The view's set as the target takes it: the same for the payload and for the calls that come back.
pub(crate) fn rendered(view: &View, target: Target) -> Rendered {
    render(target, view.set.definitions.iter().map(|definition| &**definition))
}

fn assembled<'v>(view: &'v View, target: Target, rendered: &'v Rendered, trace: Vec<Value>) -> Assembled<'v> {
    let set = &view.set;
    let own_name: BTreeMap<&str, &str> =
        rendered.names.iter().map(|(own, exposed)| (exposed.as_str(), own.as_str())).collect();
    Assembled {
        target: target.name(),
        tools: &rendered.tools,
        name_map: set
            .name_map()
            .iter()
            .map(|(name, id)| (own_name.get(name).copied().unwrap_or(name), id.to_string()))
            .collect(),
        definitions: set.tools().iter().map(|tool| (tool.id().to_string(), tool.hash().to_string())).collect(),
        key_maps: &rendered.key_maps,
        tier: set.disclosure.tier,
        listing_form: set.disclosure.form().word(),
        tokens: set.tokens,
        trace,
        losses: &rendered.losses,
        refused: &rendered.refused,
        too_many: rendered.too_many,
        incomplete: set.incomplete.as_ref(),
        hash: set.hash.to_string(),
    }
}

/// What the target cannot take as it is. Single losses are for `--json`.
fn warn(target: Target, rendered: &Rendered) {
    for refused in &rendered.refused {
        print::note(format!("warning: {} is left out for {target}: {}", print::clean(&refused.tool), refused.reason));
    }
    if let Some(TooManyTools { count, limit }) = rendered.too_many {
        print::note(format!(
            "warning: {count} tools are more than the {limit} that {target} takes; deny some, or let disclosure defer them"
        ));
    }
    if !rendered.losses.is_empty() {
        print::note(format!(
            "{} parts of schemas are said in another way for {target} (losses in --json)",
            rendered.losses.len()
        ));
    }
}
