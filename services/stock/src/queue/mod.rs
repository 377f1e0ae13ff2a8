//! The queue of instances that wait for a unit, and the information about it.
//!
//! **Order.** Priority, then the round, then arrival. A tenant's entry is served one round after the tenant's
//! previous one, and not before the round that follows the last one served: tenants take turns, however many
//! entries each has.
//!
//! **No unit is free while an instance that fits waits.** The transaction that makes a unit available gives
//! it to the next entry ([`store::serve`]), so no claim can come in between, and a claim that finds a free
//! unit passes no waiting instance. Two locks per specification keep this true while transactions overlap:
//!
//! | lock | held by | why |
//! |---|---|---|
//! | membership, shared | who may make a unit available | sees every entry that exists |
//! | membership, exclusive | who inserts an entry | sees every unit that has become available |
//! | order, exclusive | who removes entries under the shared lock | two of them would wait for each other's rows |
//!
//! They are taken in this order, with the rows of units between the two. [`heal`] handles the remaining
//! cases: a datacenter that becomes active again, and manual changes.
//!
//! Nor does an interruptible claim get a unit that an instance waits for; and an instance that enters the
//! queue takes the unit of an existing one ([`store::serve_by_recall`]).
//!
//! **Notification.** Each grant is published ([`store::GRANTS`]); the gpu service follows.

pub(crate) mod heal;
pub(crate) mod http;
mod model;
pub(crate) mod report_store;
pub(crate) mod store;
