//! Evidence of what ran: an intent before a call that may change something leaves, an outcome after it, each record
//! chained to the one before by a hash.

mod chain;
mod record;
mod store;

pub use chain::{ChainFault, GENESIS, link};
pub use record::{JournalRecord, Kind, StoredRecord};
pub use store::{Begun, Claim, ClaimResult, Earlier, JournalFilter, JournalStore, Unfinished};
