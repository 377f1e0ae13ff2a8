//! Configuration of the archive of logs.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

/// The archive of instances' logs: a bucket of the platform in an object store with S3.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogArchiveConfig {
    /// Base URL, `http(s)://host:port`.
    pub endpoint: String,
    /// Region for request signatures.
    #[serde(default = "default_region")]
    pub region: String,
    /// Name of the bucket. It is created if the key may do so.
    pub bucket: String,
    /// Access key of a user who owns the bucket.
    pub access_key: String,
    /// Secret key of that user.
    pub secret_key: SecretString,
    /// Days for which lines are kept.
    #[serde(default = "default_log_days")]
    pub days: u32,
    /// Compressed bytes that are kept for an instance. The oldest lines are deleted first.
    #[serde(default = "default_log_bytes")]
    pub bytes_per_instance: u64,
    /// Seconds between two readings of a log that is not followed.
    #[serde(default = "default_interval_seconds")]
    pub interval_seconds: u32,
    /// Seconds for which a small number of new lines stays in the cluster, so that chunks are not too small.
    #[serde(default = "default_hold_seconds")]
    pub hold_seconds: u32,
    /// Maximum number of logs of a cluster that are read at the same time.
    #[serde(default = "default_collections")]
    pub collections: usize,
    /// Maximum number of logs of a cluster that are followed at the same time; half of them for starting and ending
    /// containers.
    #[serde(default = "default_follows")]
    pub follows: usize,
}

fn default_region() -> String {
    "default".to_owned()
}

fn default_log_days() -> u32 {
    14
}

fn default_log_bytes() -> u64 {
    64 * 1024 * 1024
}

fn default_interval_seconds() -> u32 {
    10
}

fn default_hold_seconds() -> u32 {
    60
}

fn default_collections() -> usize {
    16
}

fn default_follows() -> usize {
    512
}

impl LogArchiveConfig {
    pub(crate) fn interval(&self) -> Duration {
        Duration::from_secs(self.interval_seconds.max(1).into())
    }

    /// Returns for how long a small number of new lines stays in the cluster.
    pub fn hold(&self) -> Duration {
        Duration::from_secs(self.hold_seconds.into())
    }
}
