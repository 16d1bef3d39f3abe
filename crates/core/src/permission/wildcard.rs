//! The one-star wildcard of rule contents: `*` stands for any text, everything else for itself.

/// Whether `text` is what `pattern` describes.
pub(super) fn wildcard(pattern: &str, text: &str, ignore_case: bool) -> bool {
    if ignore_case {
        return wildcard(&pattern.to_lowercase(), &text.to_lowercase(), false);
    }
    parts_match(&pattern.split('*').collect::<Vec<_>>(), text)
}

/// Whether `text` consists of `parts` in this order with any text between them; without a gap (one part) it has to be
/// that part. Linear in the text for each part; no recursion.
pub(super) fn parts_match<P: AsRef<str>>(parts: &[P], text: &str) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_some_and(|only| only.as_ref() == text);
    };
    let Some(mut rest) = text.strip_prefix(first.as_ref()) else { return false };
    for part in middle {
        match rest.find(part.as_ref()) {
            Some(at) => rest = &rest[at + part.as_ref().len()..],
            None => return false,
        }
    }
    rest.ends_with(last.as_ref())
}

#[cfg(test)]
mod tests {
    use super::wildcard;

    #[track_caller]
    fn check(pattern: &str, text: &str, want: bool) {
        assert_eq!(wildcard(pattern, text, false), want, "{pattern} on {text}");
    }

    #[test]
    fn a_star_is_any_text() {
        check("*", "", true);
        check("a", "a", true);
        check("a", "ab", false);
        check("a*", "a", true);
        check("*b", "ab", true);
        check("a*a", "a", false);
        check("a*b*c", "a--b--c", true);
        check("a*b*c", "a--c--b", false);
        check("ab*ba", "aba", false);
        check("**", "x\ny", true);
        assert!(wildcard("RM*", "rmdir", true));
    }
}
