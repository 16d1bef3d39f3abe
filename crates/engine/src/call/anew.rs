//! Anew: while a person thought about it the world may have moved on. The answer stands for the tool and the rules as they
//! were; whether those are still the same is looked at before the call goes on (F10, F19).

use super::{Progressing, Stop, approve::Leave, authorize::denied};
use crate::{event::Outcome, permission::Decision};

/// Whether the tool is still there, still the one that was shown, and still not refused by any rule.
pub(super) async fn judge(leave: &Leave<'_>, state: &mut Progressing) -> Result<(), Stop> {
    let target = leave.target;
    let gone = |why: &str| {
        let text = format!(
            "{} was not run: while a person was asked, {why}. Look at the tool again before calling it.",
            target.exposed
        );
        Err(Stop::told(Outcome::Denied, text).because(why.to_owned()))
    };
    match leave.engine.view(&leave.request.scope) {
        Err(error) => return gone(&format!("what may be seen changed ({error})")),
        // Of a tool that stands for several, the one that the call is for.
        Ok(view) => match view.set.merged(&target.exposed).map_or_else(
            || view.set.tool(&target.exposed),
            |merged| merged.members.values().find(|tool| tool.id() == target.tool.id()),
        ) {
            Some(tool) if tool.id() == target.tool.id() && tool.hash() == target.tool.hash() => {}
            Some(_) => return gone("its definition changed"),
            None => return gone("it went away"),
        },
    }
    let in_force = leave.engine.in_force();
    let assessment = in_force.chain.assess(&target.tool, &target.exposed);
    match in_force.chain.decide(&leave.question(&assessment, state)).await {
        Decision::Deny { authority, reason, .. } => Err(denied(target, authority, reason, state)),
        Decision::Allow { .. } | Decision::Ask { .. } => Ok(()),
    }
}
