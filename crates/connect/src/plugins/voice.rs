//! What a plugin says for people: its standard error and log frames, masked, at a bounded rate, the end of it kept.

use std::{collections::VecDeque, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::Instant,
};
use toolcrib_core::redact::Redactor;

use super::{running::PluginSettings, split::Splitter};

/// Lines that are kept.
const KEPT: usize = 20;
/// Characters of a line that count.
const LINE: usize = 500;
/// A line of standard error that is longer than this is cut, in bytes.
const ERROR_LINE: usize = 4 * 1024;
/// Lines that are logged in a second; the rest is only counted.
const PER_SECOND: u32 = 50;

pub(super) struct Voice {
    id: String,
    /// `None`: there are secrets that cannot be looked for, so nothing may be shown.
    redactor: Option<Redactor>,
    said: Mutex<Said>,
}

struct Said {
    tail: VecDeque<String>,
    second: Instant,
    logged: u32,
    dropped: u64,
}

/// How a line is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loudness {
    Debug,
    Info,
    Warn,
    Error,
}

impl Voice {
    pub(super) fn new(id: &str, settings: &PluginSettings) -> Self {
        let secrets = settings.env.values().chain(settings.auth.values()).cloned();
        let said = Said { tail: VecDeque::new(), second: Instant::now(), logged: 0, dropped: 0 };
        Self { id: id.to_owned(), redactor: Redactor::builder().values(secrets).build().ok(), said: Mutex::new(said) }
    }

    /// A text without secrets, on one line, of bounded length.
    pub(super) fn mask(&self, text: &str) -> String {
        let Some(redactor) = &self.redactor else { return "(withheld)".to_owned() };
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        redactor.redact_text(line.trim()).chars().take(LINE).collect()
    }

    /// Logs a line.
    pub(super) fn log(&self, loudness: Loudness, text: &str) {
        let text = self.mask(text);
        if text.is_empty() || !self.may_log() {
            return;
        }
        let plugin = &*self.id;
        match loudness {
            Loudness::Debug => tracing::debug!(plugin, "{text}"),
            Loudness::Info => tracing::info!(plugin, "{text}"),
            Loudness::Warn => tracing::warn!(plugin, "{text}"),
            Loudness::Error => tracing::error!(plugin, "{text}"),
        }
    }

    fn may_log(&self) -> bool {
        let mut said = self.said.lock();
        if said.second.elapsed() >= Duration::from_secs(1) {
            let dropped = std::mem::take(&mut said.dropped);
            (said.second, said.logged) = (Instant::now(), 0);
            if dropped > 0 {
                tracing::warn!(plugin = &*self.id, dropped, "lines were left out: it says too much");
            }
        }
        if said.logged >= PER_SECOND {
            said.dropped += 1;
            return false;
        }
        said.logged += 1;
        true
    }

    /// The last lines of standard error, oldest first.
    pub(super) fn tail(&self) -> Vec<String> {
        self.said.lock().tail.iter().cloned().collect()
    }

    /// Forgets what an earlier process wrote.
    pub(super) fn begin_anew(&self) {
        self.said.lock().tail.clear();
    }

    /// Reads standard error until it ends.
    pub(super) async fn drain(&self, mut stream: impl AsyncRead + Unpin) {
        let mut splitter = Splitter::new(ERROR_LINE);
        let (mut chunk, mut found) = (vec![0; 8 * 1024], Vec::new());
        loop {
            let read = stream.read(&mut chunk).await.unwrap_or(0);
            if read == 0 {
                found.extend(splitter.finish());
            } else {
                splitter.push(&chunk[..read], &mut found);
            }
            for piece in found.drain(..) {
                let text = String::from_utf8_lossy(piece.beginning()).into_owned();
                self.keep(&text);
                self.log(Loudness::Info, &text);
            }
            if read == 0 {
                return;
            }
        }
    }

    fn keep(&self, text: &str) {
        let line = self.mask(text);
        if line.is_empty() {
            return;
        }
        let mut said = self.said.lock();
        if said.tail.len() >= KEPT {
            said.tail.pop_front();
        }
        said.tail.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn standard_error_is_kept_at_its_end_and_without_secrets() {
        let settings = PluginSettings {
            auth: [("service".to_owned(), "sesame-opens-it".to_owned())].into(),
            ..PluginSettings::default()
        };
        let voice = Voice::new("p", &settings);
        let noise = "noise\n".repeat(1000) + &"x".repeat(100_000) + "\nkey is sesame-opens-it\nlast\u{1b}[0m";
        voice.drain(noise.as_bytes()).await;
        let tail = voice.tail();
        assert_eq!(tail.len(), KEPT);
        assert_eq!(tail[KEPT - 1], "last [0m");
        assert!(tail[KEPT - 2].starts_with("key is ") && !tail[KEPT - 2].contains("sesame"), "{tail:?}");
        assert!(tail.iter().all(|line| line.chars().count() <= LINE));
    }
}
