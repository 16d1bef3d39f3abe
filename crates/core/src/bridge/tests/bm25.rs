//! The reference ranking in its plainest form, so that these tests need nothing of the search module.

use std::collections::BTreeMap;

use crate::bridge::Card;

const K1: f64 = 1.5;
const B: f64 = 0.75;

fn tokenize(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_ascii_lowercase).collect()
}

fn document(card: &Card<'_>) -> Vec<String> {
    let mut text = format!("{} {}", card.name, card.definition["description"].as_str().unwrap_or_default());
    for name in card.definition["inputSchema"]["properties"].as_object().into_iter().flat_map(serde_json::Map::keys) {
        text.push(' ');
        text.push_str(name);
    }
    tokenize(&text)
}

pub(super) fn search(cards: &[Card<'_>], query: &str, limit: usize) -> Vec<(usize, f64)> {
    let documents: Vec<_> = cards.iter().map(document).collect();
    let count = documents.len() as f64;
    let average = (documents.iter().map(Vec::len).sum::<usize>() as f64 / count).max(1.0);
    let mut frequencies: BTreeMap<&str, f64> = BTreeMap::new();
    for document in &documents {
        let mut words: Vec<_> = document.iter().map(String::as_str).collect();
        words.sort_unstable();
        words.dedup();
        for word in words {
            *frequencies.entry(word).or_default() += 1.0;
        }
    }
    let query = tokenize(query);
    let score = |document: &Vec<String>| -> f64 {
        let term = |word: &String| {
            let tf = document.iter().filter(|other| *other == word).count() as f64;
            let df = frequencies.get(word.as_str()).copied().unwrap_or_default();
            let idf = (1.0 + (count - df + 0.5) / (df + 0.5)).ln();
            idf * tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * document.len() as f64 / average))
        };
        query.iter().map(term).sum()
    };
    let mut hits: Vec<_> = documents.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
    hits.sort_by(|a, b| b.1.total_cmp(&a.1));
    hits.truncate(limit);
    hits
}
