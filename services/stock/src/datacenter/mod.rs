//! Named sites. A datacenter is a cluster with a name, a region and labels; one that is draining gives out
//! no more units and takes no more stock, while what runs there runs on. Draining ends by making it active
//! again.

pub mod http;
pub mod model;
pub(crate) mod store;
