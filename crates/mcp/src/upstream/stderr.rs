//! A child's stderr: always drained, the end of it kept (F8).

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

const KEPT_BYTES: usize = 64 * 1024;
const LINE_CHARS: usize = 500;

/// The last 64 KiB that one child wrote to stderr.
#[derive(Clone, Default)]
pub(super) struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
}

impl StderrTail {
    /// Reads until the stream ends, keeping the tail.
    pub(super) async fn drain(self, mut stream: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut chunk).await {
            self.keep(&chunk[..read]);
        }
    }

    fn keep(&self, chunk: &[u8]) {
        let mut bytes = self.bytes.lock();
        let over = (bytes.len() + chunk.len()).saturating_sub(KEPT_BYTES);
        let over = over.min(bytes.len());
        bytes.drain(..over);
        bytes.extend(chunk);
    }

    /// The last `count` lines that are not blank, oldest first, unmasked.
    pub(super) fn lines(&self, count: usize) -> Vec<String> {
        let bytes: Vec<u8> = self.bytes.lock().iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<String> = text
            .lines()
            .rev()
            .map(|line| super::mask::one_line(line, LINE_CHARS))
            .filter(|line| !line.is_empty())
            .take(count)
            .collect();
        lines.reverse();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_tail_is_kept() {
        let tail = StderrTail::default();
        let flood = "an uninteresting line\n".repeat(20_000) + "second last\n\nlast \u{1b}[0m";
        tail.clone().drain(flood.as_bytes()).await;
        assert!(tail.bytes.lock().len() <= KEPT_BYTES);
        assert_eq!(tail.lines(2), ["second last", "last  [0m"]);
    }
}
