//! Who gets which name, and the name map that goes with every assembled set.

use std::{collections::HashMap, sync::Arc};

use super::{Conflict, NameSettings, namespaced};
use crate::{Tool, ToolId};

/// Exposed names of a set of tools and the way back. Calls are resolved by looking names up here, never by taking a
/// name apart.
#[derive(Clone, Debug, Default)]
pub struct NameMap {
    forward: Vec<(String, ToolId)>,
    backward: HashMap<String, usize>,
}

impl NameMap {
    /// The tool behind an exposed name.
    pub fn id(&self, name: &str) -> Option<&ToolId> {
        self.backward.get(name).map(|&index| &self.forward[index].1)
    }

    /// Position of an exposed name among the tools the map was made for.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.backward.get(name).copied()
    }

    /// The exposed name at a position below [`NameMap::len`].
    pub fn name(&self, position: usize) -> &str {
        &self.forward[position].0
    }

    /// All pairs in the order of the tools.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ToolId)> {
        self.forward.iter().map(|(name, id)| (name.as_str(), id))
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.forward.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.forward.is_empty()
    }
}

/// A tool that asks for a name.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The name.
    pub name: String,
    /// The tool.
    pub tool: Arc<Tool>,
    /// Its position in the catalog.
    pub position: usize,
}

/// A tool that lost its name to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameLoser {
    /// The tool that is not served.
    pub id: ToolId,
    /// The contested name.
    pub name: String,
    /// Who has the name; `None` where the rule rejects all of them.
    pub winner: Option<ToolId>,
    /// The loser's position in the catalog.
    pub position: usize,
}

/// Names for a set of tools.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// The tools that got a name, in the order of their names.
    pub tools: Vec<Arc<Tool>>,
    /// Their names and the way back; positions are those of `tools`.
    pub map: NameMap,
    /// The tools that did not.
    pub losers: Vec<NameLoser>,
}

/// Settles who gets which name, by the declared rule. The order of the claims does not matter.
pub fn assign(claims: &[Claim], settings: &NameSettings) -> Assignment {
    let mut claims: Vec<&Claim> = claims.iter().collect();
    let rank = |claim: &Claim| if settings.conflict == Conflict::First { 0 } else { claim.tool.source().precedence() };
    claims.sort_by(|a, b| {
        a.name.cmp(&b.name).then_with(|| rank(a).cmp(&rank(b))).then_with(|| a.tool.id().cmp(b.tool.id()))
    });
    let mut losers = Vec::new();
    let lose = |claim: &Claim, name: String, winner: Option<&Claim>| NameLoser {
        id: claim.tool.id().clone(),
        name,
        winner: winner.map(|winner| winner.tool.id().clone()),
        position: claim.position,
    };
    let mut named: Vec<(String, &Claim)> = Vec::with_capacity(claims.len());
    let mut renamed: Vec<(String, &Claim)> = Vec::new();
    for group in claims.chunk_by(|a, b| a.name == b.name) {
        if group.len() > 1 && settings.conflict == Conflict::Reject {
            losers.extend(group.iter().map(|claim| lose(claim, claim.name.clone(), None)));
            continue;
        }
        named.push((group[0].name.clone(), group[0]));
        for claim in &group[1..] {
            if settings.conflict == Conflict::Namespace {
                renamed.push((namespaced(claim.tool.id(), settings), claim));
            } else {
                losers.push(lose(claim, claim.name.clone(), Some(group[0])));
            }
        }
    }
    renamed.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.tool.id().cmp(b.1.tool.id())));
    for (name, claim) in renamed {
        // A name that carries a tail only meets another by hash collision; whoever sorts first has it.
        match named.binary_search_by(|(taken, _)| taken.as_str().cmp(&name)) {
            Ok(index) => losers.push(lose(claim, name, Some(named[index].1))),
            Err(index) => named.insert(index, (name, claim)),
        }
    }
    losers.sort_by(|a, b| a.id.cmp(&b.id));
    let mut map = NameMap { forward: Vec::with_capacity(named.len()), backward: HashMap::with_capacity(named.len()) };
    let mut tools = Vec::with_capacity(named.len());
    for (index, (name, claim)) in named.into_iter().enumerate() {
        map.backward.insert(name.clone(), index);
        map.forward.push((name, claim.tool.id().clone()));
        tools.push(claim.tool.clone());
    }
    Assignment { tools, map, losers }
}
