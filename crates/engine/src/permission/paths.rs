//! Folders that path arguments may not leave.

use std::sync::Arc;

use toolcrib_core::permission::collect_paths;

use super::{
    policy::{Evaluation, Policy, Question, Verdict},
    real_path::all_within,
    subject::Surroundings,
};

/// Denies calls with a path argument outside of the roots, by its real path: links are followed, also those in the
/// existing part of a path whose end does not exist yet (oneringai cases 102 and 103). Relative paths start from the
/// folder from which the tool's source takes them; where that is unknown, a person may still approve the call.
pub struct PathPolicy {
    roots: Vec<String>,
    surroundings: Arc<Surroundings>,
}

impl PathPolicy {
    /// Absolute folders; none at all denies every path.
    pub fn new(roots: Vec<String>, surroundings: Arc<Surroundings>) -> Self {
        Self { roots, surroundings }
    }
}

impl Policy for PathPolicy {
    fn name(&self) -> &'static str {
        "paths"
    }

    fn priority(&self) -> i32 {
        50
    }

    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        let found = collect_paths(question.arguments);
        if !found.complete {
            return Evaluation::Ready(Verdict::Deny {
                hard: false,
                rule: "permissions.paths".into(),
                reason: "whether all paths in the arguments lie in the allowed folders cannot be told".into(),
            });
        }
        if found.paths.is_empty() {
            return Evaluation::Ready(Verdict::Abstain);
        }
        let place = self.surroundings.place(question.tool.source());
        let (mut full, mut unknown) = (Vec::with_capacity(found.paths.len()), false);
        for path in &found.paths {
            let readings = place.readings(path);
            if readings.is_empty() && path.starts_with('~') && place.expand(path).is_none() {
                return Evaluation::Ready(leads_out());
            }
            unknown |= readings.is_empty();
            full.extend(readings);
        }
        if self.roots.is_empty() {
            return Evaluation::Ready(leads_out());
        }
        let otherwise = if unknown { starts_somewhere(question) } else { Verdict::Abstain };
        if full.is_empty() {
            return Evaluation::Ready(otherwise);
        }
        let roots = self.roots.clone();
        Evaluation::Waiting(Box::pin(async move {
            match tokio::task::spawn_blocking(move || all_within(&full, &roots)).await {
                Ok(true) => otherwise,
                Ok(false) | Err(_) => leads_out(),
            }
        }))
    }
}

fn starts_somewhere(question: &Question<'_>) -> Verdict {
    Verdict::Deny {
        hard: false,
        rule: "permissions.paths".into(),
        reason: format!(
            "a path in the arguments is relative, and from which folder {} takes it is not known; give the whole path",
            question.tool.source()
        ),
    }
}

fn leads_out() -> Verdict {
    Verdict::Deny {
        hard: true,
        rule: "permissions.paths".into(),
        reason: "a path in the arguments leads out of the allowed folders".into(),
    }
}
