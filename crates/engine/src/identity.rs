//! Who is behind a call, beyond the scope that decides what is seen. Fixed when the call comes in: nothing that happens
//! later changes what a call under way was judged by or what its tool is told (oneringai case 136).

use std::{collections::BTreeMap, fmt, sync::Arc};

use toolcrib_core::Scope;

use crate::permission::Policy;

/// What is known of the caller.
#[derive(Clone, Default)]
pub struct Identity {
    /// The agent on whose behalf the call is made.
    pub agent: Option<String>,
    /// The conversation or connection; grants "for the session" and the guard against repetition go by it.
    pub session: Option<String>,
    /// Roles, for role rules.
    pub roles: Vec<String>,
    /// Accounts to act with, by connector.
    pub accounts: BTreeMap<String, String>,
    /// The caller's trace id, passed on to logs and the journal.
    pub trace: Option<String>,
    /// The decision of the parent agent, for a sub-agent: whatever it does not allow is denied (case 106).
    pub parent: Option<Arc<dyn Policy>>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("agent", &self.agent)
            .field("session", &self.session)
            .field("roles", &self.roles)
            .field("accounts", &self.accounts.keys())
            .field("trace", &self.trace)
            .field("parent", &self.parent.is_some())
            .finish()
    }
}

/// Whom approvals, limits and journal records belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Principal {
    /// The tenant; empty on a single-user machine.
    pub tenant: String,
    /// The authenticated user, if any.
    pub user: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
}

impl Principal {
    /// From a call's scope and identity.
    pub fn of(scope: &Scope, identity: &Identity) -> Self {
        Self {
            tenant: scope.tenant.clone(),
            user: scope.user.clone(),
            agent: identity.agent.clone().or_else(|| scope.agent.clone()),
            session: identity.session.clone(),
        }
    }
}
