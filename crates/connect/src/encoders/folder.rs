//! A static model in a folder, as the model2vec library writes them: `model.safetensors` with a table of token vectors
//! (`embeddings`; also `weights` by token and a `mapping` from tokens to rows) and `tokenizer.json`; their `config.json` says
//! nothing that matters here. A text's vector is the direction of the mean of its tokens' rows. Nothing is inferred or fetched, so a query's vector is there at once.

use std::{fs, path::Path};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::Deserialize;
use tokenizers::Tokenizer;
use toolcrib_core::{
    ContentHash,
    search::{MAX_DIMENSIONS, Vector},
};
use toolcrib_engine::{
    BoxFuture,
    encoder::{Encoder, EncoderError},
};

mod tokenizer;

/// Largest table, in bytes. The largest that model2vec's authors publish is some 500 MB of 32-bit numbers.
const MAX_TABLE_BYTES: u64 = 1024 * 1024 * 1024;
/// Largest of the other files, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Most tokens of a text that are read; the library's own bound.
const MAX_TOKENS: usize = 512;
/// Most characters of a text that are cut into tokens.
const MAX_CHARS: usize = 8_000;
/// Texts that are encoded before others get their turn: one or two milliseconds.
const BATCH: usize = 32;

/// A static model in memory.
pub struct StaticEncoder {
    id: String,
    name: String,
    tokenizer: Tokenizer,
    unknown: Option<u32>,
    table: Table,
}

/// Rows of numbers, by token.
struct Table {
    rows: Vec<u8>,
    kind: Kind,
    dimensions: usize,
    count: usize,
    weights: Option<Vec<f32>>,
    mapping: Option<Vec<u32>>,
}

#[derive(Clone, Copy)]
enum Kind {
    F32,
    F16,
    BF16,
    I8,
}

/// What of a tokenizer's file says which token stands for what is not known.
#[derive(Deserialize)]
struct TokenizerFile {
    model: TokenizerModel,
}

#[derive(Deserialize)]
struct TokenizerModel {
    unk_token: Option<String>,
    unk_id: Option<u32>,
}

impl StaticEncoder {
    /// Reads the folder. Blocks: some hundred milliseconds for a large model.
    ///
    /// # Errors
    /// When a file is missing, too large, or is not what such a model has.
    pub fn open(folder: &Path) -> Result<Self, EncoderError> {
        let shown = folder.display();
        let fail = |name: &str, cause: &dyn std::fmt::Display| EncoderError::new(format!("{shown}/{name}: {cause}"));
        let read = |name: &'static str, most: u64| -> Result<Vec<u8>, EncoderError> {
            let path = folder.join(name);
            let file = fs::metadata(&path).map_err(|error| fail(name, &error))?;
            if !file.is_file() {
                return Err(fail(name, &"it is no file"));
            }
            if file.len() > most {
                return Err(fail(name, &format!("it has {} bytes; at most {most} are read", file.len())));
            }
            fs::read(&path).map_err(|error| fail(name, &error))
        };
        let tokenizer = read("tokenizer.json", MAX_FILE_BYTES)?;
        let tensors = read("model.safetensors", MAX_TABLE_BYTES)?;
        let file: TokenizerFile = serde_json::from_slice(&tokenizer).map_err(|error| fail("tokenizer.json", &error))?;
        let hash = [&tokenizer, &tensors].map(|bytes| ContentHash::of_bytes(bytes).to_string()).concat();
        let hash = ContentHash::of_bytes(hash.as_bytes());
        let mut tokenizer = tokenizer::read(&tokenizer).map_err(|error| fail("tokenizer.json", &error))?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| fail("tokenizer.json", &error))?;
        let unknown = file.model.unk_token.as_deref().and_then(|token| tokenizer.token_to_id(token));
        let table = Table::read(&tensors).map_err(|cause| fail("model.safetensors", &cause))?;
        let label = folder.file_name().map_or_else(|| "static".into(), |name| name.to_string_lossy().into_owned());
        let label: String = label.chars().filter(|c| !c.is_control()).take(60).collect();
        Ok(Self {
            id: format!("static:{}:{}", hash.base32(26), table.dimensions),
            name: format!("the static model '{label}' ({} numbers)", table.dimensions),
            unknown: unknown.or(file.model.unk_id),
            tokenizer,
            table,
        })
    }

    fn encode(&self, text: &str) -> Result<Vector, EncoderError> {
        let end = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(end, _)| end);
        let tokens = self
            .tokenizer
            .encode_fast(&text[..end], false)
            .map_err(|error| EncoderError::new(format!("a text cannot be cut into tokens: {error}")))?;
        let mut sum = vec![0.0f32; self.table.dimensions];
        for &token in tokens.get_ids().iter().filter(|token| Some(**token) != self.unknown).take(MAX_TOKENS) {
            self.table.add(token, &mut sum);
        }
        Vector::new(&sum).map_err(|error| EncoderError::new(error.to_string()))
    }

    fn encode_all(&self, texts: &[String]) -> Result<Vec<Vector>, EncoderError> {
        texts.iter().map(|text| self.encode(text)).collect()
    }
}

