//! A tool set over the turns of a conversation.
//!
//! Which deferred tools a model has come to know is read from the transcript that the host hands in ([`transcript`]), and
//! what a turn showed from the [`Turn`] that the host kept of the one before; nothing is remembered here. The tools array
//! of a turn ([`turn()`]) is the one before with new tools at its end, so a provider's prompt cache stays warm (openclaw
//! §2.4 and cases 91, 92; peers §4 case 76). Tools that are gone leave it, with a note and never with an error.

mod announce;
mod carry;
mod payloads;
pub mod transcript;
mod turn;

pub use announce::announcement;
pub use carry::{carried, marker, mend_references};
pub use transcript::{Discovery, How, MOST_DISCOVERIES, discoveries};
pub use turn::{Bridge, LeftOut, Loaded, Turn, TurnRequest, TurnSet, turn};

#[cfg(test)]
mod tests;
