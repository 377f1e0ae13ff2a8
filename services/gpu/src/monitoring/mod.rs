//! Metrics of instances: what they used in a window of time, from Prometheus where a cluster has one, otherwise from
//! samples of what the cluster's nodes report.
//!
//! - `model`: metrics, windows, and how spans of time become points. Pure.
//! - `query`: PromQL; `prometheus`: the client. `source`: what a Prometheus answers for the runs of an instance.
//! - `sampler`: the replica that has a cluster's lease samples its nodes; `retention` averages and deletes samples.
//! - `load`: what a running instance used, for the idle stop.
//! - `store`: SQL. `http`, `read`: the request, and its series from all sources.
//!
//! `docs/adr/0016-metrics-from-prometheus-or-the-nodes.md` has the reasons.

mod http;
mod load;
mod metrics;
mod model;
mod prometheus;
mod query;
mod read;
mod retention;
mod sampler;
mod source;
mod store;

use api::openapi::OpenApiRouter;
use std::{collections::BTreeMap, sync::Arc};

use db::Db;
use jiff::Timestamp;
use service::Process;
use utoipa_axum::routes;

use self::{prometheus::Prometheus, sampler::Sampler};
use crate::{cluster::Clusters, config::Config, state::AppState};

pub(crate) use load::{Load, Measured};
pub(crate) use metrics::MonitoringMetrics;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(http::get_instance_metrics))
}

/// The sources of metrics of all clusters. Clones share them.
#[derive(Clone)]
pub(crate) struct Monitoring {
    /// By cluster. Clusters without one are sampled.
    prometheus: Arc<BTreeMap<String, Prometheus>>,
    metrics: MonitoringMetrics,
}

impl Monitoring {
    /// # Errors
    /// If the configuration is not valid.
    pub(crate) fn new(
        config: &Config,
        http: &reqwest::Client,
        metrics: &service::Metrics,
    ) -> anyhow::Result<Self> {
        let own = MonitoringMetrics::default();
        own.register(metrics);
        let mut prometheus = BTreeMap::new();
        for (cluster, settings) in &config.prometheus {
            anyhow::ensure!(
                config.clusters.contains_key(cluster),
                "[prometheus.{cluster}]: no cluster of this name is configured"
            );
            prometheus.insert(cluster.clone(), Prometheus::new(settings, http, own.clone())?);
        }
        Ok(Self { prometheus: Arc::new(prometheus), metrics: own })
    }

    /// Starts the workers: `gpu.samples.<cluster>` for each cluster without Prometheus, and `gpu.samples.average`.
    pub(crate) fn start(
        &self,
        config: &Config,
        db: &Db,
        clusters: &Clusters,
        clock: fn() -> Timestamp,
        process: &Process,
    ) {
        for cluster in clusters.iter().filter(|cluster| !self.prometheus.contains_key(cluster.name())) {
            let sampler = Arc::new(Sampler::new(db, cluster, config.monitoring, self.metrics.clone(), clock));
            process.workers.spawn(format!("gpu.samples.{}", cluster.name()), move |stop| {
                let sampler = Arc::clone(&sampler);
                async move { sampler.run(stop).await }
            });
        }
        retention::start(db, config.monitoring, process);
    }
}
