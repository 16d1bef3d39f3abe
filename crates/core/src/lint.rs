//! Lint: what is wrong with tool definitions, and with the lists that choose among them, before a model or an attacker finds
//! out. Pure; the same tools give the same
//! findings in the same order, whatever the order in which the tools came.
//!
//! Every check is a [`Code`] with a row in [`Code::ALL`] and in `docs/lint.md`. Checks are heuristics over text that nobody vouches
//! for: they help a person to look, and decide nothing (security reference §1.3; threats T1, T3, T4, T14, T15).

mod baseline;
mod budget;
mod code;
mod describe;
mod hidden;
mod instruct;
mod names;
mod policy;
mod schema;
mod similar;
mod strings;
mod targets;

use serde::Serialize;
use serde_json::Value;

pub use baseline::{Accepted, Baseline, BaselineError};
pub use code::{Code, Severity, markdown};

use crate::{
    ContentHash, Quarantine, Source, ToolId, estimate::TokenCounter, name::NameLoser, render::Target,
    select::PolicyFinding,
};

/// Most findings of one code. More are counted and not kept: what is wrong a thousand times is wrong once.
pub const MOST_OF_A_CODE: usize = 5_000;

/// A tool to look at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its identity.
    pub id: &'a ToolId,
    /// The name a model would see.
    pub exposed: &'a str,
    /// Its definition in MCP shape, as the source gave it.
    pub definition: &'a Value,
}

impl Subject<'_> {
    fn description(&self) -> &str {
        self.definition["description"].as_str().unwrap_or_default()
    }
}

/// Everything to look at.
#[derive(Clone, Debug, Default)]
pub struct Input<'a> {
    /// The tools.
    pub tools: Vec<Subject<'a>>,
    /// Texts of servers on how to use them.
    pub instructions: Vec<(&'a Source, &'a str)>,
    /// Definitions that were refused.
    pub quarantined: Vec<&'a Quarantine>,
    /// Tools that lost their name.
    pub losers: Vec<&'a NameLoser>,
    /// What is odd about the policy ([`crate::select::lint`]).
    pub policy: Vec<PolicyFinding>,
    /// Targets to hold the tools against.
    pub targets: Vec<Target>,
    /// How many definitions a request would hold at once, behind the bridge or not.
    pub shown: usize,
    /// How tokens are counted.
    pub counter: TokenCounter,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which check.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// What it is about: a tool or a source; for the policy, where it is written.
    pub tool: String,
    /// JSON Pointer into the definition, empty for the whole; for the policy, the entry.
    pub place: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do.
    pub fix: &'static str,
    /// Stays the same as long as the thing itself does; what a baseline holds.
    pub fingerprint: String,
}

/// The findings, worst first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By severity, code, tool and place.
    pub findings: Vec<Finding>,
    /// Findings of a code beyond [`MOST_OF_A_CODE`].
    pub more: Vec<(Code, usize)>,
}

/// Where checks put what they find.
#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    counts: std::collections::BTreeMap<Code, usize>,
}

impl Findings {
    /// `evidence` is what the finding rests on: when it changes, an accepted finding is a new one.
    fn add(&mut self, code: Code, tool: &impl ToString, place: &str, message: String, evidence: &str) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count > MOST_OF_A_CODE {
            return;
        }
        let tool = tool.to_string();
        self.list.push(Finding {
            code,
            severity: code.severity(),
            place: place.to_owned(),
            message,
            fix: code.fix(),
            fingerprint: fingerprint([code.word(), &tool, place, evidence]),
            tool,
        });
    }
}

fn fingerprint(parts: [&str; 4]) -> String {
    ContentHash::of_hashes(parts.map(|part| ContentHash::of_bytes(part.as_bytes()))).base32(20)
}

/// Runs every check.
pub fn lint(input: &Input<'_>) -> Report {
    let mut tools: Vec<Subject<'_>> = input.tools.clone();
    tools.sort_by(|a, b| a.id.cmp(b.id));
    let mut findings = Findings::default();
    names::check(&tools, &input.quarantined, &input.losers, &mut findings);
    policy::check(&input.policy, &mut findings);
    let reader = instruct::Reader::of(&tools);
    for tool in &tools {
        strings::each(tool.definition, &mut |place, text| {
            hidden::check(tool.id, place, text, &mut findings);
            reader.check(tool.id, place, text, &mut findings);
        });
        describe::check(tool, &mut findings);
        schema::check(tool, &mut findings);
    }
    for (source, text) in &input.instructions {
        hidden::check(source, "/instructions", text, &mut findings);
        reader.check_source(source, text, &mut findings);
    }
    similar::check(&tools, &mut findings);
    budget::check(&tools, input.counter, &mut findings);
    targets::check(&tools, &input.targets, input.shown, &mut findings);
    let mut list = findings.list;
    list.sort_by(|a, b| {
        (b.severity, a.code, &a.tool, &a.place, &a.message).cmp(&(a.severity, b.code, &b.tool, &b.place, &b.message))
    });
    list.dedup();
    let more = findings.counts.into_iter().filter(|(_, count)| *count > MOST_OF_A_CODE);
    Report { findings: list, more: more.map(|(code, count)| (code, count - MOST_OF_A_CODE)).collect() }
}

#[cfg(test)]
mod tests;
