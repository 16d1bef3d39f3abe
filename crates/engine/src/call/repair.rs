//! Repair: what models commonly get wrong about arguments is put right where the intent is certain, and reported.

use toolcrib_core::args::{self, Arguments};

use super::{Progressing, Stop, resolve::Target};
use crate::event::Outcome;

pub(super) fn repair(target: &Target, state: &mut Progressing) -> Result<Arguments, Stop> {
    let arguments = args::prepare(target.arguments.as_deref(), target.tool.input_schema()).map_err(|error| {
        Stop::told(
            Outcome::Invalid,
            format!("The arguments of {} cannot be read: {error}. Nothing was run.", target.exposed),
        )
    })?;
    state.repairs.extend(arguments.repairs.iter().cloned());
    Ok(arguments)
}
