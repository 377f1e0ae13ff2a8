//! Logs of instances: read and followed live, and kept in the object store for the time after a container.
//!
//! - `line`: lines and positions; `chunk`: lines as an object. Pure.
//! - `collector`: the replica that has a cluster's lease collects the logs of its containers; `collect`: of one of them.
//! - `objects`, `store`: the bucket, and the index of what is in it. `retention` deletes what is too old.
//! - `http`, `read`, `output`: the request, where its lines come from, and how they are sent.
//!
//! `docs/adr/0014-logs-are-collected.md` has the reasons.

mod chunk;
mod collect;
mod collector;
mod config;
mod http;
mod line;
mod objects;
mod output;
mod read;
mod retention;
mod store;

use std::sync::Arc;

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use clusters::{Cluster, Clusters};
use db::Db;
use instances::streams::TenantStreams;
use jiff::Timestamp;
use service::{Duty, Task};
use utoipa_axum::routes;

use collector::Collector;
use objects::Objects;

pub use config::LogArchiveConfig;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub clusters: Clusters,
    pub archive: Option<Arc<Archive>>,
    pub streams: TenantStreams,
    pub clock: fn() -> Timestamp,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(http::get_instance_log)).routes(routes!(http::list_instance_logs))
}

/// The kept logs of all instances.
pub struct Archive {
    config: LogArchiveConfig,
    objects: Objects,
    db: Db,
}

impl Archive {
    /// Returns the archive in the configured bucket. [`Archive::tasks`] collect.
    pub fn new(config: &LogArchiveConfig, db: &Db) -> Self {
        Self { config: config.clone(), objects: Objects::new(config), db: db.clone() }
    }

    /// The tasks that collect logs, one for each cluster, and delete old ones.
    pub fn tasks(self: &Arc<Self>, clusters: &Clusters) -> Vec<Task> {
        let of_cluster = |cluster: &Arc<Cluster>| {
            let collector = Arc::new(Collector::new(self, cluster));
            Task::new("logs", Duty::Follow, &collector, |collector| async move { collector.run().await })
                .of_cluster(cluster.name())
        };
        clusters.iter().map(of_cluster).chain([retention::task(self)]).collect()
    }
}
