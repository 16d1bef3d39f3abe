//! Token estimates: how large a text is for a model, without a tokenizer. Every number made here carries the label of
//! the counter that made it, so that figures of different counters are never compared by accident.

use std::io;

use serde::Serialize;
use serde_json::Value;

/// Fixed-point scale: this many units make one token. Sums of units of parts never fall short of the whole.
pub(crate) const UNITS_PER_TOKEN: u64 = 1000;

/// How tokens are estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenCounter {
    /// Characters (code points) of compact JSON divided by four, rounded up: the common yardstick. Within 15 % for
    /// English and JSON, far too low for other scripts and for hexadecimal names (hermes §6 case 10).
    #[default]
    Chars4,
    /// Weights per kind of character, set so that the factors measured in hermes §6 case 10 come out: snake-case
    /// names 1.2, Cyrillic 1.5, hexadecimal 2.6, CJK 3.9 times `chars4`. For budgets that must hold in any script.
    Calibrated,
}

impl TokenCounter {
    /// The label that goes with every number: `chars4` or `calibrated`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Chars4 => "chars4",
            Self::Calibrated => "calibrated",
        }
    }

    /// Estimated tokens of a text.
    pub fn text(self, text: &str) -> usize {
        tokens(self.units(text))
    }

    /// Estimated tokens of a value written as compact JSON.
    pub fn json(self, value: &Value) -> usize {
        match self {
            Self::Chars4 => {
                let mut count = CharCount(0);
                // A sink that only counts cannot fail.
                let _ = serde_json::to_writer(&mut count, value);
                count.0.div_ceil(4)
            }
            Self::Calibrated => self.text(&value.to_string()),
        }
    }

    /// The size in fixed-point units, for adding up parts before rounding once.
    pub(crate) fn units(self, text: &str) -> u64 {
        match self {
            Self::Chars4 => text.chars().count() as u64 * (UNITS_PER_TOKEN / 4),
            Self::Calibrated => calibrated(text),
        }
    }
}

/// Whole tokens of a sum of units, rounded up.
pub(crate) fn tokens(units: u64) -> usize {
    units.div_ceil(UNITS_PER_TOKEN) as usize
}

/// Counts code points of the UTF-8 written to it.
struct CharCount(usize);

impl io::Write for CharCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Word,
    Joiner,
    Mark,
    Ideograph,
    Accented,
    Letter,
    Symbol,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Kind::Word,
        '_' => Kind::Joiner,
        '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}' => Kind::Ideograph,
        '\u{C0}'..='\u{24F}' => Kind::Accented,
        _ if c.is_whitespace() => Kind::Blank,
        _ if c.is_ascii() => Kind::Mark,
        _ if c.is_alphabetic() => Kind::Letter,
        _ => Kind::Symbol,
    }
}

fn calibrated(text: &str) -> u64 {
    let mut units = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let this = kind(first);
        let end = rest.find(|c| kind(c) != this).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        let chars = run.chars().count() as u64;
        units += match this {
            Kind::Word => word(run),
            // A blank belongs to the word after it; line breaks and indentation do not.
            Kind::Blank => (chars - 1) * 250 + run.matches('\n').count() as u64 * 300,
            Kind::Joiner => chars * 700,
            // JSON punctuation comes in clusters that are one token.
            Kind::Mark => 500 + chars * 100,
            Kind::Ideograph => chars * 975,
            Kind::Accented => chars * 600,
            Kind::Letter => chars * 430,
            Kind::Symbol => chars * 2000,
        };
    }
    units
}

/// A run of ASCII letters and digits.
fn word(run: &str) -> u64 {
    let chars = run.len() as u64;
    let digits = run.bytes().filter(u8::is_ascii_digit).count() as u64;
    if digits == 0 {
        // Long runs are not words: random letters and base 64 cost far more than prose.
        return if chars > 24 { chars * 400 } else { 800 + chars * 60 };
    }
    if chars >= 8 && digits < chars && digits * 5 >= chars { chars * 650 } else { 800 + chars * 60 + digits * 280 }
}

#[cfg(test)]
mod tests;
