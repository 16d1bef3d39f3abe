//! `toolcrib search`: what `tool_search` would answer.

use anyhow::anyhow;
use serde_json::{Value, json};

use crate::{args::SearchArgs, exit::Exit, print, world::World};

pub(crate) async fn run(args: SearchArgs) -> anyhow::Result<Exit> {
    let world = World::start(&args.sources, None)?;
    world.wait_all(args.wait.wait).await;
    let query = args.query.join(" ");
    let mut request = json!({"queries": [query]});
    if let Some(limit) = args.limit {
        request["limit"] = limit.into();
    }
    let reply = world.engine.search(&world.scope, &request).await?.map_err(|error| anyhow!("{error}"))?;
    let matches = reply["results"][0]["matches"].as_array().cloned().unwrap_or_default();
    if args.json {
        print::json(&reply)?;
    } else if matches.is_empty() {
        print::note("Nothing matches.");
        if let Some(servers) = reply["servers"].as_array() {
            let names: Vec<&str> = servers.iter().filter_map(|server| server["name"].as_str()).collect();
            print::note(format!("Servers there are: {}.", names.join(", ")));
        }
    } else {
        let rows = matches.iter().map(|hit| row(hit, &reply["tools"])).collect();
        print::table(&["SCORE", "NAME", "DESCRIPTION"], rows);
    }
    world.warn_about_sources();
    world.stop().await;
    Ok(if matches.is_empty() { Exit::Failed } else { Exit::Done })
}

fn row(hit: &Value, tools: &Value) -> Vec<String> {
    let name = hit["name"].as_str().unwrap_or_default();
    let description = tools[name]["description"].as_str().unwrap_or_default();
    let score = hit["score"].as_f64().unwrap_or_default();
    vec![format!("{score:.2}"), name.to_owned(), toolcrib_core::disclosure::short_description(description, 100)]
}
