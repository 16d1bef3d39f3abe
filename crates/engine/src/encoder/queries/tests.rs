use toolcrib_core::search::Vector;

use super::{Known, MAX_TEXTS};

#[test]
fn the_texts_asked_for_last_are_kept() {
    let mut known = Known::default();
    let vector = Vector::new(&[1.0]).unwrap();
    known.insert("kept".to_owned(), vector.clone());
    for number in 0..10 * MAX_TEXTS {
        known.insert(number.to_string(), vector.clone());
        assert!(known.get("kept").is_some(), "{number}");
    }
    assert!(known.vectors.len() <= MAX_TEXTS && known.used.len() <= 4 * MAX_TEXTS);
    assert!(known.get("0").is_none());
    assert!(known.get(&(10 * MAX_TEXTS - 1).to_string()).is_some());
}
