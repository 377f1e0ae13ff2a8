//! Claims and releases: one unit for one instance.
//!
//! A claim is a column of the unit's row, which names its holder: no other record can disagree. Claims of one
//! specification that arrive together share one statement and one commit ([`batch`]): a batch is what has queued
//! while the previous one was committing.
//!
//! Claims and releases need no Idempotency-Key (one that is sent is ignored): the instance's id is the key.
//! An instance gets the same unit until it releases it, and releasing nothing succeeds. A key that outlived a
//! release could only repeat an outdated answer.
//!
//! An interruptible claim gets a spare unit only, and its unit goes to the claim that finds no free one
//! ([`crate::interruptible`]): the new holder is in the row at once, the instance that was interrupted leaves the unit within
//! seconds, and the cluster admits the next one when it is empty.
//!
//! An instance that may wait enters the queue when no unit is free, and leaves it with its release
//! ([`crate::queue`]).

mod claims;
mod error;
pub(crate) mod http;
mod model;
mod releases;
mod service;
pub(crate) mod store;

pub(crate) use service::ClaimService;
