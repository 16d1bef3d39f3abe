//! Lines out of a stream of bytes, with a hard bound on memory.

/// How much is kept of the beginning of a line that is too long, in bytes.
const EDGE: usize = 200;

/// What was between two line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A line without its end (LF or CRLF), never blank.
    Line(Vec<u8>),
    /// A line over the bound: its length and its beginning. The next line is in step again.
    TooLong { bytes: u64, head: Vec<u8> },
}

impl Piece {
    /// The line, or as much of it as was kept.
    pub(super) fn beginning(&self) -> &[u8] {
        match self {
            Self::Line(line) | Self::TooLong { head: line, .. } => line,
        }
    }
}

/// Splits what comes in pieces of any size. Holds at most `max` bytes of an unfinished line.
#[derive(Debug)]
pub(super) struct Splitter {
    max: usize,
    kept: Vec<u8>,
    // Bytes of the present line so far, kept or not.
    length: u64,
}

impl Splitter {
    pub(super) fn new(max: usize) -> Self {
        Self { max, kept: Vec::new(), length: 0 }
    }

    /// Takes in bytes; what they complete goes to `found`.
    pub(super) fn push(&mut self, mut bytes: &[u8], found: &mut Vec<Piece>) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..end]);
            found.extend(self.finish());
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    /// What is left when the stream ends: a line may end with it.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let (mut line, length) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.length));
        // A CR before the end does not count.
        if length == line.len() as u64 && line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        if length > self.max as u64 + 1 || line.len() > self.max {
            line.truncate(EDGE);
            return Some(Piece::TooLong { bytes: length, head: line });
        }
        (!line.trim_ascii().is_empty()).then_some(Piece::Line(line))
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.length <= self.max as u64 + 1 {
            let room = (self.max + 1).saturating_sub(self.kept.len());
            self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        self.length += bytes.len() as u64;
        if self.length > self.max as u64 + 1 && self.kept.len() > EDGE {
            // It cannot become a line any more.
            self.kept.truncate(EDGE);
            self.kept.shrink_to_fit();
        }
    }

    /// Bytes of memory it holds.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.kept.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(max: usize, chunks: &[&[u8]]) -> Vec<Piece> {
        let (mut splitter, mut found) = (Splitter::new(max), Vec::new());
        for chunk in chunks {
            splitter.push(chunk, &mut found);
        }
        found.extend(splitter.finish());
        found
    }

    #[track_caller]
    fn check(max: usize, text: &str, expected: &[Result<&str, (u64, &str)>]) {
        let expected: Vec<Piece> = expected
            .iter()
            .map(|piece| match piece {
                Ok(line) => Piece::Line(line.as_bytes().to_vec()),
                Err((bytes, head)) => Piece::TooLong { bytes: *bytes, head: head.as_bytes().to_vec() },
            })
            .collect();
        assert_eq!(split(max, &[text.as_bytes()]), expected);
    }

    #[test]
    fn lines_end_with_lf_or_crlf_or_the_stream() {
        check(9, "a\nbb\r\nccc", &[Ok("a"), Ok("bb"), Ok("ccc")]);
        check(9, "\n \n\r\n", &[]);
        check(4, "abcd\r\nabcde\nx", &[Ok("abcd"), Err((5, "abcde")), Ok("x")]);
        check(4, "abcdefghi\n\nabcd\n", &[Err((9, "abcde")), Ok("abcd")]);
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter_and_memory_is_bounded(
            bytes in prop::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r')], 0..600),
            cuts in prop::collection::vec(0_usize..600, 0..12),
            max in 1_usize..300,
        ) {
            let whole = split(max, &[&bytes]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let (mut splitter, mut found, mut from) = (Splitter::new(max), Vec::new(), 0);
            for cut in cuts.into_iter().chain([bytes.len()]) {
                splitter.push(&bytes[from..cut], &mut found);
                prop_assert!(splitter.held() <= 2 * (max + 1).max(EDGE * 2), "{} of {max}", splitter.held());
                from = cut;
            }
            found.extend(splitter.finish());
            prop_assert_eq!(&found, &whole);
            // The same as of the whole text at once.
            let expected: Vec<Piece> = bytes
                .split(|byte| *byte == b'\n')
                .filter_map(|line| {
                    let without = line.strip_suffix(b"\r").unwrap_or(line);
                    if without.len() > max {
                        let whole = if line.len() > max + 1 { line } else { without };
                        let head = whole[..whole.len().min(EDGE).min(max + 1)].to_vec();
                        return Some(Piece::TooLong { bytes: line.len() as u64, head });
                    }
                    (!without.trim_ascii().is_empty()).then(|| Piece::Line(without.to_vec()))
                })
                .collect();
            prop_assert_eq!(&found, &expected);
        }
    }
}
