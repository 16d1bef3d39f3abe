//! Risk and effect of tools, judged once for each tool and remembered.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use toolcrib_core::{
    ContentHash, Tool,
    permission::{Assessment, RiskRule, classify},
    selector::Groups,
};

/// Most definitions remembered.
const MOST: usize = 4_096;

/// Judges tools by local risk rules, hints and the list of built-in tools.
pub(super) struct Assessor {
    risks: Vec<RiskRule>,
    groups: Groups,
    known: RwLock<HashMap<ContentHash, Vec<Known>>>,
}

/// The same definition may come from several sources, or be tagged or trusted differently.
struct Known {
    tool: Tool,
    exposed: String,
    assessment: Arc<Assessment>,
}

impl Known {
    fn is(&self, tool: &Tool, exposed: &str) -> bool {
        self.exposed == exposed
            && self.tool.id() == tool.id()
            && self.tool.hints_trusted() == tool.hints_trusted()
            && self.tool.tags() == tool.tags()
    }
}

impl Assessor {
    pub(super) fn new(risks: Vec<RiskRule>, groups: Groups) -> Self {
        Self { risks, groups, known: RwLock::default() }
    }

    pub(super) fn assess(&self, tool: &Tool, exposed: &str) -> Arc<Assessment> {
        let hash = tool.hash();
        let found = |known: &HashMap<ContentHash, Vec<Known>>| {
            known.get(&hash)?.iter().find(|known| known.is(tool, exposed)).map(|known| known.assessment.clone())
        };
        if let Some(assessment) = found(&self.known.read()) {
            return assessment;
        }
        let assessment = Arc::new(classify(tool, exposed, &self.risks, &self.groups));
        let mut known = self.known.write();
        if known.len() >= MOST || known.get(&hash).is_some_and(|same| same.len() >= MOST) {
            known.clear();
        }
        known.entry(hash).or_default().push(Known {
            tool: tool.clone(),
            exposed: exposed.to_owned(),
            assessment: assessment.clone(),
        });
        assessment
    }
}
