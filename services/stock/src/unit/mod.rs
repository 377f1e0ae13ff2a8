//! Units of stock: their states, their objects in the clusters, and what the clusters report.
//!
//! Postgres holds the desired state, the cluster the actual state. Requests only record the desired state;
//! [`reconcile`] creates and deletes objects, [`watch`] records what the cluster reports, and the comparison repairs
//! what both have missed.

pub(crate) mod cluster_store;
pub(crate) mod http;
mod model;
pub(crate) mod object;
pub(crate) mod reconcile;
mod removal;
pub(crate) mod store;
pub(crate) mod watch;

use std::sync::Arc;

use crds::Clusters;
use db::Db;

use crate::{config::StockConfig, metrics::StockMetrics};

pub use model::{Holder, PastHolder, StockUnit, StockUnitDetail, UnitState, UnitStatus};

/// The parts of the workers that compare units with their clusters. Clones share them.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) db: Db,
    pub(crate) clusters: Clusters,
    pub(crate) config: Arc<StockConfig>,
    pub(crate) metrics: StockMetrics,
}
