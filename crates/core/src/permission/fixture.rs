//! Tools and calls for the tests of this module.

use serde_json::{Value, json, value::RawValue};

use super::{Assessment, Place, Subject, classify};
use crate::{
    IngestLimits, Scope, Tool,
    ingest::ingest,
    name::{NameSettings, exposed_name},
    selector::Groups,
};

/// A tool by its id, with properties and annotations.
pub(super) fn tool_with(id: &str, properties: &Value, annotations: &Value) -> Tool {
    let (source, name) = id.split_once('/').unwrap();
    let definition = json!({
        "name": name, "annotations": annotations, "inputSchema": {"type": "object", "properties": properties},
    });
    let (mut tools, _) = ingest(&source.parse().unwrap(), vec![definition], &IngestLimits::default(), 1, &|_| Ok(()));
    tools.remove(0)
}

/// A tool by its id; the built-in ones with the arguments they take.
pub(super) fn tool(id: &str) -> Tool {
    let properties = match id {
        "builtin/run_command" => json!({"command": {"type": "string"}, "args": {"type": "array"}}),
        "builtin/fetch_url" => json!({"url": {"type": "string"}}),
        "builtin/kv_set" => json!({"key": {"type": "string"}, "value": {"type": "string"}}),
        id if id.starts_with("builtin/") => json!({"path": {"type": "string"}}),
        "mcp:sh/bash" => json!({"command": {"type": "string"}}),
        _ => json!({}),
    };
    tool_with(id, &properties, &json!({}))
}

/// A call, owned, that lends a [`Subject`].
pub(super) struct Call {
    pub(super) tool: Tool,
    pub(super) exposed: String,
    pub(super) arguments: Value,
    pub(super) raw: Option<Box<RawValue>>,
    pub(super) scope: Scope,
    pub(super) groups: Groups,
    pub(super) assessment: Assessment,
    pub(super) category: Option<&'static str>,
    pub(super) place: Place<'static>,
}

impl Call {
    pub(super) fn new(tool: Tool, arguments: Value) -> Self {
        let exposed = exposed_name(tool.id(), &NameSettings::default());
        let groups = Groups::default();
        let assessment = classify(&tool, &exposed, &[], &groups);
        let place = Place { cwd: Some("/work"), home: Some("/home/ada") };
        let scope = Scope { user: Some("ada".into()), tenant: "acme".into(), ..Scope::default() };
        Self { tool, exposed, arguments, raw: None, scope, groups, assessment, category: None, place }
    }

    pub(super) fn subject(&self) -> Subject<'_> {
        Subject {
            tool: &self.tool,
            exposed: &self.exposed,
            arguments: &self.arguments,
            raw: self.raw.as_deref(),
            scope: &self.scope,
            groups: &self.groups,
            assessment: &self.assessment,
            category: self.category,
            namespace: Some("shell"),
            place: self.place,
            real: None,
        }
    }
}