impl Encoder for StaticEncoder {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_remote(&self) -> bool {
        false
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn encode_documents(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EncoderError>> {
        Box::pin(std::future::ready(self.encode_all(&texts)))
    }

    fn encode_queries(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EncoderError>> {
        Box::pin(std::future::ready(self.encode_all(&texts)))
    }

    fn encode_at_once(&self, query: &str) -> Option<Vector> {
        self.encode(query).ok()
    }
}

impl Table {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
        let rows = tensors.tensor("embeddings").map_err(|_| "it has no tensor 'embeddings'".to_owned())?;
        let &[count, dimensions] = rows.shape() else {
            return Err(format!("'embeddings' has {} axes; expected tokens by dimensions", rows.shape().len()));
        };
        if count == 0 || !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(format!("'embeddings' is {count} by {dimensions}; at most {MAX_DIMENSIONS} numbers a token"));
        }
        let kind = match rows.dtype() {
            Dtype::F32 => Kind::F32,
            Dtype::F16 => Kind::F16,
            Dtype::BF16 => Kind::BF16,
            Dtype::I8 => Kind::I8,
            other => return Err(format!("'embeddings' holds {other:?}; expected f32, f16, bf16 or i8")),
        };
        let optional = |name| tensors.tensor(name).ok();
        let weights = optional("weights").map(|weights| floats("weights", &weights)).transpose()?;
        let mapping = optional("mapping").map(|mapping| indices(&mapping)).transpose()?;
        if weights.iter().flatten().any(|weight| !weight.is_finite()) {
            return Err("'weights' holds something that is no finite number".to_owned());
        }
        if let Some(row) = mapping.iter().flatten().find(|row| **row as usize >= count) {
            return Err(format!("'mapping' leads to row {row} of {count}"));
        }
        let finite = |number: &[u8]| kind.number(number).is_finite();
        if let Some(at) = rows.data().chunks_exact(kind.size()).position(|number| !finite(number)) {
            return Err(format!("'embeddings' holds something that is no finite number, in row {}", at / dimensions));
        }
        Ok(Self { rows: rows.data().to_vec(), kind, dimensions, count, weights, mapping })
    }

    /// Adds a token's row; nothing for a token that has none.
    fn add(&self, token: u32, sum: &mut [f32]) {
        let token = token as usize;
        let row = match &self.mapping {
            Some(mapping) => mapping.get(token).map(|row| *row as usize),
            None => Some(token).filter(|row| *row < self.count),
        };
        let weight = self.weights.as_ref().map_or(Some(1.0), |weights| weights.get(token).copied());
        let (Some(row), Some(weight)) = (row, weight) else { return };
        let size = self.kind.size() * self.dimensions;
        let Some(row) = self.rows.get(row * size..(row + 1) * size) else { return };
        for (sum, number) in sum.iter_mut().zip(row.chunks_exact(self.kind.size())) {
            *sum += weight * self.kind.number(number);
        }
    }
}

impl Kind {
    fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::I8 => 1,
        }
    }

    fn number(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Self::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (Self::F16, &[a, b]) => half(u16::from_le_bytes([a, b])),
            (Self::BF16, &[a, b]) => f32::from_bits(u32::from(u16::from_le_bytes([a, b])) << 16),
            (Self::I8, &[a]) => f32::from(a.cast_signed()),
            _ => 0.0,
        }
    }
}

/// A 16-bit number of IEEE 754.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 0x1f), bits & 0x3ff);
    let fraction_bits = u32::from(fraction) << 13;
    match exponent {
        0 => f32::from_bits(sign | 1.0f32.to_bits()) * f32::from(fraction) / 16_777_216.0,
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction_bits),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction_bits),
    }
}

fn floats(name: &str, tensor: &TensorView<'_>) -> Result<Vec<f32>, String> {
    let bytes = tensor.data();
    match tensor.dtype() {
        Dtype::F32 => Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()),
        Dtype::F64 => Ok(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes) as f32).collect()),
        Dtype::F16 => Ok(bytes.as_chunks().0.iter().map(|bytes| half(u16::from_le_bytes(*bytes))).collect()),
        other => Err(format!("'{name}' holds {other:?}; expected f16, f32 or f64")),
    }
}

fn indices(tensor: &TensorView<'_>) -> Result<Vec<u32>, String> {
    let bytes = tensor.data();
    let all: Option<Vec<u32>> = match tensor.dtype() {
        Dtype::I64 => bytes.as_chunks().0.iter().map(|bytes| u32::try_from(i64::from_le_bytes(*bytes)).ok()).collect(),
        Dtype::I32 => bytes.as_chunks().0.iter().map(|bytes| u32::try_from(i32::from_le_bytes(*bytes)).ok()).collect(),
        Dtype::U32 => bytes.as_chunks().0.iter().map(|bytes| Some(u32::from_le_bytes(*bytes))).collect(),
        other => return Err(format!("'mapping' holds {other:?}; expected i32, i64 or u32")),
    };
    all.ok_or_else(|| "'mapping' holds a number that is no row".to_owned())
}

#[cfg(test)]
mod tests;
