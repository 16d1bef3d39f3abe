//! What the chain as a whole says.

use std::borrow::Cow;

/// The decision on one call. `authority` names the policy and the rule, for records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Allow {
        /// Who says so.
        authority: Cow<'static, str>,
    },
    /// It may not.
    Deny {
        /// True: not even with an approval.
        hard: bool,
        /// Who says so.
        authority: String,
        /// Why, for the operator.
        reason: String,
    },
    /// A person must be asked.
    Ask {
        /// Who says so.
        authority: Cow<'static, str>,
        /// Why, for the person.
        reason: Cow<'static, str>,
        /// Whether no rule asked, but only the trust level: then a rule in `permissions.allow` lets the call run.
        by_trust: bool,
    },
}
