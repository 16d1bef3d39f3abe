use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, want_normal: &str, want_plain: &str) {
    assert_eq!(normal(text).as_deref(), Some(want_normal), "{text}");
    assert_eq!(plain(text).as_deref(), Some(want_plain), "{text}");
    assert_eq!(normal(want_normal).as_deref(), Some(want_normal), "it is stable");
    assert_eq!(normal(want_plain).as_deref(), Some(want_normal), "{want_plain} has the same value");
}

#[test]
fn one_form_for_one_value() {
    for text in ["1", "1.0", "1e0", "10e-1", "100E-2", "0.1e1", "1.000e+000", "0.00001e5", "+1", "001"] {
        check(text, "1", "1");
    }
    for text in ["0", "-0", "0.0", "0e99", "-0.000e-5"] {
        check(text, "0", "0");
    }
    check("100", "100", "100");
    check("1e2", "100", "100");
    check("-12.50", "-125e-1", "-12.5");
    check("0.05", "5e-2", "0.05");
    check("5E-1", "5e-1", "0.5");
    check("123456789012345678901234567891", "123456789012345678901234567891", "123456789012345678901234567891");
    check("1.00000000000000000000001", "100000000000000000000001e-23", "1.00000000000000000000001");
}

#[test]
fn what_is_too_large_to_write_out_has_only_the_short_form() {
    let zeros = format!("1{}", "0".repeat(100));
    assert_eq!(normal(&zeros).as_deref(), Some("1e100"));
    assert_eq!(normal("10e99").as_deref(), Some("1e100"));
    assert_eq!(plain("1e100"), None);
    assert_eq!(plain("1e-100"), None);
    assert_eq!(plain("1e-9223372036854775807"), None);
    assert_eq!(normal("1e9223372036854775807").as_deref(), Some("1e9223372036854775807"));
}

#[test]
fn what_is_no_number_has_no_form() {
    for text in ["", "-", "+", "x", "1x", "1.", ".5", "1e", "1e+", "e1", "1.2.3", "--1", "NaN", "0x1", "1 ", "1e1e1"] {
        assert_eq!((normal(text), plain(text)), (None, None), "{text}");
    }
    assert_eq!(normal("1e99999999999999999999"), None, "beyond every reader");
}

proptest! {
    #[test]
    fn moving_the_point_changes_nothing(digits in "[0-9]{1,40}", shift in 0..30_i64, minus in any::<bool>()) {
        let sign = if minus { "-" } else { "" };
        let value = normal(&format!("{sign}{digits}"));
        prop_assert_eq!(normal(&format!("{sign}{digits}{}e-{shift}", "0".repeat(usize::try_from(shift).unwrap()))), value.clone());
        prop_assert_eq!(normal(&format!("{sign}{digits}.000e0")), value.clone());
        prop_assert_ne!(normal(&format!("{sign}{digits}1")), value);
    }
}
