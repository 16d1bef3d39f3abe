//! What callers may do by their roles.

use std::{collections::BTreeMap, sync::Arc};

use toolcrib_core::permission::{Action, RealPaths, RuleSet, ToolPattern};

use super::{
    policy::{Evaluation, Policy, Question, Verdict},
    subject::{Surroundings, list, verdict},
};

/// The lists of one role.
#[derive(Clone, Debug, Default)]
pub struct RoleLists {
    /// Calls that it may make. Left empty, the role does not limit what may be called.
    pub allow: Vec<ToolPattern>,
    /// Calls that it may not make.
    pub deny: Vec<ToolPattern>,
}

/// Denies what any of the caller's roles denies, whatever another allows (oneringai case 105); then allows what any
/// allows. A caller whose roles list what they may do may do nothing else. A caller without a role that is known here
/// is not concerned.
pub struct RolePolicy {
    roles: BTreeMap<String, Role>,
    surroundings: Arc<Surroundings>,
}

struct Role {
    limits: bool,
    rules: RuleSet,
}

impl RolePolicy {
    /// From lists by role.
    pub fn new(roles: BTreeMap<String, RoleLists>, surroundings: Arc<Surroundings>) -> Self {
        let roles = roles
            .into_iter()
            .map(|(name, lists)| {
                let origin = format!("permissions.roles.{name}");
                let limits = !lists.allow.is_empty();
                let mut rules = list(lists.deny, Action::Deny, &origin);
                for rule in list(lists.allow, Action::Allow, &origin).rules() {
                    rules.push(rule.clone());
                }
                (name, Role { limits, rules })
            })
            .collect();
        Self { roles, surroundings }
    }
}

impl Policy for RolePolicy {
    fn name(&self) -> &'static str {
        "roles"
    }

    fn priority(&self) -> i32 {
        30
    }

    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        let rules = question.identity.roles.iter().filter_map(|name| Some(&self.roles.get(name)?.rules));
        match self.surroundings.look(question, rules) {
            None => Evaluation::Ready(self.judge(question, None)),
            Some(looking) => Evaluation::Waiting(Box::pin(async move { self.judge(question, Some(&looking.await)) })),
        }
    }
}

impl RolePolicy {
    fn judge(&self, question: &Question<'_>, real: Option<&RealPaths>) -> Verdict {
        let subject = self.surroundings.subject(question, real);
        let (mut allowed, mut limited) = (None, false);
        for name in &question.identity.roles {
            let Some(role) = self.roles.get(name) else { continue };
            limited |= role.limits;
            match role.rules.strictest(&subject, question.now_ms).map(|found| verdict(&found)) {
                None | Some(Verdict::Abstain) => {}
                Some(Verdict::Allow { rule }) => allowed = allowed.or(Some(rule)),
                // Nobody gets past a role's denial by approving.
                Some(Verdict::Deny { rule, reason, .. } | Verdict::Ask { rule, reason }) => {
                    return Verdict::Deny { hard: true, rule, reason };
                }
            }
        }
        match allowed {
            Some(rule) => Verdict::Allow { rule },
            None if limited => Verdict::Deny {
                hard: true,
                rule: "permissions.roles".into(),
                reason: format!("none of the caller's roles ({}) allows it", question.identity.roles.join(", ")),
            },
            None => Verdict::Abstain,
        }
    }
}
