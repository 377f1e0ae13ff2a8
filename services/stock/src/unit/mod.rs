//! Stock units: adding and removing them, what the cluster says of them, and their pages.
//!
//! The database is what is meant, the cluster is what is so. Requests only record what is meant; the
//! [`maker`] makes and removes the objects, the [`watch`] writes up what the cluster says, and the full
//! comparison ([`compare`]) puts right whatever both missed. The maker leases its units row by row; the
//! watch runs in every replica and a row takes only what is newer than what it has; a comparison is run by
//! the replica that first finds it due.

pub mod http;
pub mod model;
pub mod object;

pub(crate) mod cluster_store;
pub(crate) mod compare;
pub(crate) mod maker;
pub(crate) mod store;
pub(crate) mod watch;
