//! What handlers share.

use std::sync::Arc;

use activity::Tracker;
use auth::{AuthState, HasAuth};
use clients::{identity, stock, storage};
use db::Db;
use encryption::Cipher;
use feed::Feed;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::{
    access::{limit::Streams, terminal::Sessions},
    budget::Admission,
    cluster::Clusters,
    config::Config,
    event::Hub,
    log::Archive,
    monitoring::Monitoring,
    ssh,
};

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) config: Arc<Config>,
    pub(crate) db: Db,
    /// Encrypts the secrets of instances.
    pub(crate) cipher: Arc<Cipher>,
    pub(crate) stock: stock::Client,
    pub(crate) storage: storage::Client,
    /// The identity service, where it is configured.
    pub(crate) identity: Option<identity::Client>,
    pub(crate) clusters: Clusters,
    pub(crate) streams: Streams,
    pub(crate) events: Hub,
    /// The records of the meter, for other services.
    pub(crate) usage: Feed,
    /// Changes of routes.
    pub(crate) routes: Feed,
    /// The instances whose terminals and SSH connections this replica carries.
    pub(crate) activity: Tracker,
    /// The open terminals of this replica.
    pub(crate) terminals: Sessions,
    /// Returns the current time.
    pub(crate) clock: fn() -> Timestamp,
    /// Cancelled when shutdown begins; ends streams.
    pub(crate) shutdown: CancellationToken,
    pub(crate) auth: AuthState,
    /// The kept logs, where logs are kept.
    pub(crate) log_archive: Option<Arc<Archive>>,
    /// The sources of instances' metrics.
    pub(crate) monitoring: Monitoring,
    /// The SSH endpoint, where there is one.
    pub(crate) ssh: Option<Arc<ssh::Server>>,
}

impl AppState {
    /// Whether allowances let an instance start, now.
    pub(crate) fn admission(&self) -> Admission {
        Admission { now: (self.clock)(), grace: self.config.budgets.outage_grace() }
    }
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}
