//! The pods of instances as the cluster has them.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;
use serde_json::Value;

/// A pod that has not been replaced or restarted is equal to itself before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pod {
    uid: String,
    /// When its container started.
    started_at: String,
    restarts: u64,
}

/// The address of a development cluster and its token.
pub(super) struct Cluster {
    http: reqwest::Client,
    url: String,
    token: String,
}

impl Cluster {
    /// Reads the kubeconfig of a development cluster, which has an address without TLS.
    pub(super) fn of(kubeconfig: &Path) -> anyhow::Result<Self> {
        let config: Value = serde_yaml_ng::from_str(&std::fs::read_to_string(kubeconfig)?)?;
        let servers = config["clusters"].as_array().context("no clusters")?.iter();
        let mut urls = servers.filter_map(|cluster| cluster["cluster"]["server"].as_str());
        let url = urls.find(|url| url.starts_with("http://")).context("no address without TLS")?;
        let token = config["users"][0]["user"]["token"].as_str().context("no token")?;
        Ok(Self { http: machine::http::client()?, url: url.to_owned(), token: token.to_owned() })
    }

    /// The pods of instances, by the instance's id in Kubernetes.
    pub(super) async fn instances(&self) -> anyhow::Result<BTreeMap<String, Pod>> {
        let url = format!("{}/api/v1/pods?labelSelector=atelier.dev/instance", self.url);
        let list: Value = self.http.get(url).bearer_auth(&self.token).send().await?.json().await?;
        let pods = list["items"].as_array().with_context(|| format!("no pods in {list}"))?;
        Ok(pods.iter().filter_map(|pod| Some((instance_of(pod)?, Pod::of(pod)?))).collect())
    }
}

fn instance_of(pod: &Value) -> Option<String> {
    Some(pod["metadata"]["labels"]["atelier.dev/instance"].as_str()?.to_owned())
}

impl Pod {
    fn of(pod: &Value) -> Option<Self> {
        let status = &pod["status"]["containerStatuses"][0];
        Some(Self {
            uid: pod["metadata"]["uid"].as_str()?.to_owned(),
            started_at: status["state"]["running"]["startedAt"].as_str()?.to_owned(),
            restarts: status["restartCount"].as_u64().unwrap_or_default(),
        })
    }
}
