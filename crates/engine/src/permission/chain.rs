//! All policies together.
//!
//! They are asked by priority, those of one priority in the order in which they were added. A hard denial ends it at
//! once; a soft one (a person may still approve) stands, but the rest is asked for hard ones. Then, in this order:
//!
//! 1. Any denial beats everything. A soft one becomes a question, unless everything is trusted: full access skips
//!    questions, never denials (openclaw case 46, oneringai case 95 **ours**).
//! 2. Of the administrators' lists and the users' rules the first that allows or asks counts; later policies cannot
//!    lift a question of theirs.
//!    The permission of the tool itself ([`toolcrib_core::Labels::permission`]) comes after both and counts like them.
//! 3. Of the other policies any allowance counts before any question.
//! 4. The trust level decides.
//!
//! What is of critical risk asks even where a rule allows it, unless that rule is unconditional.

use std::{borrow::Cow, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use toolcrib_core::{
    Tool,
    permission::{Action, Assessment, Risk},
};

use super::{
    assess::{Assessor, Standing},
    decision::Decision,
    hosts::HostPolicy,
    lists::PatternList,
    own_door::OwnDoor,
    paths::PathPolicy,
    plan::PlanMode,
    policy::{Evaluation, Policy, Question, Verdict},
    rates::{Counted, RateLimitPolicy},
    roles::RolePolicy,
    rules::UserRules,
    settings::PermissionSettings,
    subject::Surroundings,
    trust::TrustLevel,
};
use crate::settings::Trust;

/// Where the parent's decision is asked for: after the administrators' lists, before the users' rules.
const PARENT: i32 = 12;
/// The users' rules, the last whose question no later policy can lift.
pub(super) const RULES: i32 = 15;

/// Decides on calls. Immutable: a change of settings makes a new one.
pub struct PolicyChain {
    members: Vec<Member>,
    rates: Option<Arc<RateLimitPolicy>>,
    trust: TrustLevel,
    assessor: Assessor,
    limit: Duration,
}

struct Member {
    priority: i32,
    kind: Kind,
}

enum Kind {
    Policy(Arc<dyn Policy>),
    /// Apart because what it says of a tool is nearly always the same for every call.
    List(PatternList),
    /// Apart from the others because it alone can vouch for what is critical.
    Rules(UserRules),
    /// Apart because nearly no call is one that it has anything to say of.
    OwnDoor(OwnDoor),
    /// What is said of the tool itself.
    Label,
    Parent,
}

/// What allows or asks.
enum Opinion {
    Allow { authority: String, vouched: bool },
    Ask { authority: String, reason: String },
}

impl PolicyChain {
    /// The built-in policies that the settings call for, and those of the embedding program.
    pub fn new(policies: Vec<Arc<dyn Policy>>, settings: PermissionSettings) -> Self {
        Self::succeeding(None, policies, settings)
    }

    /// The same for changed settings: rate limits that stay as they were go on counting where `previous` stands.
    pub fn succeeding(previous: Option<&Self>, policies: Vec<Arc<dyn Policy>>, settings: PermissionSettings) -> Self {
        let PermissionSettings { allow, deny, ask, rules, risks, roles, path_roots, hosts, rates, .. } = settings;
        let assessor = Assessor::new(risks, settings.groups.clone());
        let surroundings =
            Arc::new(Surroundings { groups: settings.groups, places: settings.places, home: settings.home });
        let around = || surroundings.clone();
        let mut built_in: Vec<Arc<dyn Policy>> = Vec::new();
        let mut lists = Vec::new();
        // What has nothing to say is left out, so that the usual call meets nothing but the trust level.
        if !deny.is_empty() {
            lists.push(PatternList::block(deny, around()));
        }
        if settings.plan {
            built_in.push(Arc::new(PlanMode));
        }
        if !ask.is_empty() {
            lists.push(PatternList::ask(ask, around()));
        }
        if !allow.is_empty() {
            lists.push(PatternList::allow(allow, around()));
        }
        let rates = (!rates.is_empty()).then(|| {
            let previous = previous.and_then(|previous| previous.rates.as_deref());
            Arc::new(RateLimitPolicy::succeeding(previous, rates, around()))
        });
        if let Some(rates) = &rates {
            built_in.push(rates.clone());
        }
        if !roles.is_empty() {
            built_in.push(Arc::new(RolePolicy::new(roles, around())));
        }
        if let Some(roots) = path_roots {
            built_in.push(Arc::new(PathPolicy::new(roots, around())));
        }
        if hosts.allow.is_some() || !hosts.deny.is_empty() {
            built_in.push(Arc::new(HostPolicy::new(hosts)));
        }
        let mut members: Vec<Member> = built_in
            .into_iter()
            .chain(policies)
            .map(|policy| Member { priority: policy.priority(), kind: Kind::Policy(policy) })
            .collect();
        // Of equal priority the built-in ones come first.
        let lists = lists.into_iter().map(|list| Member { priority: list.priority(), kind: Kind::List(list) });
        members.splice(0..0, lists);
        let door = OwnDoor::new();
        members.push(Member { priority: door.priority(), kind: Kind::OwnDoor(door) });
        members.push(Member { priority: PARENT, kind: Kind::Parent });
        if !rules.rules().is_empty() {
            members.push(Member { priority: RULES, kind: Kind::Rules(UserRules::new(rules, around())) });
        }
        members.push(Member { priority: RULES, kind: Kind::Label });
        members.sort_by_key(|member| member.priority);
        let trust = TrustLevel { trust: settings.trust, scratch: settings.scratch, surroundings };
        Self { members, rates, trust, assessor, limit: settings.policy_timeout }
    }

    /// Risk and effect of a tool, for [`Question::assessment`]. Judged once and remembered.
    pub fn assess(&self, tool: &Tool, exposed: &str) -> Arc<Assessment> {
        self.standing(tool, exposed).assessment.clone()
    }

    /// The same with what the policies say of every call of the tool.
    pub(crate) fn standing(&self, tool: &Tool, exposed: &str) -> Arc<Standing> {
        self.assessor.standing(tool, exposed, |assessment| {
            let said = |member: &Member| match &member.kind {
                Kind::List(list) => list.of_tool(tool, exposed, assessment).map(|verdict| (verdict, false)),
                Kind::Rules(rules) => rules.of_tool(tool, exposed, assessment),
                Kind::Label => Some((labelled(tool), false)),
                Kind::Policy(_) | Kind::OwnDoor(_) | Kind::Parent => None,
            };
            self.members.iter().map(said).collect()
        })
    }

    /// The trust level.
    pub fn trust(&self) -> Trust {
        self.trust.trust
    }

    /// Decides on a call. A policy that panics or takes too long denies (openclaw case 117).
    pub async fn decide(&self, question: &Question<'_>) -> Decision {
        self.decide_by(&self.standing(question.tool, question.exposed), question).await
    }

    /// The same for a caller who has the tool's [`Self::standing`].
    pub(crate) async fn decide_by(&self, standing: &Standing, question: &Question<'_>) -> Decision {
        let mut soft: Option<(String, String)> = None;
        let (mut first, mut allow, mut ask): (Option<Opinion>, Option<Opinion>, Option<Opinion>) = (None, None, None);
        for (member, said) in self.members.iter().zip(&standing.said) {
            let (verdict, vouched) = match said {
                Some((Verdict::Abstain, _)) => continue,
                Some(said) => said.clone(),
                None if member.is_silent(question) => continue,
                None => Box::pin(self.verdict(member, question)).await,
            };
            let decisive = member.priority <= RULES;
            match verdict {
                Verdict::Abstain => {}
                Verdict::Deny { hard: true, rule, reason } => {
                    return Decision::Deny { hard: true, authority: member.authority(question, &rule), reason };
                }
                Verdict::Deny { hard: false, rule, reason } => {
                    soft = soft.or_else(|| Some((member.authority(question, &rule), reason)));
                }
                Verdict::Allow { rule } => {
                    let opinion = || Opinion::Allow { authority: member.authority(question, &rule), vouched };
                    if decisive && first.is_none() {
                        first = Some(opinion());
                    } else if allow.is_none() {
                        allow = Some(opinion());
                    }
                }
                Verdict::Ask { rule, reason } => {
                    let opinion = || Opinion::Ask { authority: member.authority(question, &rule), reason };
                    if decisive && first.is_none() {
                        first = Some(opinion());
                    } else if ask.is_none() {
                        ask = Some(opinion());
                    }
                }
            }
        }
        let all = self.trust.trust == Trust::All;
        if let Some((authority, reason)) = soft {
            return if all {
                Decision::Deny { hard: false, authority, reason }
            } else {
                Decision::Ask { authority: authority.into(), reason: reason.into(), by_trust: false }
            };
        }
        match first.or(allow).or(ask) {
            Some(Opinion::Allow { authority, vouched }) => {
                if question.assessment.risk >= Risk::Critical && !vouched && !all {
                    return Decision::Ask {
                        authority: "critical risk".into(),
                        reason: "its risk is critical, and only an unconditional rule allows that without asking"
                            .into(),
                        by_trust: false,
                    };
                }
                Decision::Allow { authority: authority.into() }
            }
            Some(Opinion::Ask { .. }) if all => self.trust.decide(question).await,
            Some(Opinion::Ask { authority, reason }) => {
                Decision::Ask { authority: authority.into(), reason: reason.into(), by_trust: false }
            }
            None => self.trust.decide(question).await,
        }
    }

    /// Whether there are rate limits to count calls against.
    pub(crate) fn limits_rates(&self) -> bool {
        self.rates.is_some()
    }

    /// Counts a call that is about to run against the rate limits. Call it once, after [`Self::decide`] and any
    /// approval; what it returns is a denial, because others took the room in the meantime.
    pub fn admit(&self, question: &Question<'_>) -> Option<Decision> {
        match self.count(question)? {
            Ok(counted) => {
                counted.keep();
                None
            }
            Err((authority, reason)) => Some(Decision::Deny { hard: true, authority, reason }),
        }
    }

    /// The same, taken back unless the count is kept. `Err` with the authority and the reason of the denial; `None` where
    /// there are no limits.
    pub(crate) fn count(&self, question: &Question<'_>) -> Option<Result<Counted, (String, String)>> {
        Some(self.rates.as_ref()?.count(question).map_err(|verdict| match verdict {
            Verdict::Deny { rule, reason, .. } => (format!("rate limit: {rule}"), reason),
            Verdict::Allow { .. } | Verdict::Ask { .. } | Verdict::Abstain => ("rate limit".to_owned(), String::new()),
        }))
    }

    /// What each policy says of a call, in the order in which they are asked, with the trust level last. For
    /// diagnosis: everybody is asked, also after a denial.
    pub async fn explain(&self, question: &Question<'_>) -> Vec<(String, Verdict)> {
        let mut told = Vec::with_capacity(self.members.len() + 1);
        for member in &self.members {
            if member.is_silent(question) {
                continue;
            }
            told.push((member.name(question).into_owned(), self.verdict(member, question).await.0));
        }
        let last = match self.trust.decide(question).await {
            Decision::Allow { authority } => Verdict::Allow { rule: authority.into_owned() },
            Decision::Deny { hard, authority, reason } => Verdict::Deny { hard, rule: authority, reason },
            Decision::Ask { authority, reason, .. } => {
                Verdict::Ask { rule: authority.into_owned(), reason: reason.into_owned() }
            }
        };
        told.push(("trust".to_owned(), last));
        told
    }

    async fn verdict(&self, member: &Member, question: &Question<'_>) -> (Verdict, bool) {
        match &member.kind {
            Kind::Policy(policy) => (self.evaluate(policy.as_ref(), question).await, false),
            Kind::Label => (labelled(question.tool), false),
            Kind::List(list) => (self.evaluate(list, question).await, false),
            Kind::OwnDoor(door) => (self.evaluate(door, question).await, false),
            Kind::Rules(rules) => {
                let judging = AssertUnwindSafe(rules.judge(question)).catch_unwind();
                match tokio::time::timeout(self.limit, judging).await {
                    Ok(Ok(judged)) => judged,
                    Ok(Err(_)) => (panicked("rules"), false),
                    Err(_) => (self.late(), false),
                }
            }
            Kind::Parent => {
                let Some(parent) = &question.identity.parent else { return (Verdict::Abstain, false) };
                let verdict = match self.evaluate(parent.as_ref(), question).await {
                    // The parent's allowance does not stand for this agent's own checks (case 106).
                    Verdict::Allow { .. } | Verdict::Abstain => Verdict::Abstain,
                    Verdict::Deny { rule, reason, .. } => Verdict::Deny { hard: true, rule, reason },
                    Verdict::Ask { rule, reason } => Verdict::Deny {
                        hard: true,
                        rule,
                        reason: format!("the parent would have to ask about it: {reason}"),
                    },
                };
                (verdict, false)
            }
        }
    }

    fn late(&self) -> Verdict {
        failed(format!("the policy took longer than {} ms", self.limit.as_millis()))
    }

    async fn evaluate(&self, policy: &dyn Policy, question: &Question<'_>) -> Verdict {
        let begun = std::panic::catch_unwind(AssertUnwindSafe(|| policy.evaluate(question)));
        match begun {
            Ok(Evaluation::Ready(verdict)) => verdict,
            Ok(Evaluation::Waiting(waiting)) => {
                match tokio::time::timeout(self.limit, AssertUnwindSafe(waiting).catch_unwind()).await {
                    Ok(Ok(verdict)) => verdict,
                    Ok(Err(_)) => panicked(policy.name()),
                    Err(_) => self.late(),
                }
            }
            Err(_) => panicked(policy.name()),
        }
    }
}

impl Member {
    /// Whether it has nothing to say because it is not there for this call.
    fn is_silent(&self, question: &Question<'_>) -> bool {
        match self.kind {
            Kind::Parent => question.identity.parent.is_none(),
            Kind::OwnDoor(_) => !OwnDoor::is_near(question),
            Kind::Label => question.tool.labels().permission.is_none(),
            Kind::Policy(_) | Kind::List(_) | Kind::Rules(_) => false,
        }
    }

    fn name<'a>(&'a self, question: &'a Question<'_>) -> Cow<'a, str> {
        match &self.kind {
            Kind::Policy(policy) => policy.name().into(),
            Kind::List(list) => list.name().into(),
            Kind::OwnDoor(door) => Policy::name(door).into(),
            Kind::Rules(rules) => Policy::name(rules).into(),
            Kind::Label => "tool".into(),
            Kind::Parent => match &question.identity.parent {
                Some(parent) => format!("parent: {}", parent.name()).into(),
                None => "parent".into(),
            },
        }
    }

    fn authority(&self, question: &Question<'_>, rule: &str) -> String {
        format!("{}: {rule}", self.name(question))
    }
}

/// What the tool's own permission says. A denial is not lifted by anything: whoever wrote it can change it.
fn labelled(tool: &Tool) -> Verdict {
    let labels = tool.labels();
    let rule = || match &*labels.origin {
        "" => "its registration".to_owned(),
        origin => origin.to_owned(),
    };
    match labels.permission {
        None => Verdict::Abstain,
        Some(Action::Allow) => Verdict::Allow { rule: rule() },
        Some(Action::Ask) => Verdict::Ask { rule: rule(), reason: "calls of this tool are to be asked about".into() },
        Some(Action::Deny) => {
            Verdict::Deny { hard: true, rule: rule(), reason: "calls of this tool are refused".into() }
        }
    }
}

fn panicked(policy: &str) -> Verdict {
    tracing::error!(policy, "a policy panicked");
    failed("the policy panicked".to_owned())
}

/// Nothing runs on the strength of a policy that gave no answer.
fn failed(reason: String) -> Verdict {
    Verdict::Deny { hard: true, rule: "no answer".to_owned(), reason }
}
