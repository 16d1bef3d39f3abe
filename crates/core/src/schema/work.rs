//! How much work a validation will be, found out before it is done. A schema that refers to itself multiplies with the
//! depth of the value (a tree of alternatives takes 2^depth steps), so limits on the schema alone are not enough.

use std::collections::HashMap;

use serde_json::Value;

use super::graph::{Graph, Via};

/// Most subschema visits of one validation; a fraction of a second. Beyond it the value is refused unseen.
pub(super) const STEPS: u64 = 2_000_000;
/// Deepest chain of subschema visits, so that no validation overflows a 2 MiB stack.
const CHAIN: usize = 512;

/// The value asks for more work than is done for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMuch;

/// The part of a schema that decides how often each subschema is visited.
#[derive(Debug)]
pub(super) struct Plan {
    nodes: Vec<PlanNode>,
}

#[derive(Debug, Default)]
struct PlanNode {
    same: Vec<usize>,
    named: HashMap<String, Vec<usize>>,
    each_property: Vec<usize>,
    each_item: Vec<usize>,
}

impl Plan {
    pub(super) fn new(graph: &Graph<'_>) -> Self {
        let nodes = graph.nodes.iter().map(|node| {
            let mut plan = PlanNode::default();
            for &(via, to) in &node.edges {
                match via {
                    Via::Same => plan.same.push(to),
                    Via::Property(name) => plan.named.entry(name.to_owned()).or_default().push(to),
                    Via::EachProperty => plan.each_property.push(to),
                    Via::EachItem => plan.each_item.push(to),
                }
            }
            plan
        });
        Self { nodes: nodes.collect() }
    }

    /// Visits that validating `value` without any short cut takes.
    pub(super) fn steps(&self, value: &Value) -> Result<u64, TooMuch> {
        let mut walk = Walk { plan: self, steps: 0, chain: Vec::new() };
        walk.visit(0, value, 0, 0)?;
        Ok(walk.steps)
    }
}

struct Walk<'p> {
    plan: &'p Plan,
    steps: u64,
    /// Subschemas being applied, outermost first; those from `base` on are applied to the current value.
    chain: Vec<usize>,
}

impl Walk<'_> {
    fn visit(&mut self, node: usize, value: &Value, depth: usize, base: usize) -> Result<(), TooMuch> {
        self.steps += 1;
        if self.steps > STEPS || depth > CHAIN {
            return Err(TooMuch);
        }
        // Applied to this very value already: a reference cycle that consumes nothing adds nothing.
        if self.chain[base..].contains(&node) {
            return Ok(());
        }
        let plan = &self.plan.nodes[node];
        self.chain.push(node);
        for &to in &plan.same {
            self.visit(to, value, depth + 1, base)?;
        }
        let base = self.chain.len();
        match value {
            Value::Object(map) if !plan.named.is_empty() || !plan.each_property.is_empty() => {
                for (name, inner) in map {
                    for &to in plan.named.get(name).into_iter().flatten().chain(&plan.each_property) {
                        self.visit(to, inner, depth + 1, base)?;
                    }
                }
            }
            Value::Array(items) => {
                for inner in items {
                    for &to in &plan.each_item {
                        self.visit(to, inner, depth + 1, base)?;
                    }
                }
            }
            _ => {}
        }
        self.chain.pop();
        Ok(())
    }
}

/// Values within a value, itself included.
pub(super) fn count_values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(count_values).sum::<u64>() + 1,
        Value::Object(map) => map.values().map(count_values).sum::<u64>() + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
