//! JSON Schemas of arguments and results: limits at ingestion, compilation once, bounded validation. The only place
//! that names the validator crate.
//!
//! Two readers share one walk over the schema ([`graph`]): [`check`] refuses what could cost unbounded work or is no
//! schema at all, and [`Validator`] compiles what passed. Neither ever fetches anything.

mod graph;
mod keywords;
mod pattern;
mod reading;
mod validator;
mod violation;
mod work;

use serde_json::Value;

pub use validator::{Unchecked, Validator};
pub use violation::Violation;

/// Limits on one schema (threat T15 of the security reference). Exceeding any of them refuses the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaLimits {
    /// Deepest nesting of objects and lists in the text of the schema. Default 32.
    pub depth: usize,
    /// Objects and lists in the whole schema. Default 2,000.
    pub nodes: usize,
    /// Entries of any one object or list: properties, enum values, alternatives. Default 1,000.
    pub entries: usize,
    /// Characters of one regular expression. Default 512.
    pub pattern_chars: usize,
    /// Regular expressions in the whole schema. Default 100.
    pub patterns: usize,
    /// Subschemas once every `$ref` is replaced by what it points at, cycles entered once. Default 10,000.
    pub paths: u64,
    /// Deepest nesting of subschemas once every `$ref` is replaced. Default 64.
    pub nesting: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self { depth: 32, nodes: 2_000, entries: 1_000, pattern_chars: 512, patterns: 100, paths: 10_000, nesting: 64 }
    }
}

/// Why a schema is not accepted. Places are JSON Pointers into the schema; the root is `/`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaProblem {
    /// Nested too deeply.
    #[error("{place} is nested deeper than {limit} levels")]
    TooDeep {
        /// Where.
        place: String,
        /// The limit.
        limit: usize,
    },
    /// Too many objects and lists.
    #[error("it holds more than {limit} objects and lists")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// One object or list has too many entries.
    #[error("{place} has {count} entries, more than {limit}")]
    TooManyEntries {
        /// Where.
        place: String,
        /// How many there are.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A regular expression is refused.
    #[error("the pattern at {place} {reason}")]
    Pattern {
        /// Where.
        place: String,
        /// What is wrong with it, with the limit.
        reason: String,
    },
    /// There are too many regular expressions.
    #[error("it holds more than {limit} patterns")]
    TooManyPatterns {
        /// The limit.
        limit: usize,
    },
    /// A reference leads out of the schema.
    #[error("{place} refers to '{target}'; only references inside the schema ('#...') are followed")]
    ForeignRef {
        /// Where.
        place: String,
        /// The reference, shortened.
        target: String,
    },
    /// A reference leads nowhere.
    #[error("{place} refers to '{target}', which the schema does not hold")]
    DanglingRef {
        /// Where.
        place: String,
        /// The reference, shortened.
        target: String,
    },
    /// A keyword has a value that it cannot have.
    #[error("{place} must be {expected}")]
    BadKeyword {
        /// Where.
        place: String,
        /// What it must be.
        expected: &'static str,
    },
    /// References multiply.
    #[error("its references unfold to more than {limit} subschemas")]
    TooManyPaths {
        /// The limit.
        limit: u64,
    },
    /// References nest.
    #[error("its references unfold to more than {limit} nested subschemas")]
    TooNested {
        /// The limit.
        limit: usize,
    },
    /// The validator crate refuses it.
    #[error("it does not compile: {0}")]
    Uncompilable(String),
}

/// Checks a schema against the limits, in one walk and without compiling it (a few microseconds for a usual schema).
///
/// Refused are schemas that are too large, unfold to too much, refer to anything outside themselves or to nothing, and
/// keywords whose value makes no sense. Tolerated, because servers in the field send them and their meaning is plain,
/// are `required` of a wrong form, draft-4 `exclusiveMinimum: true`, `items` as a list in any draft, OpenAPI
/// `nullable`, empty `anyOf`, and annotations of any form; the validator reads them kindly.
pub fn check(schema: &Value, limits: &SchemaLimits) -> Result<(), SchemaProblem> {
    graph::Graph::read(schema, limits).map(drop)
}

/// The JSON type of a value in the words of JSON Schema; whole numbers are `integer`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_integral(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether JSON Schema counts the number as an integer: `1.0` and `1e3` do.
pub(crate) fn is_integral(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

#[cfg(test)]
mod tests;
