//! Which grants speak of a call. Changing an argument, the tool's definition, the tenant or the user leaves an approval
//! without meaning (T21).

use toolcrib_core::{
    ContentHash,
    permission::{CommandRule, Match, Risk, collect_paths, collect_urls, commands_of},
};

use super::{
    broker::{Covered, GrantUse},
    cache::Grants,
    request::{ANY_TOOL, Grant, GrantPattern, Reach},
};
use crate::{
    identity::Principal,
    permission::{Question, all_below},
};

/// A call as grants are compared with.
pub(super) struct Call<'a> {
    question: &'a Question<'a>,
    principal: &'a Principal,
    digest: String,
}

impl<'a> Call<'a> {
    pub(super) fn new(question: &'a Question<'a>, principal: &'a Principal, digest: ContentHash) -> Self {
        Self { question, principal, digest: digest.to_string() }
    }

    /// What grants say: one that forbids counts before all that let through, one for any number of calls before one
    /// that would be used up, and of those the one that ends first.
    pub(super) async fn judge(&self, grants: &Grants) -> Covered {
        if let Some(grant) = forbidding(grants, self.question, self.principal) {
            return Covered::Forbidden(Box::new(grant.clone()));
        }
        let tool = self.question.tool.id().to_string();
        let candidates: Vec<&Grant> = grants.of_tool(&tool).iter().filter(|grant| self.may(grant)).collect();
        let mut covering: Vec<&Grant> = candidates.iter().copied().filter(|grant| self.fits(&grant.pattern)).collect();
        if covering.is_empty() {
            covering.extend(self.within(&candidates).await);
        }
        let best = covering.into_iter().min_by_key(|grant| {
            (grant.uses_left.is_some(), grant.expires_at_ms.unwrap_or(u64::MAX), grant.created_at_ms)
        });
        best.map_or(Covered::No, |grant| Covered::Yes(GrantUse::of(grant)))
    }

    /// Whether one grant covers the call.
    pub(super) async fn is_covered_by(&self, grant: &Grant) -> bool {
        grant.tool == self.question.tool.id().to_string()
            && self.may(grant)
            && (self.fits(&grant.pattern) || self.within(&[grant]).await.is_some())
    }

    /// Everything but the arguments.
    fn may(&self, grant: &Grant) -> bool {
        // Critical means that a person looks at every single call, whatever was granted before it became so.
        let reach = self.question.assessment.risk < Risk::Critical || grant.reach == Reach::Once;
        grant.allow
            && reach
            && is_for(grant, self.principal)
            && in_force(grant, self.question.now_ms)
            && grant.definition == self.question.tool.hash().to_string()
    }

    fn fits(&self, pattern: &GrantPattern) -> bool {
        match pattern {
            GrantPattern::Exact { digest } => *digest == self.digest,
            GrantPattern::Any => true,
            GrantPattern::Host { host } => {
                let found = collect_urls(self.question.arguments);
                !found.unclear
                    && !found.urls.is_empty()
                    && found
                        .urls
                        .iter()
                        .all(|url| matches!(url.scheme(), "http" | "https") && url.host_str() == Some(host.as_str()))
            }
            GrantPattern::Command { rule } => {
                let rule = CommandRule::parse(rule);
                commands_of(self.question.tool, self.question.arguments)
                    .is_some_and(|parsed| rule.match_all(&parsed) == Match::Yes)
            }
            // Needs the disk: see `within`.
            GrantPattern::Within { .. } => false,
        }
    }

    /// The first of the grants for a folder that holds every path of the call, links followed. A folder in whose place a
    /// link has been put since holds nothing: somebody agreed to the folder, not to what it may be made to mean. A command line is no path: a tool that
    /// takes one is not covered by a folder.
    async fn within<'g>(&self, grants: &[&'g Grant]) -> Option<&'g Grant> {
        let roots: Vec<(&'g Grant, String)> = grants
            .iter()
            .filter_map(|grant| match &grant.pattern {
                GrantPattern::Within { root } => Some((*grant, root.clone())),
                _ => None,
            })
            .collect();
        if roots.is_empty() || commands_of(self.question.tool, self.question.arguments).is_some() {
            return None;
        }
        let found = collect_paths(self.question.arguments);
        if found.paths.is_empty() || !found.complete {
            return None;
        }
        for (grant, root) in roots {
            let paths = found.paths.clone();
            if tokio::task::spawn_blocking(move || all_below(&paths, &root)).await.unwrap_or(false) {
                return Some(grant);
            }
        }
        None
    }
}

/// The grant that says "never" (or "not in this session"). It holds whatever the definition has become since: an
/// upstream that rewords its tool is not to get another chance by that.
pub(super) fn forbidding<'g>(grants: &'g Grants, question: &Question<'_>, principal: &Principal) -> Option<&'g Grant> {
    let of_this = grants.of_tool(&question.tool.id().to_string());
    of_this
        .iter()
        .chain(grants.of_tool(ANY_TOOL))
        .find(|grant| !grant.allow && is_for(grant, principal) && in_force(grant, question.now_ms))
}

fn is_for(grant: &Grant, principal: &Principal) -> bool {
    let session = || grant.principal.session.is_some() && grant.principal.session == principal.session;
    grant.principal.tenant == principal.tenant
        && (grant.tool == ANY_TOOL || grant.principal.user == principal.user)
        && (grant.reach != Reach::Session || session())
}

fn in_force(grant: &Grant, now_ms: u64) -> bool {
    grant.uses_left != Some(0) && grant.expires_at_ms.is_none_or(|end| end > now_ms)
}
