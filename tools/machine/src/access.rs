//! Access to a platform: its address, and the accounts with which programs sign in.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// The GPU specification of the workers of jobs that a platform of `up` runs.
pub const WORKERS_GPU_SPEC: &str = "cpu-worker-1";

/// The address of a platform and the accounts of the demo; `up` writes it to `demo.json` in the data folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Access {
    pub gateway: String,
    pub administrator: SignIn,
    pub designer: SignIn,
    /// With `up --datacenters 2`.
    #[serde(default)]
    pub second: Option<Second>,
    /// Whether there is a worker of jobs.
    #[serde(default)]
    pub has_worker: bool,
    /// Whether there is a message broker.
    #[serde(default)]
    pub has_broker: bool,
}

/// The second datacenter.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Second {
    pub datacenter: String,
    /// Configuration file of its cluster, which names its process.
    pub cluster: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignIn {
    pub email: String,
    pub password: String,
}

impl Access {
    pub const FILE: &str = "demo.json";

    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(serde_json::from_str(&text)?)
    }
}
