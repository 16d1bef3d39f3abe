//! How risky a tool is, and whether a call of it is dangerous.
//!
//! In order: the list of built-in tools, a tool's own hints (an upstream's only ever raise caution), local rules. What
//! is not known is assumed to change things.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    WordError,
    path::{Place, collect_paths, is_within},
};
use crate::{
    Source, Tool,
    selector::{Groups, Selector},
};

/// How much harm a call may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Little.
    #[default]
    Low,
    /// Some; what is not known.
    Medium,
    /// Much.
    High,
    /// The worst.
    Critical,
}

impl Risk {
    /// The word used in configuration and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl FromStr for Risk {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "low" => Ok(Self::Low),
            "medium" => Ok(Self::Medium),
            "high" => Ok(Self::High),
            "critical" => Ok(Self::Critical),
            _ => Err(WordError::new(text, "risk", "low, medium, high, critical")),
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a call does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing.
    ReadOnly,
    /// It changes something; what is not known.
    Mutating,
    /// It may destroy something.
    Destructive,
}

impl Effect {
    /// The word used in configuration and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Mutating => "mutating",
            Self::Destructive => "destructive",
        }
    }
}

impl FromStr for Effect {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "read_only" => Ok(Self::ReadOnly),
            "mutating" => Ok(Self::Mutating),
            "destructive" => Ok(Self::Destructive),
            _ => Err(WordError::new(text, "effect", "read_only, mutating, destructive")),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A local statement about some tools. Believed also where it makes a tool less risky, because the user wrote it; a
/// tool is then named as in a list that lets through ([`Selector::grants`]), so that no server can pick a name that
/// lowers its own risk.
#[derive(Clone, Debug)]
pub struct RiskRule {
    /// The tools.
    pub selector: Selector,
    /// Their risk, if stated.
    pub risk: Option<Risk>,
    /// Their effect, if stated.
    pub effect: Option<Effect>,
}

/// What is held of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assessment {
    /// Its risk.
    pub risk: Risk,
    /// Its effect.
    pub effect: Effect,
    /// Why, in the order in which it was found.
    pub reasons: Vec<String>,
    /// Whether a local rule stated the risk.
    pub local_risk: bool,
    /// Whether a local rule stated the effect.
    pub local_effect: bool,
}

impl Assessment {
    /// An assessment for one stated reason.
    pub fn new(risk: Risk, effect: Effect, reason: impl Into<String>) -> Self {
        Self { risk, effect, reasons: vec![reason.into()], local_risk: false, local_effect: false }
    }

    /// Whether any call of the tool is dangerous, whatever its arguments: it may destroy something or its risk is high.
    /// A risk that the user stated counts alone, unless an effect was stated beside it.
    pub fn dangerous(&self) -> bool {
        let destroys = self.effect == Effect::Destructive && (self.local_effect || !self.local_risk);
        self.risk >= Risk::High || destroys
    }
}

/// The built-in tools.
fn builtin(name: &str) -> Option<(Risk, Effect)> {
    Some(match name {
        "run_command" => (Risk::High, Effect::Destructive),
        "write_file" | "edit_file" => (Risk::Medium, Effect::Mutating),
        "kv_set" | "kv_delete" | "store_set" | "store_action" => (Risk::Low, Effect::Mutating),
        "store_delete" => (Risk::Medium, Effect::Destructive),
        "read_file" | "list_directory" | "find_files" | "search_text" | "fetch_url" | "kv_get" | "kv_list"
        | "store_get" | "store_list" | "current_time" | "tool_result_read" => (Risk::Low, Effect::ReadOnly),
        _ => return None,
    })
}

/// Whether there is a built-in tool of this name.
pub(crate) fn is_builtin(name: &str) -> bool {
    builtin(name).is_some()
}

/// Judges a tool, exposed as `exposed`. Of several local rules that name it the last one wins, for risk and effect
/// separately.
pub fn classify(tool: &Tool, exposed: &str, local: &[RiskRule], groups: &Groups) -> Assessment {
    let hints = tool.annotations();
    let known = if *tool.source() == Source::Builtin { builtin(tool.name()) } else { None };
    let (risk, effect, reason) = if let Some((risk, effect)) = known {
        (risk, effect, "known built-in tool")
    } else if hints.destructive_hint == Some(true) {
        // Also beside readOnlyHint: of two hints the more careful one.
        (Risk::High, Effect::Destructive, "destructiveHint is true")
    } else if hints.read_only_hint == Some(true) && tool.hints_trusted() {
        (Risk::Low, Effect::ReadOnly, "readOnlyHint is true and trusted")
    } else if hints.read_only_hint == Some(true) {
        (Risk::Medium, Effect::Mutating, "readOnlyHint is true, but this source's hints are not trusted")
    } else {
        (Risk::Medium, Effect::Mutating, "nothing says what it does")
    };
    let mut found = Assessment::new(risk, effect, reason);
    for rule in local {
        let granted = rule.selector.grants(tool, exposed, groups);
        if !granted && !rule.selector.matches(tool, exposed, groups) {
            continue;
        }
        if let Some(risk) = rule.risk.filter(|risk| granted || *risk >= found.risk) {
            found.risk = risk;
            // A rule that only may name the tool never makes a statement that loosens.
            found.local_risk = granted;
            found.reasons.push(format!("local rule for {}: risk {risk}", rule.selector));
        }
        if let Some(effect) = rule.effect.filter(|effect| granted || *effect >= found.effect) {
            found.effect = effect;
            found.local_effect = true;
            found.reasons.push(format!("local rule for {}: effect {effect}", rule.selector));
        }
    }
    found
}

/// Whether this call is dangerous: the tool is ([`Assessment::dangerous`]), or it confirms an action of a store that
/// destroys something, or it is a built-in one that writes and a
/// path it is given does not lie inside one of the `scratch` roots (absolute folders), or that cannot be told. Links
/// below a scratch root are the engine's to resolve.
pub fn dangerous(
    tool: &Tool,
    assessment: &Assessment,
    arguments: &Value,
    scratch: &[String],
    place: Place<'_>,
) -> bool {
    if assessment.dangerous() {
        return true;
    }
    let builtin = *tool.source() == Source::Builtin;
    // A store's action that destroys something runs with this confirmation only (oneringai case 116): it tells of one.
    if builtin && tool.name() == "store_action" && !assessment.local_risk {
        return arguments.get("confirm") == Some(&Value::Bool(true));
    }
    let writes = builtin && matches!(tool.name(), "write_file" | "edit_file");
    if !writes || assessment.local_risk {
        return false;
    }
    let found = collect_paths(arguments);
    let inside = |path: &String| {
        !path.starts_with('~')
            && place.expand(path).is_some_and(|path| scratch.iter().any(|root| is_within(&path, root)))
    };
    found.paths.is_empty() || !found.complete || !found.paths.iter().all(inside)
}

#[cfg(test)]
mod tests;
