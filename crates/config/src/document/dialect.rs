//! What other clients call things, brought to our words while the places are still known.

use serde_json::Value;

use super::tree::{Kind, Node};

/// Other spellings of a server's keys. Where both are written ours counts.
const SPELLINGS: &[(&str, &str)] = &[
    ("type", "transport"),
    ("httpUrl", "url"),
    ("serverUrl", "url"),
    ("http_headers", "headers"),
    ("enabled_tools", "include"),
    ("includeTools", "include"),
    ("disabled_tools", "exclude"),
    ("excludeTools", "exclude"),
    ("envFile", "env_file"),
    ("env_vars", "env_inherit"),
    ("startup_timeout_ms", "connect_timeout_ms"),
];

/// The same in seconds, as Codex counts.
const SECONDS: &[(&str, &str)] =
    &[("startup_timeout_sec", "connect_timeout_ms"), ("tool_timeout_sec", "call_timeout_ms")];

/// Brings every server of a list to our words.
pub(super) fn translate_servers(list: &mut Node) {
    if let Kind::Map(servers) = &mut list.kind {
        for (_, server) in servers {
            if let Kind::Map(pairs) = &mut server.kind {
                translate(pairs);
            }
        }
    }
}

fn translate(pairs: &mut Vec<(String, Node)>) {
    for (theirs, ours) in SPELLINGS {
        rename(pairs, theirs, ours);
    }
    for (theirs, ours) in SECONDS {
        if let Some((_, node)) = pairs.iter_mut().find(|(key, _)| key == theirs)
            && let Kind::Scalar(Value::Number(seconds)) = &node.kind
            && let Some(seconds) = seconds.as_f64().filter(|seconds| *seconds >= 0.0)
        {
            node.kind = Kind::Scalar(Value::from((seconds * 1000.0) as u64));
            rename(pairs, theirs, ours);
        }
    }
    // Only a switch that is one: anything else is told to the user under the key that was written.
    if let Some((_, node)) = pairs.iter_mut().find(|(key, _)| key == "disabled")
        && let Kind::Scalar(Value::Bool(disabled)) = node.kind
    {
        node.kind = Kind::Scalar(Value::Bool(!disabled));
        rename(pairs, "disabled", "enabled");
    }
    header_variables(pairs);
    for (key, node) in pairs {
        match (key.as_str(), &mut node.kind) {
            ("env" | "headers", Kind::Map(values)) => values.iter_mut().for_each(|(_, value)| texts(value)),
            ("args", Kind::List(items)) => items.iter_mut().for_each(texts),
            // Codex: a name, or a table with one.
            ("env_inherit", Kind::List(items)) => items.iter_mut().for_each(|item| {
                if let Kind::Map(inner) = &item.kind
                    && let Some((_, name)) = inner.iter().find(|(key, _)| key == "name")
                {
                    *item = name.clone();
                }
            }),
            _ => {}
        }
    }
}

fn rename(pairs: &mut Vec<(String, Node)>, theirs: &str, ours: &str) {
    if pairs.iter().any(|(key, _)| key == ours) {
        pairs.retain(|(key, _)| key != theirs);
    } else if let Some((key, _)) = pairs.iter_mut().find(|(key, _)| key == theirs) {
        ours.clone_into(key);
    }
}

/// `env_http_headers = { "X-Key" = "VARIABLE" }` of Codex: headers whose values stand in the environment.
fn header_variables(pairs: &mut Vec<(String, Node)>) {
    let Some(at) = pairs.iter().position(|(key, node)| key == "env_http_headers" && matches!(node.kind, Kind::Map(_)))
    else {
        return;
    };
    let (_, node) = pairs.remove(at);
    let place = node.place;
    let Kind::Map(variables) = node.kind else { return };
    let named: Vec<(String, Node)> = variables
        .into_iter()
        .map(|(header, name)| match &name.kind {
            Kind::Scalar(Value::String(text)) => (header, Node::scalar(format!("${{{text}}}")).at(name.place)),
            Kind::Scalar(_) | Kind::List(_) | Kind::Map(_) => (header, name),
        })
        .collect();
    match pairs.iter_mut().find(|(key, _)| key == "headers") {
        Some((_, Node { kind: Kind::Map(headers), .. })) => headers.extend(named),
        Some(_) => {}
        None => pairs.push(("headers".to_owned(), Node { place, kind: Kind::Map(named) })),
    }
}

/// A port or a switch written without quotes is meant as its text. A fraction is not: `1.10` would come out as `1.1`.
fn texts(node: &mut Node) {
    match &mut node.kind {
        Kind::Scalar(Value::Number(number)) if number.is_f64() => {}
        Kind::Scalar(value @ (Value::Number(_) | Value::Bool(_))) => *value = Value::from(value.to_string()),
        Kind::Scalar(_) | Kind::List(_) | Kind::Map(_) => {}
    }
}
