use proptest::prelude::*;

use super::{BadVector, Encoded, HEAD, MAX_DIMENSIONS, Vector};

fn cosine(a: &Vector, b: &Vector) -> f32 {
    let products = a.numbers.iter().zip(&b.numbers).map(|(a, b)| i32::from(*a) * i32::from(*b));
    products.sum::<i32>() as f32 * a.scale * b.scale
}

#[track_caller]
fn refused(parts: &[f32], want: &BadVector) {
    assert_eq!(Vector::new(parts).as_ref().unwrap_err(), want);
}

#[test]
fn what_is_no_vector_is_refused() {
    refused(&[], &BadVector::Empty);
    refused(&vec![1.0; MAX_DIMENSIONS + 1], &BadVector::TooWide(MAX_DIMENSIONS + 1));
    refused(&[1.0, f32::NAN], &BadVector::NotFinite);
    refused(&[f32::INFINITY], &BadVector::NotFinite);
    assert!(Vector::new(&[0.0; 384]).unwrap().is_zero());
    assert!(!Vector::new(&[f32::MIN_POSITIVE, 0.0]).unwrap().is_zero());
    assert!((cosine(&Vector::new(&[f32::MAX; 9]).unwrap(), &Vector::new(&[1e-30; 9]).unwrap()) - 1.0).abs() < 1e-3);
}

#[test]
fn what_no_store_was_given_is_not_read() {
    let bytes = Vector::new(&[0.5, -1.0, 0.25]).unwrap().to_bytes();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        Vector::from_bytes(&bytes)
    };
    assert!(with(&|_| {}).is_some());
    assert_eq!(with(&|bytes| bytes.truncate(HEAD)), None);
    assert_eq!(with(&Vec::clear), None);
    assert_eq!(with(&|bytes| bytes.push(1)), None);
    assert_eq!(with(&|bytes| bytes[HEAD] = 0x80), None, "-128 is never written");
    assert_eq!(with(&|bytes| bytes[2..HEAD].copy_from_slice(&f32::NAN.to_le_bytes())), None);
    assert_eq!(with(&|bytes| bytes[2..HEAD].copy_from_slice(&(-1.0f32).to_le_bytes())), None);
}

#[test]
fn vectors_are_arranged_only_if_all_are_there_and_of_one_width() {
    let three = Vector::new(&[1.0, 2.0, 3.0]).unwrap();
    let four = Vector::new(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    let arrange = |all: &[Option<&Vector>]| Encoded::arrange("x".into(), all.len(), |at| all[at]).is_some();
    assert!(arrange(&[Some(&three), Some(&three)]));
    assert!(!arrange(&[Some(&three), None]));
    assert!(!arrange(&[Some(&three), Some(&four)]), "both are 64 numbers when they are packed");
    assert!(!arrange(&[]));
    let wide = Vector::new(&vec![1.0; MAX_DIMENSIONS]).unwrap();
    assert!(Encoded::arrange("x".into(), 40_000, |_| Some(&wide)).is_none(), "too large together");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packing_keeps_directions_and_bytes_keep_everything(
        (a, b) in (1usize..900).prop_flat_map(|n| {
            let numbers = || prop::collection::vec(-5.0f32..5.0, n);
            (numbers(), numbers())
        }),
        size in 1e-3f32..1e3,
    ) {
        let exact = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let length = |a: &[f32]| exact(a, a).sqrt();
        prop_assume!(length(&a) > 1e-3 && length(&b) > 1e-3);
        let larger: Vec<f32> = a.iter().map(|part| part * size).collect();
        let (one, other) = (Vector::new(&larger).unwrap(), Vector::new(&b).unwrap());
        let want = exact(&a, &b) / (length(&a) * length(&b));
        prop_assert!((f64::from(cosine(&one, &other)) - want).abs() < 0.02, "{want}");
        prop_assert_eq!(Vector::from_bytes(&one.to_bytes()), Some(one));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Some(vector) = Vector::from_bytes(&bytes) {
            prop_assert_eq!(vector.to_bytes(), bytes);
        }
    }
}
