//! The call as interceptors see it.

use std::{borrow::Cow, collections::BTreeMap};

use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};
use toolcrib_core::{Scope, Tool};

use crate::{event::Door, identity::Identity};

/// Most names one call may hold metadata under.
const MAX_METADATA: usize = 64;

/// One call on its way. Borrows everything it can: making one allocates nothing.
pub struct Intercepted<'c> {
    /// The call's number, different for every call of this process (oneringai case 33).
    pub call_id: u64,
    /// Which way it came in.
    pub door: Door,
    /// The tool.
    pub tool: &'c Tool,
    /// The name it was called by.
    pub exposed: &'c str,
    /// Who sees it.
    pub scope: &'c Scope,
    /// Who asks.
    pub identity: &'c Identity,
    /// What hooks of this call leave for later hooks of this call (case 32).
    pub metadata: Metadata,
    original: &'c RawValue,
    pub(super) arguments: Cow<'c, RawValue>,
    pub(super) short_circuited_by: Option<String>,
}

impl<'c> Intercepted<'c> {
    /// A call with the arguments as they came out of validation.
    pub fn new(
        call_id: u64,
        door: Door,
        tool: &'c Tool,
        exposed: &'c str,
        arguments: &'c RawValue,
        scope: &'c Scope,
        identity: &'c Identity,
    ) -> Self {
        Self {
            call_id,
            door,
            tool,
            exposed,
            scope,
            identity,
            metadata: Metadata::default(),
            original: arguments,
            arguments: Cow::Borrowed(arguments),
            short_circuited_by: None,
        }
    }

    /// The arguments as the tool receives them, as far as hooks have run.
    pub fn arguments(&self) -> &RawValue {
        &self.arguments
    }

    /// The arguments before any hook.
    pub fn original_arguments(&self) -> &RawValue {
        self.original
    }

    /// The arguments as a value; numbers beyond 64 bits lose precision here, so only for looking.
    pub fn arguments_value(&self) -> Value {
        serde_json::from_str(self.arguments.get()).unwrap_or_default()
    }

    /// The hook that answered in the tool's place.
    pub fn short_circuited_by(&self) -> Option<&str> {
        self.short_circuited_by.as_deref()
    }
}

/// Values by name that live as long as one call.
#[derive(Debug, Default)]
pub struct Metadata(Mutex<BTreeMap<String, Value>>);

impl Metadata {
    /// Keeps a value. False, and nothing is kept, when 64 other names are taken.
    pub fn set(&self, name: impl Into<String>, value: impl Into<Value>) -> bool {
        let (name, mut values) = (name.into(), self.0.lock());
        let room = values.len() < MAX_METADATA || values.contains_key(&name);
        if room {
            values.insert(name, value.into());
        }
        room
    }

    /// A copy of a value.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.0.lock().get(name).cloned()
    }
}
