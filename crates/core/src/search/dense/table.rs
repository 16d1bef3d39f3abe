//! The table of token vectors, and how a word is cut into tokens.

#[cfg(feature = "dense")]
use std::sync::OnceLock;

/// Numbers of a vector.
pub(in crate::search) const DIMENSIONS: usize = 256;
/// Longest word that is cut into tokens, in bytes.
const MAX_WORD_BYTES: usize = 48;
/// First letters of a packed table.
const MAGIC: &[u8] = b"TCRIBSV1";
/// Parts of a packed table begin at multiples of this.
const ALIGN: usize = 64;
/// What a token inside of a word begins with.
const INSIDE: &str = "##";

/// A table over its packed form (`research/embedding/pack.py` says how that is laid out).
#[derive(Debug)]
pub(in crate::search) struct Table {
    rows: &'static [[u8; DIMENSIONS]],
    scales: Vec<f32>,
    tokens: Vec<&'static str>,
    /// Open addressing: number of a token + 1, 0 for a free place. A power of two, at most half full.
    places: Vec<u16>,
}

impl Table {
    /// The table in the binary, unpacked at first use. `None` in a build without it.
    pub(in crate::search) fn built_in() -> Option<&'static Self> {
        #[cfg(feature = "dense")]
        {
            static PACKED: &[u8] = include_bytes!("../../../data/static-256.bin");
            static TABLE: OnceLock<Option<Table>> = OnceLock::new();
            TABLE.get_or_init(|| Table::unpack(PACKED)).as_ref()
        }
        #[cfg(not(feature = "dense"))]
        None
    }

    #[cfg_attr(not(feature = "dense"), allow(dead_code))]
    /// `None` if `packed` is not a table of [`DIMENSIONS`] numbers a token.
    pub(in crate::search) fn unpack(packed: &'static [u8]) -> Option<Self> {
        let rest = packed.strip_prefix(MAGIC)?;
        let word = |at: usize| rest.get(at * 4..at * 4 + 4)?.try_into().ok().map(u32::from_le_bytes);
        let (dimensions, count, letters) = (word(0)? as usize, word(1)? as usize, word(2)? as usize);
        if dimensions != DIMENSIONS || count >= usize::from(u16::MAX) {
            return None;
        }
        let text_start = MAGIC.len() + 16;
        let text = std::str::from_utf8(packed.get(text_start..text_start.checked_add(letters)?)?).ok()?;
        let scales_start = (text_start + letters).next_multiple_of(ALIGN);
        let rows_start = (scales_start + count * 4).next_multiple_of(ALIGN);
        let scales = packed.get(scales_start..scales_start + count * 4)?.as_chunks().0;
        let scales = scales.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let rows = packed.get(rows_start..rows_start + count * DIMENSIONS)?.as_chunks().0;
        let tokens: Vec<&str> = text.lines().collect();
        if tokens.len() != count {
            return None;
        }
        let mut places = vec![0; (count * 2).next_power_of_two()];
        for (number, token) in tokens.iter().enumerate() {
            let mut at = hash(token.bytes()) as usize & (places.len() - 1);
            while places[at] != 0 {
                at = (at + 1) & (places.len() - 1);
            }
            places[at] = number as u16 + 1;
        }
        Some(Self { rows, scales, tokens, places })
    }

    /// How many tokens there are.
    pub(in crate::search) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Numbers of a token's row and what they are multiples of.
    pub(super) fn row(&self, token: u16) -> (&'static [u8; DIMENSIONS], f32) {
        (&self.rows[usize::from(token)], self.scales[usize::from(token)])
    }

    fn find(&self, inside: bool, text: &str) -> Option<u16> {
        let prefix = if inside { INSIDE } else { "" };
        let mut at = hash(prefix.bytes().chain(text.bytes())) as usize & (self.places.len() - 1);
        loop {
            let number = self.places[at].checked_sub(1)?;
            if self.tokens[usize::from(number)].strip_prefix(prefix) == Some(text) {
                return Some(number);
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    /// Whether a word in lower case has a row of its own: then people use it as it is.
    pub(in crate::search) fn is_word(&self, word: &str) -> bool {
        self.find(false, word).is_some()
    }

    /// Appends the tokens of a word in lower case: the longest first. None if it cannot be spelt with them.
    pub(in crate::search) fn cut(&self, word: &str, tokens: &mut Vec<u16>) {
        if word.len() > MAX_WORD_BYTES {
            return;
        }
        let (before, mut start) = (tokens.len(), 0);
        while start < word.len() {
            let mut ends = (start + 1..=word.len()).rev().filter(|&end| word.is_char_boundary(end));
            let found = ends.find_map(|end| Some((self.find(start > 0, &word[start..end])?, end)));
            let Some((token, end)) = found else {
                tokens.truncate(before);
                return;
            };
            tokens.push(token);
            start = end;
        }
    }
}

fn hash(bytes: impl Iterator<Item = u8>) -> u32 {
    // The table is fixed, so nobody can choose tokens that collide.
    let hash = bytes.fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash ^ (hash >> 15)
}
