//! Dense evidence: what a text is about, as one vector, from a table of token vectors that is a part of the binary.
//!
//! A text's vector is the sum of its tokens' rows, scaled to unit length; nothing is inferred at query time. The table is
//! distilled from a sentence encoder (`research/embedding/`, attribution in `NOTICE`). Vectors are kept in 8 bits a
//! number, and compared by whole numbers only, so that every machine finds the same.

mod scan;
mod table;

pub(super) use scan::scan;
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
        let scale = scale * weight;
        for (sum, &number) in self.0.iter_mut().zip(row) {
            *sum += f32::from(number.cast_signed()) * scale;
        }
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
    pub(super) fn with_capacity(documents: usize) -> Self {
        Self { numbers: Vec::with_capacity(documents * DIMENSIONS), scales: Vec::with_capacity(documents) }
    }

    pub(super) fn push(&mut self, vector: &Packed) {
        self.numbers.extend_from_slice(&vector.numbers);
        self.scales.push(vector.scale);
    }
}

#[cfg(test)]
#[cfg(feature = "dense")]
mod tests;
