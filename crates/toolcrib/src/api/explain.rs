//! Why a tool is shown, deferred, hidden or refused.

use serde_json::json;
use toolcrib_engine::Identity;
use toolcrib_gateway::{
    KeyScope,
    api::{
        ApiCaller, Code, Problem,
        wire::{Explain, Explained},
    },
};

use super::{
    Api, as_wire,
    scope::{Asking, refused},
};
use crate::commands::explain::{arguments_for, told};

pub(super) async fn explain(api: &Api, caller: &ApiCaller, explain: Explain) -> Result<Explained, Problem> {
    let operates = caller.scopes.has(KeyScope::Operate);
    let principal = match &explain.key {
        None => caller.principal.as_deref(),
        Some(key) if operates => {
            api.of_all_tenants(caller)?;
            let names = api.world.callers.names();
            if !names.contains(&**key) && !key.starts_with("key-") {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                let text = format!("there is no key '{}'; the configuration names: {}", &**key, known.join(", "));
                return Err(Problem::new(Code::NotUsable, text).at("/key", "names no key"));
            }
            Some(&**key)
        }
        Some(_) => {
            let text = "only a key with the scope \"operate\" may ask for others; leave 'key' out";
            return Err(Problem::new(Code::ScopeRefused, text).at("/key", "needs the scope operate"));
        }
    };
    let asking = Asking::of(api, principal, &explain.scope)?;
    let engine = &api.world.engine;
    let mut found = engine.explain(&asking.scope, &explain.name).map_err(refused)?;
    if !operates {
        // What is hidden and what does not exist are one thing to whoever it is hidden from.
        found.retain(|explanation| explanation.fate.is_reachable());
    }
    if found.is_empty() {
        return Err(Problem::new(Code::UnknownTool, "no tool that this key may know of goes by that name"));
    }
    let identity = Identity { agent: asking.agent, roles: api.world.callers.roles(principal), ..Identity::default() };
    let arguments = explain.arguments.unwrap_or_else(|| json!({}));
    let mut tools = Vec::new();
    for explanation in &found {
        let arguments = arguments_for(explanation, &arguments);
        let judged = engine.judge(&asking.scope, &identity, explanation, &arguments).await.map_err(refused)?;
        tools.push(as_wire(&told(explanation, judged.as_ref()))?);
    }
    Ok(Explained { tools })
}
