//! Tools that cost out of proportion.

use super::{Code, Findings, Subject};
use crate::estimate::TokenCounter;

/// Fewer tools have no proportions.
const FEWEST_TOOLS: usize = 10;
/// A smaller tool is no hog, whatever its share. About four times the average of 900 tools of public servers.
const FEWEST_TOKENS: usize = 1_500;
/// Times the average.
const TIMES: usize = 4;

pub(super) fn check(tools: &[Subject<'_>], counter: TokenCounter, findings: &mut Findings) {
    if tools.len() < FEWEST_TOOLS {
        return;
    }
    let sizes: Vec<usize> = tools.iter().map(|tool| counter.json(tool.definition)).collect();
    let total: usize = sizes.iter().sum();
    let average = total / tools.len();
    for (tool, size) in tools.iter().zip(&sizes) {
        if *size >= FEWEST_TOKENS && *size >= average * TIMES {
            let share = *size as f64 * 100.0 / total as f64;
            let message = format!(
                "takes {size} tokens ({}), {share:.1} % of those of {} tools; the average is {average}",
                counter.label(),
                tools.len()
            );
            findings.add(Code::BudgetHog, tool.id, "", message, &(size / 500).to_string());
        }
    }
}
