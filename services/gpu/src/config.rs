//! This service's configuration.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use auth::{AuthConfig, Callers};
use clients::Endpoint;
use crds::ClusterConfig;
use db::DbConfig;
use ids::InstanceId;
use serde::Deserialize;

/// All of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The schema `gpu`.
    pub database: DbConfig,
    /// Whose access tokens are accepted.
    pub auth: AuthConfig,
    /// The services that may call the internal operations: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// The stock service.
    pub stock: Endpoint,
    /// The storage service.
    pub storage: Endpoint,
    /// Where instances answer.
    pub apps: Apps,
    /// The clusters, by the names that datacenters give as their `cluster`.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// Terminals.
    #[serde(default)]
    pub terminal: TerminalConfig,
}

/// Where instances answer: `<scheme>://<inst-…>.<domain>[:<port>]/`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apps {
    /// `http` or `https`.
    pub scheme: String,
    /// The domain under which each instance has a name.
    pub domain: String,
    /// The port; the scheme's own when absent.
    #[serde(default)]
    pub port: Option<u16>,
}

impl Apps {
    /// An instance's URL, with the slash at its end.
    #[must_use]
    pub fn url(&self, instance: InstanceId) -> String {
        let Self { scheme, domain, port } = self;
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{}.{domain}{port}/", instance.k8s_name())
    }
}

/// How terminals end by themselves.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TerminalConfig {
    /// Seconds without a byte in either direction.
    pub idle_seconds: u64,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self { idle_seconds: 30 * 60 }
    }
}

impl TerminalConfig {
    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.max(1))
    }
}
