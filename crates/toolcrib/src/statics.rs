//! Definitions from files (`--catalog`): tool lists of servers, and JSONL with a tool a line. Not callable.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use anyhow::{Context, bail};
use serde_json::Value;
use toolcrib_core::{Source, SourceState, ToolResult};
use toolcrib_engine::{Backend, BoxFuture, Hub, Invocation, InvokeError, SourceOptions};

use crate::files::read_text;

/// Largest catalog file in bytes.
const MAX_FILE: u64 = 256 * 1024 * 1024;

/// Publishes the definitions of the files, grouped by the server they name (else by the file's name). Definitions of one
/// server in several files are put together.
pub(crate) fn publish(hub: &Hub, files: &[impl AsRef<Path>]) -> anyhow::Result<()> {
    let mut groups: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for file in files {
        let file = file.as_ref();
        let label = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        for (server, tool) in read(file)? {
            groups.entry(server.unwrap_or_else(|| label.clone())).or_default().push(tool);
        }
    }
    for (group, tools) in groups {
        // The label comes from the file and is shown to people and models: one line, of a length.
        let group: String = group.chars().filter(|c| !c.is_control()).take(128).collect();
        let options = SourceOptions::default();
        hub.replace(Source::Static(group), options, Arc::new(NotCallable), SourceState::Disabled, tools);
    }
    Ok(())
}

type Item = (Option<String>, Value);

fn read(file: &Path) -> anyhow::Result<Vec<Item>> {
    // Opening a pipe nobody writes to would wait for ever.
    if fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
        bail!("the catalog {} is not a regular file", file.display());
    }
    let text = read_text(file, "the catalog", MAX_FILE)?;
    let text = text.trim_start_matches('\u{feff}');
    parse(text).with_context(|| format!("the catalog {} cannot be used", file.display()))
}

/// Reads one document (`{"tools": […]}` with an optional `server`, or a list) or, failing that, a document a line.
fn parse(text: &str) -> anyhow::Result<Vec<Item>> {
    match serde_json::from_str::<Value>(text) {
        Ok(document) => Ok(from_document(document, None)?),
        Err(whole) => {
            let mut items = Vec::new();
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            for (number, line) in lines {
                let value: Value = serde_json::from_str(line).map_err(|error| {
                    // A file of one broken document is not JSONL; its own error says more.
                    if number == 0 {
                        anyhow::anyhow!("{whole}")
                    } else {
                        anyhow::anyhow!("line {}: {error}", number + 1)
                    }
                })?;
                items.extend(from_document(value, Some(number + 1))?);
            }
            Ok(items)
        }
    }
}

fn from_document(document: Value, line: Option<usize>) -> anyhow::Result<Vec<Item>> {
    let server_of = |value: &Value| value["server"].as_str().filter(|s| !s.is_empty()).map(str::to_owned);
    match document {
        Value::Array(tools) => Ok(tools.into_iter().map(|tool| (server_of(&tool), tool)).collect()),
        Value::Object(mut map) => {
            let server = map.get("server").and_then(Value::as_str).filter(|s| !s.is_empty()).map(str::to_owned);
            // A JSON-RPC reply to tools/list is a natural thing to save.
            if let Some(Value::Object(result)) = map.get_mut("result") {
                map = std::mem::take(result);
            }
            match map.remove("tools") {
                Some(Value::Array(tools)) => {
                    Ok(tools.into_iter().map(|tool| (server_of(&tool).or_else(|| server.clone()), tool)).collect())
                }
                Some(_) => bail!("'tools' is not a list"),
                None if map.contains_key("name") || line.is_some() => {
                    // `id` and `server` belong to the line, not to the definition.
                    map.remove("id");
                    map.remove("server");
                    Ok(vec![(server, Value::Object(map))])
                }
                None => bail!("there is neither a list of tools nor a 'tools' key"),
            }
        }
        _ => bail!("{}expected an object or a list", line.map(|n| format!("line {n}: ")).unwrap_or_default()),
    }
}

struct NotCallable;

impl Backend for NotCallable {
    fn invoke<'a>(&'a self, _invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolResult, InvokeError>> {
        Box::pin(async {
            Err(InvokeError::Unavailable("it is a definition from a catalog file, which cannot be called".to_owned()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[(Option<&str>, &str)]) {
        let items = parse(text).unwrap();
        let got: Vec<_> = items.iter().map(|(s, t)| (s.as_deref(), t["name"].as_str().unwrap_or("?"))).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn every_documented_shape_is_read() {
        check(r#"{"tools":[{"name":"a"}]}"#, &[(None, "a")]);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}"#, &[(None, "a")]);
        check(
            r#"{"server":"s","tools":[{"name":"a"},{"name":"b","server":"t"}]}"#,
            &[(Some("s"), "a"), (Some("t"), "b")],
        );
        check(r#"[{"name":"a"},7]"#, &[(None, "a"), (None, "?")]);
        check(
            "{\"id\":\"s:a\",\"name\":\"a\",\"server\":\"s\"}\n\n{\"name\":\"b\"}\n",
            &[(Some("s"), "a"), (None, "b")],
        );
        check(r#"{"name":"a","inputSchema":{}}"#, &[(None, "a")]);
    }

    #[test]
    fn other_files_are_refused_with_the_place() {
        for (text, want) in [
            ("", "EOF"),
            ("{\"a\":", "EOF"),
            ("{\"name\":\"a\"}\n{bad", "line 2"),
            ("7", "expected"),
            ("{\"tools\":7}", "not a list"),
            ("{\"x\":1}", "neither"),
        ] {
            let result = parse(text);
            if text.is_empty() {
                assert!(result.unwrap().is_empty());
            } else {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(want), "{text}: {error}");
            }
        }
    }
}
