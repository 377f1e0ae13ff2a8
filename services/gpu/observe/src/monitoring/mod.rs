//! Metrics of instances: their use in a window of time, from Prometheus where a cluster has one, otherwise
//! from samples of the reports of the cluster's nodes.
//!
//! - `model`: metrics, windows, and how spans of time become points. Pure.
//! - `query`: PromQL; `prometheus`: the client. `source`: what a Prometheus answers for the runs of an instance.
//! - `sampler`: the replica that has a cluster's lease samples its nodes; `retention` averages and deletes samples.
//! - `load`: the use of a running instance, for the idle stop.
//! - `store`: SQL. `http`, `read`: the request, and its series from all sources.
//!
//! `docs/adr/0016-metrics-from-prometheus-or-the-nodes.md` has the reasons.

mod config;
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

use std::{collections::BTreeMap, sync::Arc};

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use db::Db;
use jiff::Timestamp;
use service::{Duty, Task};
use utoipa_axum::routes;

use clusters::{Cluster, Clusters};
use prometheus::Prometheus;
use sampler::Sampler;

pub use config::{MonitoringConfig, PrometheusConfig};
pub(crate) use load::{Load, Measured};
pub use metrics::MonitoringMetrics;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub monitoring: Monitoring,
    pub clock: fn() -> Timestamp,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(http::get_instance_metrics))
}

/// The sources of metrics of all clusters. Clones share them.
#[derive(Clone)]
pub struct Monitoring {
    /// By cluster. Clusters without one are sampled.
    prometheus: Arc<BTreeMap<String, Prometheus>>,
    metrics: MonitoringMetrics,
}

impl Monitoring {
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(
        sources: &BTreeMap<String, PrometheusConfig>,
        clusters: &Clusters,
        http: &reqwest::Client,
        metrics: &service::Metrics,
    ) -> anyhow::Result<Self> {
        let own = MonitoringMetrics::default();
        own.register(metrics);
        let mut prometheus = BTreeMap::new();
        for (cluster, settings) in sources {
            anyhow::ensure!(
                clusters.get(cluster).is_some(),
                "[prometheus.{cluster}]: no cluster of this name is configured"
            );
            prometheus.insert(cluster.clone(), Prometheus::new(settings, http, own.clone())?);
        }
        Ok(Self { prometheus: Arc::new(prometheus), metrics: own })
    }

    /// The tasks that sample clusters, one for each without Prometheus, and average old samples.
    pub fn tasks(
        &self,
        config: MonitoringConfig,
        db: &Db,
        clusters: &Clusters,
        clock: fn() -> Timestamp,
    ) -> Vec<Task> {
        let sampled = clusters.iter().filter(|cluster| !self.prometheus.contains_key(cluster.name()));
        let of_cluster = |cluster: &Arc<Cluster>| {
            let sampler = Arc::new(Sampler::new(db, cluster, config, self.metrics.clone(), clock));
            Task::new("samples", Duty::Follow, &sampler, |sampler| async move { sampler.run().await })
                .of_cluster(cluster.name())
        };
        sampled.map(of_cluster).chain([retention::task(db, config)]).collect()
    }
}
