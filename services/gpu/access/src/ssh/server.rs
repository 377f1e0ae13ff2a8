//! The SSH endpoint of this replica, and the connections that are let in.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use api::ErrorChain;
use db::Db;
use ids::SshSessionId;
use tokio::sync::{Semaphore, watch};

use super::{
    Parts, admitted::Admitted, config::SshConfig, end::End, host_key::HostKey, limit::Connections,
    metrics::SshMetrics, store,
};

/// The SSH endpoint of this replica.
pub struct Server {
    pub(super) config: SshConfig,
    pub(super) identity: identity_api::Client,
    pub(super) host_key: HostKey,
    pub(super) tenants: Connections,
    pub(super) metrics: SshMetrics,
    pub(super) connections: Arc<Semaphore>,
    open: Mutex<HashMap<SshSessionId, Arc<Admitted>>>,
    pub(super) address: watch::Sender<Option<SocketAddr>>,
}

impl Server {
    /// Returns the endpoint. One of the [`Server::tasks`] makes it listen.
    pub fn new(
        config: &SshConfig,
        db: &Db,
        identity: identity_api::Client,
        metrics: &service::Metrics,
    ) -> Self {
        let ssh_metrics = SshMetrics::default();
        ssh_metrics.register(metrics);
        Self {
            identity,
            host_key: HostKey::new(db.clone(), config.host_key_file.as_deref()),
            tenants: Connections::new(config.connections_per_tenant),
            metrics: ssh_metrics,
            connections: Arc::new(Semaphore::new(config.connections as usize)),
            open: Mutex::default(),
            address: watch::Sender::new(None),
            config: config.clone(),
        }
    }

    /// Host and port for users.
    pub(super) fn public_address(&self) -> (String, u16) {
        let listening = self.address.borrow().unwrap_or(self.config.listen);
        (self.config.host.clone(), self.config.port.unwrap_or(listening.port()))
    }

    /// Returns the address of the listener, once there is one.
    pub async fn address(&self) -> Option<SocketAddr> {
        self.address.subscribe().wait_for(Option::is_some).await.ok().and_then(|address| *address)
    }

    /// Records a connection that is let in.
    pub(super) async fn admit(
        &self,
        app: &Parts,
        admitted: &Arc<Admitted>,
        peer: SocketAddr,
    ) -> sqlx::Result<()> {
        let mut tx = app.db.worker().await?;
        store::begin_session(&mut tx, admitted.id, &admitted.right, &peer.to_string()).await?;
        tx.commit().await?;
        self.lock().insert(admitted.id, Arc::clone(admitted));
        Ok(())
    }

    /// Records the end of a connection that was let in.
    pub(super) async fn forget(&self, app: &Parts, admitted: &Admitted, end: End) {
        self.lock().remove(&admitted.id);
        tracing::info!(ssh_session.id = %admitted.id, reason = end.code(), "SSH connection ended");
        let recorded = async {
            let mut tx = app.db.worker().await?;
            store::end_session(&mut tx, admitted.id, end.code(), admitted.counts()).await?;
            tx.commit().await
        };
        if let Err(error) = recorded.await {
            // another replica ends it, as it is no longer confirmed
            tracing::warn!(ssh_session.id = %admitted.id, error = %ErrorChain(&error), "cannot record the end");
        }
    }

    /// Returns the connections that were let in.
    pub(super) fn admitted(&self) -> Vec<Arc<Admitted>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SshSessionId, Arc<Admitted>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
