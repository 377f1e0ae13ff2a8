//! The controllers: garbage collection, namespaces, volumes, resource claims and nodes.

pub(crate) mod claims;
pub(crate) mod gc;
pub(crate) mod namespaces;
pub(crate) mod nodes;
pub(crate) mod volumes;
