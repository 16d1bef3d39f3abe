//! Encodings in which a known secret may turn up.
//!
//! Where an encoding is free in what it encodes (`%41` or `A`, `\u0041` or `A`), the text is decoded and the secret
//! looked for in the outcome; where it is not (base64, hexadecimal), the encoded secret is looked for.

/// Bytes decoded from a text, each with the place in the text from which it came.
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// One more than bytes: `places[i]..places[i + 1]` is what stands for byte `i`.
    pub(super) places: Vec<usize>,
}

impl View {
    /// The same bytes decoded once more, with places in the first text.
    pub(super) fn then(&self, decode: fn(&[u8]) -> Option<View>) -> Option<View> {
        let mut view = decode(&self.bytes)?;
        for place in &mut view.places {
            *place = self.places[*place];
        }
        Some(view)
    }
}

/// Decodes `%41`. `None` if there is nothing to decode.
pub(super) fn percent(bytes: &[u8]) -> Option<View> {
    decode(bytes, b'%', |rest, decoded| {
        decoded.push(u8::try_from(hex(rest.get(1..3)?)?).ok()?);
        Some(3)
    })
}

/// Decodes the escapes of JSON. `None` if there is nothing to decode.
pub(super) fn unescape(bytes: &[u8]) -> Option<View> {
    decode(bytes, b'\\', |rest, decoded| {
        let byte = match rest.get(1)? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            &byte @ (b'"' | b'\\' | b'/' | b'\'') => byte,
            b'u' => {
                let (length, char) = unit(rest)?;
                decoded.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                return Some(length);
            }
            _ => return None,
        };
        decoded.push(byte);
        Some(2)
    })
}

/// The character that `\u0041`, or a surrogate pair, stands for, and the length of that.
fn unit(rest: &[u8]) -> Option<(usize, char)> {
    let high = hex(rest.get(2..6)?)?;
    if !(0xD800..=0xDBFF).contains(&high) {
        return Some((6, char::from_u32(high)?));
    }
    let low = rest.get(6..12).filter(|low| low.starts_with(b"\\u"))?;
    let low = hex(&low[2..]).filter(|low| (0xDC00..=0xDFFF).contains(low))?;
    Some((12, char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))?))
}

/// `one` decodes what begins with the mark, and tells how long it is.
fn decode(bytes: &[u8], mark: u8, one: impl Fn(&[u8], &mut Vec<u8>) -> Option<usize>) -> Option<View> {
    if !bytes.contains(&mark) {
        return None;
    }
    let mut view = View { bytes: Vec::with_capacity(bytes.len()), places: Vec::with_capacity(bytes.len() + 1) };
    let (mut at, mut changed) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        let length = if byte == mark { one(&bytes[at..], &mut view.bytes) } else { None };
        changed |= length.is_some();
        if length.is_none() {
            view.bytes.push(byte);
        }
        view.places.resize(view.bytes.len(), at);
        at += length.unwrap_or(1);
    }
    view.places.push(bytes.len());
    changed.then_some(view)
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

/// Hexadecimal in lower and upper case.
pub(super) fn hex_forms(secret: &[u8]) -> [String; 2] {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(u32::from(digit), 16).unwrap_or('0'));
    let lower: String = secret.iter().flat_map(digits).collect();
    let upper = lower.to_uppercase();
    [lower, upper]
}

/// The base64 and base64url characters that a secret determines by itself, behind 0, 1 or 2 other bytes: as in the
/// encoded form of `user:secret`.
pub(super) fn base64_forms(secret: &[u8]) -> Vec<String> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut forms = Vec::with_capacity(6);
    for before in 0..3 {
        let bytes = [&[0; 2][..before], secret].concat();
        let bit = |i: usize| bytes[i / 8] >> (7 - i % 8) & 1;
        let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        let digit = |i: usize| (0..6).fold(0, |value, j| value << 1 | bit(i * 6 + j));
        let form: String = (first..end).map(|i| char::from(STANDARD[usize::from(digit(i))])).collect();
        let url_safe = form.replace('+', "-").replace('/', "_");
        if url_safe != form {
            forms.push(url_safe);
        }
        forms.push(form);
    }
    forms
}
