//! Datacenters: named sites with a region and labels, each of which has one cluster. A draining datacenter takes no
//! new stock and no new claims, while its instances go on; it can be made active again.

pub(crate) mod http;
mod model;
pub(crate) mod store;

use std::sync::Arc;

use crds::Clusters;
use db::Db;
use tokio::sync::Notify;

use crate::catalogue::Catalogue;

pub(crate) use model::takes_stock;
pub use model::{DatacenterPatch, NewDatacenter};

/// The parts that requests about datacenters need.
#[derive(Clone)]
pub(crate) struct Datacenters {
    pub(crate) db: Db,
    pub(crate) clusters: Clusters,
    pub(crate) catalogue: Catalogue,
    /// A datacenter may be active again: entries of the queue may have a free unit.
    pub(crate) changed: Arc<Notify>,
}
