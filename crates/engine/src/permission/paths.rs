//! Folders that path arguments may not leave.

use toolcrib_core::permission::{Place, collect_paths};

use super::{
    policy::{Evaluation, Policy, Question, Verdict},
    real_path::all_within,
};

/// Denies calls with a path argument outside of the roots, by its real path: links are followed, also those in the
/// existing part of a path whose end does not exist yet (oneringai cases 102 and 103). Relative paths start from the
/// working folder if there is one, else from the first root.
pub struct PathPolicy {
    roots: Vec<String>,
    cwd: Option<String>,
    home: Option<String>,
}

impl PathPolicy {
    /// Absolute folders; none at all denies every path.
    pub fn new(roots: Vec<String>, cwd: Option<String>, home: Option<String>) -> Self {
        let cwd = cwd.or_else(|| roots.first().cloned());
        Self { roots, cwd, home }
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
        let place = Place { cwd: self.cwd.as_deref(), home: self.home.as_deref() };
        let mut outside = None;
        let mut full = Vec::with_capacity(found.paths.len());
        for path in &found.paths {
            // Not `expand`ed by text alone: what a `..` behind a link leads to is for the disk to say.
            match absolute(path, place) {
                Some(path) => full.push(path),
                None => outside = Some(path),
            }
        }
        if outside.is_some() || self.roots.is_empty() {
            return Evaluation::Ready(leads_out());
        }
        let roots = self.roots.clone();
        Evaluation::Waiting(Box::pin(async move {
            match tokio::task::spawn_blocking(move || all_within(&full, &roots)).await {
                Ok(true) => Verdict::Abstain,
                Ok(false) | Err(_) => leads_out(),
            }
        }))
    }
}

/// The path from the root of the file system, with `~` and the working folder in place and every `..` still there.
pub(super) fn absolute(path: &str, place: Place<'_>) -> Option<String> {
    // Answers whether it can be expanded at all.
    place.expand(path)?;
    Some(match path.strip_prefix('~') {
        Some(rest) => format!("{}{rest}", place.home?),
        None if toolcrib_core::permission::path::is_absolute(path) => path.to_owned(),
        None => format!("{}/{path}", place.cwd?),
    })
}

fn leads_out() -> Verdict {
    Verdict::Deny {
        hard: true,
        rule: "permissions.paths".into(),
        reason: "a path in the arguments leads out of the allowed folders".into(),
    }
}
