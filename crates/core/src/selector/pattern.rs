//! Names and globs, compared without regard to ASCII case.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobMatcher};

/// A name, or a glob over names.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Exactly this, as written.
    Exact(Box<str>),
    /// Literal texts, in lower case, with anything between them: a glob that knows `*` only. Nearly every glob in a
    /// policy is one, and policies are held against every tool there is.
    Stars(Box<[Box<str>]>),
    /// Any other glob.
    Glob(GlobMatcher),
}

impl Pattern {
    /// Reads a name, or a glob if there is any of `*?[{` in it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.contains(['*', '?', '[', '{']) {
            return Ok(Self::Exact(text.into()));
        }
        if !text.contains(['?', '[', '{', '\\', ']', '}']) {
            let parts = text.to_ascii_lowercase();
            return Ok(Self::Stars(parts.split('*').map(Into::into).collect()));
        }
        let glob = GlobBuilder::new(text).literal_separator(false).case_insensitive(true).build();
        glob.map(|glob| Self::Glob(glob.compile_matcher())).map_err(|error| error.kind().to_string())
    }

    /// Whether it is this name, in any case.
    pub(crate) fn is_match(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact.eq_ignore_ascii_case(name),
            Self::Stars(_) | Self::Glob(_) => self.is_match_lower(&lower(name)),
        }
    }

    /// The same for a name that is in lower case already.
    pub(crate) fn is_match_lower(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact.eq_ignore_ascii_case(name),
            Self::Stars(parts) => stars(parts, name),
            Self::Glob(glob) => glob.is_match(name),
        }
    }
}

fn stars(parts: &[Box<str>], name: &str) -> bool {
    let (Some((first, rest)), true) = (parts.split_first(), parts.len() > 1) else { return false };
    let Some((last, middle)) = rest.split_last() else { return false };
    let Some(mut left) = name.strip_prefix(&**first).and_then(|left| left.strip_suffix(&**last)) else { return false };
    middle.iter().all(|part| match left.find(&**part) {
        Some(at) => {
            left = &left[at + part.len()..];
            true
        }
        None => false,
    })
}

/// The name in lower case; nearly every name is.
pub(crate) fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}
