//! `toolcrib assemble --diff A B`: what differs between two scopes, or between now and a document of another day.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{
    Scope,
    render::Target,
    select::{Model, Role},
};

use super::{assembled, trace};
use crate::{args::AssembleArgs, exit::Exit, files::read_text, payloads::Rendering, print, world::World};

/// Largest document taken, in bytes.
const MAX_DOCUMENT: u64 = 256 * 1024 * 1024;

/// What differs.
#[derive(Debug, PartialEq, Serialize)]
struct Difference {
    a: String,
    b: String,
    equal: bool,
    added: Vec<Change>,
    removed: Vec<Change>,
    changed: Vec<Change>,
    renamed: Vec<Change>,
    moved: Vec<Change>,
}

/// One tool that differs.
#[derive(Debug, PartialEq, Serialize)]
struct Change {
    id: String,
    name: String,
    /// Why, in a sentence.
    why: String,
}

pub(super) async fn run(args: &AssembleArgs, target: Target, before: &str, after: &str) -> anyhow::Result<Exit> {
    // Documents need no servers.
    let documents = [before, after].map(|side| Path::new(side).is_file());
    let world = if documents == [true, true] { None } else { Some(World::start(&args.look.sources).await?) };
    if let Some(world) = &world {
        world.wait_all(args.look.wait).await;
    }
    let mut sides = Vec::new();
    for side in [before, after] {
        sides.push(match &world {
            Some(world) if !Path::new(side).is_file() => now(world, args, target, side).await?,
            _ => read(side)?,
        });
    }
    let difference = compare((before, &sides[0]), (after, &sides[1]));
    if args.look.json {
        print::json(&difference)?;
    } else {
        tell(&difference);
    }
    if let Some(world) = world {
        world.warn_about_sources();
        world.stop().await;
    }
    Ok(Exit::Done)
}

fn read(path: &str) -> anyhow::Result<Value> {
    let text = read_text(Path::new(path), "the document", MAX_DOCUMENT)?;
    let document: Value = serde_json::from_str(&text).with_context(|| format!("{path} is not JSON"))?;
    if !document["name_map"].is_object() || !document["definitions"].is_object() {
        bail!("{path} is not a document of `toolcrib assemble --json`: it has no name_map or no definitions");
    }
    Ok(document)
}

async fn now(world: &World, args: &AssembleArgs, target: Target, side: &str) -> anyhow::Result<Value> {
    let loaded = world.loaded().await;
    let mut scope = world.scope.clone();
    scope.context_length = args.context_length;
    for part in side.split(',').filter(|part| !part.is_empty() && *part != "default") {
        let configured = &loaded.config;
        let (key, value) = match part.split_once('=') {
            Some(pair) => pair,
            None if world.engine.settings().assemble.policy.profiles.contains_key(part) => ("profile", part),
            None if configured.agents.contains_key(part) => ("agent", part),
            None => bail!("'{part}' is no file, no profile and no agent; write profile=NAME, agent=NAME or a file"),
        };
        apply(&mut scope, key, value)?;
    }
    let settings = world.engine.settings();
    let rendering = Rendering::of(&loaded, &settings.assemble.policy.groups)?;
    let model = scope.model.as_ref().map(|model| rendering.model(&model.to_string(), target));
    Rendering::measure(&mut scope, model.as_ref());
    let view = world.engine.inspect(&scope)?;
    let payload = rendering.payload(&view, target, model.as_ref(), None, &world.counts);
    let trace = trace(world, &scope)?;
    Ok(serde_json::to_value(assembled(&view, target, model.as_ref(), &payload, None, trace))?)
}

fn apply(scope: &mut Scope, key: &str, value: &str) -> anyhow::Result<()> {
    let word = || Some(value.to_owned());
    match key {
        "profile" => scope.profile = word(),
        "agent" => scope.agent = word(),
        "channel" => {
            scope.channel = word();
            scope.owner = false;
        }
        "sender" => {
            scope.sender.get_or_insert_default().tell(value);
            scope.owner = false;
        }
        "model" => scope.model = Some(Model::new(value)),
        "role" => scope.role = Some(value.parse::<Role>().map_err(|error| anyhow::anyhow!("{error}"))?),
        "owner" => scope.owner = value == "true",
        "sandbox" => scope.sandbox = value == "true",
        "capability" => {
            scope.capabilities.insert(value.to_owned());
        }
        "parent" => {
            let parent = Scope { agent: word(), ..scope.clone() };
            *scope = Scope { agent: scope.agent.clone(), ..Arc::new(parent).child(None) };
        }
        _ => bail!(
            "'{key}' is nothing a scope has: use profile, agent, parent, role, model, channel, sender, owner, sandbox or capability"
        ),
    }
    Ok(())
}

/// The exposed name, the definition's hash and the standing of each reachable tool, by identity.
fn tools(document: &Value) -> BTreeMap<String, (String, String, String)> {
    let entries = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let standing: BTreeMap<String, String> = document["trace"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| Some((one["id"].as_str()?.to_owned(), one["fate"].as_str()?.to_owned())))
        .collect();
    let definitions = entries(&document["definitions"]);
    let name_map = entries(&document["name_map"]);
    let named = name_map.into_iter().filter_map(|(name, id)| Some((id.as_str()?.to_owned(), name)));
    named
        .map(|(id, name)| {
            let hash = definitions.get(&id).and_then(Value::as_str).unwrap_or_default().to_owned();
            let fate = standing.get(&id).cloned().unwrap_or_default();
            (id, (name, hash, fate))
        })
        .collect()
}

