//! What every part of the process shares.

use crate::config::Config;
use crate::kinds::{Registry, Resource};
use crate::node::Nodes;
use crate::store::Store;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(crate) struct Hub {
    pub store: Arc<Store>,
    pub kinds: Registry,
    pub config: Config,
    pub nodes: Nodes,
    /// The bearer token of the administrator.
    pub admin_token: String,
    /// Cancelled when the cluster stops.
    pub stop: CancellationToken,
}

impl Hub {
    /// A builtin kind by its store id.
    pub(crate) fn kind(&self, id: &str) -> Arc<Resource> {
        self.kinds.get(id).unwrap_or_else(|| unreachable!("{id} is in the builtin table"))
    }
}

/// Now, as Kubernetes writes times: whole seconds.
pub(crate) fn now() -> String {
    seconds(jiff::Timestamp::now())
}

/// Now with microseconds.
pub(crate) fn now_micro() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// A time in whole seconds.
pub(crate) fn seconds(t: jiff::Timestamp) -> String {
    t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
