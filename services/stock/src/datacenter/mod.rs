//! Datacenters: named sites with a region and labels, each of which has one cluster. A draining datacenter takes no
//! new stock and no new claims, while its instances go on; it can be made active again.

pub(crate) mod http;
mod model;
pub(crate) mod store;

pub use model::{Datacenter, DatacenterPatch, DatacenterRef, DatacenterState, NewDatacenter};
