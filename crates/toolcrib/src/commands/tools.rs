//! `toolcrib tools`: the tools in effect, and what is said of them by hand.

mod groups;
mod label;

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_core::{Catalog, assemble::Standing};
use toolcrib_engine::View;

use crate::{
    args::{LookArgs, ToolsAction, ToolsArgs},
    exit::Exit,
    print,
    world::World,
};

#[derive(Serialize)]
struct Row<'a> {
    id: String,
    name: &'a str,
    source: String,
    disclosure: &'static str,
    tokens: usize,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    tools: Vec<Row<'a>>,
    hidden: usize,
    quarantined: usize,
    tokens: toolcrib_core::assemble::TokenReport,
}

pub(crate) async fn run(args: ToolsArgs) -> anyhow::Result<Exit> {
    match (args.action, args.group_by) {
        (Some(ToolsAction::Enable(switch)), _) => Box::pin(label::switch(switch, true)).await,
        (Some(ToolsAction::Disable(switch)), _) => Box::pin(label::switch(switch, false)).await,
        (Some(ToolsAction::Set(set)), _) => Box::pin(label::set(set)).await,
        (None, Some(by)) => groups::run(args.look, by).await,
        (None, None) => list(args.look).await,
    }
}

async fn list(args: LookArgs) -> anyhow::Result<Exit> {
    let world = World::start(&args.sources).await?;
    world.wait_all(args.wait).await;
    let view = world.view()?;
    let catalog = world.engine.hub().catalog();
    let rows = rows(&view, &catalog);
    let quarantined = catalog.quarantined().count();
    let hidden = view.set.removals.len() + view.set.losers.len();
    if args.json {
        print::json(&Report { tools: rows, hidden, quarantined, tokens: view.set.tokens })?;
    } else {
        let cells = rows
            .iter()
            .map(|row| {
                vec![
                    row.name.to_owned(),
                    row.id.clone(),
                    row.disclosure.to_owned(),
                    row.tokens.to_string(),
                    row.state.to_owned(),
                ]
            })
            .collect();
        print::table(&["NAME", "ID", "SHOWN", "TOKENS", "SERVER"], cells);
        let tokens = view.set.tokens;
        print::note(format!(
            "{}; a model is shown {} tokens instead of {} ({}).",
            print::count(rows.len(), "tool"),
            tokens.shown,
            tokens.eager,
            tokens.counter
        ));
        if hidden + quarantined > 0 {
            print::note(format!("{hidden} hidden, {quarantined} quarantined: `toolcrib explain '*'` says why."));
        }
    }
    world.warn_about_sources();
    let exit = world.exit_for_sources();
    world.stop().await;
    Ok(exit)
}

fn rows<'v>(view: &'v View, catalog: &Catalog) -> Vec<Row<'v>> {
    view.set
        .tools()
        .iter()
        .enumerate()
        .map(|(position, tool)| {
            let (state, _) = view.set.state(position, catalog);
            Row {
                id: tool.id().to_string(),
                name: view.set.name_map().name(position),
                source: tool.source().to_string(),
                disclosure: match view.set.standing(position) {
                    Standing::Direct => "direct",
                    Standing::Deferred => "deferred",
                },
                tokens: view.set.tokens_of(position),
                state: state.word(),
                reason: match state {
                    toolcrib_core::SourceState::Down { reason } => Some(reason),
                    _ => None,
                },
            }
        })
        .collect()
}

/// The tools of a view as the JSON API lists them.
pub(crate) fn listing(view: &View, catalog: &Catalog) -> Value {
    json!({"tools": rows(view, catalog), "tokens": view.set.tokens})
}
