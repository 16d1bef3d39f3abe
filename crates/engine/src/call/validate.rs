//! Validate: the repaired arguments against the tool's original schema. The reply to a bad call carries the schema, so
//! that the next attempt needs no further question.

use toolcrib_core::args::Arguments;

use super::{Stop, resolve::Target};
use crate::{engine::Engine, event::Outcome};

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
    let mut text = format!("The arguments of {} are not acceptable, so nothing was run:\n", target.exposed);
    for violation in &violations {
        let path = if violation.path.is_empty() { "(top level)" } else { &violation.path };
        text.push_str(&format!("- {path}: {}\n", violation.message));
    }
    text.push_str("Correct them and call again. The schema of the arguments:\n");
    text.push_str(&target.tool.input_schema().to_string());
    Err(Stop::told(Outcome::Invalid, text))
}
