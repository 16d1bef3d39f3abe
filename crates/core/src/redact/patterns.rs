//! Forms of secrets: keys of well-known services, tokens, private keys, passwords in URLs, and what stands behind a
//! name in running text.

use std::ops::Range;

use regex::{Captures, Regex};

use super::names::Names;

mod person;

/// Whole secrets that their beginning tells, with at least one digit in them.
const TOKENS: &str = r"(?x)
    \b(?: sk-[A-Za-z0-9_-]{16,}
    | [srp]k_(?:live|test)_[A-Za-z0-9]{10,}
    | gh[pousr]_[A-Za-z0-9]{16,}
    | github_pat_[A-Za-z0-9_]{16,}
    | glpat-[A-Za-z0-9_-]{16,}
    | xox[a-z]-[A-Za-z0-9-]{8,}
    | xapp-[A-Za-z0-9-]{10,}
    | (?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}
    | AIza[0-9A-Za-z_-]{35}
    | ya29\.[0-9A-Za-z_-]{20,}
    | npm_[A-Za-z0-9]{30,}
    | hf_[A-Za-z0-9]{30,}
    | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*
    )";
/// A bearer token, without the word before it.
const BEARER: &str = r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{8,}=*)";
/// A private key in its frame; one that is cut off hides the rest.
const PEM: &str =
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)";
/// The password of a URL, up to the last `@` before its path.
const URL: &str = r#"(?i)\b[a-z][a-z0-9+.-]*:(?:\\?/){2}[^\s/?\#@:"'<>\\]*:([^\s/?\#"'<>\\]+)@"#;
/// What follows a name: quotes, and a sign between name and value.
const SIGN: &str = r#"(\\*["'])?\s{0,8}(=>|[:=])([ \t]{0,8})"#;

/// The forms, compiled. Copies share them.
#[derive(Clone)]
pub(super) struct Patterns {
    tokens: Regex,
    bearer: Regex,
    pem: Regex,
    url: Regex,
    named: Regex,
}

impl Patterns {
    /// `own` are further names. `None` if they are too long to be compiled.
    pub(super) fn new(own: &[String]) -> Option<Self> {
        let own = own.iter().filter(|name| !name.is_empty()).map(|name| regex::escape(name));
        let own = own.fold(String::new(), |all, name| all + "|" + &name);
        let words = "passw(?:or)?d|passphrase|passcode|pwd|secret|token|api[_.-]?key|access[_.-]?key|credential|private[_.-]?key|signing[_.-]?key|encryption[_.-]?key|connection[_.-]?string|cookie|auth|bearer|jwt";
        let named = format!(r"(?i-u)([a-z0-9_.-]{{0,64}}(?:{words}{own})[a-z0-9_-]{{0,32}}){SIGN}");
        Some(Self {
            tokens: Regex::new(TOKENS).ok()?,
            bearer: Regex::new(BEARER).ok()?,
            pem: Regex::new(PEM).ok()?,
            url: Regex::new(URL).ok()?,
            named: Regex::new(&named).ok()?,
        })
    }

    /// Adds where secrets stand that their form tells.
    pub(super) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        found
            .extend(self.tokens.find_iter(text).map(|hit| hit.range()).filter(|range| has_digit(&text[range.clone()])));
        let group = |captures: Captures<'_>| captures.get(1).map(|group| group.range());
        let bearers = self.bearer.captures_iter(text).filter_map(group);
        found.extend(bearers.filter(|range| is_random(&text[range.clone()])));
        if text.contains("PRIVATE KEY") {
            found.extend(self.pem.find_iter(text).map(|hit| hit.range()));
        }
        if text.contains(":/") || text.contains(":\\/") {
            found.extend(self.url.captures_iter(text).filter_map(group));
        }
    }

    /// Adds what stands behind the name of a secret: `password=…`, `"token": "…"`, `Authorization: …`.
    pub(super) fn find_named(&self, text: &str, names: &Names, found: &mut Vec<Range<usize>>) {
        self.each_named(text, names, value_at, found);
    }

    fn each_named(&self, text: &str, names: &Names, value_at: ValueAt, found: &mut Vec<Range<usize>>) {
        let mut at = 0;
        while let Some(captures) = self.named.captures_at(text, at) {
            let (Some(whole), Some(name)) = (captures.get(0), captures.get(1)) else { return };
            at = whole.end();
            if !names.is_secret(name.as_str()) {
                continue;
            }
            let sign = captures.get(3).map_or("", |sign| sign.as_str());
            let spaced = captures.get(4).is_some_and(|blanks| !blanks.is_empty());
            let range = value_at(text, whole.end(), name.as_str(), sign, spaced);
            at = at.max(range.end);
            found.push(range);
        }
    }
}

/// Tells where a value is: of a text, from where on, behind which name and sign, and whether blanks follow the sign.
type ValueAt = fn(&str, usize, &str, &str, bool) -> Range<usize>;

/// Where the value is that begins at `at`.
fn value_at(text: &str, at: usize, name: &str, sign: &str, spaced: bool) -> Range<usize> {
    let rest = &text[at..];
    let backslashes = rest.len() - rest.trim_start_matches('\\').len();
    if let Some(quote) = rest[backslashes..].chars().next().filter(|char| matches!(char, '"' | '\'' | '`')) {
        let start = at + backslashes + 1;
        return start..quoted_end(text, start, quote, backslashes);
    }
    let line = rest.find(['\n', '\r']).unwrap_or(rest.len());
    let lower = name.to_ascii_lowercase();
    if sign == ":" && ["authorization", "cookie"].iter().any(|header| lower.ends_with(header)) {
        // A header: all of it, in JSON as text up to the quote.
        let end = rest[..line].find(['"', '\'']).unwrap_or(line);
        return at..at + rest[..end].trim_end().len();
    }
    // To the blank, or what ends an entry of a query or a list; a bracket may belong to the secret.
    let ends = |char: char| char.is_whitespace() || "&;,\"'`".contains(char);
    let end = rest[..rest.find(ends).unwrap_or(rest.len())].trim_end_matches('\\').len();
    let value = &rest[..end];
    // Prose: "unexpected token: end", "auth: none". Passwords are hidden however they look.
    let weak = lower.ends_with("token") || lower.ends_with("auth");
    if weak && (spaced || sign == ":") && !is_random(value) {
        return at..at;
    }
    at..at + end
}

/// Where a quoted value ends: at the next such quote with no more backslashes before it than the first one has.
fn quoted_end(text: &str, start: usize, quote: char, backslashes: usize) -> usize {
    let mut run = 0;
    for (i, char) in text[start..].char_indices() {
        match char {
            '\\' => run += 1,
            _ if char == quote && run <= backslashes => return start + i - run,
            _ => run = 0,
        }
    }
    text.len()
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a text looks made by a machine: long, or with digits, or in changing case.
fn is_random(text: &str) -> bool {
    text.len() >= 20
        || text.len() >= 6
            && (has_digit(text)
                || text.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
                    && text.bytes().any(|byte| byte.is_ascii_lowercase()))
}
