//! Interruptible claims: they get spare units only, and their units go to claims and to instances that wait for one.

pub(crate) mod store;
