//! State that all parts of the process share.

use std::sync::Arc;

use objects::kinds::{Registry, Resource};
use objects::store::Store;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::faults::Faults;
use crate::images::Images;
use crate::kubelets::Kubelets;
use crate::runtime::Runtime;

pub(crate) struct Hub {
    pub store: Arc<Store>,
    pub kinds: Registry,
    pub config: Config,
    pub runtime: Runtime,
    pub kubelets: Kubelets,
    pub images: Images,
    /// Which parts are stopped.
    pub faults: Faults,
    /// Bearer token of the administrator.
    pub admin_token: String,
    /// Cancelled when the cluster stops.
    pub stop: CancellationToken,
}

impl Hub {
    /// A builtin kind by its id.
    pub(crate) fn kind(&self, id: &str) -> Arc<Resource> {
        self.kinds.get(id).unwrap_or_else(|| unreachable!("{id} is in the builtin table"))
    }
}
