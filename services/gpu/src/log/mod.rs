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
mod http;
mod line;
mod objects;
mod output;
mod read;
mod retention;
mod store;

use api::openapi::OpenApiRouter;
use std::sync::Arc;

use db::Db;
use service::Process;
use utoipa_axum::routes;

use self::{collector::Collector, objects::Objects};
use crate::{cluster::Clusters, config::LogArchiveConfig, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(http::get_instance_log)).routes(routes!(http::list_instance_logs))
}

/// The kept logs of all instances.
pub(crate) struct Archive {
    config: LogArchiveConfig,
    objects: Objects,
    db: Db,
}

impl Archive {
    pub(crate) fn new(config: &LogArchiveConfig, db: &Db) -> Self {
        Self { config: config.clone(), objects: Objects::new(config), db: db.clone() }
    }

    /// Starts the workers: `gpu.logs.<cluster>` for each cluster, and `gpu.logs.clean_up`.
    pub(crate) fn start(self: &Arc<Self>, clusters: &Clusters, process: &Process) {
        for cluster in clusters.iter() {
            let collector = Arc::new(Collector::new(self, cluster));
            process.workers.spawn(format!("gpu.logs.{}", cluster.name()), move |stop| {
                let collector = Arc::clone(&collector);
                async move { collector.run(stop).await }
            });
        }
        retention::start(self, process);
    }
}
