//! Validate: the repaired arguments against the tool's original schema. The reply to a bad call carries the schema, so
//! that the next attempt needs no further question.

use std::panic::{AssertUnwindSafe, catch_unwind};

use toolcrib_core::{
    Scope,
    args::Arguments,
    disclosure::{clean, clip},
    schema::Violation,
};

use super::{Stop, resolve::Target};
use crate::{
    engine::{Engine, InForce},
    event::Outcome,
};

/// Characters of a description in a refusal.
const DESCRIPTION_CHARS: usize = 500;

pub(super) fn validate(engine: &Engine, target: &Target, arguments: Arguments) -> Result<Arguments, Stop> {
    let validator = match engine.validator(&target.tool) {
        Ok(validator) => validator,
        // A schema that does not compile says nothing about the arguments; the tool itself still checks them.
        Err(problem) => {
            tracing::debug!(tool = %target.tool.id(), %problem, "schema does not compile, arguments go unchecked");
            return Ok(arguments);
        }
    };
    let Err(violations) = validator.validate(&arguments.value) else { return Ok(arguments) };
    Err(refused(target, &violations))
}

/// Asks the tool's own code whether it can read what the schema accepts. It is asked before anything is decided: nobody
/// should have to approve a call that cannot run.
pub(super) fn readable(
    engine: &Engine,
    in_force: &InForce,
    target: &Target,
    arguments: &Arguments,
    scope: &Scope,
) -> Result<(), Stop> {
    let Some(backend) = engine.hub().backend(target.tool.source()) else { return Ok(()) };
    let checked = AssertUnwindSafe(|| backend.check(&target.tool, &arguments.raw, scope));
    match catch_unwind(checked) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(violation)) => {
            let message = in_force.mask_text(&violation.message).into_owned();
            Err(refused(target, &[Violation { message, ..violation }]))
        }
        Err(_) => {
            tracing::error!(tool = %target.tool.id(), "the code that reads this tool's arguments panicked");
            let text =
                format!("The arguments of {} cannot be read by its own code, so nothing was run.", target.exposed);
            Err(Stop::told(Outcome::Invalid, text).because("the code that reads the arguments panicked"))
        }
    }
}

fn refused(target: &Target, violations: &[Violation]) -> Stop {
    let mut text = format!("The arguments of {} are not acceptable, so nothing was run:\n", target.exposed);
    for violation in violations {
        let path = if violation.path.is_empty() { "(top level)" } else { &violation.path };
        text.push_str(&format!("- {path}: {}\n", violation.message));
    }
    Stop::told(Outcome::Invalid, with_definition(target, text))
}

/// Refuses what was plainly guessed: arguments for a tool whose definition the caller was not shown, none of which the
/// tool has. Many schemas let anything through beside what they declare, and the call would run as if without arguments
/// (hermes §6 case 16).
pub(super) fn guessed(target: &Target, arguments: &Arguments) -> Result<(), Stop> {
    if !target.deferred {
        return Ok(());
    }
    let schema = target.tool.input_schema();
    let (Some(given), Some(declared)) = (arguments.value.as_object(), schema["properties"].as_object()) else {
        return Ok(());
    };
    // Only where the schema is the plain list of its properties can a key be called unknown.
    let plain = schema.as_object().is_some_and(|schema| schema.keys().all(|key| !SAYS_MORE.contains(&key.as_str())));
    if !plain || declared.is_empty() || given.is_empty() || given.keys().any(|key| declared.contains_key(key)) {
        return Ok(());
    }
    let named: Vec<String> = given.keys().take(10).map(|key| clip(&clean(key), 64)).collect();
    let text = format!("{} has no argument '{}', so nothing was run.\n", target.exposed, named.join("', '"));
    Err(Stop::told(Outcome::Invalid, with_definition(target, text)))
}

/// Keywords by which the root of a schema takes properties that it does not declare.
const SAYS_MORE: [&str; 12] = [
    "additionalProperties",
    "patternProperties",
    "unevaluatedProperties",
    "propertyNames",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "$ref",
    "$dynamicRef",
    "not",
];

/// The text and what is needed to do better: the schema and, for a tool that was not shown, what it does.
pub(super) fn with_definition(target: &Target, mut text: String) -> String {
    let description = clip(&clean(target.tool.description()), DESCRIPTION_CHARS);
    if target.deferred && !description.is_empty() {
        text.push_str(&format!("Its definition was not in your tools list. What it does: {description}\n"));
    }
    text.push_str("Correct them and call again. The schema of the arguments:\n");
    text.push_str(&target.tool.input_schema().to_string());
    text
}
