//! How a service reaches a cluster.

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde::Deserialize;

/// A cluster that does not answer must not hold a worker for long.
const CONNECT: Duration = Duration::from_secs(5);
const WRITE: Duration = Duration::from_secs(30);
/// Nor for ever one that took the request. Longer than the silence of a healthy watch, which the API server
/// ends by itself.
const READ: Duration = Duration::from_secs(330);

/// How to reach a cluster.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// A kubeconfig file; without one, the service account of the pod the service runs in.
    #[serde(default)]
    pub kubeconfig: Option<PathBuf>,
    /// A context of that file; by default its current one.
    #[serde(default)]
    pub context: Option<String>,
}

impl ClusterConfig {
    /// A client for objects: to read, watch and write them.
    ///
    /// # Errors
    /// When the credentials cannot be read.
    pub async fn client(&self) -> anyhow::Result<Client> {
        let mut config = self.config().await?;
        config.read_timeout = Some(READ);
        config.write_timeout = Some(WRITE);
        Ok(Client::try_from(config)?)
    }

    /// A client for what may rightly be silent for long: a log that is followed, a terminal.
    ///
    /// # Errors
    /// When the credentials cannot be read.
    pub async fn client_for_streams(&self) -> anyhow::Result<Client> {
        Ok(Client::try_from(self.config().await?)?)
    }

    async fn config(&self) -> anyhow::Result<Config> {
        let mut config = match &self.kubeconfig {
            Some(path) => {
                let file = Kubeconfig::read_from(path)
                    .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
                let options = KubeConfigOptions { context: self.context.clone(), ..Default::default() };
                Config::from_custom_kubeconfig(file, &options).await?
            }
            None => Config::incluster()?,
        };
        config.connect_timeout = Some(CONNECT);
        Ok(config)
    }
}
