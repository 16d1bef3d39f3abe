//! Content hashes over canonical JSON.

use std::fmt;

use serde_json::Value;

/// A BLAKE3 hash of canonical content; shown as 64 hexadecimal digits. Equal content gives equal hashes whatever the
/// order of object keys was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hash of raw bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Hash of a JSON value in canonical form: object keys sorted by code point, no blanks.
    pub fn of_json(value: &Value) -> Self {
        let mut hasher = blake3::Hasher::new();
        write_canonical(value, &mut hasher);
        Self(*hasher.finalize().as_bytes())
    }

    /// Hash over several hashes in the order given.
    pub fn of_hashes(hashes: impl IntoIterator<Item = ContentHash>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for hash in hashes {
            hasher.update(&hash.0);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The first `n` characters (at most 51) in lower-case base 32, for name tails.
    pub fn base32(&self, n: usize) -> String {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
        let bit = |i: usize| u16::from(self.0[i / 8] >> (7 - i % 8) & 1);
        (0..n.min(51))
            .map(|i| (0..5).fold(0, |value, j| value << 1 | bit(i * 5 + j)))
            .map(|v| DIGITS[usize::from(v)] as char)
            .collect()
    }

    /// The 64 digits.
    pub fn text(&self) -> String {
        // Digits are ASCII.
        str::from_utf8(&self.digits()).unwrap_or_default().to_owned()
    }

    fn digits(&self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        text
    }

    /// The hash that these bytes are.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Canonical JSON text of a value: object keys sorted by code point, no blanks.
pub fn canonical_json(value: &Value) -> String {
    struct Text(String);
    impl Sink for Text {
        fn put(&mut self, text: &str) {
            self.0.push_str(text);
        }
    }
    let mut text = Text(String::new());
    write_canonical(value, &mut text);
    text.0
}

trait Sink {
    fn put(&mut self, text: &str);
}

impl Sink for blake3::Hasher {
    fn put(&mut self, text: &str) {
        self.update(text.as_bytes());
    }
}

fn write_canonical(value: &Value, sink: &mut impl Sink) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            sink.put("{");
            for (i, (key, value)) in entries.into_iter().enumerate() {
                sink.put(if i == 0 { "" } else { "," });
                write_scalar(&Value::String(key.clone()), sink);
                sink.put(":");
                write_canonical(value, sink);
            }
            sink.put("}");
        }
        Value::Array(items) => {
            sink.put("[");
            for (i, value) in items.iter().enumerate() {
                sink.put(if i == 0 { "" } else { "," });
                write_canonical(value, sink);
            }
            sink.put("]");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => write_scalar(value, sink),
    }
}

fn write_scalar(value: &Value, sink: &mut impl Sink) {
    sink.put(&value.to_string());
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for ContentHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for ContentHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| serde::de::Error::custom("a content hash is 64 hexadecimal digits"))
    }
}

fn parse(text: &str) -> Option<ContentHash> {
    let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let digit = |at: usize| char::from(digits[at]).to_digit(16);
    let mut bytes = [0_u8; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = (digit(2 * index)? << 4 | digit(2 * index + 1)?) as u8;
    }
    Some(ContentHash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_matter_and_content_does() {
        let a = ContentHash::of_json(&json!({"b": [1, {"y": 2, "x": 1}], "a": "é"}));
        let b = ContentHash::of_json(&json!({"a": "é", "b": [1, {"x": 1, "y": 2}]}));
        assert_eq!(a, b);
        assert_ne!(a, ContentHash::of_json(&json!({"a": "é", "b": [{"x": 1, "y": 2}, 1]})));
        assert_eq!(canonical_json(&json!({"b": 1, "a": [true, null]})), r#"{"a":[true,null],"b":1}"#);
    }

    #[test]
    fn base32_is_lower_case_and_of_the_asked_length() {
        let tail = ContentHash::of_bytes(b"x").base32(8);
        assert_eq!(tail.len(), 8);
        assert!(tail.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'v').contains(&b)), "{tail}");
    }

    #[test]
    fn a_hash_is_read_back_from_its_text() {
        let hash = ContentHash::of_bytes(b"x");
        assert_eq!(parse(&hash.to_string()), Some(hash));
        for text in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
