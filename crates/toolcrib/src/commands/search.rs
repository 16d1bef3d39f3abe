//! `toolcrib search`: what `tool_search` would answer, and why.

use anyhow::anyhow;
use serde_json::{Map, Value, json};
use toolcrib_core::{
    bridge::Directory,
    search::{Evidence, Explanation, Field, Match, NameMatch},
};
use toolcrib_engine::View;

use crate::{args::SearchArgs, exit::Exit, print, world::World};

pub(crate) async fn run(args: SearchArgs) -> anyhow::Result<Exit> {
    let world = World::start(&args.look.sources).await?;
    world.wait_all(args.look.wait).await;
    let query = args.query.join(" ");
    let mut request = json!({"queries": [query]});
    if let Some(limit) = args.limit {
        request["limit"] = limit.into();
    }
    let mut reply = world.engine.search(&world.scope, &request).await?.map_err(|error| anyhow!("{error}"))?;
    let matches = reply["results"][0]["matches"].as_array().cloned().unwrap_or_default();
    let explanations = if args.explain { explain(&query, &matches, &*world.view()?) } else { Vec::new() };
    if args.look.json {
        if args.explain {
            let pairs = matches.iter().zip(&explanations);
            let pairs = pairs.map(|(hit, why)| (name(hit).to_owned(), why.as_ref().map_or(Value::Null, to_value)));
            reply["explanations"] = pairs.collect::<Map<_, _>>().into();
        }
        print::json(&reply)?;
    } else if matches.is_empty() {
        print::note("Nothing matches.");
        if let Some(servers) = reply["servers"].as_array() {
            let names: Vec<&str> = servers.iter().filter_map(|server| server["name"].as_str()).collect();
            print::note(format!("Servers there are: {}.", names.join(", ")));
        }
    } else if args.explain {
        for (hit, why) in matches.iter().zip(&explanations) {
            print::line(format!("{:.2}  {}", hit["score"].as_f64().unwrap_or_default(), print::clean(name(hit))));
            for reason in why.as_ref().map_or_else(|| vec![UNEXPLAINED.to_owned()], sentences) {
                print::line(format!("      {}", print::clean(&reason)));
            }
        }
    } else {
        let rows = matches.iter().map(|hit| row(hit, &reply["tools"])).collect();
        print::table(&["SCORE", "NAME", "DESCRIPTION"], rows);
    }
    if args.explain && world.view()?.index().lexical().is_none() {
        print::note("The bm25 ranker gives no reasons; disclosure.ranker = \"hybrid\" does.");
    }
    world.warn_about_sources();
    world.stop().await;
    Ok(if matches.is_empty() { Exit::Failed } else { Exit::Done })
}

/// What is said of a match that no word of the query explains.
const UNEXPLAINED: &str = "by its server or letters of its name";

fn name(hit: &Value) -> &str {
    hit["name"].as_str().unwrap_or_default()
}

fn row(hit: &Value, tools: &Value) -> Vec<String> {
    let name = name(hit);
    let description = tools[name]["description"].as_str().unwrap_or_default();
    let score = hit["score"].as_f64().unwrap_or_default();
    vec![format!("{score:.2}"), name.to_owned(), toolcrib_core::disclosure::short_description(description, 100)]
}

/// Why each match was found, where the ranker can say.
fn explain(query: &str, matches: &[Value], view: &View) -> Vec<Option<Explanation>> {
    let reason = |hit: &Value| view.index().lexical()?.explain(query, view.set.find(name(hit))?);
    matches.iter().map(reason).collect()
}

fn to_value(why: &Explanation) -> Value {
    let word = |found: &Match| {
        json!({
            "word": found.word,
            "term": found.term,
            "evidence": evidence(found.evidence),
            "fields": found.fields.iter().map(|&place| field(place)).collect::<Vec<_>>(),
            "worth": found.worth,
        })
    };
    json!({
        "score": why.score,
        "words": why.matches.iter().map(word).collect::<Vec<_>>(),
        "name": why.name.map(name_match),
        "name_coverage": why.name_coverage,
        "server": why.server,
        "answered": why.answered,
        "answered_floor": why.answered_floor,
        "answers": why.answers,
    })
}

fn sentences(why: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(quality) = why.name {
        lines.push(format!("the query is {}", name_match(quality)));
    }
    for found in &why.matches {
        let fields: Vec<&str> = found.fields.iter().map(|&place| field(place)).collect();
        let how = match found.evidence {
            Evidence::Word => String::new(),
            other => format!(" as {} of '{}'", evidence(other), found.term),
        };
        lines.push(format!("{:.2}  '{}'{how} in its {}", found.worth, found.word, fields.join(", ")));
    }
    if why.name_coverage > 0.0 {
        lines.push(format!("the query covers {:.0} % of its name", why.name_coverage * 100.0));
    }
    if why.server > 0.0 {
        lines.push(format!("{:+.2} for its server", why.server));
    }
    let (share, floor) = (why.answered * 100.0, why.answered_floor * 100.0);
    lines.push(format!("holds {share:.0} % of what the query is about; {floor:.0} % are enough for an answer"));
    lines
}

fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Word => "word",
        Evidence::Typo => "misspelling",
        Evidence::Abbreviation => "abbreviation",
        Evidence::Translation => "translation",
        Evidence::Prefix => "beginning",
        Evidence::Synonym => "synonym",
    }
}

fn field(field: Field) -> &'static str {
    match field {
        Field::Name => "name",
        Field::Title => "title",
        Field::Description => "description",
        Field::ParameterName => "parameter names",
        Field::ParameterText => "parameter descriptions",
        Field::Server => "server",
        Field::ServerSummary => "server's summary",
        Field::Tag => "tags",
    }
}

fn name_match(quality: NameMatch) -> &'static str {
    match quality {
        NameMatch::Exact => "its name",
        NameMatch::Spelling => "its name in another spelling",
        NameMatch::Short => "its title or its name without the server's",
    }
}

#[cfg(test)]
mod tests;
