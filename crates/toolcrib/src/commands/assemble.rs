//! `toolcrib assemble`: the assembled tool set for a target and a model.

mod diff;
mod turns;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_core::{
    ContentHash, Scope,
    conversation::{LeftOut, Loaded, Turn, TurnRequest, TurnSet, mend_references},
    explain::Explanation,
    model::Model,
    render::{KeyMap, Loss, Refused, StrictVerdict, Target, TooManyTools},
    select::FindingKind,
};
use toolcrib_engine::{Unservable, View};

use crate::{
    args::AssembleArgs,
    exit::Exit,
    payloads::{Loading, Payload, Rendering, Tokens},
    print,
    world::World,
};

/// The JSON document. `definitions` holds a hash of the whole definition of every reachable tool, so that two documents
/// can be compared.
#[derive(Serialize)]
struct Assembled<'a> {
    target: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Value>,
    tools: &'a [Value],
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    mcp_servers: &'a [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<&'a Value>,
    name_map: BTreeMap<&'a str, String>,
    definitions: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    key_maps: &'a BTreeMap<String, KeyMap>,
    tier: u8,
    listing_form: &'static str,
    loading: Loading,
    tokens: &'a Tokens,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<Value>,
    losses: &'a [Loss],
    #[serde(skip_serializing_if = "<[StrictVerdict]>::is_empty")]
    strict: &'a [StrictVerdict],
    #[serde(skip_serializing_if = "<[Refused]>::is_empty")]
    refused: &'a [Refused],
    #[serde(skip_serializing_if = "Option::is_none")]
    too_many: Option<TooManyTools>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'a String>,
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
    announcement: Option<&'a str>,
    over_budget: usize,
    turn: &'a Turn,
    marker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transcript: Option<Value>,
}

pub(crate) async fn run(args: AssembleArgs) -> anyhow::Result<Exit> {
    let target: Target = args.target.parse()?;
    if let [before, after] = &*args.diff {
        return diff::run(&args, target, before, after).await;
    }
    let request = turns::request(&args)?;
    let mut world = World::start(&args.look.sources).await?;
    let loaded = world.loaded().await;
    let engine = world.engine.clone();
    let settings = engine.settings();
    let rendering = Rendering::of(&loaded, &settings.assemble.policy.groups)?;
    let model = world.scope.model.as_ref().map(|model| rendering.model(&model.to_string(), target));
    world.scope.context_length = args.context_length;
    Rendering::measure(&mut world.scope, model.as_ref());
    world.wait_all(args.look.wait).await;
    let view = world.inspect()?;
    let set = &view.set;
    // A run must not begin without its tools: there is nothing to hand to it.
    if let Some(incomplete) = &set.incomplete {
        world.warn_about_sources();
        print::note(format!("error: {}", print::clean(&incomplete.to_string())));
        world.stop().await;
        return Ok(Exit::Denied);
    }
    let trace = trace(&world, &world.scope)?;
    for odd in warnings(&world).await {
        print::note(odd);
    }
    let turn = (!request.is_empty()).then(|| view.turn(&request));
    let payload = rendering.payload(&view, target, model.as_ref(), turn.as_ref(), &world.counts);
    let mended = mended(&request, target, &payload);
    let assembled = assembled(&view, target, model.as_ref(), &payload, turn.as_ref().map(|turn| (turn, mended)), trace);
    if args.look.json {
        print::json(&assembled)?;
    } else {
        for definition in turn.as_ref().map_or(&set.definitions, |turn| &turn.definitions) {
            print::line(definition["name"].as_str().unwrap_or_default());
        }
        let listing = turn.as_ref().map_or(Some(set.disclosure.listing.text.as_str()), |turn| turn.turn.listing());
        if let Some(listing) = listing.filter(|listing| !listing.is_empty()) {
            print::line("");
            print::line(listing);
        }
        turn.iter().for_each(turns::tell);
        print::note(format!(
            "tier {}, listing {}, {} tokens shown of {} ({}), {} reachable",
            assembled.tier,
            assembled.listing_form,
            payload.tokens.shown,
            payload.tokens.eager,
            payload.tokens.counter,
            print::count(set.tools().len(), "tool")
        ));
    }
    warn(target, &payload);
    world.warn_about_sources();
    world.stop().await;
    Ok(Exit::Done)
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
    let unmatched = world.policy_findings().await.into_iter().filter(|odd| odd.kind == FindingKind::Unmatched);
    unmatched.map(|odd| print::clean(&format!("warning: {odd}"))).collect()
}

/// The assembled tool set for the JSON API; with a request, that of a turn of a conversation. Without the trace: a caller is
/// not told of tools that are hidden from it.
pub(crate) async fn payload(
    world: &World,
    scope: Scope,
    target: Target,
    request: Option<&TurnRequest>,
) -> Result<Value, Unassembled> {
    let prepared = prepared(world, scope, target, request).await?;
    // A run must not begin without its tools.
    if let Some(incomplete) = &prepared.view.set.incomplete {
        return Err(Unassembled::Unservable(Unservable::Incomplete(incomplete.clone())));
    }
    let Prepared { view, model, payload, turn } = &prepared;
    let turn = turn.as_ref().map(|turn| (turn, request.and_then(|request| mended(request, target, payload))));
    let assembled = assembled(view, target, model.as_ref(), payload, turn, Vec::new());
    serde_json::to_value(assembled).map_err(|error| Unassembled::Broken(error.into()))
}

