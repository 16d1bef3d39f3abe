//! What is kept of a command's output: its beginning and its end.

use std::collections::VecDeque;

/// Collects output; of more than the limit only the first and the last half are kept.
pub(crate) struct Kept {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Kept {
    pub(crate) fn new(limit: usize) -> Self {
        Self { half: (limit / 2).max(1), head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        // Of one piece longer than the tail only its own end can stay.
        let (lost, last) = rest.split_at(rest.len().saturating_sub(self.half));
        self.tail.extend(last);
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
        self.dropped += (lost.len() + excess) as u64;
    }

    pub(crate) fn into_text(self) -> String {
        let tail: Vec<u8> = self.tail.into();
        if self.dropped == 0 {
            let whole = [self.head, tail].concat();
            return String::from_utf8_lossy(&whole).trim_end().to_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        // A character cut in half shows as a replacement character at the edges only.
        let (head, tail) = (head.trim_end_matches('\u{fffd}'), tail.trim_start_matches('\u{fffd}'));
        format!("{head}\n[{} bytes left out]\n{}", self.dropped, tail.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limit: usize, pieces: &[&str], expected: &str) {
        let mut kept = Kept::new(limit);
        for piece in pieces {
            kept.push(piece.as_bytes());
        }
        assert_eq!(kept.into_text(), expected, "{pieces:?}");
    }

    #[test]
    fn short_output_is_kept_whole() {
        check(10, &["abc", "def\n"], "abcdef");
        check(10, &["abcdefghij"], "abcdefghij");
        check(10, &[], "");
        check(4, &["é", "é"], "éé");
    }

    #[test]
    fn of_long_output_both_ends_stay() {
        check(10, &["abcdefghijk"], "abcde\n[1 bytes left out]\nghijk");
        check(10, &["abc", "defg", "hijklmnop", "q"], "abcde\n[7 bytes left out]\nmnopq");
        check(4, &["aé", "bbbb", "éa"], "a\n[6 bytes left out]\na");
    }
}
