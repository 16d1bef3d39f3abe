//! Findings that somebody looked at and accepted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Code, Finding};

/// One accepted finding. Only the fingerprint counts; the rest is for whoever reads the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Accepted {
    /// The code's word.
    pub code: String,
    /// The tool or source.
    pub tool: String,
    /// The finding's fingerprint.
    pub fingerprint: String,
}

/// Accepted findings, as a file holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The version of the file's form: 1.
    pub version: u32,
    /// Sorted.
    pub accepted: Vec<Accepted>,
}

/// A file that is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Not its form.
    #[error("the baseline cannot be read: {0}; write it anew with --write-baseline")]
    Form(#[from] serde_json::Error),
    /// Another version.
    #[error("the baseline has version {0}, this program knows 1; write it anew with --write-baseline")]
    Version(u32),
}

impl Baseline {
    /// The baseline that accepts these.
    pub fn of(findings: &[Finding]) -> Self {
        let accept = |finding: &Finding| Accepted {
            code: finding.code.word().to_owned(),
            tool: finding.tool.clone(),
            fingerprint: finding.fingerprint.clone(),
        };
        let accepted: BTreeSet<Accepted> = findings.iter().map(accept).collect();
        Self { version: 1, accepted: accepted.into_iter().collect() }
    }

    /// Reads a file's text.
    pub fn read(text: &str) -> Result<Self, BaselineError> {
        let baseline: Self = serde_json::from_str(text)?;
        if baseline.version == 1 { Ok(baseline) } else { Err(BaselineError::Version(baseline.version)) }
    }

    /// Takes accepted findings out. Returns how many there were, and what was accepted and is not there any more.
    pub fn apply(&self, findings: &mut Vec<Finding>) -> (usize, Vec<Accepted>) {
        let known: BTreeSet<&str> = self.accepted.iter().map(|accepted| accepted.fingerprint.as_str()).collect();
        let there: BTreeSet<String> = findings.iter().map(|finding| finding.fingerprint.clone()).collect();
        let before = findings.len();
        findings.retain(|finding| !known.contains(finding.fingerprint.as_str()));
        let gone =
            |accepted: &&Accepted| !there.contains(&accepted.fingerprint) && accepted.code.parse::<Code>().is_ok();
        (before - findings.len(), self.accepted.iter().filter(gone).cloned().collect())
    }
}
