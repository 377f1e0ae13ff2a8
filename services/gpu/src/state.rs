//! What handlers share.

use std::sync::Arc;

use activity::Tracker;
use api::Problem;
use auth::{AuthState, HasAuth, Member, RightsEnd, rights_end};
use cache::Reads;
use clients::{identity, stock, storage};
use db::Db;
use encryption::Cipher;
use feed::Feed;
use ids::TenantId;
use jiff::Timestamp;
use service::{Streams, streams::Open};
use tokio_util::sync::CancellationToken;

use crate::{
    access::terminal::Sessions, budget::Admission, cluster::Clusters, config::Config, event::Hub,
    log::Archive, monitoring::Monitoring, ssh,
};

/// A kind of stream that a tenant opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum StreamKind {
    Log,
    Terminal,
    Events,
}

/// An open stream of a tenant.
pub(crate) type OpenStream = Open<(TenantId, StreamKind)>;

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) config: Arc<Config>,
    pub(crate) db: Db,
    /// Answers to users about the catalogue.
    pub(crate) catalogue: Reads,
    /// Encrypts the secrets of instances.
    pub(crate) cipher: Arc<Cipher>,
    pub(crate) stock: stock::Client,
    pub(crate) storage: storage::Client,
    /// The identity service, where it is configured.
    pub(crate) identity: Option<identity::Client>,
    pub(crate) clusters: Clusters,
    pub(crate) streams: Streams<(TenantId, StreamKind)>,
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
    /// Counts a stream of the tenant until the result is dropped.
    ///
    /// # Errors
    /// If the tenant has as many as it may have.
    pub(crate) fn open_stream(&self, tenant: TenantId, kind: StreamKind) -> Result<OpenStream, Problem> {
        let limits = &self.config.streams;
        let limit = match kind {
            StreamKind::Log => limits.logs_per_tenant,
            StreamKind::Terminal => limits.terminals_per_tenant,
            StreamKind::Events => limits.events_per_tenant,
        };
        self.streams.open((tenant, kind), limit)
    }

    /// Completes when a stream of the caller has to end.
    pub(crate) fn rights_end(
        &self,
        member: &Member,
        reconnects: bool,
    ) -> impl Future<Output = RightsEnd> + Send + use<> {
        rights_end(&self.auth.verifier, &member.principal, self.shutdown.clone(), (self.clock)(), reconnects)
    }

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
