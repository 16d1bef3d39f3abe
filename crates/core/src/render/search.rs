//! Tools that a provider loads by search: where their definitions stand, and what searches are answered with
//! (standards reference §4.2, §4.3).

use serde_json::{Value, json};

use super::{
    Item, Loadable, Refused, RefusedTool, Rendered, SearchBy, Target,
    dialect::Wrapper,
    lower::lower,
    tool::{Renderer, plain_name},
};

/// Longest description of a namespace in characters: it stands in the prompt for every tool in it.
const SUMMARY: usize = 300;

impl Renderer<'_> {
    /// The tool that answers searches. None if it cannot be rendered, which is told as for any tool.
    pub(super) fn client_search(&mut self, definition: &Value, rendered: &mut Rendered) -> Option<Value> {
        let made = if self.dialect.wrapper == Wrapper::FlatFunction {
            // An item of its own kind, without a name; what it finds is in the answer.
            lower(&definition["inputSchema"], &self.dialect).map(|lowered| {
                json!({
                    "type": "tool_search", "execution": "client",
                    "description": definition["description"].as_str().unwrap_or_default(),
                    "parameters": lowered.schema,
                })
            })
        } else {
            rendered.references = true;
            self.tool(definition, false, rendered)
        };
        let refuse = |error: RefusedTool| Refused {
            tool: definition["name"].as_str().unwrap_or_default().to_owned(),
            reason: error.to_string(),
        };
        made.map_err(|error| rendered.refused.push(refuse(error))).ok()
    }
}

/// Puts deferred tools where the provider finds them: behind the others, in namespaces, or only into answers.
pub(super) fn place(
    target: Target,
    search: Option<&SearchBy>,
    tools: &mut Vec<Value>,
    later: Vec<(Item<'_>, String, Value)>,
    rendered: &mut Rendered,
) {
    match (target, search) {
        (Target::OpenAiResponses, Some(SearchBy::Client(_))) => {
            for (item, name, definition) in later {
                let own = definition["name"].as_str().unwrap_or_default().to_owned();
                rendered.loadable.insert(name, Loadable { own, definition, group: item.group.to_owned() });
            }
        }
        (Target::OpenAiResponses, Some(SearchBy::Provider)) => {
            let mut spaces: Vec<(&str, Value)> = Vec::new();
            for (item, _, definition) in later {
                match spaces.iter_mut().find(|(group, _)| *group == item.group) {
                    Some((_, space)) => {
                        if let Some(list) = space["tools"].as_array_mut() {
                            list.push(definition);
                        }
                    }
                    None => spaces.push((item.group, namespace(&item, &definition, &spaces))),
                }
            }
            tools.extend(spaces.into_iter().map(|(_, space)| space));
        }
        _ => tools.extend(later.into_iter().map(|(_, _, definition)| definition)),
    }
}

fn namespace(item: &Item<'_>, first: &Value, others: &[(&str, Value)]) -> Value {
    let mut name: String = plain_name(item.group).chars().take(56).collect();
    if name.is_empty() {
        "tools".clone_into(&mut name);
    }
    let mut number = 1;
    let stem = name.clone();
    while others.iter().any(|(_, space)| space["name"] == name.as_str()) {
        number += 1;
        name = format!("{stem}_{number}");
    }
    let summary = super::notes::shortened(item.summary.trim(), SUMMARY);
    let description = if summary.is_empty() { format!("Tools of {name}.") } else { summary };
    json!({"type": "namespace", "name": name, "description": description, "tools": [first]})
}