fn compare((name_a, a): (&str, &Value), (name_b, b): (&str, &Value)) -> Difference {
    let (before, after) = (tools(a), tools(b));
    // What the side without a tool says of it.
    let why = |document: &Value, id: &str| {
        let mut told = document["trace"].as_array().into_iter().flatten();
        let told = told.find(|one| one["id"] == *id).and_then(|one| one["sentence"].as_str().map(str::to_owned));
        told.unwrap_or_else(|| format!("no source offers {id} there."))
    };
    let missing =
        |from: &BTreeMap<String, (String, String, String)>, other: &BTreeMap<_, _>, document: &Value, label| {
            from.iter()
                .filter(|(id, _)| !other.contains_key(*id))
                .map(|(id, (name, ..))| Change {
                    id: id.clone(),
                    name: name.clone(),
                    why: format!("in {label}: {}", why(document, id)),
                })
                .collect::<Vec<_>>()
        };
    let mut difference = Difference {
        a: name_a.to_owned(),
        b: name_b.to_owned(),
        equal: a["hash"] == b["hash"],
        added: missing(&after, &before, a, name_a),
        removed: missing(&before, &after, b, name_b),
        changed: Vec::new(),
        renamed: Vec::new(),
        moved: Vec::new(),
    };
    for (id, (name, hash, fate)) in &after {
        let Some((old_name, old_hash, old_fate)) = before.get(id) else { continue };
        let change = |why: String| Change { id: id.clone(), name: name.clone(), why };
        if hash != old_hash {
            difference.changed.push(change(parts(a, b, old_name, name)));
        }
        if name != old_name {
            difference.renamed.push(change(format!("was {old_name}")));
        }
        if fate != old_fate {
            difference.moved.push(change(format!("was {old_fate}, is {fate}")));
        }
    }
    difference
}

/// Which parts of a definition differ, where both documents show it.
fn parts(a: &Value, b: &Value, old_name: &str, name: &str) -> String {
    fn shown<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
        match value {
            Value::Object(map) if map.get("name").and_then(Value::as_str) == Some(name) => Some(value),
            Value::Object(map) => map.values().find_map(|inner| shown(inner, name)),
            Value::Array(items) => items.iter().find_map(|inner| shown(inner, name)),
            _ => None,
        }
    }
    let (Some(old), Some(new)) = (shown(&a["tools"], old_name), shown(&b["tools"], name)) else {
        return "its definition differs".to_owned();
    };
    let empty = serde_json::Map::new();
    let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differ: Vec<&str> = keys.into_iter().filter(|key| old.get(*key) != new.get(*key)).map(String::as_str).collect();
    if differ.is_empty() {
        "its definition differs in parts that this target is not sent".to_owned()
    } else {
        format!("its {} differ", differ.join(", "))
    }
}

fn tell(difference: &Difference) {
    let Difference { a, b, added, removed, changed, renamed, moved, .. } = difference;
    for (sign, list) in [("+", added), ("-", removed), ("~", changed), ("=", renamed), (">", moved)] {
        for Change { id, name, why } in list {
            print::line(print::clean(&format!("{sign} {id} ({name}): {why}")));
        }
    }
    print::note(format!(
        "from {a} to {b}: {} added, {} removed, {} changed, {} renamed, {} moved between direct and deferred",
        added.len(),
        removed.len(),
        changed.len(),
        renamed.len(),
        moved.len()
    ));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(tools: &[(&str, &str, &str, &str)], hash: &str) -> Value {
        let name_map: BTreeMap<_, _> = tools.iter().map(|(id, name, ..)| (*name, *id)).collect();
        let definitions: BTreeMap<_, _> = tools.iter().map(|(id, _, hash, _)| (*id, *hash)).collect();
        let trace: Vec<Value> = tools
            .iter()
            .map(|(id, _, _, fate)| json!({"id": id, "fate": fate, "sentence": format!("{id} is {fate}.")}))
            .chain([json!({"id": "mcp:s/hidden", "fate": "hidden", "sentence": "mcp:s/hidden is hidden by a rule."})])
            .collect();
        let shown: Vec<Value> = tools
            .iter()
            .map(|(_, name, hash, _)| json!({"name": name, "description": hash, "inputSchema": {}}))
            .collect();
        json!({"tools": shown, "name_map": name_map, "definitions": definitions, "trace": trace, "hash": hash})
    }

    #[test]
    fn every_kind_of_difference_is_told_with_its_reason() {
        let a = document(&[("mcp:s/kept", "s__kept", "1", "direct"), ("mcp:s/old", "s__old", "1", "direct")], "x");
        let b =
            document(&[("mcp:s/kept", "s__kept2", "2", "deferred"), ("mcp:s/hidden", "s__hidden", "1", "direct")], "y");
        let found = compare(("a", &a), ("b", &b));
        let told =
            |list: &[Change]| -> Vec<String> { list.iter().map(|one| format!("{}: {}", one.id, one.why)).collect() };
        assert_eq!(told(&found.added), ["mcp:s/hidden: in a: mcp:s/hidden is hidden by a rule."]);
        assert_eq!(told(&found.removed), ["mcp:s/old: in b: no source offers mcp:s/old there."]);
        assert_eq!(told(&found.changed), ["mcp:s/kept: its description, name differ"]);
        assert_eq!(told(&found.renamed), ["mcp:s/kept: was s__kept"]);
        assert_eq!(told(&found.moved), ["mcp:s/kept: was direct, is deferred"]);
        assert!(!found.equal);
        let same = compare(("a", &a), ("a", &a));
        assert!(same.equal && same.added.is_empty() && same.removed.is_empty() && same.changed.is_empty());
    }
}
