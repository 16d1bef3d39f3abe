//! Whether a scope may see anything of a source whose tools nobody knows yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::json;

use super::{Policy, Scope, SelectError, select};
use crate::{
    Annotations, Catalog, Source, SourceEntry, SourceState, Tool, ToolId, name::NameSettings, selector::Selector,
};

/// Most stand-ins for one source.
const MOST: usize = 256;

/// Those of the sources of which the policy would leave at least one tool to the scope: a tool of whatever name, or one of
/// those that its lists name. For sources that offer nothing yet; of others the selection itself tells.
pub fn may_reach(
    sources: &[&Source],
    policy: &Policy,
    names: &NameSettings,
    scope: &Scope,
) -> Result<BTreeSet<Source>, SelectError> {
    if sources.is_empty() {
        return Ok(BTreeSet::new());
    }
    let empty = Catalog::default();
    let gates = policy.gates(&empty, scope, false)?;
    let written: Vec<&Selector> = gates.iter().flat_map(super::gate::Gate::selectors).collect();
    let entries = sources.iter().map(|source| {
        let own = written.iter().filter_map(|selector| selector.example(source, names));
        let tools: BTreeSet<String> = ["\u{1}".to_owned()].into_iter().chain(own).take(MOST).collect();
        let tools = tools.into_iter().map(|name| {
            let definition = json!({"name": name, "inputSchema": {"type": "object"}});
            Arc::new(Tool::new((*source).clone(), name, definition, Annotations::default()))
        });
        ((*source).clone(), Arc::new(SourceEntry::new(SourceState::Ready, tools.collect(), Vec::new())))
    });
    let catalog = Catalog::new(0, entries.collect::<BTreeMap<_, _>>());
    let kept = select(&catalog, policy, names, scope)?.kept;
    Ok(kept.into_iter().map(|claim| ToolId::clone(claim.tool.id()).source).collect())
}
