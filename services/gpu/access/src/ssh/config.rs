//! Configuration of the SSH endpoint.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use peer::Endpoint;
use serde::Deserialize;

/// The SSH endpoint: `ssh <instance>@<host>`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SshConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Host name for users.
    pub host: String,
    /// Port for users; that of `listen` if absent.
    #[serde(default)]
    pub port: Option<u16>,
    /// File with the host key in OpenSSH format. Without it, the first replica makes one and keeps it in the database.
    #[serde(default)]
    pub host_key_file: Option<PathBuf>,
    /// The identity service, which returns the rights of a key's user.
    pub identity: Endpoint,
    /// Maximum number of concurrent connections of this replica, before and after log-in.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// Maximum number of concurrent connections of a tenant to this replica.
    #[serde(default = "default_connections_per_tenant")]
    pub connections_per_tenant: u32,
    /// Failed keys after which a connection is closed.
    #[serde(default = "default_auth_attempts")]
    pub auth_attempts: u32,
    /// Seconds within which a client must log in.
    #[serde(default = "default_handshake_seconds")]
    pub handshake_seconds: u64,
    /// Seconds without a byte in either direction after which a connection is closed.
    #[serde(default = "default_idle_seconds")]
    pub idle_seconds: u64,
}

fn default_connections() -> u32 {
    1000
}

fn default_connections_per_tenant() -> u32 {
    64
}

fn default_auth_attempts() -> u32 {
    10
}

fn default_handshake_seconds() -> u64 {
    30
}

fn default_idle_seconds() -> u64 {
    2 * 3600
}

impl SshConfig {
    pub(crate) fn handshake(&self) -> Duration {
        Duration::from_secs(self.handshake_seconds.max(1))
    }

    /// Returns after how long a connection without a byte in either direction is closed.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.max(1))
    }
}
