//! Numbers in conditions. A number counts by its exact value, so that no other spelling (`1.0`, `10e-1`) gets past a
//! rule; whatever else somebody may take it for counts as well where the rule restricts.

use std::borrow::Cow;

use serde_json::Number;

use super::{Condition, Operator};
use crate::{args::canonical::decimal, permission::Side};

/// The text of a number at a place in the arguments: as written if that is at hand, else what is left of it.
pub(super) fn text<'a>(number: &Number, written: Option<&'a str>) -> Cow<'a, str> {
    match written.map(str::trim).filter(|text| decimal::normal(text).is_some()) {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(number.to_string()),
    }
}

/// Whether two texts are numbers of the same exact value.
pub(super) fn same_value(one: &str, other: &str) -> bool {
    let one = decimal::normal(one.trim());
    one.is_some() && one == decimal::normal(other.trim())
}

/// Whether two numbers are one for readers with 64-bit floats, which most are. Whole numbers are read exactly by enough
/// of them that their digits count.
fn same_float(one: &str, other: &str) -> bool {
    let whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let read = |text: &str| decimal::normal(text).and_then(|text| text.parse::<f64>().ok()).map(f64::to_bits);
    !(whole(one) && whole(other)) && read(one).is_some() && read(one) == read(other)
}

/// Whether a condition holds for a number, for a rule of that side.
pub(super) fn holds(condition: &Condition, number: &str, side: Side) -> bool {
    let value = condition.value.trim();
    let written = number == value;
    match (condition.written.operator, side) {
        (Operator::Equals, Side::Grant) => same_value(number, value),
        (Operator::Equals, Side::Restrict) => written || same_value(number, value) || same_float(number, value),
        (Operator::NotEquals, Side::Grant) => !(written || same_value(number, value) || same_float(number, value)),
        (Operator::NotEquals, Side::Restrict) => !same_value(number, value),
        // Text is compared: as it is written, and as people would write it.
        (operator, side) => {
            let holds = |text: &str| condition.compare(text, &condition.value) != operator.negated();
            let plain = decimal::plain(number).filter(|plain| plain != number);
            let plain = plain.as_deref().map(holds);
            match side {
                Side::Grant => holds(number) && plain.unwrap_or(true),
                Side::Restrict => holds(number) || plain.unwrap_or(false),
            }
        }
    }
}
