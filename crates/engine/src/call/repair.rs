//! Repair: what models commonly get wrong about arguments is put right where the intent is certain, and reported.

use toolcrib_core::args::{self, Arguments};

use super::{Progressing, Stop, resolve::Target, validate};
use crate::{engine::Engine, event::Outcome};

/// The arguments, and whether they are known to be valid already.
pub(super) fn repair(engine: &Engine, target: &Target, state: &mut Progressing) -> Result<(Arguments, bool), Stop> {
    let raw = target.arguments.as_deref();
    // Nearly all calls are right as they are, and a valid value is never changed: asking is cheaper than repairing.
    if let Ok(validator) = engine.validator(&target.tool)
        && let Ok(arguments) = args::parse(raw)
        && validator.is_valid(&arguments.value)
    {
        state.repairs.extend(arguments.repairs.iter().cloned());
        return Ok((arguments, true));
    }
    let arguments = args::prepare(raw, target.tool.input_schema()).map_err(|error| {
        let text = format!("The arguments of {} cannot be read: {error}. Nothing was run.\n", target.exposed);
        Stop::told(Outcome::Invalid, validate::with_definition(target, text))
    })?;
    state.repairs.extend(arguments.repairs.iter().cloned());
    Ok((arguments, false))
}
