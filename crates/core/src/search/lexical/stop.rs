//! Words that say nothing about which tool is meant: English function words and the filler of requests.

/// Sorted, in the form that the tokenizer gives.
#[rustfmt::skip]
pub(super) const STOP_WORDS: &[&str] = &[
    "a", "able", "about", "also", "am", "an", "and", "any", "are", "as", "assist", "at", "be", "been", "being", "but", "by",
    "can", "could", "d", "did", "do", "does", "doing", "don", "for", "from", "give", "had", "has", "have", "having", "he",
    "hello", "help", "her", "hers", "hey", "hi", "him", "his", "how", "i", "id", "if", "ill", "im", "in", "into", "is",
    "isn", "it", "its", "itself", "ive", "let", "like", "ll", "m", "me", "more", "most", "my", "myself", "need", "no",
    "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over", "own", "please",
    "provide", "re", "s", "same", "she", "should", "so", "some", "such", "t", "tell", "than", "thank", "thanks", "that",
    "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "up",
    "us", "use", "used", "using", "ve", "very", "via", "want", "wanted", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "why", "will", "with", "would", "you", "your", "yours", "yourself",
];
