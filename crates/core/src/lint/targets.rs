//! What providers would refuse or not take whole.

use std::collections::BTreeMap;

use super::{Code, Findings, Subject};
use crate::render::{Target, render};

/// Most kinds of losses told of one tool.
const TOLD: usize = 12;

pub(super) fn check(tools: &[Subject<'_>], targets: &[Target], shown: usize, findings: &mut Findings) {
    let named: Vec<serde_json::Value> = tools
        .iter()
        .map(|tool| {
            let mut definition = tool.definition.clone();
            definition["name"] = tool.exposed.into();
            definition
        })
        .collect();
    let by_name: BTreeMap<&str, &Subject<'_>> = tools.iter().map(|tool| (tool.exposed, tool)).collect();
    let mut refused: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    let mut lost: BTreeMap<String, BTreeMap<(String, String), Vec<&str>>> = BTreeMap::new();
    for target in targets {
        let rendered = render(*target, &named);
        for tool in rendered.refused {
            refused.entry((tool.tool, tool.reason)).or_default().push(target.name());
        }
        for loss in rendered.losses {
            let kind = (word(&loss.construct), word(&loss.action));
            let places = lost.entry(loss.tool).or_default().entry(kind).or_default();
            if places.last() != Some(&target.name()) {
                places.push(target.name());
            }
        }
        let limit = target.dialect().and_then(|dialect| dialect.tools);
        if let Some(limit) = limit.filter(|limit| shown > *limit) {
            let message = format!("{target} takes {limit} tools and would get {shown}");
            findings.add(Code::TooManyTools, &"*", "", message, target.name());
        }
    }
    for ((name, reason), targets) in refused {
        if let Some(tool) = by_name.get(name.as_str()) {
            let message = format!("{}: {reason}", targets.join(", "));
            findings.add(Code::TargetRefuses, tool.id, "", message, &reason);
        }
    }
    for (name, kinds) in lost {
        let Some(tool) = by_name.get(name.as_str()) else { continue };
        let told: Vec<String> = kinds
            .iter()
            .take(TOLD)
            .map(|((construct, action), targets)| format!("{construct} is {action} for {}", targets.join(", ")))
            .collect();
        let more = kinds.len().saturating_sub(TOLD);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let message = format!("{}{more}", told.join("; "));
        findings.add(Code::TargetLoses, tool.id, "/inputSchema", message.clone(), &message);
    }
}

fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}
