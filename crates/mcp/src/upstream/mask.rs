//! Hiding configured secrets in texts that come from outside: error texts, stderr, server messages (invariant 7).

use super::settings::{Transport, UpstreamSettings};

// Shorter values would mask ordinary words.
const SHORTEST: usize = 6;
const SECRET_WORDS: [&str; 9] = ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED", "COOKIE", "SESSION", "DSN"];
// A value under a name that says nothing is looked at from this length on.
const SHORTEST_UNNAMED: usize = 8;
// No word and no number of everyday use is as long.
const LONGEST_WORD: usize = 20;

/// Replaces known secrets by `***`.
#[derive(Clone, Default)]
pub(super) struct Mask {
    secrets: Vec<String>,
}

impl Mask {
    /// The secrets of one server's settings: bearer and header values, what an address holds, and environment values
    /// whose name or look says so.
    pub(super) fn new(settings: &UpstreamSettings) -> Self {
        let mut secrets = Vec::new();
        match &settings.transport {
            Transport::Stdio { env, .. } => {
                for (name, value) in env {
                    secrets.extend(looks_secret(name, value).then(|| value.clone()));
                    secrets.extend(of_address(value));
                }
            }
            Transport::Http { headers, bearer, url } => {
                secrets.extend(bearer.clone());
                for (_, value) in headers {
                    secrets.push(value.clone());
                    // "Bearer abc": the second word alone is the secret.
                    secrets.extend(value.split_once(' ').map(|(_, rest)| rest.to_owned()));
                }
                secrets.extend(of_address(url));
            }
        }
        secrets.extend(settings.secrets.iter().cloned());
        secrets.retain(|secret| secret.len() >= SHORTEST);
        // Longest first, so that a secret that contains another goes as a whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// `text` without the secrets.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "***");
            }
        }
        text
    }
}

/// Password and query of a URL.
fn of_address(text: &str) -> Vec<String> {
    let Ok(url) = url::Url::parse(text) else { return Vec::new() };
    url.password().into_iter().chain(url.query()).map(str::to_owned).collect()
}

fn looks_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
        // Short for personal access token, and part of PATH.
        || name.split('_').any(|word| word == "PAT")
        || (value.len() >= SHORTEST_UNNAMED && !is_plain(value))
}

/// Whether a value is made of words and numbers, or is a path or an address: masking those would make texts unreadable.
fn is_plain(value: &str) -> bool {
    let address = || url::Url::parse(value).is_ok_and(|url| url.has_host());
    let place = ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start)) || address();
    let word = |run: &str| run.bytes().all(|b| b.is_ascii_alphabetic()) || run.bytes().all(|b| b.is_ascii_digit());
    let mut runs = value.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric());
    runs.all(|run| run.len() < LONGEST_WORD && (place || !run.is_ascii() || word(run)))
}

/// A text from outside, fit for one line of ours: no control characters, not longer than `max` characters.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let mut line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(max.saturating_add(1)).collect();
    if line.chars().count() > max {
        line = line.chars().take(max.saturating_sub(1)).collect();
        line.push('…');
    }
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_settings_never_show() {
        let env = [("API_KEY", "hunter2-key"), ("MODE", "production"), ("THING", "ghp_0123456789abcdefABCDEF")];
        let stdio = Transport::Stdio {
            command: "x".into(),
            args: vec![],
            env: env.into_iter().map(|(n, v)| (n.into(), v.into())).collect(),
            cwd: None,
        };
        let mask = Mask::new(&UpstreamSettings::new("s", stdio));
        let text = "hunter2-key production ghp_0123456789abcdefABCDEF";
        assert_eq!(mask.apply(text), "*** production ***");

        let http = Transport::Http {
            url: "https://user:passw0rd@host/mcp?key=abcdef".into(),
            headers: vec![("Authorization".into(), "Basic dXNlcjpwdw==".into())],
            bearer: Some("bearer-secret".into()),
        };
        let mask = Mask::new(&UpstreamSettings::new("s", http));
        assert_eq!(mask.apply("dXNlcjpwdw== bearer-secret passw0rd key=abcdef ok"), "*** *** *** *** ok");
    }

    #[test]
    fn values_of_the_environment_are_secrets_by_name_or_look() {
        let check =
            |name: &str, value: &str, wants: bool| assert_eq!(looks_secret(name, value), wants, "{name}={value}");
        for (name, value) in [
            ("GITHUB_PAT", "words-only"),
            ("db_password", "letmein"),
            ("SIGNING", "hunter2-and-more"),
            ("SIGNING", "abcdefghijklmnopqrstuvwxyz"),
            ("SIGNING", "/home/0123456789abcdef0123456789"),
        ] {
            check(name, value, true);
        }
        for (name, value) in [
            ("MODE", "production"),
            ("REGION", "eu-central-1"),
            ("LANG", "de_DE.UTF-8"),
            ("LISTEN", "127.0.0.1:8080"),
            ("SINCE", "2026-01-31 12:00"),
            ("PYTHONPATH", "/usr/lib/python3/site2"),
            ("ENDPOINT", "https://api2.example.com/v1/mcp"),
            ("LEVEL", "v1.2"),
            ("TITLE", "Grüße an alle"),
        ] {
            check(name, value, false);
        }
        let env = [("DATABASE_URL".to_owned(), "postgres://app:pw-of-app@db/x".to_owned())].into();
        let stdio = Transport::Stdio { command: "x".into(), args: vec![], env, cwd: None };
        let mask = Mask::new(&UpstreamSettings::new("s", stdio));
        assert_eq!(mask.apply("cannot log in to db with pw-of-app"), "cannot log in to db with ***");
    }

    #[test]
    fn outside_texts_become_one_bounded_line() {
        assert_eq!(one_line("a\nb\u{1b}[31mc", 100), "a b [31mc");
        assert_eq!(one_line(&"x".repeat(50), 10), format!("{}…", "x".repeat(9)));
    }
}
