//! The table, and what its vectors say.

use super::{Packed, Sum, Table};

fn tokens(word: &str) -> Vec<u16> {
    let mut tokens = Vec::new();
    Table::built_in().unwrap().cut(word, &mut tokens);
    tokens
}

fn vector(text: &str) -> Packed {
    let mut sum = Sum::default();
    for token in text.split(' ').flat_map(tokens) {
        sum.add_token(Table::built_in().unwrap(), token, 1.0);
    }
    sum.pack()
}

fn cosine(a: &str, b: &str) -> f32 {
    let (a, b) = (vector(a), vector(b));
    let product: i32 = a.numbers.iter().zip(&b.numbers).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    product as f32 * a.scale * b.scale
}

#[test]
fn words_are_cut_into_the_longest_tokens() {
    assert_eq!(tokens("calendar").len(), 1);
    assert!(tokens("recalendarize").len() > 1);
    assert_eq!(tokens(""), [0u16; 0]);
    assert_eq!(tokens("\u{4f60}\u{597d}"), [0u16; 0]);
    assert_eq!(tokens(&"a".repeat(49)), [0u16; 0]);
}

#[test]
fn what_means_the_same_is_near() {
    #[track_caller]
    fn check(text: &str, near: &str, far: &str) {
        assert!(cosine(text, near) > cosine(text, far) + 0.1, "{text}: {near} {far}");
    }
    check("meeting", "appointment", "invoice");
    check("send an email", "mail a message", "delete a branch");
    check("weather in paris", "temperature forecast", "stock price");
    assert!((cosine("weather", "weather") - 1.0).abs() < 0.02);
    assert!(vector("").scale.abs() < f32::EPSILON);
}

#[test]
fn what_is_no_table_is_refused() {
    assert!(Table::unpack(b"").is_none());
    assert!(Table::unpack(b"TCRIBSV1").is_none());
    assert!(Table::unpack(b"TCRIBSV1\x00\x01\x00\x00\x02\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00").is_none());
}
