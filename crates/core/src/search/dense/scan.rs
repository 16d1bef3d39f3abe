//! The loops over vectors: comparing a few with those of all documents, and adding rows up. Each is compiled for what
//! machines have, and chosen when it runs; whichever is taken, the numbers that come out are the same.
//!
//! The one place with `unsafe` in this crate: calling functions that were compiled for instructions that not every
//! machine has, and the loads that these instructions need.
#![allow(unsafe_code)]

use super::DIMENSIONS;

/// Numbers that vectors are filled up to a multiple of with zeros.
pub(in crate::search) const LANES: usize = 64;
/// Bytes of documents' vectors that are compared with one query after the other while they are near.
const BLOCK_BYTES: usize = 16 * 1024;

/// Replaces `products` by the product of each of the `queries` with each document's vector in `numbers`: all documents of
/// the first query, then of the second, and so on. Whole numbers, so the same on every machine. All vectors have `width`
/// numbers, a multiple of [`LANES`]; none is -128. A query of another width has no products but 0.
pub(in crate::search) fn scan(queries: &[&[i8]], width: usize, numbers: &[i8], products: &mut Vec<i32>) {
    let documents = numbers.len() / width.max(1);
    products.clear();
    products.resize(queries.len() * documents, 0);
    if documents == 0 {
        return;
    }
    let block = (BLOCK_BYTES / width).max(1);
    for (at, documents_of_block) in numbers.chunks(block * width).enumerate() {
        for (query, products) in queries.iter().zip(products.chunks_exact_mut(documents)) {
            if query.len() == width {
                compare(query.as_chunks().0, documents_of_block, &mut products[at * block..]);
            }
        }
    }
}

/// Products of one query with a few documents of its width.
fn compare(query: &[[i8; LANES]], documents: &[i8], products: &mut [i32]) {
    // The built-in table's width is known when this is compiled, which makes its loops a third faster.
    const BUILT_IN: usize = DIMENSIONS / LANES;
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512bw") && has!("avx512vnni") {
            // SAFETY: the machine has what the functions demand.
            return match query.len() {
                BUILT_IN => unsafe { x86::compare_vnni::<BUILT_IN>(query, documents, products) },
                _ => unsafe { x86::compare_vnni::<0>(query, documents, products) },
            };
        }
        if has!("avx2") {
            // SAFETY: the machine has AVX2, which is all that the functions demand.
            return match query.len() {
                BUILT_IN => unsafe { x86::compare_avx2::<BUILT_IN>(query, documents, products) },
                _ => unsafe { x86::compare_avx2::<0>(query, documents, products) },
            };
        }
    }
    match query.len() {
        BUILT_IN => compare_plain::<BUILT_IN>(query, documents, products),
        _ => compare_plain::<0>(query, documents, products),
    }
}

/// `PARTS` is the number of parts of each vector, 0 if that is only known from the query. A product is at most
/// 4096 × 127² < 2²⁷.
fn compare_plain<const PARTS: usize>(query: &[[i8; LANES]], documents: &[i8], products: &mut [i32]) {
    let parts = if PARTS == 0 { query.len() } else { PARTS };
    let query = query[..parts].as_flattened();
    for (document, product) in documents.chunks_exact(query.len()).zip(products) {
        let mut sum = 0;
        for (&a, &b) in document.iter().zip(query) {
            sum += i32::from(i16::from(a)) * i32::from(i16::from(b));
        }
        *product = sum;
    }
}

/// Adds `row`, a row of a table, `scale` times to `sum`.
pub(super) fn add_row(sum: &mut [f32; DIMENSIONS], row: &[u8; DIMENSIONS], scale: f32) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, which is all that the function demands.
        return unsafe { x86::add_row_avx2(sum, row, scale) };
    }
    add_row_body(sum, row, scale);
}

