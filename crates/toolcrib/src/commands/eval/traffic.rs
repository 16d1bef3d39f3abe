//! Labelled queries from the record of calls: what was searched for, and what then ran. Nothing of arguments or results
//! is in that record, so nothing of them is here.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use serde_json::json;
use toolcrib_core::{
    bridge::Directory as _,
    evaluate::{LabelledQuery, LabelledTools},
    search::Parameter,
    usage::{self, label},
};
use toolcrib_engine::{
    View,
    journal::{JournalFilter, JournalRecord, JournalStore, Kind},
    usage::searches,
};

use super::{
    Labelled,
    sets::{QUERIES, TOOLS},
};
use crate::{args::EvalArgs, commands::audit, print, stores, world::World};

/// Records read at a time.
const PAGE: usize = 5_000;
/// Most searches and calls that are looked at; the last ones count.
const MAX_RECORDS: usize = 500_000;

/// The set that the record of calls gives over the tools of today; `None`, said why, if it gives none.
pub(super) async fn read(args: &EvalArgs) -> anyhow::Result<Option<Labelled>> {
    let world = World::start(&args.look.sources).await?;
    world.wait_all(args.look.wait).await;
    let view = world.view()?;
    world.warn_about_sources();
    let loaded = world.loaded().await;
    world.stop().await;
    let store = stores::open_existing(&loaded.config)?;
    let filter = JournalFilter {
        since_ms: args.since.as_deref().map(audit::since).transpose()?,
        tenant: args.tenant.clone(),
        ..JournalFilter::default()
    };
    let records = records(store.journal.as_ref(), filter).await?;
    let searched = records.iter().filter(|record| record.kind == Kind::Search).count();
    let labelled = label(searches(&records));
    let tools = tools(&view);
    let (queries, gone) = queries(&tools, &labelled);
    print::note(format!(
        "{searched} searches on record, {} queries with calls upon them, {gone} of these for tools that are not here now.",
        labelled.len()
    ));
    if queries.is_empty() {
        let why = if !loaded.config.audit.enabled || !loaded.config.audit.searches {
            "audit.enabled or audit.searches is off, so searches are not recorded"
        } else {
            "a query counts once a tool was called in the same session within ten minutes of it"
        };
        print::note(format!("There is nothing to measure: {why}."));
        return Ok(None);
    }
    let set = Labelled { name: "traffic".to_owned(), tools, queries };
    if let Some(folder) = &args.write {
        write(folder, &set)?;
        print::note(format!("Written to {}.", folder.display()));
    }
    Ok(Some(set))
}

/// Searches and outcomes, in order.
async fn records(journal: &dyn JournalStore, filter: JournalFilter) -> anyhow::Result<Vec<JournalRecord>> {
    let mut filter = JournalFilter { limit: PAGE, ..filter };
    let mut kept = Vec::new();
    loop {
        let page = journal.records(filter.clone()).await?;
        let Some(last) = page.last() else { return Ok(kept) };
        filter.after = last.seq;
        let of_use = page.into_iter().filter(|stored| matches!(stored.record.kind, Kind::Search | Kind::Outcome));
        kept.extend(of_use.map(|stored| stored.record));
        if kept.len() > MAX_RECORDS {
            kept.drain(..kept.len() - MAX_RECORDS);
        }
    }
}

fn tools(view: &View) -> LabelledTools {
    let mut tools = LabelledTools::default();
    for (index, document) in view.set.documents().into_iter().enumerate() {
        let id = view.set.identity(index).unwrap_or_default().into_owned();
        tools.push(id, document);
    }
    tools
}

/// The queries whose tools are all here, and how many of the others there are.
fn queries(tools: &LabelledTools, labelled: &[usage::Labelled]) -> (Vec<LabelledQuery>, usize) {
    let mut gone = 0;
    let mut queries = Vec::new();
    for one in labelled {
        let gold: Option<Vec<usize>> = one.gold.iter().map(|id| tools.position(id)).collect();
        let Some(mut gold) = gold else {
            gone += 1;
            continue;
        };
        gold.sort_unstable();
        let style = if one.shown { "shown" } else { "not shown" };
        queries.push(LabelledQuery {
            text: one.query.clone(),
            gold,
            style: style.to_owned(),
            ..LabelledQuery::default()
        });
    }
    (queries, gone)
}

/// Writes the set so that `--sets` reads it from the folder above.
fn write(folder: &Path, set: &Labelled) -> anyhow::Result<()> {
    let shown = folder.display();
    if folder.exists() {
        bail!("{shown} is there already; name a new folder");
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {shown}"))?;
    let mut lines = String::new();
    for (index, tool) in set.tools.documents().iter().enumerate() {
        let line = json!({
            "id": set.tools.id(index),
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "server": tool.server,
            "server_description": tool.server_summary,
            "tags": tool.tags,
            "parameters": {"type": "object", "properties": properties(&tool.parameters)},
        });
        lines.push_str(&format!("{line}\n"));
    }
    fs::write(folder.join(TOOLS), &lines).with_context(|| format!("cannot write to {shown}"))?;
    lines.clear();
    for (number, query) in set.queries.iter().enumerate() {
        let gold: Vec<&str> = query.gold.iter().map(|&index| set.tools.id(index)).collect();
        let line = json!({"id": number.to_string(), "query": query.text, "gold": gold, "style": query.style});
        lines.push_str(&format!("{line}\n"));
    }
    fs::write(folder.join(QUERIES), lines).with_context(|| format!("cannot write to {shown}"))
}

/// Parameters as a schema that reads as the same ones: those inside of others inside of one that is there.
fn properties(parameters: &[Parameter]) -> serde_json::Map<String, serde_json::Value> {
    let mut top = serde_json::Map::new();
    let mut last = None;
    for parameter in parameters {
        let mut property = json!({"description": parameter.description});
        if !parameter.enum_values.is_empty() {
            property["enum"] = json!(parameter.enum_values);
        }
        if let Some(outer) = last.as_ref().filter(|_| parameter.nested) {
            top[outer]["properties"][&parameter.name] = property;
        } else {
            top.insert(parameter.name.clone(), property);
            last = Some(parameter.name.clone());
        }
    }
    top
}

#[cfg(test)]
mod tests;
