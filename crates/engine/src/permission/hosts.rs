//! Hosts that addresses in arguments may and may not lead to.

use toolcrib_core::permission::{HostRule, Match, collect_urls};

use super::policy::{Evaluation, Policy, Question, Verdict};

/// Which hosts are let through.
#[derive(Clone, Debug, Default)]
pub struct HostLists {
    /// Only these; `None` = all.
    pub allow: Option<Vec<HostRule>>,
    /// Not these.
    pub deny: Vec<HostRule>,
}

/// Denies calls with an address on the deny list, or outside of the allow list (oneringai §2.7). Where an address can
/// be read in two ways, a person may still approve the call.
pub struct HostPolicy(HostLists);

impl HostPolicy {
    /// From lists.
    pub fn new(lists: HostLists) -> Self {
        Self(lists)
    }
}

impl Policy for HostPolicy {
    fn name(&self) -> &'static str {
        "hosts"
    }

    fn priority(&self) -> i32 {
        50
    }

    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a> {
        let found = collect_urls(question.arguments);
        if found.urls.is_empty() && found.names.is_empty() && !found.unclear {
            return Evaluation::Ready(Verdict::Abstain);
        }
        let mut uncertain = None;
        for rule in &self.0.deny {
            match rule.touches(&found) {
                Match::Yes => {
                    return deny(true, format!("permissions.hosts.deny: {rule}"), "an address leads to a denied host");
                }
                Match::Uncertain => uncertain = Some(format!("permissions.hosts.deny: {rule}")),
                Match::No => {}
            }
        }
        if let Some(allow) = &self.0.allow {
            let allowed = |url: &_| allow.iter().any(|rule| rule.allows(url));
            if !found.urls.iter().all(allowed) {
                return deny(true, "permissions.hosts.allow".into(), "an address leads to a host that is not allowed");
            }
            // A name may be a host, or a word.
            if found.unclear || !found.names.iter().all(allowed) {
                uncertain = Some("permissions.hosts.allow".into());
            }
        }
        match uncertain {
            Some(rule) => deny(false, rule, "where an address in the arguments leads to cannot be told for certain"),
            None => Evaluation::Ready(Verdict::Abstain),
        }
    }
}

fn deny(hard: bool, rule: String, reason: &str) -> Evaluation<'static> {
    Evaluation::Ready(Verdict::Deny { hard, rule, reason: reason.to_owned() })
}
