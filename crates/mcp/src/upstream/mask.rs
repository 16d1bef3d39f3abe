//! Hiding configured secrets in texts that come from outside: error texts, stderr, server messages (invariant 7).

use super::settings::{Transport, UpstreamSettings};

// Shorter values would mask ordinary words.
const SHORTEST: usize = 6;
const SECRET_WORDS: [&str; 10] = ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED", "COOKIE", "SESSION", "DSN", "PAT"];

/// Replaces known secrets by `***`.
#[derive(Clone, Default)]
pub(super) struct Mask {
    secrets: Vec<String>,
}

impl Mask {
    /// The secrets of one server's settings: those named, bearer and header values, and environment values whose name
    /// or look says so.
    pub(super) fn new(settings: &UpstreamSettings) -> Self {
        let mut secrets = settings.secrets.clone();
        match &settings.transport {
            Transport::Stdio { env, .. } => {
                secrets.extend(
                    env.iter().filter(|(name, value)| looks_secret(name, value)).map(|(_, value)| value.clone()),
                );
            }
            Transport::Http { headers, bearer, url } => {
                secrets.extend(bearer.clone());
                for (_, value) in headers {
                    secrets.push(value.clone());
                    // "Bearer abc": the second word alone is the secret.
                    secrets.extend(value.split_once(' ').map(|(_, rest)| rest.to_owned()));
                }
                if let Ok(url) = url::Url::parse(url) {
                    secrets.extend(url.password().map(str::to_owned));
                    secrets.extend(url.query().map(str::to_owned));
                }
            }
        }
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

fn looks_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
        || (value.len() >= 20 && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+=.".contains(&byte)))
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
        let mut settings = UpstreamSettings::new("s", stdio);
        settings.secrets.push("named-secret".into());
        let mask = Mask::new(&settings);
        let text = "hunter2-key production ghp_0123456789abcdefABCDEF named-secret";
        assert_eq!(mask.apply(text), "*** production *** ***");

        let http = Transport::Http {
            url: "https://user:passw0rd@host/mcp?key=abcdef".into(),
            headers: vec![("Authorization".into(), "Basic dXNlcjpwdw==".into())],
            bearer: Some("bearer-secret".into()),
        };
        let mask = Mask::new(&UpstreamSettings::new("s", http));
        assert_eq!(mask.apply("dXNlcjpwdw== bearer-secret passw0rd key=abcdef ok"), "*** *** *** *** ok");
    }

    #[test]
    fn outside_texts_become_one_bounded_line() {
        assert_eq!(one_line("a\nb\u{1b}[31mc", 100), "a b [31mc");
        assert_eq!(one_line(&"x".repeat(50), 10), format!("{}…", "x".repeat(9)));
    }
}
