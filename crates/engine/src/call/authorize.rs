//! Authorize: whether the call may run at the configured trust level.

use super::{Stop, resolve::Target};
use crate::{
    event::Outcome,
    settings::{EngineSettings, Trust},
};

pub(super) fn authorize(settings: &EngineSettings, target: &Target) -> Result<(), Stop> {
    let permissions = &settings.permissions;
    match permissions.trust {
        Trust::All | Trust::Configured => Ok(()),
        Trust::None => {
            let allowed = permissions
                .allow
                .iter()
                .any(|selector| selector.grants(&target.tool, &target.exposed, &permissions.groups));
            if allowed {
                return Ok(());
            }
            let id = target.tool.id();
            Err(Stop::told(
                Outcome::Denied,
                format!(
                    "{} was not run: this gateway only runs tools it was told to. A person can allow it by adding \"{id}\" to permissions.allow. Do not retry or work around this.",
                    target.exposed
                ),
            )
            .because(format!("trust is none and no rule of permissions.allow names {id}")))
        }
    }
}
