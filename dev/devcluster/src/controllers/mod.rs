//! The controllers: garbage collection, namespaces, service accounts, quotas, volumes, resource claims and nodes.

pub(crate) mod accounts;
pub(crate) mod claims;
pub(crate) mod gc;
pub(crate) mod namespaces;
pub(crate) mod nodes;
pub(crate) mod quotas;
pub(crate) mod volumes;
