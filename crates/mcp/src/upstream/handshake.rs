//! Finding the era out and agreeing on a version (standards.md §1.6).

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::time::Instant;

use super::{
    link::{Failure, Link, Outgoing},
    mask::one_line,
    session::{Hello, LEGACY, MODERN, client_info, own_meta, params},
    settings::{Era, EraChoice, Timing},
};
use crate::wire::{RpcError, code};

/// A handshake that did not work.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection is of no use.
    Failed {
        /// Why, secrets not masked yet.
        reason: String,
        /// Whether trying again soon is pointless.
        permanent: bool,
    },
    /// The server died of the probe or hung on it: a fresh one must be greeted with `initialize` alone.
    GreetLegacy {
        /// What was seen.
        reason: String,
    },
}

impl Trouble {
    fn transient(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into(), permanent: false }
    }

    fn permanent(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into(), permanent: true }
    }
}

/// Greets the server until `deadline`.
pub(super) async fn greet(
    link: &Link,
    choice: EraChoice,
    timing: &Timing,
    deadline: Instant,
) -> Result<Hello, Trouble> {
    match choice {
        EraChoice::Legacy => initialize(link, deadline).await,
        EraChoice::Modern => match discover(link, deadline).await {
            Probe::Modern(hello) => Ok(hello),
            Probe::Legacy(why) => Err(Trouble::permanent(format!(
                "the server does not speak {MODERN} ({why}); set its era to 'auto' or 'legacy'"
            ))),
            Probe::Failed(failure) => Err(as_trouble(failure, "server/discover")),
        },
        EraChoice::Auto if link.is_http() => over_http(link, timing, deadline).await,
        EraChoice::Auto => over_stdio(link, timing, deadline).await,
    }
}

async fn over_http(link: &Link, timing: &Timing, deadline: Instant) -> Result<Hello, Trouble> {
    let probe = discover(link, deadline.min(Instant::now() + timing.probe)).await;
    match probe {
        Probe::Modern(hello) => Ok(hello),
        Probe::Legacy(_) => initialize(link, deadline).await,
        Probe::Failed(failure) => match failure {
            // Nothing was reached, or what was reached gave an answer that holds for any greeting.
            Failure::NotSent(_)
            | Failure::Unreachable(_)
            | Failure::NeedsCredentials { .. }
            | Failure::Status { status: 300..=399, .. } => Err(as_trouble(failure, "server/discover")),
            _ => initialize(link, deadline).await,
        },
    }
}

async fn over_stdio(link: &Link, timing: &Timing, deadline: Instant) -> Result<Hello, Trouble> {
    let probe = discover(link, deadline);
    tokio::pin!(probe);
    let early = tokio::select! {
        probe = &mut probe => Some(probe),
        () = tokio::time::sleep_until(deadline.min(Instant::now() + timing.probe)) => None,
    };
    let answered = match early {
        Some(Probe::Modern(hello)) => return Ok(hello),
        Some(Probe::Legacy(_) | Probe::Failed(Failure::Unusable(_))) => true,
        Some(Probe::Failed(Failure::Lost(reason) | Failure::NotSent(reason))) => {
            return Err(Trouble::GreetLegacy { reason });
        }
        Some(Probe::Failed(failure)) => return Err(as_trouble(failure, "server/discover")),
        None => false,
    };
    if answered {
        return initialize(link, deadline).await;
    }
    // Silence: either a slow start, or a server that ignores what it does not know. Both understand `initialize`;
    // whichever answer comes first decides.
    let legacy = initialize(link, deadline);
    tokio::pin!(legacy);
    let (mut asked, mut silent) = (true, true);
    loop {
        tokio::select! {
            biased;
            probe = &mut probe, if asked => {
                asked = false;
                match probe {
                    Probe::Modern(hello) => return Ok(hello),
                    Probe::Legacy(_) => silent = false,
                    Probe::Failed(_) => {}
                }
            }
            greeted = &mut legacy => return match greeted {
                // A server that the probe made deaf is given a second, quieter chance.
                Err(Trouble::Failed { reason, permanent: false }) if silent => Err(Trouble::GreetLegacy { reason }),
                greeted => greeted,
            },
        }
    }
}

enum Probe {
    Modern(Hello),
    /// With what the server said.
    Legacy(String),
    Failed(Failure),
}

