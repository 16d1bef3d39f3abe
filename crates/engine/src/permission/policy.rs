//! What a policy is asked, and what it may answer.

use serde_json::{Value, value::RawValue};
use toolcrib_core::{Scope, Tool, permission::Assessment};

use crate::{backend::BoxFuture, event::Door, identity::Identity};

/// A call under judgement. Everything in it is as the tool would receive it.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The name it was called by.
    pub exposed: &'a str,
    /// The arguments, repaired and validated.
    pub arguments: &'a Value,
    /// The same as exact text.
    pub raw: &'a RawValue,
    /// Who sees it.
    pub scope: &'a Scope,
    /// Who asks.
    pub identity: &'a Identity,
    /// Which way the call came in.
    pub door: Door,
    /// Risk and effect by local rules and by hints.
    pub assessment: &'a Assessment,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
}

/// A policy's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow {
        /// The rule, as the person who wrote it would recognise it.
        rule: String,
    },
    /// It may not.
    Deny {
        /// True: nothing can change that, not even an approval. False: a person may still approve it.
        hard: bool,
        /// The rule.
        rule: String,
        /// Why, for the operator.
        reason: String,
    },
    /// A person must be asked.
    Ask {
        /// The rule.
        rule: String,
        /// Why, for the person.
        reason: String,
    },
    /// No opinion.
    Abstain,
}

/// A verdict, now or after waiting. Most policies answer at once and cost no allocation.
pub enum Evaluation<'a> {
    /// Here it is.
    Ready(Verdict),
    /// It takes a while; limited by the chain's time limit, and late means deny.
    Waiting(BoxFuture<'a, Verdict>),
}

/// Judges calls. A panic denies.
pub trait Policy: Send + Sync + 'static {
    /// Its name, for records.
    fn name(&self) -> &str;
    /// Lower comes first. Built-in ones: block list 5, plan mode 6, ask list 9, allow list 10, rules 15, rate limit 20,
    /// roles 30, paths and hosts 50 (after oneringai §2.7).
    fn priority(&self) -> i32 {
        100
    }
    /// Judges one call.
    fn evaluate<'a>(&'a self, question: &'a Question<'a>) -> Evaluation<'a>;
}
