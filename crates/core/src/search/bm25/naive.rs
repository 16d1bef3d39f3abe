//! The reference ranker as its model has it: everything rebuilt for every query. Baseline of the benchmarks, and the
//! second opinion of the tests; nothing else may use it.

use std::collections::{HashMap, HashSet};

use super::{B, K1, SUBSTRING_SCORE, document_tokens, idf, tokens};
use crate::search::{Document, Hit};

/// Scores every document against the query, from nothing.
pub fn search(documents: &[Document], query: &str, limit: usize) -> Vec<Hit> {
    let query_tokens = tokens(query);
    if documents.is_empty() || limit == 0 || query_tokens.is_empty() {
        return Vec::new();
    }
    let documents: Vec<(usize, &Document)> =
        documents.iter().enumerate().filter(|(_, document)| !document.name.is_empty()).collect();
    let texts: Vec<Vec<String>> = documents.iter().map(|(_, document)| document_tokens(document)).collect();
    let mut frequencies: HashMap<&str, usize> = HashMap::new();
    for text in &texts {
        for token in text.iter().map(String::as_str).collect::<HashSet<_>>() {
            *frequencies.entry(token).or_default() += 1;
        }
    }
    let average = (texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len() as f64).max(1.0);
    let mut hits = Vec::new();
    for ((index, _), text) in documents.iter().zip(&texts) {
        let mut counts: HashMap<&str, f64> = HashMap::new();
        for token in text {
            *counts.entry(token).or_default() += 1.0;
        }
        let norm = 1.0 - B + B * text.len() as f64 / average;
        let mut score = 0.0;
        for token in &query_tokens {
            let Some(tf) = counts.get(token.as_str()) else { continue };
            score += idf(texts.len(), frequencies[token.as_str()]) * tf * (K1 + 1.0) / (tf + K1 * norm);
        }
        if score > 0.0 {
            hits.push(Hit { index: *index, score });
        }
    }
    if hits.is_empty() {
        let query = query.trim().to_lowercase();
        for &(index, document) in &documents {
            if document.name.to_lowercase().contains(&query) {
                hits.push(Hit { index, score: SUBSTRING_SCORE });
            }
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(limit);
    hits
}
