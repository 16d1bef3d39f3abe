//! Secrets taken out of what is logged, stored, shown or passed on (invariant 7; threat T12 of the security reference;
//! case 107 of the OneRingAI reference).
//!
//! Four things tell that a text is a secret: the name it stands under, its being a value that is known to be one, its
//! form, and a schema that declares it. What is known is found in the encodings in which it may turn up: base64 at any
//! alignment, hexadecimal, percent-encoded, JSON-escaped, also one within the other.
//!
//! By where the text goes:
//! - [`Redactor::redact_value`] and [`Redactor::redact_text`], for audit, logs and errors: everything.
//! - [`Redactor::redact_result`], for results on their way to a model: everything but `name=value` in running text,
//!   which would spoil source code.
//! - [`Redactor::redact_for_person`], for the person who decides whether a call may run: never anything that could be
//!   executed.

mod builder;
mod declared;
mod encoding;
mod known;
mod names;
mod patterns;
mod person;
mod raw;
mod value;

use std::{borrow::Cow, fmt, ops::Range};

use serde_json::{Value, value::RawValue};

pub use builder::{BuildError, RedactorBuilder};

use self::{known::Known, names::Names, patterns::Patterns};
use crate::ToolResult;

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// Finds secrets. Built once for a set of known values; cheap to share, and safe to show: its `Debug` tells counts only.
pub struct Redactor {
    names: Names,
    known: Known,
    /// Those of the known values that are certainly secrets; `None` = all.
    certain: Option<Known>,
    patterns: Patterns,
}

/// What counts as a secret in running text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// Known values only.
    Known,
    /// Known values, and forms that nothing else has.
    Forms,
    /// Also what stands behind a name, as in `password=…`.
    Named,
}

impl Redactor {
    /// A redactor with the built-in names and forms; known values and further names are added.
    pub fn builder() -> RedactorBuilder {
        RedactorBuilder::default()
    }

    /// Whether what stands under this name is a secret: `password`, `X-Api-Key`, `clientSecret`, `GITHUB_TOKEN`, but not
    /// `max_tokens`, `nextPageToken` or `auth_url`.
    pub fn is_secret_name(&self, name: &str) -> bool {
        self.names.is_secret(name)
    }

    /// A copy of a value without secrets, for audit and logs. Texts over 500 characters are cut with a note; what lies
    /// deeper than 64 levels or behind 10,000 values is left out, and says so. `schema` is the tool's: what it declares
    /// with `writeOnly: true` or `format: "password"` is a secret, whatever it is called.
    ///
    /// Under a secret name everything but booleans and null is masked, whole objects too.
    pub fn redact_value(&self, value: &Value, schema: Option<&Value>) -> Value {
        value::redact(self, value, schema)
    }

    /// Arguments for the person who decides about them, as JSON text: `raw` without secrets, everything else as written,
    /// nothing cut. `schema` is the tool's.
    ///
    /// Under names such as `command`, `args`, `script` or `code`, at whatever depth, only values that are certainly
    /// secrets are masked. Elsewhere also what stands under a secret name, what the schema declares and what has the form
    /// of a secret; but a text that a shell would act on is shown whatever its name, and a form never reaches across
    /// quotes, blanks, line ends or other signs of a shell. Every mask tells the length: `***[12 characters]`.
    pub fn redact_for_person(&self, raw: &RawValue, schema: Option<&Value>) -> String {
        person::redact(self, raw.get(), schema)
    }

    fn certain(&self) -> &Known {
        self.certain.as_ref().unwrap_or(&self.known)
    }

    /// A text without secrets: for errors, log lines, and JSON as text, which stays JSON.
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text(text, Strength::Named, 0)
    }

    /// A result without secrets; `None` if it holds none. Looks into all texts of the result but the data of images,
    /// audio and files; names count in the structured content and in texts that are JSON. What is not a secret stays
    /// byte for byte.
    pub fn redact_result(&self, result: &ToolResult) -> Option<ToolResult> {
        self.result(result, Strength::Forms)
    }

    /// As [`Self::redact_result`], but of the values that were made known only: neither names nor forms count. Costs next to
    /// nothing where no values are known.
    pub fn redact_known(&self, result: &ToolResult) -> Option<ToolResult> {
        if self.known.len() == 0 || self.known.surely_not_in_json(result.raw().get()) {
            return None;
        }
        self.result(result, Strength::Known)
    }

    fn result(&self, result: &ToolResult, strength: Strength) -> Option<ToolResult> {
        let changed = raw::redact_result(self, result.raw().get(), strength)?;
        let raw = RawValue::from_string(changed).ok()?;
        // Masks are texts in place of values: an object stays an object, and gets no deeper.
        ToolResult::from_raw(raw).ok()
    }

    fn text<'t>(&self, text: &'t str, strength: Strength, nesting: usize) -> Cow<'t, str> {
        let Some(changed) = raw::redact_json_text(self, text, strength, nesting) else {
            return self.plain(text, strength);
        };
        // A known secret may itself be JSON, and then stands across what was just looked at piece by piece.
        let mut left = Vec::new();
        self.known.find(changed.as_deref().unwrap_or(text), &mut left);
        match changed {
            None if left.is_empty() => Cow::Borrowed(text),
            None => Cow::Owned(masked(text, left)),
            Some(changed) => Cow::Owned(masked(&changed, left)),
        }
    }

    /// Masks what is found in running text.
    fn plain<'t>(&self, text: &'t str, strength: Strength) -> Cow<'t, str> {
        let mut found: Vec<Range<usize>> = Vec::new();
        self.known.find(text, &mut found);
        if strength != Strength::Known {
            self.patterns.find(text, &mut found);
        }
        if strength == Strength::Named {
            self.patterns.find_named(text, &self.names, &mut found);
        }
        found.retain(|range| range.start < range.end && &text[range.clone()] != MASK);
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(masked(text, found)) }
    }
}

fn masked(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in found {
        // Overlapping and adjoining secrets are one.
        if range.start > at || at == 0 {
            out.push_str(&text[at..range.start.max(at)]);
            out.push_str(MASK);
        }
        at = at.max(range.end);
    }
    out.push_str(&text[at..]);
    out
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Redactor");
        shown.field("names", &self.names.len()).field("known_values", &self.known.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
