//! What goes over the wire: every request and every answer as a type, from which the OpenAPI document is made as well.
//!
//! Requests are strict: a member that is not known is an error that names it. Answers that tell of things whose details grow
//! (records, figures) may have further members.

mod approvals;
mod bounds;
mod calls;
mod catalog;
mod conversation;
mod explain;
mod health;
mod later;
mod lookup;
mod records;
mod tools;
mod turns;

pub use approvals::{
    Answered, ApprovalsQuery, Grant, GrantPattern, Grants, Reach, Request, RequestState, Requests, Revoked, Verdict,
};
pub use bounds::{List, Number, Object, Text, Word};
pub use calls::{
    Batch, Call, CallOutcome, Ended, Event, MAX_BATCH, OutcomeWord, Outcomes, ProtocolError, RepairMade, Step,
    TimingsUs,
};
pub use catalog::{CatalogEntry, CatalogPage, CatalogQuery, Label, PermissionWord, Relabel, Relabelled};
pub use conversation::{Conversation, InConversation, LeftOutTool, ListingForm, LoadedTool, ShownListing, ShownTurn};
pub use explain::{Explain, Explained, Explanation};
pub use health::{Health, RecordState, SourceHealth, Standing};
pub use later::{Cancelled, Deliveries, DeliveriesQuery, Delivery, MAX_WAIT_MS, Pending, PendingList, Resumed};
pub use lookup::{Describe, Described, Found, FoundTool, Hit, OneOrMany, QueryHits, Search};
pub use records::{AuditOutcome, AuditQuery, Breaker, Breakers, Principal, Record, Records, Reset, ResetDone, Stats};
pub use tools::{Assemble, Assembled, LossEntry, RefusedTool, ScopeWish, TargetName, Tokens, TooMany, ToolRow, Tools};
pub use turns::{Turn, TurnCall, TurnDone};

use serde_json::{Map, Value};

/// Further members of an answer.
pub type More = Map<String, Value>;
