//! Numbers by their value: the digits of a JSON number in one form, however it was written. Works on the text, with as
//! many digits as there are; nothing is rounded.

/// Zeros that are written out; a number with more has an exponent.
const ZEROS: usize = 64;

/// A number taken apart: `-0.1200e5` is minus, digits `12`, exponent 3.
struct Decimal<'t> {
    negative: bool,
    /// The digits in front of the point and behind it, as written.
    parts: (&'t str, &'t str),
    exponent: i128,
}

impl<'t> Decimal<'t> {
    /// Reads a JSON number; a leading `+` and leading zeros are let pass, as people write them.
    fn read(text: &'t str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                let (minus, digits) = match exponent.strip_prefix('-') {
                    Some(digits) => (true, digits),
                    None => (false, exponent.strip_prefix('+').unwrap_or(exponent)),
                };
                is_digits(digits).then_some(())?;
                // What no reader can take as a number stays text.
                let size: i64 = match digits.trim_start_matches('0') {
                    "" => 0,
                    digits => digits.parse().ok()?,
                };
                (mantissa, if minus { -i128::from(size) } else { i128::from(size) })
            }
            None => (rest, 0),
        };
        let parts = match mantissa.split_once('.') {
            Some((whole, fraction)) => is_digits(fraction).then_some((whole, fraction))?,
            None => (mantissa, ""),
        };
        is_digits(parts.0).then_some(Self { negative, parts, exponent })
    }

    /// Sign, digits without zeros at either end (none for zero), exponent of the last digit.
    fn reduced(&self) -> (bool, String, i128) {
        let (whole, fraction) = self.parts;
        let all = [whole, fraction].concat();
        let digits = all.trim_end_matches('0');
        let behind = i128::try_from(fraction.len()).unwrap_or(i128::MAX);
        let cut = i128::try_from(all.len() - digits.len()).unwrap_or(i128::MAX);
        let exponent = self.exponent.saturating_sub(behind).saturating_add(cut);
        match digits.trim_start_matches('0') {
            "" => (false, String::new(), 0),
            digits => (self.negative, digits.to_owned(), exponent),
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The one form of a number: `1`, `1.0` and `10e-1` are `1`, `0.5` and `5E-1` are `5e-1`, `-0.0` is `0`. Two numbers have
/// the same one exactly if they have the same value. `None` if the text is no number.
pub(crate) fn normal(text: &str) -> Option<String> {
    let (negative, digits, exponent) = Decimal::read(text)?.reduced();
    Some(match usize::try_from(exponent) {
        _ if digits.is_empty() => "0".to_owned(),
        Ok(zeros) if zeros <= ZEROS => format!("{}{digits}{}", sign(negative), "0".repeat(zeros)),
        _ => format!("{}{digits}e{exponent}", sign(negative)),
    })
}

/// A number as people write it, without an exponent: `1e2` is `100`, `5E-1` is `0.5`. `None` if the text is no number,
/// or that would take more than 64 zeros.
pub(crate) fn plain(text: &str) -> Option<String> {
    let (negative, digits, exponent) = Decimal::read(text)?.reduced();
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    if let Ok(zeros) = usize::try_from(exponent) {
        return (zeros <= ZEROS).then(|| format!("{}{digits}{}", sign(negative), "0".repeat(zeros)));
    }
    let behind = usize::try_from(exponent.unsigned_abs()).ok()?;
    let (whole, fraction) = match digits.len().checked_sub(behind) {
        Some(0) | None => {
            let zeros = behind - digits.len();
            (String::new(), (zeros <= ZEROS).then(|| "0".repeat(zeros) + &digits)?)
        }
        Some(at) => (digits[..at].to_owned(), digits[at..].to_owned()),
    };
    let whole = if whole.is_empty() { "0" } else { whole.as_str() };
    Some(format!("{}{whole}.{fraction}", sign(negative)))
}

fn sign(negative: bool) -> &'static str {
    if negative { "-" } else { "" }
}

#[cfg(test)]
mod tests;
