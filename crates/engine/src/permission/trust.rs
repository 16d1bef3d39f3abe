//! What decides where no rule does.

use std::{borrow::Cow, sync::Arc};

use toolcrib_core::{
    Source,
    permission::{collect_paths, dangerous},
};

use super::{decision::Decision, policy::Question, real_path::all_within, subject::Surroundings};
use crate::settings::Trust;

/// The trust level with what it needs to know.
pub(super) struct TrustLevel {
    pub(super) trust: Trust,
    pub(super) scratch: Vec<String>,
    pub(super) surroundings: Arc<Surroundings>,
}

impl TrustLevel {
    pub(super) async fn decide(&self, question: &Question<'_>) -> Decision {
        let ask =
            |reason: Cow<'static, str>| Decision::Ask { authority: self.authority().into(), reason, by_trust: true };
        match self.trust {
            Trust::None => ask("no rule allows it".into()),
            Trust::Configured if !configured(question.tool.source()) => {
                ask("its source is not one that the configuration names".into())
            }
            Trust::Configured if self.surely_dangerous(question) => ask(danger(question).into()),
            Trust::Configured if writes_files(question) && Box::pin(self.writes_outside(question)).await => {
                ask(danger(question).into())
            }
            Trust::Configured | Trust::All => Decision::Allow { authority: self.authority().into() },
        }
    }

    fn authority(&self) -> &'static str {
        match self.trust {
            Trust::None => "trust none",
            Trust::Configured => "trust configured",
            Trust::All => "trust all",
        }
    }

    /// Whether that shows without a look at the disk.
    fn surely_dangerous(&self, question: &Question<'_>) -> bool {
        let place = self.surroundings.place(question.tool.source());
        dangerous(question.tool, question.assessment, question.arguments, &self.scratch, place)
    }

    /// Of a tool that writes files.
    async fn writes_outside(&self, question: &Question<'_>) -> bool {
        if question.assessment.local_risk {
            return false;
        }
        let place = self.surroundings.place(question.tool.source());
        // By its text the path lies in the scratch area; a link in there may lead out of it.
        let mut paths = Vec::new();
        for path in collect_paths(question.arguments).paths {
            let readings = place.readings(&path);
            if readings.is_empty() {
                return true;
            }
            paths.extend(readings);
        }
        let scratch = self.scratch.clone();
        !tokio::task::spawn_blocking(move || all_within(&paths, &scratch)).await.unwrap_or(false)
    }
}

/// Whether the user wrote the source into the configuration. What users or workers publish at run time is not.
fn configured(source: &Source) -> bool {
    match source {
        Source::Builtin | Source::Plugin(_) | Source::Mcp(_) | Source::Connector { .. } | Source::Static(_) => true,
        Source::Custom(_) | Source::Remote(_) => false,
    }
}

fn writes_files(question: &Question<'_>) -> bool {
    *question.tool.source() == Source::Builtin && matches!(question.tool.name(), "write_file" | "edit_file")
}

fn danger(question: &Question<'_>) -> String {
    if question.assessment.dangerous() {
        return format!("it is dangerous: {}", question.assessment.reasons.join("; "));
    }
    "it writes outside of the scratch area".to_owned()
}