/// A rendered set with what it was made from.
pub(crate) struct Prepared {
    pub(crate) view: Arc<View>,
    pub(crate) model: Option<Model>,
    pub(crate) payload: Payload,
    /// The turn that it shows, where it is one of a conversation.
    turn: Option<TurnSet>,
}

/// Why there is no set.
pub(crate) enum Unassembled {
    /// The scope is served nothing.
    Unservable(Unservable),
    /// The configuration cannot.
    Broken(anyhow::Error),
}

/// What a scope sees, as the target and the model take it: the same for the payload and for the calls that come back.
pub(crate) async fn prepared(
    world: &World,
    mut scope: Scope,
    target: Target,
    request: Option<&TurnRequest>,
) -> Result<Prepared, Unassembled> {
    let loaded = world.loaded().await;
    let settings = world.engine.settings();
    let rendering = Rendering::of(&loaded, &settings.assemble.policy.groups).map_err(Unassembled::Broken)?;
    let model = scope.model.as_ref().map(|model| rendering.model(&model.to_string(), target));
    Rendering::measure(&mut scope, model.as_ref());
    let view = world.engine.view(&scope).map_err(Unassembled::Unservable)?;
    let turn = request.map(|request| view.turn(request));
    let payload = rendering.payload(&view, target, model.as_ref(), turn.as_ref(), &world.counts);
    Ok(Prepared { view, model, payload, turn })
}

/// The transcript as the provider takes it, where it refers to tools that are not in the list any more; `None` where it may
/// stay as it is. Only Anthropic refuses a history for that (standards §4.2).
fn mended(request: &TurnRequest, target: Target, payload: &Payload) -> Option<Value> {
    let mut transcript = request.transcript.as_ref().filter(|_| target == Target::Anthropic)?.clone();
    let listed: HashSet<&str> = payload.rendered.tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    (mend_references(&mut transcript, &|name| listed.contains(name)) > 0).then_some(transcript)
}

fn assembled<'v>(
    view: &'v View,
    target: Target,
    model: Option<&Model>,
    payload: &'v Payload,
    turn: Option<(&'v TurnSet, Option<Value>)>,
    trace: Vec<Value>,
) -> Assembled<'v> {
    let (set, rendered) = (&view.set, &payload.rendered);
    let (turn, transcript) = turn.map_or((None, None), |(turn, transcript)| (Some(turn), transcript));
    let own_name: BTreeMap<&str, &str> =
        rendered.names.iter().map(|(own, exposed)| (exposed.as_str(), own.as_str())).collect();
    Assembled {
        target: target.name(),
        model: model.map(|model| {
            json!({
                "name": model.name, "family": model.family, "known": model.known,
                "context_length": model.context_length, "lowered_as": model.lower_as.name(),
            })
        }),
        tools: &rendered.tools,
        mcp_servers: &payload.servers,
        tool_config: rendered.tool_config.as_ref(),
        name_map: set
            .name_map()
            .iter()
            .map(|(name, id)| (own_name.get(name).copied().unwrap_or(name), id.to_string()))
            .collect(),
        definitions: set.tools().iter().map(|tool| (tool.id().to_string(), tool.hash().to_string())).collect(),
        key_maps: &rendered.key_maps,
        tier: set.disclosure.tier,
        listing_form: turn
            .and_then(|turn| turn.turn.bridge.as_ref())
            .map_or(set.disclosure.form(), |bridge| bridge.form)
            .word(),
        loading: payload.loading,
        tokens: &payload.tokens,
        trace,
        losses: &rendered.losses,
        strict: &rendered.strict,
        refused: &rendered.refused,
        too_many: rendered.too_many,
        notes: payload.notes.iter().chain(turn.iter().flat_map(|turn| &turn.notes)).collect(),
        conversation: turn.map(|turn| Conversation {
            loaded: &turn.loaded,
            left_out: &turn.left_out,
            gone: &turn.gone,
            announcement: turn.announcement.as_deref(),
            over_budget: turn.over,
            turn: &turn.turn,
            marker: turn.marker.as_deref(),
            transcript,
        }),
        hash: turn.map_or(set.hash, |turn| ContentHash::of_hashes([set.hash, turn.hash])).to_string(),
    }
}

/// What the target cannot take as it is. Single losses are for `--json`.
fn warn(target: Target, payload: &Payload) {
    let rendered = &payload.rendered;
    for note in &payload.notes {
        print::note(format!("note: {}", print::clean(note)));
    }
    for verdict in &rendered.strict {
        if let Some(reason) = &verdict.reason {
            print::note(format!("note: {} is not strict: {reason}", print::clean(&verdict.tool)));
        }
    }
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
