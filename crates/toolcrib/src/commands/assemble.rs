//! `toolcrib assemble`: the assembled tool set for a target.

use std::collections::BTreeMap;

use anyhow::bail;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_core::assemble::TokenReport;

use crate::{args::AssembleArgs, exit::Exit, print, world::World};

#[derive(Serialize)]
struct Assembled<'a> {
    target: &'a str,
    tools: Vec<&'a Value>,
    name_map: BTreeMap<&'a str, String>,
    tier: u8,
    listing_form: &'static str,
    tokens: TokenReport,
    trace: Vec<Value>,
    losses: [Value; 0],
    hash: String,
}

pub(crate) async fn run(args: AssembleArgs) -> anyhow::Result<Exit> {
    if args.target != "mcp" {
        bail!("--for {} is not a target of this version; use --for mcp", args.target);
    }
    let mut world = World::start(&args.sources, None)?;
    world.scope.context_length = args.context_length;
    world.wait_all(args.wait.wait).await;
    let view = world.view()?;
    let set = &view.set;
    let trace = world.engine.explain(&world.scope, "*")?;
    let assembled = Assembled {
        target: &args.target,
        tools: set.definitions.iter().map(|definition| &**definition).collect(),
        name_map: set.name_map().iter().map(|(name, id)| (name, id.to_string())).collect(),
        tier: set.disclosure.tier,
        listing_form: set.disclosure.form().word(),
        tokens: set.tokens,
        trace: trace
            .iter()
            .map(|explanation| {
                let mut value = serde_json::to_value(explanation).unwrap_or_default();
                value["sentence"] = explanation.sentence().into();
                value
            })
            .chain(set.unmatched.iter().map(|(stage, selector)| {
                json!({"warning": format!("the {stage} stage names '{selector}', which matches no tool")})
            }))
            .collect(),
        losses: [],
        hash: set.hash.to_string(),
    };
    if args.json {
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
    world.warn_about_sources();
    world.stop().await;
    Ok(Exit::Done)
}
