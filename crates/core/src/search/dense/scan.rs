//! Comparing one vector, or a few, with those of all documents.
//!
//! The one place with `unsafe` in this crate: calling a function that was compiled for instructions that not every
//! machine has.
#![allow(unsafe_code)]

use super::{DIMENSIONS, Packed};

/// Appends to `products` the product of each of the `queries` with each document's vector in `numbers`: all queries of the
/// first document, then of the second, and so on. Whole numbers, so the same on every machine.
pub(in crate::search) fn scan(queries: &[Packed], numbers: &[i8], products: &mut Vec<i32>) {
    let queries: Vec<[i16; DIMENSIONS]> = queries.iter().map(|query| query.numbers.map(i16::from)).collect();
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, which is all that the function demands.
        return unsafe { scan_avx2(&queries, numbers, products) };
    }
    scan_body(&queries, numbers, products);
}

/// [`scan_body`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn scan_avx2(queries: &[[i16; DIMENSIONS]], numbers: &[i8], products: &mut Vec<i32>) {
    scan_body(queries, numbers, products);
}

/// A product is at most 256 × 127² < 2²³.
#[inline(always)]
#[allow(clippy::inline_always)] // Or it would not be compiled for the caller's instructions.
fn scan_body(queries: &[[i16; DIMENSIONS]], numbers: &[i8], products: &mut Vec<i32>) {
    products.clear();
    products.reserve(queries.len() * numbers.len() / DIMENSIONS);
    for document in numbers.as_chunks::<DIMENSIONS>().0 {
        for query in queries {
            let mut sum = 0;
            for (&a, &b) in document.iter().zip(query) {
                sum += i32::from(i16::from(a)) * i32::from(b);
            }
            products.push(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DIMENSIONS, Packed, scan, scan_body};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever path the machine takes, the products are those of the plain loop over whole numbers.
        #[test]
        fn every_path_gives_the_same_products(
            bytes in prop::collection::vec(-127i8..=127, DIMENSIONS * 3..DIMENSIONS * 3 + 1),
            queries in 1usize..3,
        ) {
            let vector = |at: usize| {
                let mut numbers = [0; DIMENSIONS];
                numbers.copy_from_slice(&bytes[at * DIMENSIONS / 2..at * DIMENSIONS / 2 + DIMENSIONS]);
                Packed { numbers, scale: 1.0 }
            };
            let queries: Vec<Packed> = (0..queries).map(vector).collect();
            let (mut fast, mut portable, mut plain) = (Vec::new(), Vec::new(), Vec::new());
            scan(&queries, &bytes, &mut fast);
            let wide: Vec<[i16; DIMENSIONS]> = queries.iter().map(|query| query.numbers.map(i16::from)).collect();
            scan_body(&wide, &bytes, &mut portable);
            for document in bytes.chunks(DIMENSIONS) {
                for query in &queries {
                    let pairs = document.iter().zip(&query.numbers);
                    plain.push(pairs.map(|(a, b)| i64::from(*a) * i64::from(*b)).sum::<i64>());
                }
            }
            prop_assert_eq!(&fast, &portable);
            prop_assert_eq!(fast.iter().map(|&product| i64::from(product)).collect::<Vec<_>>(), plain);
        }
    }
}
