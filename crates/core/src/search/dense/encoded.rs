//! Vectors from an encoder outside of this crate, in place of the built-in table's: whoever embeds the library brings them,
//! for all documents of an index and for the query, or the built-in evidence counts. They are packed and compared like
//! the built-in ones, whatever their width.

use std::{fmt, sync::Arc};

use super::LANES;

/// Most numbers of a vector.
pub const MAX_DIMENSIONS: usize = 4_096;
/// Most bytes of the vectors of one index. 50,000 tools of 2,560 numbers fit.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// Bytes in front of the numbers of a stored vector: how many numbers, and what they are multiples of.
const HEAD: usize = 2 + 4;

/// What a text is about, by an encoder: of unit length, in 8 bits a number. A text that the encoder knows nothing of has
/// nothing but zeros.
#[derive(Clone, PartialEq)]
pub struct Vector {
    /// Filled up to a multiple of [`LANES`] with zeros. None is -128.
    numbers: Box<[i8]>,
    dimensions: u16,
    scale: f32,
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vector({} numbers)", self.dimensions)
    }
}

/// Numbers that are no vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVector {
    /// There is no number.
    #[error("a vector has no numbers")]
    Empty,
    /// There are too many.
    #[error("a vector has {0} numbers; at most {MAX_DIMENSIONS} are read")]
    TooWide(usize),
    /// One is infinite, or none at all (NaN).
    #[error("a vector holds something that is no finite number")]
    NotFinite,
}

impl Vector {
    /// Packs numbers, which need not be of unit length.
    ///
    /// # Errors
    /// When there is none, or too many, or one is not finite.
    pub fn new(parts: &[f32]) -> Result<Self, BadVector> {
        if parts.is_empty() {
            return Err(BadVector::Empty);
        }
        if parts.len() > MAX_DIMENSIONS {
            return Err(BadVector::TooWide(parts.len()));
        }
        if parts.iter().any(|part| !part.is_finite()) {
            return Err(BadVector::NotFinite);
        }
        let mut numbers = vec![0; parts.len().next_multiple_of(LANES)].into_boxed_slice();
        let largest = parts.iter().fold(0.0f32, |most, part| most.max(part.abs()));
        let mut scale = 0.0;
        if largest > 0.0 {
            // By the largest first: squares of large and of small numbers would leave what an f32 can say.
            let unit = |part: &f32| part / largest;
            let length = parts.iter().map(|part| f64::from(unit(part)).powi(2)).sum::<f64>().sqrt();
            for (number, part) in numbers.iter_mut().zip(parts) {
                *number = (unit(part) * 127.0).round() as i8;
            }
            scale = (1.0 / (127.0 * length)) as f32;
        }
        Ok(Self { numbers, dimensions: parts.len() as u16, scale })
    }

    /// How many numbers the encoder gave.
    pub fn dimensions(&self) -> usize {
        usize::from(self.dimensions)
    }

    /// Whether the encoder knew nothing of the text.
    pub fn is_zero(&self) -> bool {
        self.scale == 0.0
    }

    /// For a store: [`Vector::from_bytes`] reads it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.dimensions());
        bytes.extend_from_slice(&self.dimensions.to_le_bytes());
        bytes.extend_from_slice(&self.scale.to_le_bytes());
        bytes.extend(self.numbers[..self.dimensions()].iter().map(|number| number.cast_unsigned()));
        bytes
    }

    /// What [`Vector::to_bytes`] wrote; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (dimensions, rest) = bytes.split_first_chunk()?;
        let (scale, rest) = rest.split_first_chunk()?;
        let (dimensions, scale) = (u16::from_le_bytes(*dimensions), f32::from_le_bytes(*scale));
        let count = usize::from(dimensions);
        let usable = scale.is_finite() && scale >= 0.0 && (1..=MAX_DIMENSIONS).contains(&count);
        if !usable || rest.len() != count || rest.contains(&i8::MIN.cast_unsigned()) {
            return None;
        }
        let mut numbers = vec![0; count.next_multiple_of(LANES)].into_boxed_slice();
        numbers.iter_mut().zip(rest).for_each(|(number, byte)| *number = byte.cast_signed());
        Some(Self { numbers, dimensions, scale })
    }

    pub(in crate::search) fn numbers(&self) -> &[i8] {
        &self.numbers
    }

    pub(in crate::search) fn scale(&self) -> f32 {
        self.scale
    }
}

/// The vectors of all documents of one index, by one encoder ([`super::super::Index::encode`]).
pub struct Encoded {
    by: Arc<str>,
    dimensions: usize,
    pub(in crate::search) width: usize,
    /// In the order of the index's own numbers.
    pub(in crate::search) numbers: Vec<i8>,
    pub(in crate::search) scales: Vec<f32>,
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoded({} vectors of {} numbers by {})", self.scales.len(), self.dimensions, self.by)
    }
}

impl Encoded {
    /// `None` if a vector is missing, is of another width than the first, or if all are too large together.
    pub(in crate::search) fn arrange<'a>(
        by: Arc<str>,
        count: usize,
        vector: impl Fn(usize) -> Option<&'a Vector>,
    ) -> Option<Self> {
        let first = (count > 0).then(|| vector(0))??;
        let (dimensions, width) = (first.dimensions(), first.numbers.len());
        if !Self::fits(count, dimensions) {
            return None;
        }
        let mut all = Self {
            by,
            dimensions,
            width,
            numbers: Vec::with_capacity(count * width),
            scales: Vec::with_capacity(count),
        };
        for number in 0..count {
            let vector = vector(number).filter(|vector| vector.dimensions() == dimensions)?;
            all.numbers.extend_from_slice(&vector.numbers);
            all.scales.push(vector.scale);
        }
        Some(all)
    }

    /// Whether the vectors of so many documents may be held together.
    pub fn fits(documents: usize, dimensions: usize) -> bool {
        documents.checked_mul(dimensions.next_multiple_of(LANES)).is_some_and(|bytes| bytes <= MAX_BYTES)
    }

    /// Who encoded them, as people are told.
    pub fn by(&self) -> &Arc<str> {
        &self.by
    }

    /// Numbers of each vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }
}

/// Where a search gets the vectors of a query and of its parts from.
pub trait QueryVectors: Sync {
    /// The vector of a text; `None` where it is not there. The built-in evidence counts for that search then.
    fn vector(&self, text: &str) -> Option<Arc<Vector>>;
}

/// What an encoder says, for one search: how near documents are to a query goes by it instead of by the built-in table.
#[derive(Clone, Copy)]
pub struct Encoding<'a> {
    /// The documents' vectors, of the index that is searched.
    pub documents: &'a Encoded,
    /// Those of queries.
    pub queries: &'a dyn QueryVectors,
}

impl fmt::Debug for Encoding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.documents.fmt(f)
    }
}

#[cfg(test)]
mod tests;
