//! Configuration of a cluster, from code or from a TOML file.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A development cluster.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and port of the API; port 0 takes a free one.
    #[serde(default = "default_listen")]
    pub listen: SocketAddr,
    /// Folder of the journal, tokens, kubeconfig, pod folders and volumes.
    pub data_dir: PathBuf,
    /// Keeps objects across restarts.
    #[serde(default = "yes")]
    pub journal: bool,
    /// Nodes registered at start.
    #[serde(default)]
    pub nodes: Vec<NodeConfig>,
    /// Commands of images.
    #[serde(default)]
    pub images: Vec<ImageConfig>,
    /// Static bearer tokens, in addition to the generated one of the administrator.
    #[serde(default)]
    pub tokens: Vec<TokenConfig>,
    /// Seconds from the failure of a node to the eviction of its pods.
    #[serde(default = "default_eviction_seconds")]
    pub eviction_seconds: u64,
    /// Seconds from the last heartbeat of a node until it is not ready. Kubelets send four heartbeats in this time.
    #[serde(default = "default_node_grace_seconds")]
    pub node_grace_seconds: u64,
    /// Milliseconds from the return of the API server to the first heartbeats.
    #[serde(default = "default_reconnect_ms")]
    pub reconnect_ms: u64,
    /// Milliseconds from the return of the API server until the scheduler lists again.
    #[serde(default = "default_reconnect_ms")]
    pub scheduler_reconnect_ms: u64,
    /// Milliseconds that the scheduler needs for a pod, from its read of the nodes to its read of the
    /// nominations. Changes in between are in the second read and not in the first, as in Kubernetes.
    #[serde(default)]
    pub scheduler_cycle_ms: u64,
    /// Time for which a new quota has limits but no usage, and pods are refused, in milliseconds; with 0, both come at once.
    /// A count that fails once in Kubernetes has this effect.
    #[serde(default = "default_quota_count_ms")]
    pub quota_count_ms: u64,
    /// Milliseconds from the first failed pull of an image to the second. The pause doubles up to 30 times this.
    #[serde(default = "default_pull_backoff_ms")]
    pub pull_backoff_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    pub name: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Quantities, e.g. `16`, `64Gi`.
    #[serde(default = "default_cpu")]
    pub cpu: String,
    #[serde(default = "default_memory")]
    pub memory: String,
    #[serde(default = "default_storage")]
    pub ephemeral_storage: String,
    #[serde(default = "default_pods")]
    pub pods: u32,
    /// Extended resources, e.g. `nvidia.com/gpu = 8`.
    #[serde(default)]
    pub extended: BTreeMap<String, u64>,
    /// Runs no processes: pods are running and ready at once.
    #[serde(default)]
    pub fake: bool,
    /// Runtime handlers besides the default one, which the handlers of runtime classes name. What they run is a process like
    /// any other.
    #[serde(default)]
    pub runtime_handlers: Vec<String>,
}

/// The command for images whose name matches `pattern` (`*` matches any text).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageConfig {
    pub pattern: String,
    /// A container's `command` replaces it. Without entrypoint and `cmd`, the image runs no process.
    #[serde(default)]
    pub entrypoint: Vec<String>,
    /// A container's `args` replace it.
    #[serde(default)]
    pub cmd: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub working_dir: Option<String>,
    /// The node asks the registry in the image's name, by plain HTTP, whether the image may be pulled.
    #[serde(default)]
    pub registry: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    pub token: String,
    pub user: String,
    #[serde(default)]
    pub groups: Vec<String>,
}

fn default_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8086))
}
fn yes() -> bool {
    true
}
fn default_cpu() -> String {
    "16".into()
}
fn default_memory() -> String {
    "64Gi".into()
}
fn default_storage() -> String {
    "200Gi".into()
}
fn default_pods() -> u32 {
    250
}
fn default_eviction_seconds() -> u64 {
    5
}
fn default_node_grace_seconds() -> u64 {
    8
}
fn default_reconnect_ms() -> u64 {
    1000
}
fn default_quota_count_ms() -> u64 {
    50
}
fn default_pull_backoff_ms() -> u64 {
    10_000
}

impl Config {
    /// A cluster without nodes, on a free port.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: data_dir.into(),
            journal: true,
            nodes: Vec::new(),
            images: Vec::new(),
            tokens: Vec::new(),
            eviction_seconds: default_eviction_seconds(),
            node_grace_seconds: default_node_grace_seconds(),
            reconnect_ms: default_reconnect_ms(),
            scheduler_reconnect_ms: default_reconnect_ms(),
            scheduler_cycle_ms: 0,
            quota_count_ms: default_quota_count_ms(),
            pull_backoff_ms: default_pull_backoff_ms(),
        }
    }

    /// Reads a TOML file; unknown keys are refused.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        use figment::providers::{Format, Toml};
        Ok(figment::Figment::from(Toml::file_exact(path)).extract()?)
    }
}

impl NodeConfig {
    /// A node with default capacity.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            labels: BTreeMap::new(),
            cpu: default_cpu(),
            memory: default_memory(),
            ephemeral_storage: default_storage(),
            pods: default_pods(),
            extended: BTreeMap::new(),
            fake: false,
            runtime_handlers: Vec::new(),
        }
    }
    /// A node that runs no processes.
    pub fn fake(name: impl Into<String>) -> Self {
        Self { fake: true, ..Self::new(name) }
    }
    pub fn extended(mut self, resource: &str, count: u64) -> Self {
        self.extended.insert(resource.to_owned(), count);
        self
    }
    pub fn runtime_handler(mut self, handler: &str) -> Self {
        self.runtime_handlers.push(handler.to_owned());
        self
    }
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }
}

impl ImageConfig {
    /// An image that runs a command.
    pub fn new(pattern: impl Into<String>, entrypoint: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            pattern: pattern.into(),
            entrypoint: entrypoint.into_iter().map(Into::into).collect(),
            cmd: Vec::new(),
            env: BTreeMap::new(),
            working_dir: None,
            registry: false,
        }
    }
    /// An image of a registry that is asked.
    pub fn pulled(mut self) -> Self {
        self.registry = true;
        self
    }
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.env.insert(key.to_owned(), value.to_owned());
        self
    }
    /// Whether the pattern matches an image name.
    pub fn matches(&self, image: &str) -> bool {
        glob(&self.pattern, image)
    }
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => {
            let Some(rest) = text.strip_prefix(head) else { return false };
            (0..=rest.len()).filter(|&i| rest.is_char_boundary(i)).any(|i| glob(tail, &rest[i..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match() {
        assert!(glob("atelier/webui:*", "atelier/webui:1.6"));
        assert!(glob("*/pause:*", "registry.k8s.io/pause:3.10"));
        assert!(!glob("atelier/webui:1", "atelier/webui:1.6"));
    }
}
