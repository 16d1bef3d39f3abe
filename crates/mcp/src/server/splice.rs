//! Editing a JSON object's text without touching the bytes of what stays.

use std::{borrow::Cow, ops::Range};

/// One member of an object.
pub(super) struct Member<'a> {
    /// The key, unescaped.
    pub(super) name: Cow<'a, str>,
    /// The value's text.
    pub(super) value: &'a str,
    // The member in the object's text, from the key's quote to the value's end.
    span: Range<usize>,
}

/// The members of a valid JSON object, in order; `None` when the text is not one.
pub(super) fn members(object: &str) -> Option<Vec<Member<'_>>> {
    let bytes = object.as_bytes();
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    at = skip_space(bytes, at + 1);
    let mut members = Vec::new();
    if bytes.get(at) == Some(&b'}') {
        return Some(members);
    }
    loop {
        let start = at;
        at = skip_string(bytes, at)?;
        let name = unescape(&object[start..at])?;
        at = skip_space(bytes, at);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        let value = skip_space(bytes, at + 1);
        at = skip_value(bytes, value)?;
        members.push(Member { name, value: &object[value..at], span: start..at });
        at = skip_space(bytes, at);
        match bytes.get(at)? {
            b',' => at = skip_space(bytes, at + 1),
            b'}' => return Some(members),
            _ => return None,
        }
    }
}

/// The object without the members whose index is in `drop`, and with `add` (members without outer commas, may be empty)
/// in front. The kept members keep their bytes; white space between members does not survive a change.
pub(super) fn edit(object: &str, members: &[Member<'_>], drop: &[usize], add: &str) -> String {
    let mut out = String::with_capacity(object.len() + add.len() + 2);
    out.push('{');
    out.push_str(add);
    let kept = members.iter().enumerate().filter(|(index, _)| !drop.contains(index));
    for (_, member) in kept {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&object[member.span.clone()]);
    }
    out.push('}');
    out
}

/// The object with `add` put in front of its members. Every other byte stays.
pub(super) fn prepend(object: &str, members: &[Member<'_>], add: &str) -> String {
    let Some(brace) = object.find('{') else { return object.to_owned() };
    let mut out = String::with_capacity(object.len() + add.len() + 1);
    out.push_str(&object[..=brace]);
    out.push_str(add);
    if !members.is_empty() {
        out.push(',');
    }
    out.push_str(&object[brace + 1..]);
    out
}

fn unescape(quoted: &str) -> Option<Cow<'_, str>> {
    if quoted.contains('\\') {
        return serde_json::from_str(quoted).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(&quoted[1..quoted.len() - 1]))
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

// From the opening quote to behind the closing one.
fn skip_string(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn skip_value(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => at = skip_string(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            // A number or a word.
            _ => {
                let length = bytes[at..]
                    .iter()
                    .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))?;
                at += length;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests;
