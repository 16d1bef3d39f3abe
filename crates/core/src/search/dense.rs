//! Dense evidence: what a text is about, as one vector, from a table of token vectors that is a part of the binary.
//!
//! A text's vector is the sum of its tokens' rows, scaled to unit length; nothing is inferred at query time. The table is
//! distilled from a sentence encoder (`research/embedding/`, attribution in `NOTICE`). Vectors are kept in 8 bits a
//! number, and compared by whole numbers only, so that every machine finds the same.

mod encoded;
mod scan;
mod table;

pub use encoded::{BadVector, Encoded, Encoding, MAX_DIMENSIONS, QueryVectors, Vector};
pub(super) use scan::{LANES, scan};
pub(super) use table::{DIMENSIONS, Table};

/// A vector in 8 bits a number: `numbers[i] * scale` is its i-th part. All 0 for a text without known tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packed {
    pub(super) numbers: [i8; DIMENSIONS],
    pub(super) scale: f32,
}

/// A sum of token vectors in the making.
#[derive(Clone, Debug)]
pub(super) struct Sum(Box<[f32; DIMENSIONS]>);

impl Default for Sum {
    fn default() -> Self {
        Self(Box::new([0.0; DIMENSIONS]))
    }
}

impl Sum {
    pub(super) fn clear(&mut self) {
        self.0.fill(0.0);
    }

    /// Adds the row of one token, `weight` times.
    pub(super) fn add_token(&mut self, table: &Table, token: u16, weight: f32) {
        let (row, scale) = table.row(token);
        scan::add_row(&mut self.0, row, scale * weight);
    }

    /// Adds `other` at unit length, `weight` times.
    pub(super) fn add_unit(&mut self, other: &Self, weight: f32) {
        let length = other.length();
        if length > 0.0 {
            let scale = weight / length;
            self.0.iter_mut().zip(other.0.iter()).for_each(|(sum, part)| *sum += part * scale);
        }
    }

    /// Adds `other` as it is.
    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0.iter()).for_each(|(sum, part)| *sum += part);
    }

    fn length(&self) -> f32 {
        // In lanes of a fixed number, so that the order of the additions is the same everywhere.
        let mut lanes = [0.0f32; 8];
        for chunk in self.0.chunks_exact(8) {
            lanes.iter_mut().zip(chunk).for_each(|(lane, part)| *lane += part * part);
        }
        lanes.iter().sum::<f32>().sqrt()
    }

    /// At unit length, in 8 bits a number.
    pub(super) fn pack(&self) -> Packed {
        let mut packed = Packed { numbers: [0; DIMENSIONS], scale: 0.0 };
        let largest = self.0.iter().fold(0.0f32, |most, part| most.max(part.abs()));
        let length = self.length();
        if largest > 0.0 && length > 0.0 {
            let step = largest / 127.0;
            for (number, part) in packed.numbers.iter_mut().zip(self.0.iter()) {
                *number = (part / step).round() as i8;
            }
            packed.scale = step / length;
        }
        packed
    }
}

/// Vectors of all documents of an index, one after the other.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    pub(super) numbers: Vec<i8>,
    pub(super) scales: Vec<f32>,
}

impl Vectors {
    /// Those of `count` documents, of which those with a `new` number are in `earlier` already, by their old numbers; the
    /// others are the `added`, and have the `vector`s given. A document without one is about nothing.
    pub(super) fn after<'a>(
        earlier: Option<&Self>,
        new: &[u32],
        added: &[u32],
        count: usize,
        vector: impl Fn(usize) -> Option<&'a Packed>,
    ) -> Self {
        let mut all = Self { numbers: vec![0; count * DIMENSIONS], scales: vec![0.0; count] };
        if let Some(earlier) = earlier {
            let mut old = 0;
            for run in new.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
                let (from, to) = (old, run[0] as usize);
                old += run.len();
                if to < count {
                    all.scales[to..to + run.len()].copy_from_slice(&earlier.scales[from..old]);
                    all.numbers[to * DIMENSIONS..(to + run.len()) * DIMENSIONS]
                        .copy_from_slice(&earlier.numbers[from * DIMENSIONS..old * DIMENSIONS]);
                }
            }
        }
        for number in added.iter().map(|&number| number as usize) {
            if let Some(vector) = vector(number) {
                all.scales[number] = vector.scale;
                all.numbers[number * DIMENSIONS..(number + 1) * DIMENSIONS].copy_from_slice(&vector.numbers);
            }
        }
        all
    }
}

#[cfg(test)]
#[cfg(feature = "dense")]
mod tests;
