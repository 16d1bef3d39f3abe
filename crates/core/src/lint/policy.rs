//! The policy: what was found about it, as findings like all others.

use super::{Code, Finding, Findings, MOST_OF_A_CODE, fingerprint};
use crate::select::{FindingKind, PolicyFinding};

/// The code of a kind; none for what is found in the names themselves.
fn code(kind: FindingKind) -> Option<Code> {
    Some(match kind {
        FindingKind::Unservable => Code::PolicyUnservable,
        FindingKind::Unmatched => Code::PolicyUnmatched,
        FindingKind::Unavailable => Code::PolicyUnavailable,
        FindingKind::Shadowed => Code::PolicyShadowed,
        FindingKind::Redundant => Code::PolicyRedundant,
        FindingKind::RemovesEverything => Code::PolicyRemovesEverything,
        FindingKind::Unreachable => Code::PolicyUnreachable,
        FindingKind::Unsafe => Code::PolicyUnsafe,
        FindingKind::Lookalike => return None,
    })
}

pub(super) fn check(found: &[PolicyFinding], findings: &mut Findings) {
    for odd in found {
        let Some(code) = code(odd.kind) else { continue };
        let count = findings.counts.entry(code).or_default();
        *count += 1;
        if *count > MOST_OF_A_CODE {
            continue;
        }
        let entry = odd.entry.as_deref().unwrap_or_default();
        // Files and lines move; the key and the entry say what it is.
        let key = odd.origin.split(" in ").next().unwrap_or_default();
        findings.list.push(Finding {
            code,
            severity: code.severity(),
            tool: odd.origin.clone(),
            place: entry.to_owned(),
            message: odd.message.clone(),
            fix: code.fix(),
            fingerprint: fingerprint([code.word(), key, entry, ""]),
        });
    }
}
