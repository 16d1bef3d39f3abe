//! Names under which secrets stand.
//!
//! A name is read as its parts, divided at `_`, `-`, other signs and changes to upper case. What follows the word tells
//! whether the value is the secret or something about it: `password_policy`, `token_count`, `auth_url`.

use std::collections::HashSet;

/// Words that make a name secret wherever they stand in it; the plural counts too.
const STRONG: [&str; 25] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "apikey",
    "authorization",
    "credential",
    "privatekey",
    "secretkey",
    "accesskey",
    "signingkey",
    "encryptionkey",
    "accesstoken",
    "refreshtoken",
    "sessiontoken",
    "authtoken",
    "bearertoken",
    "idtoken",
    "csrftoken",
    "clientsecret",
    "connectionstring",
    "setcookie",
    "sessioncookie",
];
/// Words that make a name secret where they end it, or are followed by one of [`CARRIERS`].
const WEAK: [&str; 7] = ["token", "auth", "oauth", "cookie", "cookies", "jwt", "bearer"];
/// Last parts that mean the secret itself.
const CARRIERS: [&str; 10] =
    ["value", "header", "headers", "string", "raw", "data", "text", "pem", "base64", "plaintext"];
/// Last parts that mean something about the secret.
const ABOUT: [&str; 44] = [
    "count",
    "counts",
    "limit",
    "limits",
    "length",
    "len",
    "size",
    "usage",
    "budget",
    "type",
    "kind",
    "policy",
    "expiry",
    "expires",
    "expiration",
    "ttl",
    "age",
    "url",
    "uri",
    "endpoint",
    "at",
    "in",
    "on",
    "id",
    "ids",
    "name",
    "names",
    "field",
    "fields",
    "required",
    "enabled",
    "status",
    "state",
    "method",
    "mode",
    "provider",
    "scope",
    "scopes",
    "path",
    "ref",
    "label",
    "algorithm",
    "version",
    "hint",
];
/// What stands before `token` where it is a place in a list, a piece of text or a handle, and no secret.
const PLAIN_TOKENS: [&str; 19] = [
    "page",
    "next",
    "prev",
    "previous",
    "continuation",
    "cursor",
    "sync",
    "start",
    "resume",
    "scroll",
    "pagination",
    "progress",
    "eos",
    "bos",
    "pad",
    "stop",
    "sep",
    "mask",
    "unk",
];
/// Shortest word that counts at the end of a part that is not divided, as in `dbpassword`.
const SUFFIX: usize = 6;

/// The built-in names and further ones.
#[derive(Clone)]
pub(super) struct Names {
    own: HashSet<String>,
}

impl Names {
    pub(super) fn new(own: &[String]) -> Self {
        Self { own: own.iter().map(|name| parts(name).concat()).filter(|name| !name.is_empty()).collect() }
    }

    pub(super) fn len(&self) -> usize {
        STRONG.len() + WEAK.len() + self.own.len()
    }

    pub(super) fn is_secret(&self, name: &str) -> bool {
        // No name of a secret is as long as this; and what is, is text.
        if name.len() > 256 {
            return false;
        }
        let parts = parts(name);
        if !self.own.is_empty() && self.own.contains(&parts.concat()) {
            return true;
        }
        let about = parts.last().is_some_and(|last| ABOUT.contains(&last.as_str()));
        (0..parts.len()).any(|start| {
            let mut word = String::new();
            parts[start..].iter().enumerate().any(|(i, part)| {
                word.push_str(part);
                let rest = &parts[start + i + 1..];
                if is_strong(&word) || i == 0 && is_strong_end(part) {
                    return rest.is_empty() || !about;
                }
                let ends = rest.iter().all(|part| CARRIERS.contains(&part.as_str()));
                let plain = word == "token" && start > 0 && PLAIN_TOKENS.contains(&parts[start - 1].as_str());
                WEAK.contains(&word.as_str()) && ends && !plain
            })
        })
    }
}

fn is_strong(word: &str) -> bool {
    STRONG.contains(&word) || word.strip_suffix('s').is_some_and(|word| STRONG.contains(&word))
}

fn is_strong_end(part: &str) -> bool {
    STRONG.iter().any(|word| word.len() >= SUFFIX && part.ends_with(word))
}

/// The parts of a name in lower case, without digits at their ends.
pub(super) fn parts(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut parts = vec![String::new()];
    for (i, &char) in chars.iter().enumerate() {
        if !char.is_alphanumeric() {
            parts.push(String::new());
            continue;
        }
        let before = i.checked_sub(1).map(|i| chars[i]);
        let after = chars.get(i + 1);
        let begins = char.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if begins {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.extend(char.to_lowercase());
        }
    }
    let trimmed = parts.into_iter().map(|part| match part.as_str() {
        "base64" => part,
        _ => part.trim_end_matches(char::is_numeric).to_owned(),
    });
    trimmed.filter(|part| !part.is_empty()).collect()
}
