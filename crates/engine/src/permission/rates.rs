//! How often tools may be called.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use toolcrib_core::{
    ToolId,
    permission::{Action, RuleSet, ToolPattern},
    rate::{Keyed, SlidingWindow, Taken},
};

use super::{
    policy::{Evaluation, Policy, Question, Verdict},
    subject::{Surroundings, list},
};

/// Most pairs of tool and principal remembered for each rule.
const MOST_KEYS: usize = 10_000;

/// At most so many calls of each of these tools in any span of time, for each tenant, user and agent.
#[derive(Clone, Debug, PartialEq)]
pub struct RateRule {
    /// The tools.
    pub tools: ToolPattern,
    /// Calls; at most 10,000.
    pub calls: u32,
    /// In any span of this length.
    pub per: Duration,
}

type Key = (ToolId, String, Option<String>, Option<String>);

/// Denies calls over a limit (oneringai case 104). Only calls that are let through count: theirs counts when it is
/// asked, even if a later policy denies, so that refused calls use the limit up.
pub struct RateLimitPolicy {
    limits: Vec<Limit>,
    surroundings: Arc<Surroundings>,
}

/// Shared with the policy of the settings before, so that a reload forgives nothing.
type Windows = Arc<Mutex<Keyed<Key, SlidingWindow>>>;

struct Limit {
    rule: RateRule,
    /// The pattern as a rule that restricts: what may be meant counts. Of paths the text alone does.
    meant: RuleSet,
    windows: Windows,
}

impl RateLimitPolicy {
    /// From rules; a call counts for every rule that names it.
    pub fn new(rules: Vec<RateRule>, surroundings: Arc<Surroundings>) -> Self {
        Self::succeeding(None, rules, surroundings)
    }

    /// The same, going on with what `previous` has counted for rules that it had as well.
    pub(super) fn succeeding(previous: Option<&Self>, rules: Vec<RateRule>, surroundings: Arc<Surroundings>) -> Self {
        let counted = |rule: &RateRule| {
            let mut same = previous.iter().flat_map(|old| &old.limits).filter(|limit| limit.rule == *rule);
            same.next().map(|limit| limit.windows.clone())
        };
        let limits = rules
            .into_iter()
            .map(|rule| Limit {
                meant: list(vec![rule.tools.clone()], Action::Ask, "rates"),
                windows: counted(&rule).unwrap_or_else(|| Arc::new(Mutex::new(Keyed::new(MOST_KEYS)))),
                rule,
            })
            .collect();
        Self { limits, surroundings }
    }

    /// Counts a call that is about to run, for all rules or for none.
    pub(super) fn count(&self, question: &Question<'_>) -> Result<Counted, Verdict> {
        let mut counted = Counted { key: key(question), taken: Vec::new() };
        for Limit { rule, windows, .. } in self.of(question) {
            let taken = windows.lock().entry(&counted.key, question.now_ms, || window(rule)).try_take(question.now_ms);
            let Ok(taken) = taken else { return Err(full(rule)) };
            counted.taken.push((windows.clone(), taken));
        }
        Ok(counted)
    }

    fn of<'a>(&'a self, question: &'a Question<'a>) -> impl Iterator<Item = &'a Limit> {
        let subject = self.surroundings.subject(question, None);
        self.limits.iter().filter(move |limit| limit.meant.strictest(&subject, question.now_ms).is_some())
    }
}

/// A call that was counted. Dropped, it is taken back: what does not run uses no limit up.
#[must_use = "dropping it takes the count back"]
pub(crate) struct Counted {
    key: Key,
    taken: Vec<(Windows, Taken)>,
}

impl Counted {
    /// The call leaves.
    pub(crate) fn keep(mut self) {
        self.taken.clear();
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        for (windows, taken) in self.taken.drain(..) {
            if let Some(window) = windows.lock().get_mut(&self.key) {
                window.refund(taken);
            }
        }
    }
}

impl Policy for RateLimitPolicy {
    fn name(&self) -> &'static str {
        "rate limit"
    }

    fn priority(&self) -> i32 {
        20
    }

    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        let mut made = None;
        for Limit { rule, windows, .. } in self.of(question) {
            let key = made.get_or_insert_with(|| key(question));
            let room = windows.lock().get_mut(key).map_or(rule.calls, |window| window.remaining(question.now_ms));
            if room == 0 {
                return Evaluation::Ready(full(rule));
            }
        }
        Evaluation::Ready(Verdict::Abstain)
    }
}

fn key(question: &Question<'_>) -> Key {
    let scope = question.scope;
    (question.tool.id().clone(), scope.tenant.clone(), scope.user.clone(), question.identity.agent.clone())
}

fn window(rule: &RateRule) -> SlidingWindow {
    SlidingWindow::new(rule.calls, u64::try_from(rule.per.as_millis()).unwrap_or(u64::MAX))
}

fn full(rule: &RateRule) -> Verdict {
    Verdict::Deny {
        hard: true,
        rule: rule.tools.to_string(),
        reason: format!("more than {} calls in {} ms", rule.calls, rule.per.as_millis()),
    }
}
