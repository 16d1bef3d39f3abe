//! Names near to one that does not exist.

use std::cmp::Reverse;

use crate::name::plain;

/// Names longer than this are compared by their start.
const COMPARED_CHARS: usize = 128;
/// Least similarity (Jaro-Winkler, 0 to 1) of a suggestion.
const LEAST_SIMILARITY: f64 = 0.82;

/// Up to three of `candidates` that `name` may have meant: first those equal but for case and separators, then those
/// of which one ends with the other (a forgotten or invented prefix), then similar spellings. Ties go by name, so the
/// order of the candidates does not matter.
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = fold(name);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut near: Vec<(Reverse<u32>, &str)> = Vec::new();
    for candidate in candidates {
        if let Some(closeness) = closeness(&wanted, &fold(candidate)) {
            near.push((Reverse(closeness), candidate));
            if near.len() > 64 {
                best_three(&mut near);
            }
        }
    }
    best_three(&mut near);
    near.into_iter().map(|(_, name)| name.to_owned()).collect()
}

fn best_three(near: &mut Vec<(Reverse<u32>, &str)>) {
    near.sort_unstable();
    near.dedup();
    near.truncate(3);
}

/// What is compared of a name.
fn fold(name: &str) -> String {
    plain(name).take(COMPARED_CHARS).collect()
}

/// 3000 for equality, from 2000 for a common end, else the similarity in thousandths; nothing below the least.
fn closeness(wanted: &str, candidate: &str) -> Option<u32> {
    if candidate.is_empty() {
        return None;
    }
    if wanted == candidate {
        return Some(3000);
    }
    let similarity = strsim::jaro_winkler(wanted, candidate);
    let thousandths = (similarity * 1000.0) as u32;
    let ends = |long: &str, end: &str| end.chars().count() > 2 && long.ends_with(end);
    if ends(wanted, candidate) || ends(candidate, wanted) {
        return Some(2000 + thousandths);
    }
    (similarity >= LEAST_SIMILARITY).then_some(thousandths)
}
