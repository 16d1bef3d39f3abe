//! One call as policies and approvals see it, with every part changeable.

use serde_json::{Value, json, value::RawValue};
use toolcrib_core::{
    ContentHash, IngestLimits, Scope, Tool, ToolId, args,
    ingest::ingest,
    permission::{Assessment, Effect, Risk, classify},
    selector::Groups,
};
use toolcrib_engine::{Door, Identity, Principal, permission::Question};

/// When all judged calls happen.
pub(crate) const NOW: u64 = 1_800_000_000_000;

pub(crate) struct Judged {
    pub(crate) tool: Tool,
    pub(crate) exposed: String,
    pub(crate) arguments: Value,
    raw: Box<RawValue>,
    pub(crate) scope: Scope,
    pub(crate) identity: Identity,
    pub(crate) assessment: Assessment,
    pub(crate) now_ms: u64,
}

impl Judged {
    /// A call of `mcp:SERVER/TOOL` or `builtin/TOOL` by the user `ann` in the session `s1`.
    pub(crate) fn new(id: &str, arguments: Value) -> Self {
        Self::defined(id, json!({}), arguments)
    }

    /// The same of a tool whose definition says more (`annotations`, `inputSchema`, …).
    pub(crate) fn defined(id: &str, more: Value, arguments: Value) -> Self {
        let id: ToolId = id.parse().unwrap();
        let mut definition = json!({"name": id.name, "inputSchema": {"type": "object"}});
        definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (mut tools, refused) = ingest(&id.source, vec![definition], &IngestLimits::default(), 1, &|_| Ok(()));
        assert!(refused.is_empty(), "{refused:?}");
        let tool = tools.remove(0);
        let exposed = match id.source.kind() {
            "builtin" => id.name.clone(),
            _ => format!("{}__{}", id.source.group(), id.name),
        };
        let assessment = classify(&tool, &exposed, &[], &Groups::default());
        let raw = RawValue::from_string(arguments.to_string()).unwrap();
        let scope = Scope { tenant: "acme".into(), user: Some("ann".into()), ..Scope::default() };
        let identity = Identity { session: Some("s1".into()), ..Identity::default() };
        Self { tool, exposed, arguments, raw, scope, identity, assessment, now_ms: NOW }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn risk(self, risk: Risk, effect: Effect) -> Self {
        self.with(|call| (call.assessment.risk, call.assessment.effect) = (risk, effect))
    }

    pub(crate) fn arguments(self, arguments: Value) -> Self {
        self.with(|call| {
            call.raw = RawValue::from_string(arguments.to_string()).unwrap();
            call.arguments = arguments;
        })
    }

    pub(crate) fn question(&self) -> Question<'_> {
        Question {
            tool: &self.tool,
            exposed: &self.exposed,
            arguments: &self.arguments,
            raw: &self.raw,
            scope: &self.scope,
            identity: &self.identity,
            door: Door::Direct,
            assessment: &self.assessment,
            now_ms: self.now_ms,
        }
    }

    pub(crate) fn principal(&self) -> Principal {
        Principal::of(&self.scope, &self.identity)
    }

    pub(crate) fn digest(&self) -> ContentHash {
        args::canonical::digest(&self.raw)
    }
}
