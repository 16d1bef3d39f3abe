//! Newline-delimited frames with a hard bound on memory.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest line by default: 16 MiB (T16).
pub const DEFAULT_MAX_LINE: usize = 16 * 1024 * 1024;

/// How much is kept of either end of an over-long line, in bytes.
pub const EDGE: usize = 256;

const CHUNK: usize = 16 * 1024;
// A buffer that grew beyond this for one long line is given back afterwards.
const KEEP: usize = 256 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What [`LineReader::next`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end (LF or CRLF), never empty or blank. The last one may have ended with the stream
    /// instead; whether it is whole shows when it is parsed.
    Frame(Bytes),
    /// A line over the limit. It was dropped up to its newline; the next line is in step again (F7).
    TooLong {
        /// Its length in bytes, a CR before the line feed included.
        bytes: u64,
        /// Its first [`EDGE`] bytes.
        head: Bytes,
        /// Its last [`EDGE`] bytes.
        tail: Bytes,
    },
}

#[derive(Debug, Default)]
struct Dropped {
    bytes: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Dropped {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = EDGE - self.head.len();
        self.head.extend(&bytes[..bytes.len().min(room)]);
        self.tail.extend(&bytes[bytes.len().saturating_sub(EDGE)..]);
        let over = self.tail.len().saturating_sub(EDGE);
        self.tail.drain(..over);
    }

    fn into_line(self) -> Line {
        Line::TooLong { bytes: self.bytes, head: self.head.into(), tail: self.tail.into() }
    }
}

/// One step on what is buffered.
enum Step {
    More,
    Blank,
    Line(Line),
}

/// Reads lines, holding at most the limit plus one read's worth. Blank lines, CRLF and a byte order mark are tolerated.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    buffer: BytesMut,
    // Bytes of `buffer` known to hold no newline.
    scanned: usize,
    // What is known so far of an over-long line.
    dropped: Option<Dropped>,
    max: usize,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `max` bytes.
    pub fn with_max(reader: R, max: usize) -> Self {
        Self { reader, buffer: BytesMut::new(), scanned: 0, dropped: None, max, ended: false }
    }

    /// The next line; `None` at the end of the stream. Cancel-safe: nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            loop {
                match self.take() {
                    Step::Line(line) => return Ok(Some(line)),
                    Step::Blank => {}
                    Step::More => break,
                }
            }
            if self.ended {
                return Ok(None);
            }
            self.buffer.reserve(CHUNK);
            let mut limited = (&mut self.reader).take(CHUNK as u64);
            if limited.read_buf(&mut self.buffer).await? == 0 {
                self.ended = true;
            }
        }
    }

    fn take(&mut self) -> Step {
        let newline = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n').map(|at| at + self.scanned);
        let Some(length) = newline else {
            return self.take_without_newline();
        };
        let line = self.buffer.split_to(length);
        self.buffer.advance(1);
        self.scanned = 0;
        let step = self.finish(line);
        if self.buffer.capacity() > KEEP && self.buffer.len() < CHUNK {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        step
    }

    fn take_without_newline(&mut self) -> Step {
        if self.ended {
            if self.buffer.is_empty() && self.dropped.is_none() {
                return Step::More;
            }
            let line = self.buffer.split();
            self.scanned = 0;
            return self.finish(line);
        }
        // A CR that may belong to the line end does not count.
        if self.dropped.is_some() || self.buffer.len() > self.max + 1 {
            self.dropped.get_or_insert_default().add(&self.buffer);
            self.buffer.clear();
            if self.buffer.capacity() > KEEP {
                self.buffer = BytesMut::new();
            }
        }
        self.scanned = self.buffer.len();
        Step::More
    }

    fn finish(&mut self, line: BytesMut) -> Step {
        if let Some(mut dropped) = self.dropped.take() {
            dropped.add(&line);
            return Step::Line(dropped.into_line());
        }
        let whole = line.freeze();
        let mut line = whole.clone();
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        if line.starts_with(BOM) {
            line.advance(BOM.len());
        }
        if line.len() > self.max {
            let mut dropped = Dropped::default();
            dropped.add(&whole);
            return Step::Line(dropped.into_line());
        }
        if line.trim_ascii().is_empty() { Step::Blank } else { Step::Line(Line::Frame(line)) }
    }

    /// Bytes of memory the reader holds.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}
