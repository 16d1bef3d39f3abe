//! From a key and what a request says of itself to a scope.

use toolcrib_core::{Scope, select::Model};
use toolcrib_engine::{Identity, Principal, Unservable};
use toolcrib_gateway::api::{ApiCaller, Code, Problem, wire::ScopeWish};

use super::Api;
use crate::commands::assemble::Unassembled;

/// Who asks, settled.
pub(super) struct Asking {
    pub(super) scope: Scope,
    pub(super) agent: Option<String>,
}

impl Asking {
    /// What the key with this name is bound to, and within that what the request says.
    pub(super) fn of(api: &Api, principal: Option<&str>, wish: &ScopeWish) -> Result<Self, Problem> {
        let callers = &api.world.callers;
        let mut scope = callers.scope(principal, wish.profile.as_deref());
        bound("profile", scope.profile.as_deref(), wish.profile.as_deref())?;
        bound("agent", scope.agent.as_deref(), wish.agent.as_deref())?;
        scope.agent = scope.agent.or_else(|| wish.agent.as_deref().map(str::to_owned));
        let model = wish.model.as_deref().map(Model::new);
        let named = |model: &Option<Model>| model.as_ref().map(ToString::to_string);
        bound("model", named(&scope.model).as_deref(), named(&model).as_deref())?;
        scope.model = scope.model.or(model);
        scope.context_length = wish.context_length.map(toolcrib_gateway::api::wire::Number::get);
        Ok(Self { agent: scope.agent.clone(), scope })
    }

    /// The caller itself, whatever its requests may say.
    pub(super) fn caller(api: &Api, caller: &ApiCaller) -> Scope {
        api.world.callers.scope(caller.principal.as_deref(), None)
    }

    /// Whom work and results belong to.
    pub(super) fn owner(api: &Api, caller: &ApiCaller, session: Option<String>) -> Principal {
        Principal::of(&Self::caller(api, caller), &Identity { session, ..Identity::default() })
    }
}

fn bound(what: &str, has: Option<&str>, wants: Option<&str>) -> Result<(), Problem> {
    match (has, wants) {
        (Some(has), Some(wants)) if has != wants => Err(Problem::new(
            Code::ScopeRefused,
            format!("this key is bound to the {what} '{has}'; leave scope.{what} out, or use another key"),
        )
        .at(format!("/scope/{what}"), format!("is not '{has}'"))),
        _ => Ok(()),
    }
}

/// A scope that nothing can be shown to.
pub(super) fn refused(error: impl Into<Unservable>) -> Problem {
    Problem::new(Code::ScopeRefused, error.into().to_string())
}

/// A set that there is none of.
pub(super) fn unassembled(why: Unassembled) -> Problem {
    match why {
        Unassembled::Unservable(error) => refused(error),
        Unassembled::Broken(error) => Problem::new(Code::Broken, format!("{error:#}")),
    }
}
