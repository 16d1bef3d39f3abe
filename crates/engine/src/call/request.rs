//! A call as it comes in.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;
use toolcrib_core::Scope;

use crate::{approval::Asker, backend::ProgressSink, event::Door, identity::Identity, pending::Suspender};

/// A call as it comes in. Nothing in it changes on the way: whatever is switched elsewhere while the call runs, it is
/// judged by, and its tool is told, what stood here (oneringai case 136).
#[derive(Clone)]
pub struct CallRequest {
    /// The exposed name, possibly of a bridge tool.
    pub name: String,
    /// The arguments as the caller wrote them; `None` = none given.
    pub arguments: Option<Box<RawValue>>,
    /// Who sees what.
    pub scope: Scope,
    /// Who asks.
    pub identity: Arc<Identity>,
    /// Which way it came in.
    pub door: Door,
    /// The caller's own time, never more than the operator's. Waiting for a person does not use it up; waiting for a turn
    /// does.
    pub timeout: Option<Duration>,
    /// Cancelled when nobody waits any more.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub progress: Option<ProgressSink>,
    /// The caller's `_meta`, less reserved keys.
    pub meta: Option<Value>,
    /// The way to a person during this call. Without one the engine's own is used, if it has one.
    pub asker: Option<Arc<dyn Asker>>,
    /// The caller's word that calls with the same key are one call: it runs once, and later ones get its result.
    pub idempotency_key: Option<String>,
    /// Where a tool may signal that it waits for something outside. Refuses by default.
    pub suspender: Suspender,
    /// The call's number, set by the engine on the part of a call that runs in the background.
    pub(crate) in_background: Option<u64>,
}

impl CallRequest {
    /// A call with nothing but a name and arguments.
    pub fn new(name: impl Into<String>, arguments: Option<Box<RawValue>>, scope: Scope, door: Door) -> Self {
        Self {
            name: name.into(),
            arguments,
            scope,
            identity: Arc::default(),
            door,
            timeout: None,
            cancel: CancellationToken::new(),
            progress: None,
            meta: None,
            asker: None,
            idempotency_key: None,
            suspender: Suspender::default(),
            in_background: None,
        }
    }
}