/// One multiplication and one addition a number, each rounded: the same in lanes of any width.
#[inline(always)]
#[allow(clippy::inline_always)] // Or it would not be compiled for the caller's instructions.
fn add_row_body(sum: &mut [f32; DIMENSIONS], row: &[u8; DIMENSIONS], scale: f32) {
    for (sum, &number) in sum.iter_mut().zip(row) {
        *sum += f32::from(number.cast_signed()) * scale;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_abs_epi8, _mm256_add_epi32, _mm256_castsi256_si128,
        _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi16,
        _mm256_setzero_si256, _mm256_sign_epi8, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_reduce_add_epi32,
        _mm512_set1_epi8, _mm512_setzero_si512, _mm512_xor_si512,
    };

    use super::{DIMENSIONS, LANES};

    /// The instruction multiplies numbers without a sign by such with one; documents are shifted by 128, and what that
    /// adds is taken away.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn compare_vnni<const PARTS: usize>(query: &[[i8; LANES]], documents: &[i8], products: &mut [i32]) {
        // SAFETY: each load reads `LANES` bytes of an array of so many.
        let load = |part: &[i8; LANES]| unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
        let query = if PARTS == 0 { query } else { &query[..PARTS] };
        let shift = _mm512_set1_epi8(i8::MIN);
        let added = 128 * query.as_flattened().iter().map(|&number| i32::from(number)).sum::<i32>();
        for (document, product) in documents.as_chunks().0.chunks_exact(query.len()).zip(products) {
            let mut sum = _mm512_setzero_si512();
            for (part, query) in document.iter().zip(query) {
                sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(load(part), shift), load(query));
            }
            *product = _mm512_reduce_add_epi32(sum) - added;
        }
    }

    /// Multiplies sizes by signed numbers, two at a time into 16 bits: 2 × 127² fits, since no number is -128.
    #[target_feature(enable = "avx2")]
    pub(super) fn compare_avx2<const PARTS: usize>(query: &[[i8; LANES]], documents: &[i8], products: &mut [i32]) {
        const HALF: usize = LANES / 2;
        // SAFETY: each load reads `HALF` bytes of an array of so many.
        let load = |part: &[i8; HALF]| unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
        let query = if PARTS == 0 { query } else { &query[..PARTS] };
        let query = query.as_flattened().as_chunks::<HALF>().0;
        let ones = _mm256_set1_epi16(1);
        for (document, product) in documents.as_chunks().0.chunks_exact(query.len()).zip(products) {
            let mut sum = _mm256_setzero_si256();
            for (part, query) in document.iter().zip(query) {
                let (part, query) = (load(part), load(query));
                let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(query), _mm256_sign_epi8(part, query));
                sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
            }
            let half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
            let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b_01_00_11_10>(half));
            let all = _mm_add_epi32(quarter, _mm_shuffle_epi32::<0b_10_11_00_01>(quarter));
            *product = _mm_cvtsi128_si32(all);
        }
    }

    /// [`super::add_row_body`], compiled for AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_row_avx2(sum: &mut [f32; DIMENSIONS], row: &[u8; DIMENSIONS], scale: f32) {
        super::add_row_body(sum, row, scale);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DIMENSIONS, LANES, add_row, add_row_body, compare_plain, scan};

    fn vector(width: usize) -> impl Strategy<Value = Vec<i8>> {
        let number = prop_oneof![4 => -127i8..=127, 1 => Just(127i8), 1 => Just(-127i8)];
        prop::collection::vec(number, width)
    }

    /// The built-in table's width, narrower and wider ones.
    fn width() -> impl Strategy<Value = usize> {
        prop_oneof![Just(DIMENSIONS), Just(LANES), Just(384), Just(4_096), (1usize..16).prop_map(|parts| parts * LANES)]
    }

    /// What a path makes of a query and documents.
    type Path = fn(&[[i8; LANES]], &[i8], &mut [i32]);

    /// Those that this machine has, for vectors of this width.
    fn paths(width: usize) -> Vec<Path> {
        let mut paths: Vec<Path> = vec![compare_plain::<0>, super::compare];
        if width == DIMENSIONS {
            paths.push(compare_plain::<{ DIMENSIONS / LANES }>);
        }
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY (of all below): just asked for.
            if std::arch::is_x86_feature_detected!("avx2") {
                paths.push(|query, documents, products| unsafe {
                    super::x86::compare_avx2::<0>(query, documents, products);
                });
                if width == DIMENSIONS {
                    paths.push(|query, documents, products| unsafe {
                        super::x86::compare_avx2::<{ DIMENSIONS / LANES }>(query, documents, products);
                    });
                }
            }
            if std::arch::is_x86_feature_detected!("avx512vnni") && std::arch::is_x86_feature_detected!("avx512bw") {
                paths.push(|query, documents, products| unsafe {
                    super::x86::compare_vnni::<0>(query, documents, products);
                });
                if width == DIMENSIONS {
                    paths.push(|query, documents, products| unsafe {
                        super::x86::compare_vnni::<{ DIMENSIONS / LANES }>(query, documents, products);
                    });
                }
            }
        }
        paths
    }

    /// A query and some documents of one width.
    fn vectors(most: usize) -> impl Strategy<Value = (Vec<i8>, Vec<Vec<i8>>)> {
        width().prop_flat_map(move |width| (vector(width), prop::collection::vec(vector(width), 0..most)))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever path the machine takes and however wide the vectors are, the products are those of whole numbers.
        #[test]
        fn every_path_gives_the_same_products((query, documents) in vectors(4)) {
            let exact = |document: &Vec<i8>| {
                document.iter().zip(&query).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>()
            };
            let want: Vec<i32> = documents.iter().map(exact).collect();
            let flat = documents.concat();
            for path in paths(query.len()) {
                let mut products = vec![0; documents.len()];
                path(query.as_chunks().0, &flat, &mut products);
                prop_assert_eq!(&products, &want);
            }
        }

        /// Products come by query, whatever the number of documents.
        #[test]
        fn products_are_in_order((query, documents) in vectors(3), count in 0usize..200) {
            let documents: Vec<&Vec<i8>> = documents.iter().cycle().take(count).collect();
            let flat: Vec<i8> = documents.iter().flat_map(|document| document.iter().copied()).collect();
            let other: Vec<i8> = query.iter().map(|number| -number).collect();
            let strange = vec![1; query.len() + LANES];
            let mut products = vec![7];
            scan(&[&query, &strange, &other], query.len(), &flat, &mut products);
            let mut want = vec![0; documents.len()];
            compare_plain::<0>(query.as_chunks().0, &flat, &mut want);
            let negative = want.iter().map(|product| -product);
            let all: Vec<i32> = want.iter().copied().chain(want.iter().map(|_| 0)).chain(negative).collect();
            prop_assert_eq!(products, all);
        }

        #[test]
        fn every_path_adds_the_same(row in vector(DIMENSIONS), scale in -3.0f32..3.0, start in -9.0f32..9.0) {
            let mut bytes = [0; DIMENSIONS];
            bytes.iter_mut().zip(row).for_each(|(byte, number)| *byte = number.cast_unsigned());
            let (mut one, mut other) = ([start; DIMENSIONS], [start; DIMENSIONS]);
            add_row(&mut one, &bytes, scale);
            add_row_body(&mut other, &bytes, scale);
            prop_assert_eq!(one.map(f32::to_bits), other.map(f32::to_bits));
        }
    }
}
