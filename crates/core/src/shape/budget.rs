//! How much of results is shown: by the size of the context window, and over one turn of the model.

use super::{Parts, ShapeLimits};
use crate::ToolResult;

/// Characters that a token takes on average.
const CHARS_PER_TOKEN: u64 = 4;
/// Least and most characters of one result, and of one turn, whatever the context window is.
const RESULT: (usize, usize) = (8_000, 100_000);
const TURN: (usize, usize) = (16_000, 200_000);

fn share(context_tokens: u64, percent: u64, (least, most): (usize, usize)) -> usize {
    let chars = context_tokens.saturating_mul(CHARS_PER_TOKEN).saturating_mul(percent) / 100;
    usize::try_from(chars).unwrap_or(usize::MAX).clamp(least, most)
}

impl ShapeLimits {
    /// The budget of one result for a context window of that many tokens: 15 % of it, at least 8,000 and at most
    /// 100,000 characters (Hermes reference §3, "Results").
    pub fn for_context(context_tokens: u64) -> Self {
        Self::default().within_context(context_tokens)
    }

    /// These limits, made smaller where the context window asks for it: what was set explicitly stays the most.
    #[must_use]
    pub fn within_context(self, context_tokens: u64) -> Self {
        self.capped(share(context_tokens, 15, RESULT))
    }

    /// These limits with at most `chars` characters; the preview shrinks with them.
    #[must_use]
    pub fn capped(self, chars: usize) -> Self {
        Self { max_chars: self.max_chars.min(chars), preview_chars: self.preview_chars.min(chars), ..self }
    }
}

/// Characters of results over one turn of the model: calls made side by side must not fill the context together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnBudget {
    /// Characters over all results of the turn. Default 200,000.
    pub max_chars: usize,
    /// Characters shown so far.
    pub used: usize,
}

impl Default for TurnBudget {
    fn default() -> Self {
        Self::new(TURN.1)
    }
}

impl TurnBudget {
    /// A budget of that many characters, nothing of it used.
    pub fn new(max_chars: usize) -> Self {
        Self { max_chars, used: 0 }
    }

    /// The budget for a context window of that many tokens: 30 % of it, at least 16,000 and at most 200,000 characters
    /// (Hermes reference §3, "Results").
    pub fn for_context(context_tokens: u64) -> Self {
        Self::new(share(context_tokens, 30, TURN))
    }

    /// This budget with at most `chars` characters: what was set explicitly stays the most.
    #[must_use]
    pub fn capped(self, chars: usize) -> Self {
        Self { max_chars: self.max_chars.min(chars), ..self }
    }

    /// Characters that are left.
    pub fn left(&self) -> usize {
        self.max_chars.saturating_sub(self.used)
    }

    /// Asks to show that many characters. `None`: all of them may be shown, and are counted. Otherwise the characters
    /// left to show, all counted as used: pass them to [`ShapeLimits::capped`] and shape the result.
    pub fn allow(&mut self, chars: usize) -> Option<usize> {
        let left = self.left();
        self.used = self.used.saturating_add(chars.min(left));
        (chars > left).then_some(left)
    }
}

/// Characters of a result that count for a budget: its text and whatever else there is to read beyond the usual, or the
/// structured content where there is more of that.
pub fn result_chars(result: &ToolResult) -> usize {
    let parts = Parts::of(result);
    (parts.text_chars() + parts.beside_chars()).max(parts.structured_chars)
}

#[cfg(test)]
mod tests;