async fn discover(link: &Link, deadline: Instant) -> Probe {
    if let Link::Http(link) = link {
        link.speak(Era::Modern, MODERN);
    }
    let sent = send(link, "server/discover", &[], &own_meta(Era::Modern, None), deadline).await;
    match sent {
        Ok(result) => read_discovery(&result),
        Err(Failure::Rpc(error)) => read_refusal(&error),
        Err(failure) => Probe::Failed(failure),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovery {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    server_info: Option<Value>,
    #[serde(default)]
    instructions: Option<Value>,
    #[serde(default, rename = "_meta")]
    meta: Value,
}

fn read_discovery(result: &RawValue) -> Probe {
    let found: Discovery = match serde_json::from_str(result.get()) {
        Ok(found) => found,
        // Some servers answer anything with something.
        Err(_) => return Probe::Legacy("its discovery names no versions".to_owned()),
    };
    if !found.supported_versions.iter().any(|version| version == MODERN) {
        return Probe::Legacy(versions(&found.supported_versions));
    }
    let in_meta = found.meta.get("io.modelcontextprotocol/serverInfo").cloned();
    Probe::Modern(Hello {
        era: Era::Modern,
        version: MODERN.to_owned(),
        server_info: found.server_info.or(in_meta),
        instructions: text(found.instructions),
        list_changed: found.capabilities["tools"]["listChanged"] == true,
    })
}

fn versions(list: &[String]) -> String {
    one_line(&format!("it speaks {}", list.join(", ")), 200)
}

fn read_refusal(error: &RpcError) -> Probe {
    let data: Value = error.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default();
    let supported: Vec<String> =
        data["supported"].as_array().into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect();
    match error.code {
        // A modern server that lists only later versions: `initialize` would be wrong as well.
        code::UNSUPPORTED_VERSION
            if !supported.is_empty() && !supported.iter().any(|v| LEGACY.contains(&v.as_str())) =>
        {
            Probe::Failed(Failure::Unusable(format!("no common protocol version: {}", versions(&supported))))
        }
        code::HEADER_MISMATCH | code::MISSING_CAPABILITY => Probe::Failed(Failure::Rpc(error.clone())),
        // No single code tells a legacy server (standards.md §1.6): all the rest does.
        code => Probe::Legacy(one_line(&format!("{} (code {code})", error.message), 200)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    server_info: Option<Value>,
    #[serde(default)]
    instructions: Option<Value>,
}

async fn initialize(link: &Link, deadline: Instant) -> Result<Hello, Trouble> {
    if let Link::Http(link) = link {
        link.speak_nothing();
    }
    let members = [
        ("protocolVersion", Value::from(LEGACY[0]).to_string()),
        ("capabilities", json!({}).to_string()),
        ("clientInfo", client_info().to_string()),
    ];
    let members: Vec<(&str, &str)> = members.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let result = send(link, "initialize", &members, &Map::new(), deadline)
        .await
        .map_err(|failure| as_trouble(failure, "initialize"))?;
    let found: Initialized = serde_json::from_str(result.get())
        .map_err(|error| Trouble::permanent(format!("its answer to initialize cannot be used: {error}")))?;
    if !LEGACY.contains(&found.protocol_version.as_str()) {
        let version = one_line(&found.protocol_version, 40);
        return Err(Trouble::permanent(format!(
            "it answered initialize with version '{version}', which is not supported"
        )));
    }
    if let Link::Http(link) = link {
        link.speak(Era::Legacy, &found.protocol_version);
    }
    if !link.notify("notifications/initialized", None).await {
        return Err(Trouble::transient("it did not take the end of the handshake"));
    }
    Ok(Hello {
        era: Era::Legacy,
        version: found.protocol_version,
        server_info: found.server_info,
        instructions: text(found.instructions),
        list_changed: found.capabilities["tools"]["listChanged"] == true,
    })
}

fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

async fn send(
    link: &Link,
    method: &str,
    members: &[(&str, &str)],
    meta: &Map<String, Value>,
    deadline: Instant,
) -> Result<Box<RawValue>, Failure> {
    let outgoing = Outgoing {
        id: link.next_id(),
        method,
        params: params(members, meta)?,
        name: None,
        headers: Vec::new(),
        deadline,
        cancel: None,
        progress: None,
        tell_cancel: false,
        late: None,
    };
    link.request(outgoing).await
}

fn as_trouble(failure: Failure, step: &str) -> Trouble {
    match failure {
        Failure::Status { status: 404 | 405, text, .. } => Trouble::permanent(format!(
            "there is no streamable HTTP endpoint at this address ({text}); correct 'url' (the older HTTP+SSE transport is not supported)"
        )),
        // Too early, too many, too slow: passes.
        Failure::Status { status: 408 | 425 | 429 | 500.., text, .. }
        | Failure::NotSent(text)
        | Failure::Unreachable(text)
        | Failure::Lost(text)
        | Failure::SessionExpired(text) => Trouble::transient(text),
        Failure::Status { text, .. } | Failure::NeedsCredentials { text, .. } | Failure::Unusable(text) => {
            Trouble::permanent(text)
        }
        Failure::Rpc(error) => {
            Trouble::transient(format!("it refused {step}: {} (code {})", one_line(&error.message, 300), error.code))
        }
        Failure::TimedOut | Failure::Cancelled => Trouble::transient(format!("it did not answer {step} in time")),
    }
}
