//! What is wrong with a value, in words that a model can act on and that give no secret away.

use std::borrow::Cow;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde::Serialize;
use serde_json::Value;

use super::{type_name, validator::Secrets};
use crate::shape::sanitize_text;

/// Longest message, in characters.
const MESSAGE: usize = 300;
/// Longest value quoted in a message, in characters.
const QUOTED: usize = 100;

/// One way in which a value does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// JSON Pointer into the value; empty for the whole.
    pub path: String,
    /// The keyword of the schema that is violated; `limits` when the value asks for too much work.
    pub keyword: String,
    /// What is wrong, at most 300 characters, without secrets.
    pub message: String,
    /// The property that is missing, for `required`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Violation {
    pub(super) fn too_much() -> Self {
        Self::whole(
            "limits",
            "checking it against the schema would take too many steps; pass less, or nest it less deeply",
        )
    }

    pub(super) fn unexplained() -> Self {
        Self::whole("schema", "it does not fit the schema, and it is too large to find out where; pass less")
    }

    fn whole(keyword: &str, message: &str) -> Self {
        Self { path: String::new(), keyword: keyword.to_owned(), message: message.to_owned(), missing: None }
    }
}

/// Puts an error of the validator crate into our words.
pub(super) fn describe(error: &ValidationError<'_>, secrets: &Secrets) -> Violation {
    let path = error.instance_path().as_str();
    let missing = match error.kind() {
        Kind::Required { property: Value::String(name) } => Some(name.clone()),
        _ => None,
    };
    Violation {
        path: path.to_owned(),
        keyword: error.kind().keyword().to_owned(),
        message: capped(&words(error, path, secrets)),
        missing,
    }
}

/// Cleaned and cut to the length of a message.
pub(super) fn capped(text: &str) -> String {
    let clean = sanitize_text(text).replace('\n', " ");
    cut(&clean, MESSAGE).into_owned()
}

fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

fn words(error: &ValidationError<'_>, path: &str, secrets: &Secrets) -> String {
    let hidden = secrets.hide(path);
    let value = || quoted(error.instance(), hidden);
    match error.kind() {
        Kind::Required { property } => format!("the required property {property} is missing"),
        Kind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(kind) => kind.as_str().to_owned(),
                TypeKind::Multiple(kinds) => {
                    kinds.iter().map(jsonschema::JsonType::as_str).collect::<Vec<_>>().join(" or ")
                }
            };
            format!("must be {wanted}, but is {}", value())
        }
        Kind::Enum { options } => {
            let none = Vec::new();
            let options = options.as_array().unwrap_or(&none);
            let shown: Vec<String> =
                options.iter().take(20).map(|option| cut(&option.to_string(), 40).into_owned()).collect();
            let more = if options.len() > 20 { format!(" (and {} more)", options.len() - 20) } else { String::new() };
            format!("must be one of {}{more}, but is {}", shown.join(", "), value())
        }
        Kind::Constant { expected_value } => format!("must be {}, but is {}", quoted(expected_value, false), value()),
        Kind::AdditionalProperties { unexpected }
        | Kind::UnevaluatedProperties { unexpected }
        | Kind::UnevaluatedItems { unexpected } => {
            let shown: Vec<String> =
                unexpected.iter().take(10).map(|name| Value::String(cut(name, 60).into_owned()).to_string()).collect();
            let (what, named) = match error.kind() {
                Kind::UnevaluatedItems { .. } => ("items that the schema does not allow", Vec::new()),
                _ => ("properties that the schema does not know:", shown),
            };
            format!("holds {what} {}", named.join(", ")).trim_end().to_owned()
        }
        Kind::AdditionalItems { limit } => format!("must hold at most {limit} items"),
        Kind::Minimum { limit } => format!("must be at least {limit}, but is {}", value()),
        Kind::Maximum { limit } => format!("must be at most {limit}, but is {}", value()),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}, but is {}", value()),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}, but is {}", value()),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}, but is {}", value()),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must hold at least {limit} items"),
        Kind::MaxItems { limit } => format!("must hold at most {limit} items"),
        Kind::MinProperties { limit } => format!("must hold at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("must hold at most {limit} properties"),
        Kind::UniqueItems => "must not hold the same item twice".to_owned(),
        Kind::Contains => "must hold an item of the kind that 'contains' asks for".to_owned(),
        Kind::Pattern { pattern } => format!("must match the pattern {}, but is {}", cut(pattern, 120), value()),
        Kind::Format { format } => format!("must have the format '{}', but is {}", cut(format, 60), value()),
        Kind::PropertyNames { error } => {
            format!("has a property with a name that is not allowed: {}", words(error, path, secrets))
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            alternatives("fits none of the alternatives", context, path, secrets)
        }
        Kind::OneOfMultipleValid { .. } => "fits more than one of the alternatives, exactly one is allowed".to_owned(),
        Kind::Not { .. } => "is what the schema excludes with 'not'".to_owned(),
        Kind::FalseSchema => "is not allowed at all".to_owned(),
        other => format!("violates '{}'", other.keyword()),
    }
}

/// Names the alternative that fits best: one whose type is right, with the fewest violations.
fn alternatives(text: &str, branches: &[Vec<ValidationError<'static>>], path: &str, secrets: &Secrets) -> String {
    let rank = |errors: &&Vec<ValidationError<'static>>| {
        let outright = errors.iter().any(|error| {
            error.instance_path().as_str() == path && matches!(error.kind(), Kind::Type { .. } | Kind::Constant { .. })
        });
        (outright, errors.len())
    };
    let Some(best) = branches.iter().filter(|errors| !errors.is_empty()).min_by_key(rank) else {
        return text.to_owned();
    };
    let first: Vec<String> = best
        .iter()
        .take(2)
        .map(|error| {
            let inner = error.instance_path().as_str();
            let place = if inner == path { String::new() } else { format!("{inner} ") };
            // One level only: alternatives within alternatives would not fit into a message.
            match error.kind() {
                Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => format!("{place}fits none of its alternatives"),
                _ => format!("{place}{}", words(error, inner, secrets)),
            }
        })
        .collect();
    format!("{text}; for the closest: {}", first.join("; "))
}

/// A value as it may be quoted: scalars cut short, the rest by kind, secrets not at all.
fn quoted(value: &Value, hidden: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) | Value::Object(_) => format!("an {}", type_name(value)),
        _ if hidden => format!("a secret {}", type_name(value)),
        Value::String(text) => format!("the string {}", Value::String(cut(text, QUOTED).into_owned())),
        Value::Bool(_) | Value::Number(_) => format!("the {} {value}", type_name(value)),
    }
}
