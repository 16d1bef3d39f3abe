//! A schema compiled once, and validation within bounds.

use std::{
    collections::{BTreeSet, HashSet},
    error::Error,
};

use jsonschema::{Draft, PatternOptions, Retrieve, Uri, ValidationOptions};
use serde_json::{Value, json};

use super::{
    SchemaLimits, SchemaProblem,
    graph::{Graph, Via},
    reading,
    violation::{self, Violation},
    work::{self, Plan, TooMuch},
};
use crate::ingest::json_len;

/// Most violations that one validation reports.
pub(super) const VIOLATIONS: usize = 20;
/// Compiled size of one regular expression, in bytes; larger ones go unchecked.
const REGEX_BYTES: usize = 512 * 1024;
/// Schemas that unfold to fewer subschemas, without cycles, need no plan: their work is at most this times the value.
const PLAIN_PATHS: u64 = 100;
/// Visits up to which all violations are collected; beyond it only the first is looked for.
const EXPLAINED_STEPS: u64 = 50_000;
/// Visits times bytes of the value up to which failed alternatives are explained: each keeps a copy of its part.
const EXPLAINED_COPIES: u64 = 256 * 1024 * 1024;

/// A part of a schema that validation does not enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// JSON Pointer of the subschema; empty for the root.
    pub place: String,
    /// The keyword.
    pub keyword: String,
    /// Why.
    pub why: &'static str,
}

/// A compiled schema.
#[derive(Debug)]
pub struct Validator {
    inner: jsonschema::Validator,
    paths: u64,
    plan: Option<Plan>,
    alternatives: bool,
    secrets: Secrets,
    unchecked: Vec<Unchecked>,
}

/// Which values are never shown: those under `writeOnly: true` or `format: password`.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    names: BTreeSet<String>,
    everything: bool,
}

impl Secrets {
    /// Whether the value at a JSON Pointer is secret. By name anywhere, which errs on the safe side.
    pub(super) fn hide(&self, path: &str) -> bool {
        self.everything
            || !self.names.is_empty()
                && path.split('/').any(|step| self.names.contains(&step.replace("~1", "/").replace("~0", "~")))
    }

    fn find(graph: &Graph<'_>) -> Self {
        let mut secret: Vec<bool> = graph
            .nodes
            .iter()
            .map(|node| node.schema["writeOnly"] == true || node.schema["format"] == "password")
            .collect();
        // Items of a secret list, a referred secret: whatever applies to the same value or its parts makes it secret.
        while secret.contains(&true) {
            let spread: Vec<usize> = (0..secret.len())
                .filter(|&node| !secret[node])
                .filter(|&node| graph.nodes[node].edges.iter().any(|(via, to)| secret[*to] && !is_named(*via)))
                .collect();
            if spread.is_empty() {
                break;
            }
            for node in spread {
                secret[node] = true;
            }
        }
        let named = graph.nodes.iter().flat_map(|node| &node.edges).filter(|(_, to)| secret[*to]);
        let names = named.filter_map(|(via, _)| match via {
            Via::Property(name) => Some((*name).to_owned()),
            Via::Same | Via::EachProperty | Via::EachItem => None,
        });
        Self { names: names.collect(), everything: secret.first() == Some(&true) }
    }
}

fn is_named(via: Via<'_>) -> bool {
    matches!(via, Via::Property(_))
}

/// Refuses every retrieval: references are local, and nothing an upstream names is ever fetched.
struct Offline;

impl Retrieve for Offline {
    fn retrieve(&self, _uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err("references outside the schema are not followed".into())
    }
}

fn options(draft: Draft) -> ValidationOptions<'static> {
    jsonschema::options()
        .with_draft(draft)
        .with_retriever(Offline)
        .with_pattern_options(PatternOptions::regex().size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES))
        // An annotation since 2019-09, asserted by the drafts before.
        .should_validate_formats(matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7))
        .should_ignore_unknown_formats(true)
}

