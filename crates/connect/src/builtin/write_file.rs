//! `write_file`: create a file or replace its content.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    blocking::Stop,
    definition::{Behaviour, define},
    failure::Failure,
    replace::replace,
};

pub(crate) fn definition() -> Value {
    define(
        "write_file",
        "Write file",
        "Create or overwrite a file.",
        &json!({"path": {"type": "string"}, "content": {"type": "string"}}),
        &["path", "content"],
        Behaviour::Overwrites,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    content: String,
}

pub(crate) fn run(shared: &Shared, arguments: &Arguments, stop: &Stop) -> Result<String, Failure> {
    let place = shared.roots.place(&arguments.path)?;
    let new = {
        let _turn = stop.lock(&shared.edits)?;
        replace(&place, arguments.content.as_bytes())?
    };
    let verb = if new { "created" } else { "overwrote" };
    Ok(format!("{verb} {} ({} bytes)", arguments.path, arguments.content.len()))
}
