//! What was told already.

use std::collections::{HashSet, VecDeque};

/// Most texts remembered (openclaw §1.6).
const MOST: usize = 256;

/// Remembers the last 256 texts, so that each is told once. One that was forgotten is told again (openclaw case 38).
#[derive(Debug, Default)]
pub struct Told {
    order: VecDeque<String>,
    known: HashSet<String>,
}

impl Told {
    /// Whether the text has not been told; from now on it has.
    pub fn is_new(&mut self, text: &str) -> bool {
        if self.known.contains(text) {
            return false;
        }
        if self.order.len() >= MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(text.to_owned());
        self.known.insert(text.to_owned());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_257_texts_the_first_is_told_again() {
        let mut told = Told::default();
        // Case 38.
        for number in 0..257 {
            assert!(told.is_new(&number.to_string()));
        }
        assert!(!told.is_new("1"));
        assert!(!told.is_new("256"));
        assert!(told.is_new("0"));
        assert!(told.is_new("1"), "the next oldest made room");
        assert!(!told.is_new("256"));
    }
}
