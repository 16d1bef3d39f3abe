//! `toolcrib tools enable`, `disable`, `set`: saying something of tools by hand, for every process that shares the store.

use std::collections::BTreeSet;

use anyhow::Context;
use serde_json::json;
use toolcrib_core::{SourceState, ToolId, bridge::suggest, name::exposed_name, permission::Action, selector::Selector};
use toolcrib_engine::manager::{Adjustment, Patch};

use crate::{
    args::{LookArgs, PermissionArg, SetArgs, SwitchArgs},
    exit::Exit,
    labels::LabelError,
    print,
    world::World,
};

/// Who speaks.
const BY: &str = "terminal";
/// Most names in a line.
const NAMED: usize = 20;

pub(super) async fn switch(args: SwitchArgs, enabled: bool) -> anyhow::Result<Exit> {
    let say = Adjustment { enabled: Some(enabled), ..Adjustment::default() };
    apply(&args.selectors, args.look, Patch { reset: false, say }, enabled).await
}

pub(super) async fn set(args: SetArgs) -> anyhow::Result<Exit> {
    let permission = args.permission.map(|permission| match permission {
        PermissionArg::Allow => Action::Allow,
        PermissionArg::Ask => Action::Ask,
        PermissionArg::Deny => Action::Deny,
    });
    let say = Adjustment {
        namespace: args.namespace,
        category: args.category,
        tags: (args.no_tags || !args.tag.is_empty()).then_some(args.tag),
        priority: args.priority,
        permission,
        ..Adjustment::default()
    };
    // What only restricts or sorts may go by what a tool says of itself. A list may let tools through by their labels.
    let labels = say.namespace.is_some() || say.category.is_some() || say.tags.is_some();
    let loosens = args.reset || labels || matches!(permission, Some(Action::Allow | Action::Ask));
    apply(&args.selectors, args.look, Patch { reset: args.reset, say }, loosens).await
}

async fn apply(selectors: &[String], look: LookArgs, patch: Patch, loosens: bool) -> anyhow::Result<Exit> {
    let selectors: Vec<Selector> = selectors
        .iter()
        .map(|text| text.parse().with_context(|| format!("'{text}' cannot be used")))
        .collect::<Result<_, _>>()?;
    let world = World::start(&look.sources).await?;
    anyhow::ensure!(
        world.store.kept,
        "nothing would be kept: there is no store that outlives this command (store.path); use servers.NAME.tools in the configuration instead"
    );
    world.wait_all(look.wait).await;
    let done = say(&world, &selectors, &patch, loosens, look.json).await;
    world.stop().await;
    done
}

async fn say(
    world: &World,
    selectors: &[Selector],
    patch: &Patch,
    loosens: bool,
    as_json: bool,
) -> anyhow::Result<Exit> {
    let (named, missing) = resolve(world, selectors, loosens);
    if !missing.is_empty() {
        for text in missing {
            print::note(print::clean(&no_tool(world, text)));
        }
        print::note("nothing was changed");
        return Ok(Exit::Failed);
    }
    let patches: Vec<(ToolId, Patch)> = named.iter().map(|id| (id.clone(), patch.clone())).collect();
    let changed = match world.label(BY, &patches).await {
        Ok(changed) => changed,
        Err(LabelError::Refused(error)) => {
            print::note(format!("error: {error}"));
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error.into()),
    };
    let unchanged: Vec<&ToolId> = named.iter().filter(|id| !changed.contains(id)).collect();
    if as_json {
        print::json(&json!({"changed": changed, "unchanged": unchanged}))?;
    } else {
        if !changed.is_empty() {
            print::line(print::clean(&format!("changed: {}", list(changed.iter()))));
        }
        if !unchanged.is_empty() {
            print::line(print::clean(&format!("as it was: {}", list(unchanged.into_iter()))));
        }
    }
    Ok(Exit::Done)
}

fn list<'a>(ids: impl ExactSizeIterator<Item = &'a ToolId>) -> String {
    let more = ids.len().saturating_sub(NAMED);
    let named: Vec<String> = ids.take(NAMED).map(ToString::to_string).collect();
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{rest}", named.join(", "))
}

/// The tools that the selectors name, and the selectors that name none. Where tools get more, by the stricter reading: see
/// [`Selector::grants`].
fn resolve<'s>(world: &World, selectors: &'s [Selector], loosens: bool) -> (BTreeSet<ToolId>, Vec<&'s str>) {
    let catalog = world.engine.hub().catalog_for(&world.scope);
    let settings = world.engine.settings();
    let groups = &settings.assemble.policy.groups;
    let mut named = BTreeSet::new();
    let mut missing = Vec::new();
    for selector in selectors {
        let mut any = false;
        for tool in catalog.tools() {
            let exposed = exposed_name(tool.id(), &settings.assemble.names);
            let holds = if loosens {
                selector.grants(tool, &exposed, groups)
            } else {
                selector.matches(tool, &exposed, groups)
            };
            if holds {
                any = true;
                named.insert(tool.id().clone());
            }
        }
        // A server that does not answer has its tools all the same, by their identities.
        if let (false, Some(id)) = (any, selector.identity())
            && catalog.sources().get(&id.source).is_some_and(|entry| entry.state != SourceState::Ready)
        {
            any = true;
            named.insert(id);
        }
        // A definition that was refused is one that may be mended, and something was said of what is gone: that can be taken back.
        if let (false, Some(id)) = (any, selector.identity())
            && (catalog.refuses(&id) || world.labelling.manager.adjustment(&id).is_some())
        {
            any = true;
            named.insert(id);
        }
        if !any {
            missing.push(selector.as_str());
        }
    }
    (named, missing)
}

fn no_tool(world: &World, text: &str) -> String {
    let catalog = world.engine.hub().catalog_for(&world.scope);
    let settings = world.engine.settings();
    let names: Vec<String> = catalog.tools().map(|tool| exposed_name(tool.id(), &settings.assemble.names)).collect();
    let near = suggest(text, names.iter().map(String::as_str));
    let near = if near.is_empty() { String::new() } else { format!(" Closest names: {}.", near.join(", ")) };
    format!("'{text}' names no tool; `toolcrib explain '*'` lists all there are.{near}")
}
