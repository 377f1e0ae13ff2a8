//! The first administrator, from the configuration. Only an administrator can create users.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use api::audit;
use axum::http::StatusCode;
use db::Db;
use people::user::{default_display_name, store};
use serde_json::json;
use sign_in::password::Hasher;
use tokio_util::sync::CancellationToken;

use crate::{NAME, config::BootstrapAdmin};

const RETRY: Duration = Duration::from_secs(1);

/// Creates the first administrator. Clones share whether it is done.
#[derive(Clone)]
pub(crate) struct Bootstrap {
    db: Db,
    hasher: Hasher,
    admin: BootstrapAdmin,
    is_done: Arc<AtomicBool>,
}

impl Bootstrap {
    pub(crate) fn new(db: Db, hasher: Hasher, admin: BootstrapAdmin) -> Self {
        Self { db, hasher, admin, is_done: Arc::default() }
    }

    /// Whether the platform has an administrator.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// The task `identity.bootstrap.reconcile`: creates the administrator if the platform has none, retries
    /// until the database answers, then waits for shutdown. The service is ready only after this has
    /// succeeded.
    pub(crate) async fn run(self, shutdown: CancellationToken) -> anyhow::Result<()> {
        while let Err(error) = self.create().await {
            tracing::warn!(error = format!("{error:#}"), "cannot create the first administrator");
            if shutdown.run_until_cancelled(tokio::time::sleep(RETRY)).await.is_none() {
                return Ok(());
            }
        }
        self.is_done.store(true, Ordering::Release);
        shutdown.cancelled().await;
        Ok(())
    }

    async fn create(&self) -> anyhow::Result<()> {
        let mut tx = self.db.platform().await?;
        let exists = store::count_admins(&mut tx).await? > 0;
        tx.commit().await?;
        if exists {
            return Ok(());
        }
        let hash = self.hasher.permit().await?.hash(self.admin.password.clone()).await?;
        let mut tx = self.db.platform().await?;
        store::lock_admins(&mut tx).await?;
        if store::count_admins(&mut tx).await? == 0 {
            let email = api::email::canonical(&self.admin.email);
            let name = default_display_name(&email);
            match store::insert(&mut tx, &email, name, true, &hash, true).await? {
                Some(user) => {
                    let path = format!("/v1/users/{}", user.id);
                    audit::Request::of_program(NAME, "bootstrap_admin", path.clone(), None)
                        .record(
                            &mut tx,
                            StatusCode::CREATED,
                            Some(&path),
                            &json!({ "email": "", "admin": true }),
                        )
                        .await?;
                    tracing::info!(user.id = %user.id, "first administrator created");
                }
                None => {
                    tracing::error!("bootstrap_admin.email belongs to a user who is not an administrator");
                }
            }
        }
        Ok(tx.commit().await?)
    }
}
