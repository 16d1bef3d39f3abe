//! `subscriptions/listen`: one long request whose stream carries change notifications.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Caller, Outbox, Server,
    connection::{InFlight, send},
    frame::{notification_frame, result_frame},
    params::{Params, invalid},
    protocol::{META_SERVER, META_SUBSCRIPTION},
};
use crate::wire::RpcError;

/// What a client wants to hear of, less what never happens here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    tools: bool,
}

impl Filter {
    /// Reads `params.notifications`.
    pub(super) fn read(params: &Params) -> Result<Self, RpcError> {
        let Some(raw) = params.object("notifications")? else {
            return Err(invalid("params.notifications is missing; it says what to listen for"));
        };
        let filter: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        match filter.get("toolsListChanged") {
            None | Some(Value::Null) => Ok(Self { tools: false }),
            Some(Value::Bool(tools)) => Ok(Self { tools: *tools }),
            Some(_) => Err(invalid("params.notifications.toolsListChanged is neither true nor false")),
        }
    }
}

/// Acknowledges, then reports every change of the caller's list until the client cancels (then nothing more is sent) or
/// the server closes (then the request gets its result).
pub(super) async fn run(
    server: &Server,
    entry: &InFlight,
    closing: &CancellationToken,
    caller: &Caller,
    filter: Filter,
    out: &Outbox,
) {
    let id = entry.id.to_json();
    let mut changes = server.service.changes();
    changes.mark_unchanged();
    let mut known = filter.tools.then(|| server.service.list(caller).hash);
    let honoured = if filter.tools { r#"{"toolsListChanged":true}"# } else { "{}" };
    let params = format!(r#"{{"_meta":{{"{META_SUBSCRIPTION}":{id}}},"notifications":{honoured}}}"#);
    let acknowledged = notification_frame("notifications/subscriptions/acknowledged", Some(&params));
    let event_params = format!(r#"{{"_meta":{{"{META_SUBSCRIPTION}":{id}}}}}"#);
    let stream = async {
        send(out, acknowledged).await;
        while changes.changed().await.is_ok() {
            let Some(known) = known.as_mut() else { continue };
            let hash = server.service.list(caller).hash;
            if *known != hash {
                *known = hash;
                // Waits for room: what changes meanwhile becomes one more notification, not many (F14).
                send(out, notification_frame("notifications/tools/list_changed", Some(&event_params))).await;
            }
        }
        // The service is gone; only the end is left to wait for.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = entry.cancel.cancelled() => {}
        () = out.closed() => {}
        () = closing.cancelled() => {
            let info = &server.info;
            let meta = format!(r#"{{"{META_SUBSCRIPTION}":{id},"{META_SERVER}":{info}}}"#);
            send(out, result_frame(&entry.id, &format!(r#"{{"resultType":"complete","_meta":{meta}}}"#))).await;
        }
        () = stream => {}
    }
}
