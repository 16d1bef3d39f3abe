//! Settings with what is made of them: the policy chain is built once, not per call.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Value, value::RawValue};
use toolcrib_core::{
    ToolResult,
    categories::Book,
    redact::{MASK, Redactor},
};

use crate::{
    permission::{Policy, PolicyChain},
    settings::EngineSettings,
};

/// What calls that begin now go by.
pub(crate) struct InForce {
    pub(crate) settings: Arc<EngineSettings>,
    pub(crate) chain: PolicyChain,
    redactor: Option<Arc<Redactor>>,
}

impl InForce {
    /// In place of `previous`: rate limits that did not change keep what they counted.
    pub(crate) fn new(mut settings: EngineSettings, policies: &[Arc<dyn Policy>], previous: Option<&Self>) -> Self {
        // What selects by category goes by all that is said of categories.
        let policy = &mut settings.assemble.policy;
        if let Some(book) = &policy.categories {
            book.tell(&mut policy.groups);
        }
        let previous = previous.map(|previous| &previous.chain);
        let chain = PolicyChain::succeeding(previous, policies.to_vec(), settings.permissions.clone());
        let built = || Redactor::builder().build().map(Arc::new).ok();
        let redactor = settings.redactor.clone().or_else(built);
        Self { settings: Arc::new(settings), chain, redactor }
    }

    /// The categories of tools, if they are loaded when they are needed.
    pub(crate) fn book(&self) -> Option<&Arc<Book>> {
        self.settings.assemble.policy.categories.as_ref()
    }

    /// A text fit for records. Without a redactor nothing is.
    pub(crate) fn mask_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.as_ref().map_or(MASK.into(), |redactor| redactor.redact_text(text))
    }

    /// Arguments as JSON text for the person who decides about them.
    pub(crate) fn mask_for_person(&self, arguments: &RawValue, schema: &Value) -> String {
        // Without a redactor nothing can be shown, and nothing but this one call approved: see `describe::arguments`.
        self.redactor.as_ref().map_or_else(String::new, |redactor| redactor.redact_for_person(arguments, Some(schema)))
    }

    /// Arguments, or other data, fit for records.
    pub(crate) fn mask_arguments(&self, arguments: &Value, schema: &Value) -> Value {
        self.redactor.as_ref().map_or(MASK.into(), |redactor| redactor.redact_value(arguments, Some(schema)))
    }

    /// A result without secrets, if settings want it so and it holds any.
    pub(crate) fn mask_result(&self, result: &ToolResult) -> Option<ToolResult> {
        let settings = &self.settings.results;
        let redactor = settings.redactor.as_ref()?;
        if settings.forms { redactor.redact_result(result) } else { redactor.redact_known(result) }
    }
}