impl Validator {
    /// Compiles a schema within the default limits, in the draft it declares (else 2020-12). Takes some ten
    /// microseconds to milliseconds: once per tool, when first needed.
    pub fn compile(schema: &Value) -> Result<Self, SchemaProblem> {
        Self::compile_within(schema, &SchemaLimits::default())
    }

    /// The same with the given limits.
    pub fn compile_within(schema: &Value, limits: &SchemaLimits) -> Result<Self, SchemaProblem> {
        let graph = Graph::read(schema, limits)?;
        let draft = reading::draft_of(schema);
        let options = options(draft);
        let unusable: HashSet<&str> = reading::patterns(&graph)
            .into_iter()
            .filter(|pattern| options.build(&json!({"pattern": pattern})).is_err())
            .collect();
        let (copy, unchecked) = reading::read(schema, &graph, draft, &|pattern| !unusable.contains(pattern));
        let inner = options.build(&copy).map_err(|error| {
            let place = error.instance_path().as_str();
            let text =
                violation::capped(&format!("{} at {}", error.masked(), if place.is_empty() { "/" } else { place }));
            SchemaProblem::Uncompilable(text)
        })?;
        let alternatives =
            graph.nodes.iter().any(|node| ["anyOf", "oneOf"].iter().any(|key| node.schema.get(key).is_some()));
        Ok(Self {
            inner,
            paths: graph.paths,
            plan: (graph.cyclic || graph.paths > PLAIN_PATHS).then(|| Plan::new(&graph)),
            alternatives,
            secrets: Secrets::find(&graph),
            unchecked,
        })
    }

    /// Validates a value. At most 20 violations are reported, and the work is bounded whatever the schema
    /// and the value are: a value that would take too many steps is refused with a violation that says so.
    pub fn validate(&self, value: &Value) -> Result<(), Vec<Violation>> {
        let planned = match self.plan.as_ref().map(|plan| plan.steps(value)) {
            Some(Err(TooMuch)) => return Err(vec![Violation::too_much()]),
            Some(Ok(steps)) => Some(steps),
            None => None,
        };
        if self.inner.is_valid(value) {
            return Ok(());
        }
        let steps = planned.unwrap_or_else(|| work::count_values(value).saturating_mul(self.paths));
        Err(self.explain(value, steps))
    }

    /// Whether a value is valid; as bounded as [`Self::validate`], and the cheap question to ask before repairing.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.plan.as_ref().is_none_or(|plan| plan.steps(value).is_ok()) && self.inner.is_valid(value)
    }

    fn explain(&self, value: &Value, steps: u64) -> Vec<Violation> {
        let describe = |error: &jsonschema::ValidationError<'_>| violation::describe(error, &self.secrets);
        if self.alternatives && steps.saturating_mul(json_len(value) as u64) > EXPLAINED_COPIES {
            return vec![Violation::unexplained()];
        }
        if steps <= EXPLAINED_STEPS {
            return self.inner.iter_errors(value).take(VIOLATIONS).map(|error| describe(&error)).collect();
        }
        match self.inner.validate(value) {
            Err(error) if !self.alternatives || steps <= EXPLAINED_STEPS => vec![describe(&error)],
            _ => vec![Violation::unexplained()],
        }
    }

    /// What of the schema is not enforced, such as patterns that need backtracking. The tool itself still may.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// Names of properties whose values are secret by the schema; for redaction.
    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        self.secrets.names.iter().map(String::as_str)
    }

    /// Subschema visits that validating the value takes at most; `None` when over the bound. For tests and figures.
    #[cfg(test)]
    pub(super) fn steps(&self, value: &Value) -> Option<u64> {
        match &self.plan {
            Some(plan) => plan.steps(value).ok(),
            None => Some(work::count_values(value).saturating_mul(self.paths)),
        }
    }
}
