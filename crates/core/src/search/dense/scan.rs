//! The loops over vectors: comparing a few with those of all documents, and adding rows up. Each is compiled for what
//! machines have, and chosen when it runs; whichever is taken, the numbers that come out are the same.
//!
//! The one place with `unsafe` in this crate: calling functions that were compiled for instructions that not every
//! machine has, and the loads that these instructions need.
#![allow(unsafe_code)]

use super::{DIMENSIONS, Packed};

/// Documents whose vectors are compared with one query after the other while they are near: 16 kB.
const BLOCK: usize = 64;

/// Replaces `products` by the product of each of the `queries` with each document's vector in `numbers`: all documents of
/// the first query, then of the second, and so on. Whole numbers, so the same on every machine.
pub(in crate::search) fn scan(queries: &[Packed], numbers: &[i8], products: &mut Vec<i32>) {
    let documents = numbers.as_chunks::<DIMENSIONS>().0;
    products.clear();
    products.resize(queries.len() * documents.len(), 0);
    for (at, block) in documents.chunks(BLOCK).enumerate() {
        for (query, products) in queries.iter().zip(products.chunks_exact_mut(documents.len())) {
            compare(&query.numbers, block, &mut products[at * BLOCK..]);
        }
    }
}

/// Products of one query with a few documents.
fn compare(query: &[i8; DIMENSIONS], documents: &[[i8; DIMENSIONS]], products: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512bw") && has!("avx512vnni") {
            // SAFETY: the machine has what the function demands.
            return unsafe { x86::compare_vnni(query, documents, products) };
        }
        if has!("avx2") {
            // SAFETY: the machine has AVX2, which is all that the function demands.
            return unsafe { x86::compare_avx2(query, documents, products) };
        }
    }
    compare_plain(query, documents, products);
}

/// A product is at most 256 × 127² < 2²³.
fn compare_plain(query: &[i8; DIMENSIONS], documents: &[[i8; DIMENSIONS]], products: &mut [i32]) {
    let query = query.map(i16::from);
    for (document, product) in documents.iter().zip(products) {
        let mut sum = 0;
        for (&a, &b) in document.iter().zip(&query) {
            sum += i32::from(i16::from(a)) * i32::from(b);
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
        __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_abs_epi8, _mm256_add_epi32,
        _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
        _mm256_set1_epi16, _mm256_setzero_si256, _mm256_sign_epi8, _mm512_dpbusd_epi32, _mm512_loadu_si512,
        _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_xor_si512,
    };

    use super::DIMENSIONS;

    /// The instruction multiplies numbers without a sign by such with one; documents are shifted by 128, and what that
    /// adds is taken away.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn compare_vnni(query: &[i8; DIMENSIONS], documents: &[[i8; DIMENSIONS]], products: &mut [i32]) {
        const LANES: usize = 64;
        // SAFETY: each load reads `LANES` bytes of an array of so many.
        let load = |part: &[i8; LANES]| unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
        let parts: [__m512i; DIMENSIONS / LANES] = std::array::from_fn(|at| load(&query.as_chunks().0[at]));
        let shift = _mm512_set1_epi8(i8::MIN);
        let added = 128 * query.iter().map(|&number| i32::from(number)).sum::<i32>();
        for (document, product) in documents.iter().zip(products) {
            let mut sum = _mm512_setzero_si512();
            for (part, query) in document.as_chunks::<LANES>().0.iter().zip(parts) {
                sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(load(part), shift), query);
            }
            *product = _mm512_reduce_add_epi32(sum) - added;
        }
    }

    /// Multiplies sizes by signed numbers, two at a time into 16 bits: 2 × 127² fits, since no number is -128.
    #[target_feature(enable = "avx2")]
    pub(super) fn compare_avx2(query: &[i8; DIMENSIONS], documents: &[[i8; DIMENSIONS]], products: &mut [i32]) {
        const LANES: usize = 32;
        // SAFETY: each load reads `LANES` bytes of an array of so many.
        let load = |part: &[i8; LANES]| unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
        let ones = _mm256_set1_epi16(1);
        for (document, product) in documents.iter().zip(products) {
            let mut sum = _mm256_setzero_si256();
            for (part, query) in document.as_chunks::<LANES>().0.iter().zip(query.as_chunks::<LANES>().0) {
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

    use super::{BLOCK, DIMENSIONS, Packed, add_row, add_row_body, compare_plain, scan};

    fn vector() -> impl Strategy<Value = [i8; DIMENSIONS]> {
        let number = prop_oneof![4 => -127i8..=127, 1 => Just(127i8), 1 => Just(-127i8)];
        prop::collection::vec(number, DIMENSIONS).prop_map(|numbers| numbers.try_into().unwrap_or([0; DIMENSIONS]))
    }

    /// What a path makes of a query and documents.
    type Path = fn(&[i8; DIMENSIONS], &[[i8; DIMENSIONS]], &mut [i32]);

    /// Those that this machine has.
    fn paths() -> Vec<Path> {
        let mut paths: Vec<Path> = vec![compare_plain, super::compare];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: just asked for.
                paths
                    .push(|query, documents, products| unsafe { super::x86::compare_avx2(query, documents, products) });
            }
            if std::arch::is_x86_feature_detected!("avx512vnni") && std::arch::is_x86_feature_detected!("avx512bw") {
                // SAFETY: just asked for.
                paths
                    .push(|query, documents, products| unsafe { super::x86::compare_vnni(query, documents, products) });
            }
        }
        paths
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever path the machine takes, the products are those of whole numbers.
        #[test]
        fn every_path_gives_the_same_products(query in vector(), documents in prop::collection::vec(vector(), 0..4)) {
            let exact = |document: &[i8; DIMENSIONS]| {
                document.iter().zip(&query).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>()
            };
            let want: Vec<i32> = documents.iter().map(exact).collect();
            for path in paths() {
                let mut products = vec![0; documents.len()];
                path(&query, &documents, &mut products);
                prop_assert_eq!(&products, &want);
            }
        }

        /// Products come by query, whatever the number of documents.
        #[test]
        fn products_are_in_order(vectors in prop::collection::vec(vector(), 4), count in 0usize..3 * BLOCK) {
            let queries: Vec<Packed> = vectors[..2].iter().map(|&numbers| Packed { numbers, scale: 1.0 }).collect();
            let documents: Vec<[i8; DIMENSIONS]> = (0..count).map(|at| vectors[2 + at % 2]).collect();
            let mut products = vec![7];
            scan(&queries, documents.as_flattened(), &mut products);
            let mut want = vec![0; 2 * count];
            for (query, want) in queries.iter().zip(want.chunks_exact_mut(count.max(1))) {
                compare_plain(&query.numbers, &documents, want);
            }
            prop_assert_eq!(products, want);
        }

        #[test]
        fn every_path_adds_the_same(row in vector(), scale in -3.0f32..3.0, start in -9.0f32..9.0) {
            let row = row.map(i8::cast_unsigned);
            let (mut one, mut other) = ([start; DIMENSIONS], [start; DIMENSIONS]);
            add_row(&mut one, &row, scale);
            add_row_body(&mut other, &row, scale);
            prop_assert_eq!(one.map(f32::to_bits), other.map(f32::to_bits));
        }
    }
}
