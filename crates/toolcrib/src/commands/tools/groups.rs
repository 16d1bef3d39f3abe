//! `toolcrib tools --group-by`: the same tools in groups.

use std::collections::BTreeMap;

use serde::Serialize;
use toolcrib_core::labels::word::Word;
use toolcrib_engine::manager::{CatalogEntry, ViewFilter};

use crate::{
    args::{GroupBy, LookArgs},
    exit::Exit,
    print,
    world::World,
};

#[derive(Default, Serialize)]
struct Group {
    /// Tools that can be called.
    tools: Vec<CatalogEntry>,
    tokens: usize,
    /// Tools that are switched off.
    off: usize,
    /// Tools that cannot be called for another reason.
    hidden: usize,
}

pub(super) async fn run(args: LookArgs, by: GroupBy) -> anyhow::Result<Exit> {
    let world = World::start(&args.sources).await?;
    world.wait_all(args.wait).await;
    let groups = grouped(&world, by)?;
    if args.json {
        let groups: Vec<_> = groups
            .iter()
            .map(|(name, group)| {
                serde_json::json!({
                    "group": name, "tools": group.tools, "tokens": group.tokens, "off": group.off, "hidden": group.hidden,
                })
            })
            .collect();
        print::json(&serde_json::json!({"by": word(by), "groups": groups}))?;
    } else {
        for (name, group) in &groups {
            let name = if name.is_empty() { format!("without a {}", word(by)) } else { name.clone() };
            let beside = [(group.off, "switched off"), (group.hidden, "hidden")];
            let beside: Vec<String> =
                beside.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
            let beside = if beside.is_empty() { String::new() } else { format!("; {}", beside.join(", ")) };
            print::line(print::clean(&format!("{name}: {} tools, {} tokens{beside}", group.tools.len(), group.tokens)));
            let row = |entry: &CatalogEntry| {
                vec![
                    format!("  {}", entry.name),
                    entry.id.to_string(),
                    entry.disclosure.word().to_owned(),
                    entry.tokens.to_string(),
                    entry.state.to_owned(),
                ]
            };
            if !group.tools.is_empty() {
                print::table(&["  NAME", "ID", "SHOWN", "TOKENS", "SERVER"], group.tools.iter().map(row).collect());
            }
        }
    }
    world.warn_about_sources();
    let exit = world.exit_for_sources();
    world.stop().await;
    Ok(exit)
}

fn word(by: GroupBy) -> &'static str {
    match by {
        GroupBy::Source => "source",
        GroupBy::Category => "category",
        GroupBy::Namespace => "namespace",
    }
}

/// Groups by name; the one without a name last.
fn grouped(world: &World, by: GroupBy) -> anyhow::Result<Vec<(String, Group)>> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    // As it was written first; sources are told apart to the letter.
    let mut spellings: BTreeMap<Word, String> = BTreeMap::new();
    let mut filter = ViewFilter::default();
    loop {
        let page = world.engine.entries(&world.scope, &filter)?;
        for entry in page.entries {
            let mut names: Vec<String> = match by {
                GroupBy::Source => vec![entry.source.to_string()],
                // In every category that it is in, as selectors have it.
                GroupBy::Category => entry.categories.iter().map(ToString::to_string).collect(),
                GroupBy::Namespace => vec![entry.namespace.clone()],
            };
            if names.is_empty() {
                names.push(String::new());
            }
            for name in names {
                let name = match by {
                    GroupBy::Source => name,
                    _ => spellings.entry(name.as_str().into()).or_insert(name).clone(),
                };
                let group = groups.entry(name).or_default();
                if entry.disclosure.reachable() {
                    group.tokens += entry.tokens;
                    group.tools.push(entry.clone());
                } else if entry.enabled {
                    group.hidden += 1;
                } else {
                    group.off += 1;
                }
            }
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    let unnamed = groups.remove("");
    Ok(groups.into_iter().chain(unnamed.map(|group| (String::new(), group))).collect())
}
