//! `atelier.toml` at the repository's root, all of it optional: ports and folders of the one-command
//! platform.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Where everything the platform keeps is, relative to the repository's root.
    pub(crate) data: PathBuf,
    /// The domain under which each instance has a host name of its own.
    pub(crate) apps_domain: String,
    pub(crate) ports: Ports,
}

/// The ports on 127.0.0.1.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ports {
    pub(crate) gateway: u16,
    pub(crate) stock: u16,
    pub(crate) gpu: u16,
    pub(crate) storage: u16,
    pub(crate) identity: u16,
    pub(crate) operator: u16,
    pub(crate) cluster: u16,
    pub(crate) object_store: u16,
    pub(crate) postgres: u16,
    pub(crate) gateway_metrics: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self { data: ".atelier".into(), apps_domain: "localhost".into(), ports: Ports::default() }
    }
}

impl Default for Ports {
    fn default() -> Self {
        Self {
            gateway: 8080,
            stock: 8081,
            gpu: 8082,
            storage: 8083,
            identity: 8084,
            operator: 8085,
            cluster: 8086,
            object_store: 8087,
            postgres: 8088,
            gateway_metrics: 8090,
        }
    }
}

impl Ports {
    fn all(&self) -> [(&'static str, u16); 10] {
        [
            ("gateway", self.gateway),
            ("stock", self.stock),
            ("gpu", self.gpu),
            ("storage", self.storage),
            ("identity", self.identity),
            ("operator", self.operator),
            ("cluster", self.cluster),
            ("object_store", self.object_store),
            ("postgres", self.postgres),
            ("gateway_metrics", self.gateway_metrics),
        ]
    }

    /// Fails, naming the port and where to change it, unless all are free.
    pub(crate) fn check_free(&self, file: &Path) -> anyhow::Result<()> {
        for (name, port) in self.all() {
            std::net::TcpListener::bind(("127.0.0.1", port)).with_context(|| {
                format!(
                    "port {port} (ports.{name}) is taken by another program; stop it, or write another \
                     port into {}:\n\n[ports]\n{name} = {}\n",
                    file.display(),
                    port + 1000
                )
            })?;
        }
        Ok(())
    }
}

impl Config {
    /// Reads the file, if there is one.
    pub(crate) fn load() -> anyhow::Result<(Self, PathBuf)> {
        let file = crate::root().join("atelier.toml");
        let config: Self = service::config::load(file.exists().then_some(file.as_path()))?;
        Ok((config, file))
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        crate::root().join(&self.data)
    }
}
