//! `toolcrib assemble`: the assembled tool set for a target.

mod turns;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_core::{
    ContentHash,
    assemble::TokenReport,
    conversation::{LeftOut, Loaded, Turn, TurnSet},
    render::{KeyMap, Loss, Refused, Rendered, Target, TooManyTools, render},
};
use toolcrib_engine::View;

use crate::{args::AssembleArgs, exit::Exit, print, world::World};

#[derive(Serialize)]
struct Assembled<'a> {
    target: &'static str,
    tools: &'a [Value],
    name_map: BTreeMap<&'a str, String>,
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
    #[serde(flatten)]
    conversation: Option<Conversation<'a>>,
    hash: String,
}

/// What a turn adds to the answer; see [`TurnSet`].
#[derive(Serialize)]
struct Conversation<'a> {
    loaded: &'a [Loaded],
    left_out: &'a [LeftOut],
    gone: &'a [String],
    notes: &'a [String],
    announcement: Option<&'a str>,
    over_budget: usize,
    turn: &'a Turn,
    marker: Option<&'a str>,
}

pub(crate) async fn run(args: AssembleArgs) -> anyhow::Result<Exit> {
    let target: Target = args.target.parse()?;
    let request = turns::request(&args)?;
    let mut world = World::start(&args.look.sources).await?;
    world.scope.context_length = args.context_length;
    world.wait_all(args.look.wait).await;
    let view = world.view()?;
    let set = &view.set;
    let trace = world.engine.explain(&world.scope, "*")?;
    let trace = trace
        .iter()
        .map(|explanation| {
            let mut value = serde_json::to_value(explanation).unwrap_or_default();
            value["sentence"] = explanation.sentence().into();
            value
        })
        .chain(set.unmatched.iter().map(|(stage, selector)| {
            json!({"warning": format!("the {stage} stage names '{selector}', which matches no tool")})
        }))
        .collect();
    let turn = (!request.is_empty()).then(|| view.turn(&request));
    let definitions = turn.as_ref().map_or(&set.definitions, |turn| &turn.definitions);
    let rendered = render(target, definitions.iter().map(|definition| &**definition));
    let assembled = assembled(&view, target, &rendered, trace, turn.as_ref());
    if args.look.json {
        print::json(&assembled)?;
    } else {
        for definition in definitions {
            print::line(definition["name"].as_str().unwrap_or_default());
        }
        let listing = turn.as_ref().map_or(Some(set.disclosure.listing.text.as_str()), |turn| turn.turn.listing());
        if let Some(listing) = listing.filter(|listing| !listing.is_empty()) {
            print::line("");
            print::line(listing);
        }
        turn.iter().for_each(turns::tell);
        print::note(format!(
            "tier {}, listing {}, {} tokens shown of {} ({}), {} tools reachable",
            assembled.tier,
            assembled.listing_form,
            assembled.tokens.shown,
            assembled.tokens.eager,
            assembled.tokens.counter,
            set.tools().len()
        ));
    }
    warn(target, &rendered);
    world.warn_about_sources();
    world.stop().await;
    Ok(Exit::Done)
}

/// The assembled tool set for the JSON API. Without the trace: a caller is not told of tools that are hidden from it.
pub(crate) fn payload(view: &View, target: Target) -> anyhow::Result<Value> {
    let rendered = rendered(view, target);
    Ok(serde_json::to_value(assembled(view, target, &rendered, Vec::new(), None))?)
}

/// The view's set as the target takes it: the same for the payload and for the calls that come back.
pub(crate) fn rendered(view: &View, target: Target) -> Rendered {
    render(target, view.set.definitions.iter().map(|definition| &**definition))
}

fn assembled<'v>(
    view: &'v View,
    target: Target,
    rendered: &'v Rendered,
    trace: Vec<Value>,
    turn: Option<&'v TurnSet>,
) -> Assembled<'v> {
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
        key_maps: &rendered.key_maps,
        tier: set.disclosure.tier,
        listing_form: turn
            .and_then(|turn| turn.turn.bridge.as_ref())
            .map_or(set.disclosure.form(), |bridge| bridge.form)
            .word(),
        tokens: turn.map_or(set.tokens, |turn| turn.tokens),
        trace,
        losses: &rendered.losses,
        refused: &rendered.refused,
        too_many: rendered.too_many,
        conversation: turn.map(|turn| Conversation {
            loaded: &turn.loaded,
            left_out: &turn.left_out,
            gone: &turn.gone,
            notes: &turn.notes,
            announcement: turn.announcement.as_deref(),
            over_budget: turn.over,
            turn: &turn.turn,
            marker: turn.marker.as_deref(),
        }),
        hash: turn.map_or(set.hash, |turn| ContentHash::of_hashes([set.hash, turn.hash])).to_string(),
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
