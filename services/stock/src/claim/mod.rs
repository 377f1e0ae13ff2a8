//! Claims: one unit for one instance, and back.
//!
//! A claim is the row of a unit that names its holder; no other record could disagree. Claims of one specification
//! that arrive together share one statement and one commit ([`crate::batch`]): a batch is what has queued while the
//! previous one was committing.
//!
//! Claims and releases need no Idempotency-Key (one that is sent is ignored): the instance's id is the key. An
//! instance gets the same unit until it releases it, and releasing nothing succeeds. A key that outlived a release
//! could only repeat an answer that is no longer true.
//!
//! An interruptible claim gets a spare unit only, and its unit goes to the claim that finds no free one
//! ([`interruptible_store`]): the new holder is in the row at once, the instance that was interrupted leaves the unit within
//! seconds, and the cluster admits the next one when it is empty.
//!
//! An instance that is ready to wait enters the queue when no unit is free, and leaves it with its release
//! ([`crate::queue`]).

mod claims;
pub(crate) mod http;
pub(crate) mod interruptible_store;
mod model;
mod releases;
mod service;
pub(crate) mod store;

pub(crate) use model::Exhausted;
pub use model::{Claim, ClaimPatch, ClaimRecall, ClaimRequest, Turn, WaitRequest};
pub(crate) use service::ClaimService;
