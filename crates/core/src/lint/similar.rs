//! Tools that say the same. Exact duplicates by hash; near ones by the overlap of what their descriptions say, found
//! without comparing all with all: sets of word pairs are reduced to minimum hashes, and only tools that agree in a whole
//! band of those are compared. Every bucket compares with a few at most, so the work grows with the number of tools.

use std::collections::{BTreeSet, HashMap};

use super::{Code, Findings, Subject};
use crate::{ContentHash, hash::canonical_json};

/// Minimum hashes of a tool: bands times rows. Tools that share 80 % of their pairs miss each other less than once in
/// 10,000 times.
const BANDS: usize = 20;
const ROWS: usize = 3;
/// Overlap (shared pairs by all pairs) of tools of different servers that are near duplicates.
const NEAR: f64 = 0.8;
/// The same for tools of one server: siblings are written from one template, and differ in the word that counts.
const NEAR_SIBLINGS: f64 = 0.95;
/// Descriptions with fewer word pairs say too little to be compared.
const FEWEST: usize = 8;
/// Most tools of one bucket that another is compared with.
const COMPARED: usize = 8;

pub(super) fn check(tools: &[Subject<'_>], findings: &mut Findings) {
    let twins = duplicates(tools, findings);
    let sketches: Vec<Sketch> = tools.iter().map(Sketch::of).collect();
    let mut buckets: HashMap<(usize, u64), Vec<usize>> = HashMap::new();
    for (index, sketch) in sketches.iter().enumerate() {
        if sketch.pairs.len() < FEWEST || twins.contains(&index) {
            continue;
        }
        let mut near: Option<(usize, f64)> = None;
        let mut compared = BTreeSet::new();
        for (band, key) in sketch.bands().into_iter().enumerate() {
            let bucket = buckets.entry((band, key)).or_default();
            for &other in bucket.iter().take(COMPARED) {
                if !compared.insert(other) {
                    continue;
                }
                let limit = if tools[index].id.source == tools[other].id.source { NEAR_SIBLINGS } else { NEAR };
                let overlap = sketch.overlap(&sketches[other]);
                if overlap >= limit && near.is_none_or(|(_, best)| overlap > best) {
                    near = Some((other, overlap));
                }
            }
            if bucket.len() < COMPARED {
                bucket.push(index);
            }
        }
        if let Some((other, overlap)) = near {
            let other = tools[other].id;
            let message = format!("says nearly the same as {other} ({:.0} %)", overlap * 100.0);
            findings.add(Code::NearDuplicate, tools[index].id, "", message, &other.to_string());
        }
    }
}

/// Tools that equal one before them, told.
fn duplicates(tools: &[Subject<'_>], findings: &mut Findings) -> BTreeSet<usize> {
    let mut first: HashMap<[ContentHash; 2], usize> = HashMap::new();
    let mut twins = BTreeSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let description = normal(tool.description()).join(" ");
        let arguments = &tool.definition["inputSchema"]["properties"];
        // Two tools without a word and without arguments have nothing in common.
        if description.is_empty() && arguments.as_object().is_none_or(serde_json::Map::is_empty) {
            continue;
        }
        let key = [
            ContentHash::of_bytes(description.as_bytes()),
            ContentHash::of_bytes(canonical_json(&tool.definition["inputSchema"]).as_bytes()),
        ];
        if let Some(other) = first.get(&key) {
            let other = tools[*other].id;
            // Without a description, only another tool of the same name is the same.
            if !description.is_empty() || other.name == tool.id.name {
                let message = format!("has the description and the arguments of {other}");
                findings.add(Code::Duplicate, tool.id, "", message, &other.to_string());
                twins.insert(index);
            }
        } else {
            first.insert(key, index);
        }
    }
    twins
}

/// What a tool says, for comparing.
struct Sketch {
    /// Hashes of pairs of neighbouring words of the description.
    pairs: BTreeSet<u64>,
    /// Hashes of the names of its arguments.
    arguments: BTreeSet<u64>,
}

impl Sketch {
    fn of(tool: &Subject<'_>) -> Self {
        let words = normal(tool.description());
        let pairs = words.windows(2).map(|pair| hash(&pair.join(" "))).collect();
        let arguments = tool.definition["inputSchema"]["properties"].as_object();
        Self { pairs, arguments: arguments.into_iter().flat_map(serde_json::Map::keys).map(|key| hash(key)).collect() }
    }

    fn bands(&self) -> Vec<u64> {
        let minimum = |seed: usize| self.pairs.iter().map(|pair| mixed(*pair, seed as u64)).min().unwrap_or_default();
        (0..BANDS).map(|band| (0..ROWS).fold(0, |key, row| mixed(key ^ minimum(band * ROWS + row), 1))).collect()
    }

    /// The overlap of what is said, unless the arguments differ more than that.
    fn overlap(&self, other: &Self) -> f64 {
        share(&self.pairs, &other.pairs).min(if self.arguments.is_empty() && other.arguments.is_empty() {
            1.0
        } else {
            share(&self.arguments, &other.arguments)
        })
    }
}

fn share(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> f64 {
    let shared = a.intersection(b).count();
    shared as f64 / (a.len() + b.len() - shared).max(1) as f64
}

/// Words in lower case.
fn normal(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// A hash that is the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Another hash of a hash, by a finaliser that lets every bit count.
fn mixed(hash: u64, seed: u64) -> u64 {
    let mut z = hash.wrapping_add(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
