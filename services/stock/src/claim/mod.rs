//! The hand-out: one unit for one instance, and back.
//!
//! A claim is a unit's row that names its holder; there is no other record that could disagree. Claims of
//! one specification that arrive together share one statement and one commit ([`batch`]): nobody is made to
//! wait for company, a batch is whatever has queued while the one before it was committing.
//!
//! Claims and releases need no Idempotency-Key (one that is sent is ignored): the instance's id is the key.
//! The same instance gets the same unit until it gives it back, and giving back what is not held is done
//! already. So a key that outlives a release could only bring back an answer that is no longer true.

pub(crate) mod batch;
mod desk;
pub mod http;
pub mod model;
pub(crate) mod store;

pub(crate) use desk::Desk;
