//! What is held of tools, worked out once for each tool and remembered: risk, effect, and what the policies say that go by
//! the tool alone.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use toolcrib_core::{
    ContentHash, Tool,
    permission::{Assessment, RiskRule, classify},
    selector::Groups,
};

use super::policy::Verdict;

/// Most definitions remembered.
const MOST: usize = 4_096;

/// What is held of a tool under its exposed name.
pub(crate) struct Standing {
    pub(crate) assessment: Arc<Assessment>,
    /// By member of the chain: what it says of every call of the tool, and whether by an unconditional rule. `None` where
    /// it has to be asked.
    pub(super) said: Box<[Option<(Verdict, bool)>]>,
}

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
    standing: Arc<Standing>,
}

impl Known {
    fn is(&self, tool: &Tool, exposed: &str) -> bool {
        self.exposed == exposed
            && self.tool.id() == tool.id()
            && self.tool.hints_trusted() == tool.hints_trusted()
            && self.tool.labels() == tool.labels()
    }
}

impl Assessor {
    pub(super) fn new(risks: Vec<RiskRule>, groups: Groups) -> Self {
        Self { risks, groups, known: RwLock::default() }
    }

    /// What is held of a tool; `said` gives what each policy says of it, the first time.
    pub(super) fn standing(
        &self,
        tool: &Tool,
        exposed: &str,
        said: impl FnOnce(&Assessment) -> Box<[Option<(Verdict, bool)>]>,
    ) -> Arc<Standing> {
        let hash = tool.hash();
        let found = |known: &HashMap<ContentHash, Vec<Known>>| {
            known.get(&hash)?.iter().find(|known| known.is(tool, exposed)).map(|known| known.standing.clone())
        };
        if let Some(standing) = found(&self.known.read()) {
            return standing;
        }
        let assessment = Arc::new(classify(tool, exposed, &self.risks, &self.groups));
        let said = said(&assessment);
        let standing = Arc::new(Standing { assessment, said });
        let mut known = self.known.write();
        if known.len() >= MOST || known.get(&hash).is_some_and(|same| same.len() >= MOST) {
            known.clear();
        }
        known.entry(hash).or_default().push(Known {
            tool: tool.clone(),
            exposed: exposed.to_owned(),
            standing: standing.clone(),
        });
        standing
    }
}
