//! Text that is a number. Digits are kept: nothing goes through a float unless it has to.

/// The JSON number that a text stands for, if it stands for exactly one: `12`, `-1.5`, `1e3`, blanks around it.
/// Refused are `NaN`, infinities, what overflows a float, leading zeros (they can carry meaning) and anything else.
pub(super) fn number(text: &str) -> Option<&str> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = split_digits(digits);
    if whole.is_empty() || whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    let rest = match rest.strip_prefix('.') {
        Some(rest) => {
            let (fraction, rest) = split_digits(rest);
            (!fraction.is_empty()).then_some(rest)?
        }
        None => rest,
    };
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let (exponent, rest) = split_digits(exponent);
        if exponent.is_empty() || !rest.is_empty() {
            return None;
        }
    } else if !rest.is_empty() {
        return None;
    }
    text.parse::<f64>().is_ok_and(f64::is_finite).then_some(text)
}

/// The whole number that a text stands for, as JSON: `12` stays, `12.0` and `1.2e1` become `12`, `1.5` is none.
pub(super) fn integer(text: &str) -> Option<String> {
    let text = number(text)?;
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return Some(text.to_owned());
    }
    if let Some((whole, fraction)) = text.split_once('.')
        && fraction.bytes().all(|byte| byte == b'0')
    {
        return Some(whole.to_owned());
    }
    // Every whole number up to 2^53 is exact as a float; beyond it digits would be made up.
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then(|| format!("{value:.0}"))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}
