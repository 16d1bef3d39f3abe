//! Evidence of what ran: an intent before a call that may change something leaves, an outcome after it, each record
//! chained to the one before by a hash.
//!
//! Owns the writing side ([`Journal`]), the observers of users ([`EvidenceSink`]) and the reading side ([`verify`],
//! [`export`], [`follow`]). Where records are kept is behind [`JournalStore`].

mod carried;
mod chain;
mod guarded;
mod health;
mod late;
mod owed;
mod queue;
mod read;
mod record;
mod recover;
mod settings;
mod sink;
mod store;
mod unsettled;
mod verify;
mod writer;

pub use chain::{ChainFault, GENESIS, link, link_text};
pub use health::JournalStatus;
pub use read::{ExportError, export, follow};
pub use record::{JournalRecord, Kind, StoredRecord};
pub use settings::JournalSettings;
pub use sink::{Delivery, EvidenceSink, SinkReport};
pub use store::{Begun, Claim, ClaimResult, Earlier, JournalFilter, JournalStore, Unfinished};
pub use unsettled::Unsettled;
pub use verify::{Verified, VerifyError, verify};
pub use writer::{Journal, Opening, Unwritten};
