//! Listing, searching, describing, assembling.

use serde_json::{Value, json};
use toolcrib_core::{
    bridge::{BRIDGE_NAMES, describe_reply, read_describe},
    name::clashes,
};
use toolcrib_engine::{Door, Identity};
use toolcrib_gateway::api::{
    ApiCaller, Code, Problem,
    wire::{Assemble, Assembled, Describe, Described, Found, Number, ScopeWish, Search, Tools, Word},
};

use super::{
    Api, as_wire,
    conversation::in_conversation,
    scope::{Asking, refused, unassembled},
};
use crate::commands;

pub(super) fn tools(api: &Api, caller: &ApiCaller, wish: &ScopeWish) -> Result<Tools, Problem> {
    let asking = Asking::of(api, caller.principal.as_deref(), wish)?;
    let engine = &api.world.engine;
    let view = engine.view(&asking.scope).map_err(refused)?;
    as_wire(&commands::tools::listing(&view, &engine.hub().catalog()))
}

pub(super) async fn search(api: &Api, caller: &ApiCaller, search: Search) -> Result<Found, Problem> {
    let asking = Asking::of(api, caller.principal.as_deref(), &search.scope)?;
    let queries: Vec<&str> = search.query.0.iter().map(|query| &**query).collect();
    let mut arguments = json!({"queries": queries, "readonly": search.readonly, "explain": search.explain});
    let words = [
        ("server", &search.server),
        ("source", &search.source),
        ("category", &search.category),
        ("cursor", &search.cursor),
    ];
    for (key, word) in words {
        if let Some(word) = word {
            arguments[key] = (**word).into();
        }
    }
    for (key, number) in [("limit", search.limit.map(Number::get)), ("offset", search.offset.map(Number::get))] {
        if let Some(number) = number {
            arguments[key] = number.into();
        }
    }
    let session = search.session.as_deref().map(str::to_owned);
    let identity = Identity { agent: asking.agent, session, ..Identity::default() };
    match api.world.engine.search_as(&asking.scope, &identity, Door::Http, &arguments).await.map_err(refused)? {
        Ok(mut found) => {
            let next = "Run one with POST /v1/calls {\"name\": …, \"arguments\": {…}}; POST /v1/describe gives the full schema.";
            reword(&mut found, next);
            as_wire(&found)
        }
        Err(error) => Err(Problem::new(Code::NotRead, error.to_string()).at("/query", error.to_string())),
    }
}

pub(super) async fn describe(api: &Api, caller: &ApiCaller, describe: &Describe) -> Result<Described, Problem> {
    let asking = Asking::of(api, caller.principal.as_deref(), &describe.scope)?;
    let names: Vec<&str> = describe.names.iter().map(|name| &**name).collect();
    let request = read_describe(&json!({"names": names}))
        .map_err(|error| Problem::new(Code::NotRead, error.to_string()).at("/names", error.to_string()))?;
    let view = api.world.engine.view_to_describe(&asking.scope, &request.names).await.map_err(refused)?;
    let mut reply = describe_reply(&request, &view.set).value;
    reword(&mut reply, "Run it with POST /v1/calls, arguments as inputSchema says.");
    as_wire(&reply)
}

/// What to do next is another thing for a program than for a model.
fn reword(reply: &mut Value, next: &str) {
    if let Some(told) = reply.get_mut("next") {
        *told = next.into();
    }
}

pub(super) async fn assemble(api: &Api, caller: &ApiCaller, assemble: Assemble) -> Result<Assembled, Problem> {
    let asking = Asking::of(api, caller.principal.as_deref(), &assemble.scope)?;
    let request = assemble.conversation.map(|conversation| in_conversation(conversation.0)).transpose()?;
    let payload = commands::assemble::payload(&api.world, asking.scope, assemble.target.0, request.as_ref()).await;
    let assembled: Assembled = as_wire(&payload.map_err(unassembled)?)?;
    match assemble.client_tools {
        Some(brought) => free(&brought, &assembled).map(|()| assembled),
        None => Ok(assembled),
    }
}

/// Whether the tools that a client brings have names of their own (openclaw case 75).
fn free(brought: &[Word], assembled: &Assembled) -> Result<(), Problem> {
    let names: Vec<&str> = brought.iter().map(|name| &**name).collect();
    let taken = assembled.name_map.keys().map(String::as_str).chain(BRIDGE_NAMES);
    let clashes = clashes(&names, taken);
    let Some((name, holder)) = clashes.first() else { return Ok(()) };
    let text =
        format!("'{name}' is the name of a tool that is there already ({holder}); rename yours, or deny that one");
    let at = names.iter().rposition(|other| other == name).unwrap_or_default();
    Err(Problem::new(Code::NameTaken, text.clone()).at(format!("/client_tools/{at}"), text))
}
