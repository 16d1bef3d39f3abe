//! One tool for one target: name, description, schema, and what is wished beside them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Action, KeyMap, Loss, RefusedTool, RenderOptions, Rendered, SCHEMA_BYTES, StrictVerdict,
    dialect::{Construct, Dialect, KeyScope},
    lower::{Lowered, lower},
    notes::{shortened, with_remarks},
    payload::{self, Extras},
    report::Report,
    strict::{Budget, NotStrict, StrictRules, tighten, unsayable, validates},
};
use crate::ContentHash;

/// Renders the tools of one set, one after the other.
pub(super) struct Renderer<'a> {
    pub(super) dialect: Dialect,
    pub(super) options: &'a RenderOptions,
    /// Exposed names of the whole set.
    pub(super) exposed: BTreeSet<&'a str>,
    pub(super) taken: BTreeSet<String>,
    pub(super) budget: Budget,
}

impl Renderer<'_> {
    /// One tool, in the target's shape; what it loses and how its names go back is added to `rendered`.
    pub(super) fn tool(
        &mut self,
        definition: &Value,
        deferred: bool,
        rendered: &mut Rendered,
    ) -> Result<Value, RefusedTool> {
        let name = definition["name"].as_str().filter(|name| !name.is_empty()).ok_or(RefusedTool::Nameless)?;
        let own = target_name(&self.dialect, name);
        if self.taken.contains(&own) || (own != name && self.exposed.contains(own.as_str())) {
            return Err(RefusedTool::NameTaken(own));
        }
        let wished = self.options.strict.contains(name) && !validates(self.dialect.target);
        let (lowered, strict) = match wished.then(|| self.strict(name, &definition["inputSchema"])) {
            Some(Ok(lowered)) => (lowered, true),
            Some(Err(reason)) => {
                rendered.strict.push(StrictVerdict {
                    tool: name.to_owned(),
                    strict: false,
                    reason: Some(reason.to_string()),
                });
                (lower(&definition["inputSchema"], &self.dialect)?, false)
            }
            None => (lower(&definition["inputSchema"], &self.dialect)?, false),
        };
        let bytes = lowered.schema.to_string().len();
        if bytes > SCHEMA_BYTES {
            return Err(RefusedTool::TooLarge(bytes));
        }
        if strict {
            rendered.strict.push(StrictVerdict { tool: name.to_owned(), strict, reason: None });
        }
        let Lowered { schema, remarks, keys, mut losses } = lowered;
        let written = definition["description"].as_str().unwrap_or_default();
        let description = describe(&self.dialect, definition, name, written, &remarks, &mut losses);
        let output = self.output(definition, &mut losses);
        if own != name {
            losses.push(("/name".to_owned(), Construct::Name, Action::Renamed));
            rendered.names.insert(own.clone(), name.to_owned());
        }
        rendered.losses.extend(losses.into_iter().map(|(path, construct, action)| Loss {
            tool: name.to_owned(),
            path,
            construct,
            action,
        }));
        if !keys.is_empty() {
            rendered.key_maps.insert(name.to_owned(), keys);
        }
        let extras = Extras {
            strict,
            deferred,
            programmatic: self.options.programmatic.contains(name),
            eager_streaming: self.options.eager_streaming.contains(name),
            asynchronous: self.options.asynchronous.contains(name),
            output,
        };
        let tool = payload::wrap(self.dialect.wrapper, &own, description.as_deref(), schema, extras);
        self.taken.insert(own);
        rendered.listed.push(name.to_owned());
        Ok(tool)
    }

    /// The schema for the target's strict mode, if it fits.
    fn strict(&mut self, name: &str, schema: &Value) -> Result<Lowered, NotStrict> {
        let rules = StrictRules::of(self.dialect.target).ok_or(NotStrict::NoMode(self.dialect.target))?;
        let dialect = self.dialect.strict().ok_or(NotStrict::NoMode(self.dialect.target))?;
        if !self.options.strict_model {
            return Err(NotStrict::Model);
        }
        if self.options.programmatic.contains(name) {
            return Err(NotStrict::Programmatic);
        }
        // What cannot be lowered at all is refused for that reason, not for this one.
        let unfit = || NotStrict::Unsayable { path: "its schema".to_owned(), what: "cannot be lowered" };
        let mut lowered = lower(schema, &dialect).map_err(|_| unfit())?;
        if let Some(reason) = unsayable(&lowered.losses) {
            return Err(reason);
        }
        let mut report = Report::default();
        let (keys, size) = tighten(&mut lowered.schema, rules, &mut report)?;
        self.budget.admit(&size, rules)?;
        lowered.keys.absorb(keys);
        lowered.losses.extend(report.into_losses());
        Ok(lowered)
    }

    /// The schema of results, where it is wished and can be told. Results are not carried through a key map, so one with
    /// keys that the target refuses is left out.
    fn output(&self, definition: &Value, losses: &mut Vec<(String, Construct, Action)>) -> Option<Value> {
        let schema =
            definition.get("outputSchema").filter(|schema| self.options.output_schemas && schema.is_object())?;
        if !self.dialect.wrapper.takes_output() {
            return None;
        }
        let lowered = lower(schema, &Dialect { keys: KeyScope::Everywhere, ..self.dialect });
        match lowered {
            Ok(lowered) if lowered.keys == KeyMap::default() && lowered.schema.to_string().len() <= SCHEMA_BYTES => {
                Some(lowered.schema)
            }
            _ => {
                losses.push(("/outputSchema".to_owned(), Construct::OutputSchema, Action::Dropped));
                None
            }
        }
    }
}

/// The description with remarks, within the target's limit; none where there is none and none is required.
fn describe(
    dialect: &Dialect,
    definition: &Value,
    name: &str,
    written: &str,
    remarks: &[String],
    losses: &mut Vec<(String, Construct, Action)>,
) -> Option<String> {
    let mut text = with_remarks(written, remarks);
    if let Some(limit) = dialect.description
        && text.chars().count() > limit
    {
        losses.push(("/description".to_owned(), Construct::Description, Action::Shortened));
        // Remarks replace constraints, so the description gives way to them.
        let room = limit.saturating_sub(with_remarks("", remarks).chars().count() + 1);
        text = shortened(&with_remarks(&shortened(written, room), remarks), limit);
    }
    if text.trim().is_empty() {
        if !dialect.description_required {
            return None;
        }
        losses.push(("/description".to_owned(), Construct::Description, Action::Filled));
        let title = definition["title"].as_str().filter(|title| !title.trim().is_empty());
        text = title.map_or_else(|| format!("The tool {name}."), str::to_owned);
    }
    Some(text)
}

/// The name at the target: the exposed one unless the target would refuse it.
fn target_name(dialect: &Dialect, name: &str) -> String {
    let Some(limit) = dialect.name else { return name.to_owned() };
    let mut own = plain_name(name);
    if dialect.name_letter_first && !own.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        own.insert(0, '_');
    }
    if own.len() > limit {
        let tail = ContentHash::of_bytes(name.as_bytes()).base32(6);
        own = format!("{}_{tail}", &own[..limit - 7]);
    }
    own
}

/// A name of letters, digits, `_` and `-` only.
pub(super) fn plain_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}
