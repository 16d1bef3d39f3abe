//! `toolcrib search`: what `tool_search` would answer, and why.

use std::time::Duration;

use anyhow::anyhow;
use serde_json::{Value, json};

use crate::{
    args::SearchArgs,
    exit::Exit,
    print::{self, clean},
    world::World,
};

/// How long what was learnt from use, or the reading of the tools by an encoder elsewhere, may take.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) async fn run(args: SearchArgs) -> anyhow::Result<Exit> {
    let world = World::start_to_search(&args.look.sources).await?;
    world.wait_all(args.look.wait).await;
    if let Some(learner) = world.engine.learner() {
        learner.load(&world.scope.tenant, PATIENCE).await;
    }
    if let Some(encoding) = world.engine.encoding() {
        // A model on this machine comes to an end by itself; how soon depends on what else the machine does.
        let local = Duration::from_secs(args.look.wait);
        encoding.ready(&world.view()?, if encoding.encoder().is_remote() { PATIENCE } else { local }).await;
    }
    let reply = world.engine.search(&world.scope, &request(&args)).await?.map_err(|error| anyhow!("{error}"))?;
    let found = reply["tools"].as_object().is_some_and(|tools| !tools.is_empty());
    if args.look.json {
        print::json(&reply)?;
    } else {
        show(&reply, args.explain);
        if args.explain && world.view()?.index().lexical().is_none() {
            print::note("The bm25 ranker gives no reasons; disclosure.ranker = \"hybrid\" does.");
        }
    }
    world.warn_about_sources();
    world.stop().await;
    Ok(if found { Exit::Done } else { Exit::Failed })
}

/// The arguments as `tool_search` takes them.
fn request(args: &SearchArgs) -> Value {
    let queries: Vec<String> = [args.query.join(" ")].into_iter().chain(args.also.iter().cloned()).collect();
    let mut request = json!({"queries": queries, "readonly": args.readonly, "explain": args.explain});
    for (key, number) in [("limit", args.limit), ("offset", args.offset)] {
        if let Some(number) = number {
            request[key] = number.into();
        }
    }
    for (key, word) in [("server", &args.server), ("source", &args.source), ("category", &args.category)] {
        if let Some(word) = word {
            request[key] = word.as_str().into();
        }
    }
    request
}

fn show(reply: &Value, explain: bool) {
    let results = list(&reply["results"]);
    for (at, result) in results.iter().enumerate() {
        if results.len() > 1 {
            if at > 0 {
                print::line("");
            }
            print::line(clean(text(&result["query"])));
        }
        let matches = list(&result["matches"]);
        if matches.is_empty() {
            print::note("Nothing matches.");
        } else if explain {
            matches.iter().for_each(show_reasons);
        } else {
            let rows = matches.iter().map(|hit| row(hit, &reply["tools"])).collect();
            print::table(&["SCORE", "NAME", "DESCRIPTION"], rows);
        }
        for (number, step) in list(&result["steps"]).iter().enumerate() {
            print::note(clean(&format!("Step {}: {}", number + 1, text(step))));
        }
        for missing in list(&result["not_found"]) {
            print::note(clean(&not_found(missing)));
        }
        for left in list(&result["left_out"]) {
            print::note(clean(&format!("Left out {}: {}.", text(&left["name"]), text(&left["why"]))));
        }
    }
    let servers: Vec<&str> = list(&reply["servers"]).iter().map(|server| text(&server["name"])).collect();
    if !servers.is_empty() {
        print::note(clean(&format!("Servers there are: {}.", servers.join(", "))));
    }
    for note in list(&reply["notes"]) {
        print::note(clean(text(note)));
    }
    if reply["next_cursor"].is_string() {
        print::note("There are more: use --limit or --offset.");
    }
}

fn show_reasons(hit: &Value) {
    print::line(clean(&format!("{:.2}  {}", hit["score"].as_f64().unwrap_or_default(), text(&hit["name"]))));
    for reason in list(&hit["why"]["reasons"]) {
        print::line(format!("      {}", clean(text(reason))));
    }
}

fn row(hit: &Value, tools: &Value) -> Vec<String> {
    let name = text(&hit["name"]);
    let description = text(&tools[name]["description"]);
    let score = hit["score"].as_f64().unwrap_or_default();
    vec![format!("{score:.2}"), name.to_owned(), toolcrib_core::disclosure::short_description(description, 100)]
}

fn not_found(missing: &Value) -> String {
    let names = |key: &str| list(&missing[key]).iter().map(text).collect::<Vec<_>>().join(", ");
    let name = text(&missing["name"]);
    if missing["means_one_of"].is_array() {
        format!("{name} means several tools: {}.", names("means_one_of"))
    } else if missing["suggestions"].is_array() {
        format!("There is no tool {name}; near: {}.", names("suggestions"))
    } else {
        format!("There is no tool {name}.")
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
