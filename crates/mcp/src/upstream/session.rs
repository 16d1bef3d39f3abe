//! A connection on which the era is settled: builds requests as the era wants them and reads results likewise.

use std::{hash::RandomState, sync::Arc};

use serde_json::{Map, Value, json, value::RawValue};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;
use toolcrib_core::backoff::Backoff;
use toolcrib_engine::ProgressSink;

use super::{
    inbox::{Answer, ClosingKind},
    link::{Failure, Link, Outgoing, far_future},
    settings::{Era, Timing},
};

/// The version of the modern era we speak.
pub(super) const MODERN: &str = "2026-07-28";
/// The versions of the legacy era we understand, the one we offer first.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const RESERVED_META: &str = "io.modelcontextprotocol/";

/// What a server said in the handshake.
#[derive(Debug)]
pub(super) struct Hello {
    pub(super) era: Era,
    pub(super) version: String,
    /// The server's own words on what it is.
    pub(super) server_info: Option<Value>,
    /// Its usage text.
    pub(super) instructions: Option<String>,
    /// Whether it announces changes of its tool list.
    pub(super) list_changed: bool,
}

/// A usable connection.
pub(super) struct Session {
    pub(super) link: Link,
    pub(super) hello: Hello,
}

/// What goes with one request besides its parameters.
#[derive(Default)]
pub(super) struct Extras<'a> {
    /// Value of `Mcp-Name`.
    pub(super) name: Option<&'a str>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) cancel: Option<&'a CancellationToken>,
    pub(super) progress: Option<ProgressSink>,
    /// The caller's `_meta`.
    pub(super) meta: Option<&'a Value>,
    /// As in [`Outgoing`].
    pub(super) late: Option<&'a mut Option<oneshot::Receiver<Answer>>>,
}

impl Session {
    /// Sends a request; `members` are the parameters as names and JSON texts.
    pub(super) async fn request(
        &self,
        method: &str,
        members: &[(&str, &str)],
        deadline: Instant,
        extras: Extras<'_>,
    ) -> Result<Box<RawValue>, Failure> {
        let Extras { name, headers, cancel, progress, meta, late } = extras;
        let id = self.link.next_id();
        let mut ours = own_meta(self.hello.era, meta);
        if progress.is_some() {
            ours.insert("progressToken".to_owned(), id.into());
        }
        let params = params(members, &ours)?;
        let outgoing =
            Outgoing { id, method, params, name, headers, deadline, cancel, progress, tell_cancel: true, late };
        self.link.request(outgoing).await
    }

    /// Ends the connection if the failure of a request says that it is of no more use, so that another is made.
    pub(super) fn end_if_over(&self, failure: &Failure) {
        let (text, kind) = match failure {
            Failure::SessionExpired(text) => (text, ClosingKind::SessionExpired),
            // 403 may be about one tool; 401 is about us.
            Failure::NeedsCredentials { status: 401, text } => (text, ClosingKind::Permanent),
            Failure::Unreachable(text) => (text, ClosingKind::Lost),
            _ => return,
        };
        self.link.inbox().close(text.clone(), kind);
    }

    /// Whether requests carry headers that repeat arguments.
    pub(super) fn repeats_arguments(&self) -> bool {
        self.link.is_http() && self.hello.era == Era::Modern
    }

    /// Modern era: keeps a subscription to tool list changes open while the connection lasts.
    pub(super) async fn subscribe(self: Arc<Self>, timing: Timing) {
        let mut backoff = Backoff::new(timing.refresh_min, timing.refresh_max, RandomState::new());
        let closed = self.link.inbox().closed().clone();
        loop {
            let members = [("notifications", r#"{"toolsListChanged":true}"#)];
            let extras = Extras { cancel: Some(&closed), ..Extras::default() };
            let started = Instant::now();
            let ended = self.request("subscriptions/listen", &members, far_future(), extras).await;
            // A server that cannot do it says so; asking again would change nothing.
            if closed.is_cancelled() || matches!(ended, Err(Failure::Rpc(_) | Failure::Status { ran: false, .. })) {
                return;
            }
            if started.elapsed() >= timing.healthy_after {
                backoff.reset();
            }
            tokio::select! {
                () = closed.cancelled() => return,
                () = tokio::time::sleep(backoff.wait()) => {}
            }
            // What changed while nobody listened shows only in a new listing.
            self.link.inbox().list_changed.notify_one();
        }
    }
}

/// `_meta` as the era wants it: the caller's keys less what belongs to each hop, ours on top.
pub(super) fn own_meta(era: Era, caller: Option<&Value>) -> Map<String, Value> {
    let mut meta = Map::new();
    if let Some(Value::Object(caller)) = caller {
        let forwarded = caller.iter().filter(|(key, _)| *key != "progressToken" && !key.starts_with(RESERVED_META));
        meta.extend(forwarded.map(|(key, value)| (key.clone(), value.clone())));
    }
    if era == Era::Modern {
        meta.insert(format!("{RESERVED_META}protocolVersion"), MODERN.into());
        meta.insert(format!("{RESERVED_META}clientInfo"), client_info());
        meta.insert(format!("{RESERVED_META}clientCapabilities"), json!({}));
    }
    meta
}

/// Who we are.
pub(super) fn client_info() -> Value {
    json!({"name": "toolcrib", "version": env!("CARGO_PKG_VERSION")})
}

/// The parameters object; the members' texts go in as they are.
pub(super) fn params(members: &[(&str, &str)], meta: &Map<String, Value>) -> Result<Box<RawValue>, Failure> {
    let mut text = String::from("{");
    let mut push = |name: &str, value: &str| {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&Value::from(name).to_string());
        text.push(':');
        text.push_str(value);
    };
    for (name, value) in members {
        push(name, value);
    }
    if !meta.is_empty() {
        push("_meta", &Value::Object(meta.clone()).to_string());
    }
    text.push('}');
    RawValue::from_string(text).map_err(|error| Failure::NotSent(format!("the request cannot be written: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_keep_their_text_and_meta_is_merged() {
        let caller =
            json!({"traceparent": "00-1", "progressToken": 9, "io.modelcontextprotocol/clientInfo": {"name": "x"}});
        let members = [("name", "\"t\""), ("arguments", r#"{ "n":1.0, "b":12345678901234567890123 }"#)];
        let legacy = params(&members, &own_meta(Era::Legacy, Some(&caller))).unwrap();
        assert_eq!(
            legacy.get(),
            r#"{"name":"t","arguments":{ "n":1.0, "b":12345678901234567890123 },"_meta":{"traceparent":"00-1"}}"#
        );
        assert_eq!(params(&[], &own_meta(Era::Legacy, None)).unwrap().get(), "{}");
        let modern = own_meta(Era::Modern, Some(&caller));
        assert_eq!(modern["io.modelcontextprotocol/clientInfo"]["name"], "toolcrib");
        assert_eq!(modern.len(), 4);
    }
}
