//! Reading text line by line with bounded memory.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
};

use super::{blocking::Stop, failure::Failure};

/// Bytes read between two questions whether anybody still waits.
const UNASKED: usize = 1024 * 1024;

/// Bytes looked at to tell text from binary.
const SNIFFED: usize = 8 * 1024;

/// How a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// With a line break.
    Break,
    /// With the file.
    File,
}

/// One line read; its bytes are in the caller's buffer, without the line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) end: LineEnd,
    /// Whether it was longer than the cap; the rest was skipped.
    pub(crate) cut: bool,
}

/// A text file as lines.
pub(crate) struct Lines<'a> {
    reader: BufReader<File>,
    stop: &'a Stop,
    // Bytes since it was last asked.
    unasked: usize,
}

impl<'a> Lines<'a> {
    /// Starts reading; `None` if the beginning holds a NUL byte, as no text does.
    pub(crate) fn of_text(file: File, stop: &'a Stop) -> io::Result<Option<Self>> {
        let mut reader = BufReader::with_capacity(SNIFFED, file);
        let binary = reader.fill_buf()?.contains(&0);
        Ok((!binary).then_some(Self { reader, stop, unasked: 0 }))
    }

    /// Reads the next line into `buffer` (emptied first), at most `cap` bytes of it. `None` at the end of the file.
    /// Fails in the midst of it when nobody waits for the call any more: one line may be as long as a disk.
    pub(crate) fn next(&mut self, buffer: &mut Vec<u8>, cap: usize) -> io::Result<Option<Line>> {
        buffer.clear();
        let mut cut = false;
        let mut any = false;
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Ok(any.then_some(Line { end: LineEnd::File, cut }));
            }
            any = true;
            let break_at = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..break_at.unwrap_or(available.len())];
            let room = cap - buffer.len();
            cut |= part.len() > room;
            buffer.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(break_at.is_some());
            self.reader.consume(used);
            self.unasked += used;
            if self.unasked >= UNASKED {
                self.unasked = 0;
                self.stop.check().map_err(|Failure(text)| io::Error::other(text))?;
            }
            if break_at.is_some() {
                return Ok(Some(Line { end: LineEnd::Break, cut }));
            }
        }
    }
}
