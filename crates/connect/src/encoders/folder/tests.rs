//! Models small enough to be written here.

use std::{fs, path::Path};

use safetensors::{Dtype, serialize, tensor::TensorView};
use serde_json::{Map, Value, json};
use toolcrib_core::search::Vector;
use toolcrib_engine::encoder::Encoder as _;

use super::{StaticEncoder, half};

/// Tokens by number.
const TOKENS: [&str; 6] = ["[UNK]", "note", "memo", "##s", "paint", "a"];

fn tokenizer() -> Value {
    let vocabulary: Map<String, Value> =
        TOKENS.iter().enumerate().map(|(number, token)| ((*token).to_owned(), number.into())).collect();
    json!({
        "version": "1.0",
        "truncation": {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {"strategy": {"Fixed": 40}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 4,
            "pad_type_id": 0, "pad_token": "paint"},
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
}

/// A tensor: name, kind, shape, bytes.
type Tensor<'a> = (&'a str, Dtype, Vec<usize>, Vec<u8>);

fn write(folder: &Path, tokenizer: &Value, tensors: &[Tensor<'_>]) {
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let views =
        tensors.iter().map(|(name, kind, shape, bytes)| (*name, TensorView::new(*kind, shape.clone(), bytes).unwrap()));
    fs::write(folder.join("model.safetensors"), serialize(views, None).unwrap()).unwrap();
}

/// What each token is about, as 32-bit numbers: notes and memos the same, paint something else, `s` and `a` nothing.
const ROWS: [[f32; 3]; 6] =
    [[9.0, 9.0, 9.0], [1.0, 0.0, 0.0], [2.0, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -4.0], [0.0, 0.0, 0.0]];

fn floats(numbers: impl IntoIterator<Item = f32>) -> Vec<u8> {
    numbers.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn embeddings() -> Tensor<'static> {
    ("embeddings", Dtype::F32, vec![6, 3], floats(ROWS.into_iter().flatten()))
}

fn open(tensors: &[Tensor<'_>]) -> Result<StaticEncoder, String> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &tokenizer(), tensors);
    StaticEncoder::open(folder.path()).map_err(|error| error.to_string())
}

#[track_caller]
fn vector(encoder: &StaticEncoder, text: &str) -> Vector {
    encoder.encode_at_once(text).unwrap()
}

#[track_caller]
fn check(encoder: &StaticEncoder, text: &str, want: [f32; 3]) {
    assert_eq!(vector(encoder, text), Vector::new(&want).unwrap(), "{text}");
}

#[test]
fn a_text_is_the_sum_of_its_tokens() {
    let encoder = open(&[embeddings()]).unwrap();
    check(&encoder, "note", [1.0, 0.0, 0.0]);
    check(&encoder, "A Note, memos: paint", [3.0, 0.5, -4.0]);
    check(&encoder, "note of zebras", [1.0, 0.0, 0.0]);
    assert!(vector(&encoder, "zebra").is_zero() && vector(&encoder, "").is_zero(), "what is not known says nothing");
    check(&encoder, &"note ".repeat(600), [1.0, 0.0, 0.0]);
    check(&encoder, &format!("{} paint", "note ".repeat(600)), [1.0, 0.0, 0.0]);
    assert!(!encoder.is_remote() && encoder.name().contains("3 numbers"), "{}", encoder.name());
}

#[test]
fn tables_of_every_kind_are_read() {
    let all = || ROWS.into_iter().flatten();
    // Numbers that 16 bits hold whole.
    let halves = |bits: fn(f32) -> u16| all().flat_map(move |number| bits(number).to_le_bytes()).collect::<Vec<u8>>();
    let f16 = halves(|number| match number {
        0.0 => 0,
        number => {
            let bits = number.to_bits();
            (bits >> 16 & 0x8000) as u16 | (((bits >> 23 & 0xff) - 112) << 10) as u16 | (bits >> 13 & 0x3ff) as u16
        }
    });
    let bf16 = halves(|number| (number.to_bits() >> 16) as u16);
    let i8s: Vec<u8> = all().map(|number| ((number * 2.0) as i8).cast_unsigned()).collect();
    for (kind, bytes) in [(Dtype::F16, f16), (Dtype::BF16, bf16), (Dtype::I8, i8s)] {
        let encoder = open(&[("embeddings", kind, vec![6, 3], bytes)]).unwrap();
        check(&encoder, "a memo, paint", [2.0, 0.5, -4.0]);
    }
}

#[test]
fn weights_and_a_mapping_count() {
    let weights = ("weights", Dtype::F32, vec![6], floats([1.0, 3.0, 1.0, 1.0, 0.5, 1.0]));
    check(&open(&[embeddings(), weights]).unwrap(), "note paint", [3.0, 0.0, -2.0]);
    // All tokens but one share a row.
    let rows = ("embeddings", Dtype::F32, vec![2, 2], floats([1.0, 0.0, 0.0, 1.0]));
    let mapping =
        |rows: [i64; 6]| ("mapping", Dtype::I64, vec![6], rows.into_iter().flat_map(i64::to_le_bytes).collect());
    let encoder = open(&[rows.clone(), mapping([0, 0, 0, 0, 1, 0])]).unwrap();
    assert_eq!(vector(&encoder, "note memo paint"), Vector::new(&[2.0, 1.0]).unwrap());
    for wrong in [[0, 0, 2, 0, 0, 0], [0, -1, 0, 0, 0, 0]] {
        let error = open(&[rows.clone(), mapping(wrong)]).err().unwrap();
        assert!(error.contains("'mapping'"), "{error}");
    }
}

#[track_caller]
fn refused(tensors: &[Tensor<'_>], want: &str) {
    let error = open(tensors).err().unwrap();
    assert!(error.contains(want) && error.contains("model.safetensors"), "{error}");
}

#[test]
fn what_is_no_model_is_refused_with_its_file() {
    refused(&[("other", Dtype::F32, vec![1], floats([1.0]))], "'embeddings'");
    refused(&[("embeddings", Dtype::F32, vec![3], floats([1.0; 3]))], "1 axes");
    refused(&[("embeddings", Dtype::F32, vec![1, 4_097], floats(vec![1.0; 4_097]))], "4097");
    refused(&[("embeddings", Dtype::F32, vec![0, 3], Vec::new())], "0 by 3");
    refused(&[("embeddings", Dtype::I32, vec![1, 1], vec![0; 4])], "I32");
    refused(&[embeddings(), ("weights", Dtype::F32, vec![1], floats([f32::NAN]))], "'weights'");
    let folder = tempfile::tempdir().unwrap();
    let error = || StaticEncoder::open(folder.path()).err().unwrap().to_string();
    assert!(error().contains("tokenizer.json"), "{}", error());
    write(folder.path(), &tokenizer(), &[embeddings()]);
    assert!(StaticEncoder::open(folder.path()).is_ok());
    fs::write(folder.path().join("model.safetensors"), [0xff; 64]).unwrap();
    assert!(error().contains("model.safetensors"), "{}", error());
    write(folder.path(), &json!({"model": {"type": "WordPiece"}}), &[embeddings()]);
    assert!(error().contains("tokenizer.json"), "{}", error());
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    fs::create_dir(folder.path().join("tokenizer.json")).unwrap();
    assert!(error().contains("no file"), "{}", error());
}

#[test]
fn a_table_that_holds_no_finite_numbers_is_refused() {
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut numbers = [1.0; 6];
        numbers[3] = wrong;
        refused(&[("embeddings", Dtype::F32, vec![3, 2], floats(numbers))], "no finite number, in row 1");
    }
    let half = |bits: u16| [0x3c00, bits].into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    refused(&[("embeddings", Dtype::F16, vec![2, 1], half(0x7c00))], "in row 1");
    refused(&[("embeddings", Dtype::BF16, vec![2, 1], half(0x7f80))], "in row 1");
    // Sums of finite numbers may leave what 32 bits hold.
    let encoder = open(&[("embeddings", Dtype::F32, vec![6, 1], floats([f32::MAX; 6]))]).unwrap();
    assert_eq!(encoder.encode_at_once("note memo"), None);
}

#[test]
fn another_model_is_told_from_this_one() {
    let ids: Vec<String> = [1.0, 2.0]
        .map(|first| {
            let rows = floats([first; 18]);
            open(&[("embeddings", Dtype::F32, vec![6, 3], rows)]).unwrap().id().to_owned()
        })
        .into();
    assert_ne!(ids[0], ids[1]);
    assert_eq!(open(&[embeddings()]).unwrap().id(), open(&[embeddings()]).unwrap().id());
    assert!(ids[0].len() < 200);
}

#[test]
fn halves_are_read_as_they_are_written() {
    for (bits, want) in [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 5.960_464_5e-8), (0x7bff, 65_504.0), (0x8000, -0.0)] {
        assert_eq!(half(bits).to_bits(), f32::to_bits(want), "{bits:x}");
    }
    assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
}
