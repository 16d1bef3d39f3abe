//! One server: expanded, typed and checked, or skipped with the reason.

use serde_json::Value;

use super::section::{Reader, typed};
use crate::{
    Diagnostic, Secret,
    expand::{read_file, values},
    model::ServerConfig,
};

const SKIPPED: &str = "this server is skipped";

/// Longest name of a server in characters.
const MAX_NAME: usize = 128;

impl Reader<'_> {
    pub(super) fn server(&mut self, name: &str, mut value: Value) -> Option<ServerConfig> {
        let key = format!("servers.{name}");
        // A server that is switched off need not have its variables set.
        let off = value["enabled"] == false;
        if let Some(problem) = name_problem(name) {
            self.findings.push(Diagnostic::error(key, problem).hint(SKIPPED));
            return None;
        }
        match self.complete(&key, &mut value) {
            Ok(server) => Some(server),
            Err(_) if off => None,
            Err(finding) => {
                self.findings.push(finding.hint(SKIPPED));
                None
            }
        }
    }

    fn complete(&mut self, key: &str, value: &mut Value) -> Result<ServerConfig, Box<Diagnostic>> {
        let inserted = self.inserted(value, key);
        self.expand_all(value, key)?;
        let mut server: ServerConfig = typed(key, value)?;
        server.inserted = inserted;
        if server.bearer.is_none()
            && let Some(variable) = &server.bearer_token_env_var
        {
            let token = self.surroundings.variable(variable).ok_or_else(|| {
                let message = format!("environment variable {variable} is not set");
                Box::new(Diagnostic::error(format!("{key}.bearer_token_env_var"), message))
            })?;
            server.bearer = Some(Secret::new(token));
        }
        if let Some(path) = &server.env_file {
            let text = read_file(path, &self.folder(key), self.surroundings)
                .map_err(|error| Box::new(Diagnostic::error(format!("{key}.env_file"), error.to_string())))?;
            for (name, value) in variables(&text) {
                server.env.entry(name.to_owned()).or_insert_with(|| Secret::new(value));
            }
        }
        match server.problem() {
            None => Ok(server),
            Some(("", problem)) => Err(Box::new(Diagnostic::error(key, problem))),
            Some((field, problem)) => Err(Box::new(Diagnostic::error(format!("{key}.{field}"), problem))),
        }
    }
}

impl Reader<'_> {
    /// Values that references insert where the configuration does not hide them by itself: program, arguments, address.
    fn inserted(&self, server: &Value, key: &str) -> Vec<Secret> {
        let arguments = server["args"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts = [&server["command"], &server["url"]].into_iter().chain(arguments).filter_map(Value::as_str);
        let folder = self.folder(key);
        texts.flat_map(|text| values(text, &folder, self.surroundings)).map(Secret::new).collect()
    }
}

fn name_problem(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("the server's name is empty".to_owned());
    }
    if name.chars().count() > MAX_NAME {
        return Some(format!("the server's name is longer than {MAX_NAME} characters"));
    }
    name.chars()
        .find(|c| *c == '/' || c.is_control())
        .map(|c| format!("the server's name holds {c:?}; use letters, digits, '-' and '_'"))
}

/// The pairs of a file of `NAME=VALUE` lines: `#` comments, `export ` in front, one pair of quotes around a value.
fn variables(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.trim_start_matches('\u{feff}').lines().filter_map(|line| {
        let line = line.trim();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        (!name.is_empty() && !name.starts_with('#')).then_some((name, quoted.unwrap_or(value)))
    })
}
