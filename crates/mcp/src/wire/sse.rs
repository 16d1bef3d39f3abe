//! Incremental parser of event streams (WHATWG HTML, "Server-sent events"), bounded.

use std::collections::VecDeque;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Event type, absent when the stream named none (`message`).
    pub event: Option<String>,
    /// Data lines joined by line feeds.
    pub data: String,
    /// The last id seen on the stream, if any.
    pub id: Option<String>,
    /// Reconnection time in milliseconds this event asked for.
    pub retry: Option<u64>,
}

/// What the parser gives out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseItem {
    /// A whole event; `data` may be empty only when it carried an id or a retry time (a priming event).
    Event(SseEvent),
    /// An event over the limit, dropped up to its end.
    TooLong,
}

/// Feed it chunks with [`SseParser::push`], take items with [`SseParser::next_item`]. Holds at most the limit plus what was
/// not taken yet of the last chunk. An event that the stream's end cut off is never given out.
#[derive(Debug)]
pub struct SseParser {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    touched: bool,
    size: usize,
    overflow: bool,
    after_cr: bool,
    first_line: bool,
    max: usize,
    items: VecDeque<SseItem>,
}

impl SseParser {
    /// A parser for events of at most `max` bytes (all lines of the event together).
    pub fn new(max: usize) -> Self {
        Self {
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            touched: false,
            size: 0,
            overflow: false,
            after_cr: false,
            first_line: true,
            max,
            items: VecDeque::new(),
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                None => {
                    self.extend(rest);
                    return;
                }
                Some(at) => {
                    self.extend(&rest[..at]);
                    self.after_cr = rest[at] == b'\r';
                    rest = &rest[at + 1..];
                    self.end_line();
                }
            }
        }
    }

    /// The next item, if one is complete.
    pub fn next_item(&mut self) -> Option<SseItem> {
        self.items.pop_front()
    }

    /// Whether the event that is being read is over the limit already.
    pub fn is_over(&self) -> bool {
        self.overflow
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.size = self.size.saturating_add(bytes.len());
        if self.size > self.max && !self.overflow {
            self.overflow = true;
            // Whether the line has begun is still needed below.
            self.line = self.line.first().copied().into_iter().collect();
            self.event.data = String::new();
        }
        if self.overflow {
            // Enough to tell an empty line, which ends the event, from others.
            if self.line.is_empty() {
                self.line.extend(bytes.first());
            }
            return;
        }
        self.line.extend_from_slice(bytes);
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first_line) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            self.dispatch();
        } else if !self.overflow {
            self.field(&line);
        }
        line.clear();
        // The allocation is kept for the next line unless it is large.
        if line.capacity() <= 64 * 1024 {
            self.line = line;
        }
    }

    fn field(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let (name, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => self.event.event = (!value.is_empty()).then(|| value.to_owned()),
            "id" if !value.contains('\0') => {
                self.event.id = (!value.is_empty()).then(|| value.to_owned());
                self.touched = true;
            }
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.event.retry = value.parse().ok();
                self.touched = true;
            }
            // Comments (empty name) and unknown fields. A comment does not count towards the event's size: keep-alives
            // would otherwise add up.
            "" => self.size = self.size.saturating_sub(line.len()),
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let id = self.event.id.clone();
        let event = std::mem::take(&mut self.event);
        let has_data = std::mem::take(&mut self.has_data);
        let touched = std::mem::take(&mut self.touched);
        self.size = 0;
        if std::mem::take(&mut self.overflow) {
            self.items.push_back(SseItem::TooLong);
        } else if has_data || touched {
            self.items.push_back(SseItem::Event(event));
        }
        self.event.id = id;
    }
}
